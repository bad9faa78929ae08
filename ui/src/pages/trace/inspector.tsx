import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { components } from '../../api/types.ts';
import { readConversation, textTurn } from '../../model/conversation.ts';
import type { CostReceipt } from '../../model/receipt.ts';
import { childrenOf, durationOf, sameNameBefore, type Span, type TraceRows } from '../../model/trace.ts';
import { costText } from '../../model/cost.ts';
import { formatDuration, plural, shortId } from '../../model/units.ts';
import { CopyButton } from '../../widgets/button.tsx';
import { ConversationView } from '../../widgets/conversation-view.tsx';
import { Facts } from '../../widgets/facts.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { PayloadView } from '../../widgets/payload-view.tsx';
import { type Shortcut, useShortcuts } from '../../widgets/shortcuts.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { KindMark, StatusMark } from '../../widgets/status-mark.tsx';
import { type Tab, Tabs } from '../../widgets/tabs.tsx';
import { Explanation } from './explanation.tsx';
import { SpanDiff } from './span-diff.tsx';
import { SpanLogs } from './span-logs.tsx';
import { spanQuery } from './read-spans.ts';
import css from './trace.module.css';
import { UsageAndCost } from './usage-and-cost.tsx';

type Schemas = components['schemas'];

/** A reader who runs down the rows asks for the spans on which they rest. */
const REST_MS = 120;

const useRested = (value: string): string => {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
};

const Scores = ({ scores }: { readonly scores: readonly Schemas['Score'][] }) => (
  <ul className={css['entries']}>
    {scores.map((score) => (
      <li key={score.score_id}>
        <b>{score.scorer_id}</b> {String(score.value)} <span className={css['soft']}>{score.source}</span>
        {score.reason !== undefined && <p>{score.reason}</p>}
      </li>
    ))}
  </ul>
);

const Feedback = ({ feedback }: { readonly feedback: readonly Schemas['Feedback'][] }) => (
  <ul className={css['entries']}>
    {feedback.map((given) => (
      <li key={given.feedback_id}>
        <b>{given.kind}</b> {String(given.value)} <span className={css['soft']}>{given.author_kind}</span>
        {given.comment !== undefined && <p>{given.comment}</p>}
      </li>
    ))}
  </ul>
);

const Attributes = ({ attributes }: { readonly attributes: Readonly<Record<string, unknown>> }) => (
  <Facts
    facts={Object.entries(attributes)
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(
        ([name, value]) => [name, typeof value === 'string' ? value.slice(0, 4000) : JSON.stringify(value)] as const,
      )}
  />
);

const Error = ({ error }: { readonly error: NonNullable<Span['error']> }) => (
  <div className={css['error']}>
    <p>
      {error.type !== undefined && <code>{error.type}</code>} {error.message}
    </p>
    {error.stack !== undefined && <pre tabIndex={0}>{error.stack}</pre>}
  </div>
);

type InspectorProps = {
  readonly traceId: string;
  readonly rows: TraceRows;
  readonly row: number;
  readonly scores: readonly Schemas['Score'][];
  readonly feedback: readonly Schemas['Feedback'][];
  readonly tab: string | undefined;
  readonly onTab: (tab: string) => void;
};

const tabsOf = (
  span: Span,
  receipt: CostReceipt | undefined,
  /** The span of the same name and kind before it. */
  before: string | undefined,
  isComplete: boolean,
  scores: readonly Schemas['Score'][],
  feedback: readonly Schemas['Feedback'][],
): Tab[] => {
  const asked = readConversation(span.input);
  const answered = readConversation(span.output);
  const has = (value: unknown): boolean => value !== undefined;
  const tabs: (Tab | undefined)[] = [
    span.error === undefined
      ? undefined
      : { id: 'error', name: 'Error', content: () => <Error error={span.error ?? { message: '' }} /> },
    asked === undefined
      ? undefined
      : {
          id: 'conversation',
          name: 'Conversation',
          content: () => (
            <ConversationView
              key={span.span_id}
              turns={[
                ...asked,
                ...(answered ?? (typeof span.output === 'string' ? [textTurn('assistant', span.output)] : [])),
              ]}
            />
          ),
        },
    has(span.input)
      ? {
          id: 'input',
          name: 'Input',
          content: () => <PayloadView key={span.span_id} value={span.input} name={`${span.span_id}-input`} />,
        }
      : undefined,
    has(span.output)
      ? {
          id: 'output',
          name: 'Output',
          content: () => <PayloadView key={span.span_id} value={span.output} name={`${span.span_id}-output`} />,
        }
      : undefined,
    span.usage === undefined && span.cost === undefined && span.model === undefined
      ? undefined
      : { id: 'usage', name: 'Usage & cost', content: () => <UsageAndCost span={span} receipt={receipt} /> },
    Object.keys(span.attributes ?? {}).length === 0
      ? undefined
      : { id: 'attributes', name: 'Attributes', content: () => <Attributes attributes={span.attributes ?? {}} /> },
    scores.length === 0
      ? undefined
      : { id: 'scores', name: `Scores ${scores.length}`, content: () => <Scores scores={scores} /> },
    feedback.length === 0
      ? undefined
      : { id: 'feedback', name: `Feedback ${feedback.length}`, content: () => <Feedback feedback={feedback} /> },
    (span.events ?? []).length === 0
      ? undefined
      : {
          id: 'events',
          name: `Events ${span.events?.length}`,
          content: () => <PayloadView key={span.span_id} value={span.events} name={`${span.span_id}-events`} />,
        },
    before === undefined && !has(span.output)
      ? undefined
      : { id: 'diff', name: 'Diff', content: () => <SpanDiff key={span.span_id} before={before} span={span} /> },
    { id: 'logs', name: 'Logs', content: () => <SpanLogs span={span} /> },
    {
      id: 'mapping',
      name: 'Mapping',
      content: () => <Explanation traceId={span.trace_id} spanId={span.span_id} />,
    },
    { id: 'json', name: 'JSON', content: () => <PayloadView key={span.span_id} value={span} name={span.span_id} /> },
  ];
  return tabs.filter((tab) => tab !== undefined && (isComplete || tab.id === 'error' || tab.id === 'usage')) as Tab[];
};

/** One span. What the rows know is there at once; its payloads are asked for when the reader rests on it. */
export const Inspector = ({ traceId, rows, row, scores, feedback, tab, onTab }: InspectorProps) => {
  const section = useRef<HTMLElement>(null);
  const shortcuts = useMemo<Shortcut[]>(
    () => [
      {
        keys: 'i',
        what: 'To the parts of the span',
        run: () => section.current?.querySelector<HTMLElement>('[role="tab"][aria-selected="true"]')?.focus(),
      },
    ],
    [],
  );
  useShortcuts(shortcuts);
  const light = rows.spans[row];
  const spanId = light?.span_id ?? '';
  const rested = useRested(spanId);
  const isMissing = rows.isMissing[row] === 1;
  const full = useQuery({ ...spanQuery(traceId, rested), enabled: rested === spanId && spanId !== '' && !isMissing });
  const complete = rested === spanId ? full.data : undefined;
  const span = complete?.span ?? light;
  const receipt = complete?.receipt;
  const tabs = useMemo(
    () =>
      span === undefined
        ? []
        : tabsOf(
            span,
            receipt,
            sameNameBefore(rows, row),
            complete !== undefined,
            scores.filter((score) => score.span_id === spanId || (span.is_root && score.span_id === undefined)),
            feedback.filter((given) => given.span_id === spanId || (span.is_root && given.span_id === undefined)),
          ),
    [span, receipt, rows, row, complete, scores, feedback, spanId],
  );
  if (span === undefined) return null;
  if (isMissing)
    return (
      <section aria-label="Span" className={css['inspector']}>
        <div className={css['span-head']}>
          <h2 className={css['span-name']}>{span.name}</h2>
          <p>
            {plural(childrenOf(rows, row).length, 'span')} of this trace name it as parent. It was not sent, not yet, or
            it was left out by sampling. Its row has the times of what hangs below it.
          </p>
        </div>
      </section>
    );
  const { correlation } = span;
  return (
    <section ref={section} aria-label="Span" className={css['inspector']}>
      <div className={css['span-head']}>
        <h2 className={css['span-name']}>{span.name}</h2>
        <div className={css['span-facts']}>
          <StatusMark state={span.status} />
          <KindMark kind={span.kind} />
          <span>{span.is_event ? 'event' : formatDuration(durationOf(rows, row))}</span>
          <span title={span.start_time}>
            at {rows.start[row] === 0 ? '0' : formatDuration(rows.start[row])}, <Instant at={span.start_time} />
          </span>
          {span.cost !== undefined && <span>{costText(span.cost)}</span>}
          <span>
            <code>{shortId(span.span_id)}</code>
            <CopyButton text={span.span_id} label="Copy the span’s id" />
          </span>
          {correlation.session_id !== undefined && (
            <PageLink to="/traces" params={{ session_id: correlation.session_id }}>
              session {correlation.session_id}
            </PageLink>
          )}
        </div>
        {rows.isOrphan[row] === 1 && <p className={css['soft']}>Its parent {span.parent_span_id} is not stored.</p>}
      </div>
      <Loaded
        query={{
          data: span !== undefined && (complete !== undefined || full.error === null) ? span : undefined,
          error: full.error,
          refetch: full.refetch,
        }}
        what="the span"
      >
        {() => <Tabs label="Parts of the span" tabs={tabs} chosen={tab} onChoose={onTab} />}
      </Loaded>
    </section>
  );
};
