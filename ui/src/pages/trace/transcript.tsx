import { useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useId, useMemo, useRef } from 'react';
import { readConversation, textTurn, type Turn } from '../../model/conversation.ts';
import { durationOf, type Span, type TraceRows } from '../../model/trace.ts';
import { formatDuration, formatMoney } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { ConversationView } from '../../widgets/conversation-view.tsx';
import { EmptyState } from '../../widgets/states.tsx';
import { KindMark, StatusMark } from '../../widgets/status-mark.tsx';
import { batchedSpanQuery } from './span-batch.ts';
import css from './trace.module.css';

/** What a reader of a conversation wants to see: what models said, and what tools did. */
const TOLD = new Set<Span['kind']>([
  'model_generation',
  'agent_run',
  'tool_call',
  'mcp_tool_call',
  'client_tool_call',
  'provider_tool_call',
  'retrieval',
  'guardrail',
]);

/** What was not sent is no turn. */
const turnFrom = (role: string, value: unknown): Turn[] => (value === undefined ? [] : [textTurn(role, value)]);

/** Of a model call the last message of its input, since those before it were told already; then what it answered. */
const turnsOf = ({ kind, input, output }: Span): readonly Turn[] => {
  if (kind === 'model_generation') {
    const last = readConversation(input)?.at(-1);
    return [
      ...(last === undefined ? turnFrom('input', input) : [last]),
      ...(readConversation(output) ?? turnFrom('assistant', output)),
    ];
  }
  if (kind === 'agent_run') return [];
  return [...turnFrom('input', input), ...turnFrom('result', output)];
};

type EntryProps = {
  readonly traceId: string;
  readonly rows: TraceRows;
  readonly row: number;
  readonly onSelect: (row: number) => void;
};

const Entry = ({ traceId, rows, row, onSelect }: EntryProps) => {
  const nameId = useId();
  const light = rows.spans[row];
  const { data } = useQuery({
    ...batchedSpanQuery(light?.correlation.project ?? '', traceId, light?.span_id ?? ''),
    enabled: light !== undefined,
  });
  const turns = useMemo(() => (data === undefined ? [] : turnsOf(data)), [data]);
  if (light === undefined) return null;
  return (
    <article
      aria-labelledby={nameId}
      className={css['entry']}
      style={{ marginLeft: `${Math.min(rows.depth[row] ?? 0, 8) * 14}px` }}
    >
      <div className={css['span-facts']}>
        <KindMark kind={light.kind} />
        <h2 id={nameId}>{light.name}</h2>
        <StatusMark state={light.status} />
        <span>{formatDuration(durationOf(rows, row))}</span>
        {light.cost !== undefined && <span>{formatMoney(light.cost)}</span>}
        <Button look="plain" onClick={() => onSelect(row)}>
          Show in the waterfall
        </Button>
      </div>
      {light.error !== undefined && <p className={css['bad']}>{light.error.message}</p>}
      <ConversationView turns={turns} />
    </article>
  );
};

const USUAL_PX = 160;

/** The trace as a thread: turns of models, calls of tools and what came back, sub-agents moved in. */
export const Transcript = ({ traceId, rows, onSelect }: Omit<EntryProps, 'row'>) => {
  const scroller = useRef<HTMLDivElement>(null);
  const told = useMemo(
    () => [...rows.spans.keys()].filter((row) => TOLD.has(rows.spans[row]?.kind ?? 'generic')),
    [rows],
  );
  const virtual = useVirtualizer({
    count: told.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => USUAL_PX,
    overscan: 3,
  });
  if (told.length === 0) return <EmptyState title="No model and no tool was called in this trace" />;
  return (
    <div ref={scroller} className={css['transcript']} role="region" aria-label="Transcript" tabIndex={0}>
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => (
          <div
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            style={{ position: 'absolute', insetInline: 0, transform: `translateY(${start}px)` }}
          >
            <Entry traceId={traceId} rows={rows} row={told[index] ?? 0} onSelect={onSelect} />
          </div>
        ))}
      </div>
    </div>
  );
};
