import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import {
  allSources,
  contextGrowth,
  type Growth,
  type ModelCall,
  modelCalls,
  type SeenMessage,
} from '../../model/context-growth.ts';
import { explainSaved } from '../../model/receipt.ts';
import type { TraceRows } from '../../model/trace.ts';
import { formatCompact, formatCount, formatMoney, formatShare, plural, UNKNOWN } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { textTurn } from '../../model/conversation.ts';
import { ConversationView } from '../../widgets/conversation-view.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { readSpans } from './read-spans.ts';
import css from './trace.module.css';

/** Calls whose messages are read; the tokens of all calls are known without. */
const MOST_READ = 60;
const USUAL_PX = 120;

type ContextProps = {
  readonly traceId: string;
  readonly rows: TraceRows;
  readonly onSelect: (row: number) => void;
};

type Row = ModelCall & { readonly growth: Growth['calls'][number] | undefined; readonly share: number };

const PARTS = [
  ['from cache', 'kind-retrieval'],
  ['written to it', 'kind-guardrail'],
  ['other', 'kind-model'],
] as const;

const Legend = () => (
  <>
    {PARTS.map(([what, kind]) => (
      <span key={kind} className={css['legend']}>
        <span className={css['swatch']} style={{ background: `var(--${kind})` }} />
        {what}
      </span>
    ))}
  </>
);

const Bar = ({ call }: { readonly call: Row }) => {
  const { tokens, cached = 0, written = 0, share } = call;
  if (tokens === undefined || tokens === 0) return null;
  const part = (count: number, kind: string) => (
    <span style={{ width: `${(count / tokens) * 100}%`, background: `var(--${kind})` }} />
  );
  return (
    <span className={css['tokens-bar']} style={{ width: `${share * 100}%` }} aria-hidden>
      {part(cached, 'kind-retrieval')}
      {part(written, 'kind-guardrail')}
      {part(Math.max(0, tokens - cached - written), 'kind-model')}
    </span>
  );
};

const signed = (count: number | undefined): string =>
  count === undefined ? UNKNOWN : `${count > 0 ? '+' : count < 0 ? '−' : ''}${formatCount(Math.abs(count))}`;

const columnsOf = (rows: TraceRows, currency: string, onSelect: ContextProps['onSelect']): readonly Column<Row>[] => [
  {
    id: 'call',
    head: 'Call',
    width: '20%',
    isPinned: true,
    cell: ({ row }) => (
      <Button look="plain" onClick={() => onSelect(row)}>
        {rows.spans[row]?.name}
      </Button>
    ),
  },
  { id: 'tokens', head: 'Context', width: '84px', isNumber: true, cell: ({ tokens }) => formatCount(tokens) },
  { id: 'bar', head: 'Tokens', cell: (call) => <Bar call={call} /> },
  {
    id: 'cached',
    head: 'Cached',
    width: '72px',
    isNumber: true,
    cell: ({ cached }) => formatCompact(cached),
  },
  { id: 'grew', head: 'Grew by', width: '84px', isNumber: true, cell: ({ grewBy }) => signed(grewBy) },
  {
    id: 'new',
    head: 'New messages',
    width: '104px',
    isNumber: true,
    cell: ({ growth }) =>
      growth?.fresh === undefined ? UNKNOWN : `${growth.fresh} of ${growth.fresh + (growth.repeated ?? 0)}`,
  },
  {
    id: 'from',
    head: 'Mostly from',
    width: '16%',
    cell: ({ growth }) => growth?.sources[0]?.name ?? UNKNOWN,
  },
  {
    id: 'saved',
    head: 'Cache saved',
    width: '96px',
    isNumber: true,
    cell: ({ growth }) =>
      growth?.savedByCache === undefined ? UNKNOWN : formatMoney({ total_cost: growth.savedByCache, currency }),
  },
];

const Messages = ({ rows, messages }: { readonly rows: TraceRows; readonly messages: readonly SeenMessage[] }) => {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: messages.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => USUAL_PX,
    overscan: 3,
  });
  return (
    <div ref={scroller} className={css['transcript']} role="region" aria-label="Messages" tabIndex={0}>
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const { turn, calls } = messages[index] ?? { turn: textTurn('', ''), calls: [] };
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}
            >
              <article className={css['entry']}>
                <div className={css['span-facts']}>
                  <b>{rows.spans[calls[0] ?? 0]?.name}</b>
                  <span className={css['soft']}>
                    {calls.length === 1 ? 'sent once' : `sent again in ${plural(calls.length - 1, 'later call')}`}
                  </span>
                </div>
                <ConversationView turns={[turn]} first={index} />
              </article>
            </div>
          );
        })}
      </div>
    </div>
  );
};

/** What the models of a trace read: how it grew, where from, and each message once. */
export const ContextView = ({ traceId, rows, onSelect }: ContextProps) => {
  const client = useQueryClient();
  const calls = useMemo(() => modelCalls(rows), [rows]);
  const ids = useMemo(() => calls.slice(0, MOST_READ).map(({ row }) => rows.spans[row]?.span_id ?? ''), [calls, rows]);
  const read = useQuery({
    queryKey: ['trace', traceId, 'context', ids],
    queryFn: () => readSpans(client, traceId, ids),
    enabled: ids.length > 0,
    staleTime: 30_000,
  });
  const growth = useMemo(
    () =>
      contextGrowth((read.data ?? []).map(({ span, receipt }, at) => ({ row: calls[at]?.row ?? 0, span, receipt }))),
    [read.data, calls],
  );
  const shown = useMemo<readonly Row[]>(() => {
    const most = calls.reduce((max, { tokens }) => Math.max(max, tokens ?? 0), 1);
    return calls.map((call, at) => ({ ...call, growth: growth.calls[at], share: (call.tokens ?? 0) / most }));
  }, [calls, growth]);
  const currency = read.data?.find(({ receipt }) => receipt?.price_book !== undefined)?.receipt?.price_book?.currency;
  const columns = useMemo(() => columnsOf(rows, currency ?? 'USD', onSelect), [rows, currency, onSelect]);
  if (calls.length === 0) return <EmptyState title="No model was called in this trace" />;
  const sources = allSources(growth);
  const characters = sources.reduce((sum, source) => sum + source.characters, 0);
  const saved = growth.calls.flatMap(({ savedByCache }) => (savedByCache === undefined ? [] : [savedByCache]));
  return (
    <>
      <figure className={css['context']} aria-label="Context tokens a call">
        <DataTable
          name="Context"
          columns={columns}
          rows={shown}
          idOf={({ row }) => String(row)}
          foot={
            <>
              {calls.length > MOST_READ
                ? `The messages of the first ${MOST_READ} of ${formatCount(calls.length)} calls are read.`
                : plural(calls.length, 'call')}
              <Legend />
            </>
          }
        />
      </figure>
      <Loaded query={read} what="the messages">
        {() => (
          <>
            <p className={css['facts-line']}>
              <span>
                {plural(growth.messages.length, 'message')}, each shown once
                {sources.length > 0 &&
                  `; their text comes from ${sources
                    .slice(0, 4)
                    .map(
                      (source) =>
                        `${source.name} (${formatShare(characters === 0 ? undefined : source.characters / characters)})`,
                    )
                    .join(', ')}`}
                .
              </span>
              {saved.length > 0 && (
                <span>
                  {explainSaved(
                    saved.reduce((sum, one) => sum + one, 0),
                    currency ?? 'USD',
                  )}
                </span>
              )}
            </p>
            {growth.messages.length > 0 && <Messages rows={rows} messages={growth.messages} />}
          </>
        )}
      </Loaded>
    </>
  );
};
