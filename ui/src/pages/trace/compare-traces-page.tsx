import { serverTimeOf } from '../../api/server-clock.ts';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { durationOf, layOut, type TraceRows } from '../../model/trace.ts';
import { type Change, countChanges, type DiffRow, diffTraces } from '../../model/trace-diff.ts';
import { formatCount, formatDuration, formatMoney, plural, shortId, UNKNOWN } from '../../model/units.ts';
import { oneOf, text } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { KindMark, StatusMark } from '../../widgets/status-mark.tsx';
import { WordDiff } from '../../widgets/word-diff.tsx';
import { spanQuery } from './read-spans.ts';
import { traceQuery } from './trace-query.ts';
import css from './trace.module.css';

type Trace = components['schemas']['TraceDetail'];

const CHANGES = [
  'only in A',
  'only in B',
  'status',
  'model',
  'slower',
  'faster',
  'dearer',
  'cheaper',
] as const satisfies readonly Change[];
const grammar = { a: text(), b: text(), row: text(), only: oneOf(['changed', ...CHANGES]) } as const;

const MAX_INDENT = 12;
const INDENT_PX = 12;

type Sides = { readonly a: TraceRows; readonly b: TraceRows };

const spanOf = ({ a, b }: Sides, row: DiffRow) => (row.a === undefined ? b.spans[row.b ?? 0] : a.spans[row.a]);

const columnsOf = (sides: Sides): readonly Column<DiffRow>[] => {
  const durationIn = (side: 'a' | 'b', row: DiffRow): string => {
    const at = row[side];
    return at === undefined ? UNKNOWN : formatDuration(durationOf(sides[side], at));
  };
  const costIn = (side: 'a' | 'b', row: DiffRow): string => formatMoney(sides[side].spans[row[side] ?? -1]?.cost);
  return [
    {
      id: 'span',
      head: 'Span',
      isPinned: true,
      width: '34%',
      cell: (row) => (
        <span style={{ paddingLeft: Math.min(row.depth, MAX_INDENT) * INDENT_PX }}>{spanOf(sides, row)?.name}</span>
      ),
    },
    {
      id: 'changes',
      head: 'Change',
      width: '16%',
      cell: ({ changes }) => (changes.length === 0 ? '' : <b>{changes.join(', ')}</b>),
    },
    { id: 'duration-a', head: 'Duration A', isNumber: true, cell: (row) => durationIn('a', row) },
    { id: 'duration-b', head: 'B', isNumber: true, cell: (row) => durationIn('b', row) },
    { id: 'cost-a', head: 'Cost A', isNumber: true, cell: (row) => costIn('a', row) },
    { id: 'cost-b', head: 'B', isNumber: true, cell: (row) => costIn('b', row) },
  ];
};

const Side = ({ name, trace }: { readonly name: string; readonly trace: Trace['trace'] }) => (
  <p className={css['span-facts']}>
    <b>{name}</b>
    <PageLink to={`/traces/${trace.trace_id}`}>
      {trace.name} <code>{shortId(trace.trace_id)}</code>
    </PageLink>
    <StatusMark state={trace.cancelled === true ? 'cancelled' : trace.status} />
    <span>{formatDuration(trace.duration_ns)}</span>
    <span>{plural(trace.span_count, 'span')}</span>
    <span>{formatMoney(trace.cost)}</span>
    <span>{formatCount(trace.usage?.total_tokens)} tokens</span>
    <Instant at={trace.start_time} />
  </p>
);

/** What the two spans of a row were given and gave. */
const Outputs = ({
  a,
  b,
  sides,
  row,
}: {
  readonly a: string;
  readonly b: string;
  readonly sides: Sides;
  readonly row: DiffRow;
}) => {
  const idA = row.a === undefined || sides.a.isMissing[row.a] === 1 ? undefined : sides.a.spans[row.a]?.span_id;
  const idB = row.b === undefined || sides.b.isMissing[row.b] === 1 ? undefined : sides.b.spans[row.b]?.span_id;
  const readA = useQuery({ ...spanQuery(a, idA ?? ''), enabled: idA !== undefined });
  const readB = useQuery({ ...spanQuery(b, idB ?? ''), enabled: idB !== undefined });
  const span = spanOf(sides, row);
  const isRead = (idA === undefined || readA.data !== undefined) && (idB === undefined || readB.data !== undefined);
  const query = {
    data: isRead ? { a: readA.data?.span, b: readB.data?.span } : undefined,
    error: readA.error ?? readB.error,
    refetch: () => Promise.all([readA.refetch(), readB.refetch()]),
  };
  return (
    <section aria-label="Difference" className={css['inspector']}>
      <div className={css['span-head']} data-scrolls tabIndex={0}>
        <h2 className={css['span-name']}>{span?.name}</h2>
        {span !== undefined && <KindMark kind={span.kind} />}
        <Loaded query={query} what="both spans">
          {(spans) => (
            <>
              <h3>Output</h3>
              <WordDiff before={spans.a?.output} after={spans.b?.output} />
              <h3>Input</h3>
              <WordDiff before={spans.a?.input} after={spans.b?.input} />
              {(spans.a?.error ?? spans.b?.error) !== undefined && (
                <>
                  <h3>Error</h3>
                  <WordDiff before={spans.a?.error?.message} after={spans.b?.error?.message} />
                </>
              )}
            </>
          )}
        </Loaded>
      </div>
    </section>
  );
};

const Comparison = ({
  a,
  b,
  readAt,
}: {
  readonly a: Trace;
  readonly b: Trace;
  /** When they were read: spans that still run are drawn until then. */
  /** By this machine's clock. */
  readonly readAt: number;
}) => {
  const [state, setState] = usePageState(grammar);
  const sides = useMemo<Sides>(() => {
    const now = serverTimeOf(readAt);
    return { a: layOut(a.spans, now), b: layOut(b.spans, now) };
  }, [a, b, readAt]);
  const all = useMemo(() => diffTraces(sides.a, sides.b), [sides]);
  const counts = useMemo(() => countChanges(all), [all]);
  const { only } = state;
  const rows = useMemo(
    () =>
      only === undefined
        ? all
        : all.filter(({ changes }) => (only === 'changed' ? changes.length > 0 : changes.includes(only))),
    [all, only],
  );
  const columns = useMemo(() => columnsOf(sides), [sides]);
  const chosen = all.find(({ id }) => id === state.row);
  return (
    <>
      <div className={css['bar']} role="group" aria-label="Filters">
        <label>
          Only
          <select value={only ?? ''} onChange={({ target }) => setState({ only: grammar.only.parse(target.value) })}>
            <option value="">all rows</option>
            <option value="changed">changed</option>
            {counts.map(([change, count]) => (
              <option key={change} value={change}>
                {change} ({count})
              </option>
            ))}
          </select>
        </label>
        <span role="status">
          {counts.length === 0
            ? 'Nothing differs in structure, status, model, time or cost.'
            : counts.map(([change, count]) => `${formatCount(count)} ${change}`).join(', ')}
        </span>
      </div>
      {rows.length === 0 ? (
        <EmptyState title="No row is shown">
          <Button onClick={() => setState({ only: undefined })}>Show all rows</Button>
        </EmptyState>
      ) : (
        <div className={css['panes']}>
          <DataTable
            name="Comparison"
            columns={columns}
            rows={rows}
            idOf={({ id }) => id}
            selected={state.row}
            onSelect={({ id }) => setState({ row: id === state.row ? undefined : id })}
            foot={`${plural(rows.length, 'row')} of ${formatCount(all.length)}; select one for its words`}
          />
          {chosen !== undefined && (
            <Outputs key={chosen.id} a={a.trace.trace_id} b={b.trace.trace_id} sides={sides} row={chosen} />
          )}
        </div>
      )}
    </>
  );
};

/** The nearest good trace before one: of the same name, ended well. */
const NearestGood = ({
  trace,
  onChoose,
}: {
  readonly trace: Trace['trace'];
  readonly onChoose: (id: string) => void;
}) => {
  const good = useQuery({
    queryKey: ['traces', 'nearest good', trace.trace_id],
    queryFn: async ({ signal }) => {
      const { project } = trace.correlation;
      const query = { project, name: trace.name, status: 'ok' as const, to: trace.start_time, limit: 2 };
      const { traces } = await ask(api.GET('/v1/api/traces', { params: { query }, signal }));
      return traces.find(({ trace_id }) => trace_id !== trace.trace_id) ?? null;
    },
    staleTime: 60_000,
  });
  return (
    <Loaded query={good} what="a good trace">
      {(found) =>
        found === null ? (
          <p>No earlier trace of the name “{trace.name}” ended well. Put the id of another one into the field B.</p>
        ) : (
          <p>
            The latest good trace before it: {found.name} <code>{shortId(found.trace_id)}</code>,{' '}
            <Instant at={found.start_time} />.{' '}
            <Button look="primary" onClick={() => onChoose(found.trace_id)}>
              Compare with it
            </Button>
          </p>
        )
      }
    </Loaded>
  );
};

const idIn = (given: string): string | undefined => /[0-9a-f]{32}/.exec(given)?.[0];

const Choice = ({
  side,
  id,
  onChoose,
}: {
  readonly side: 'A' | 'B';
  readonly id: string | undefined;
  readonly onChoose: (id: string) => void;
}) => (
  <label>
    {side}
    <input
      key={id ?? ''}
      aria-label={`Trace ${side}: id or address`}
      placeholder="id or address of a trace"
      defaultValue={id ?? ''}
      style={{ width: '22rem', minWidth: 0 }}
      onChange={({ target }) => {
        const found = idIn(target.value);
        if (found !== undefined) onChoose(found);
      }}
    />
  </label>
);

const useTrace = (id: string | undefined) =>
  useQuery({ ...traceQuery(id ?? '', undefined), enabled: id !== undefined, staleTime: 60_000 });

/** Two traces, aligned by the path of their names. */
export default function CompareTracesPage() {
  const [{ a, b }, setState] = usePageState(grammar);
  const left = useTrace(a);
  const right = useTrace(b);
  return (
    <>
      <PageHead title="Compare traces" />
      <div className={css['bar']} role="group" aria-label="Traces">
        <Choice side="A" id={a} onChoose={(id) => setState({ a: id, row: undefined })} />
        <Choice side="B" id={b} onChoose={(id) => setState({ b: id, row: undefined })} />
        <Button
          disabled={a === undefined || b === undefined}
          onClick={() => setState({ a: b, b: a, row: undefined, only: undefined })}
        >
          Swap
        </Button>
      </div>
      {a === undefined ? (
        <EmptyState title="Choose a trace" />
      ) : (
        <Loaded query={left} what="trace A">
          {(traceA) => (
            <>
              <div className={css['sides']}>
                <Side name="A" trace={traceA.trace} />
                {right.data !== undefined && <Side name="B" trace={right.data.trace} />}
                {b === undefined && (
                  <NearestGood trace={traceA.trace} onChoose={(id) => setState({ a: id, b: a }, 'push')} />
                )}
              </div>
              {b !== undefined && (
                <Loaded query={right} what="trace B">
                  {(traceB) => (
                    <Comparison a={traceA} b={traceB} readAt={Math.max(left.dataUpdatedAt, right.dataUpdatedAt)} />
                  )}
                </Loaded>
              )}
            </>
          )}
        </Loaded>
      )}
    </>
  );
}
