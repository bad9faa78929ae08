import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { thumbsText } from '../../model/feedback.ts';
import { formatCount, plural, UNKNOWN } from '../../model/units.ts';
import { oneOf } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Dialog } from '../../widgets/dialog.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { PlainTable } from '../../widgets/plain-table.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import css from './judgements.module.css';

type Trace = components['schemas']['TraceSummary'];
type Feedback = components['schemas']['Feedback'];

const PAGE_ROWS = 100;
const kinds = ['thumbs', 'rating', 'correction', 'tag', 'comment'] as const;
const grammar = { has_feedback: oneOf(kinds, 'thumbs') } as const;

const judgementColumns: readonly Column<Feedback>[] = [
  { id: 'kind', head: 'Kind', cell: ({ kind }) => kind },
  {
    id: 'value',
    head: 'Value',
    cell: ({ value }) => (value === 'up' ? '↑ up' : value === 'down' ? '↓ down' : String(value)),
  },
  { id: 'comment', head: 'Comment', cell: ({ comment }) => <span title={comment}>{comment ?? UNKNOWN}</span> },
  { id: 'author', head: 'Author', cell: ({ author_kind }) => author_kind ?? UNKNOWN },
  { id: 'time', head: 'Time', cell: ({ timestamp }) => <Instant at={timestamp} /> },
];

/** The judgements on one trace, word for word. */
const Judgements = ({ trace, onClose }: { readonly trace: Trace; readonly onClose: () => void }) => {
  const query = useQuery({
    queryKey: ['feedback', trace.trace_id],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/feedback', {
          params: { query: { trace_id: trace.trace_id, project: trace.correlation.project } },
          signal,
        }),
      ),
  });
  return (
    <Dialog title={`Feedback on ${trace.name}`} isOpen onClose={onClose}>
      <Loaded query={query} what="feedback">
        {({ feedback, truncated }) => (
          <>
            <PlainTable
              name="Feedback"
              columns={judgementColumns}
              rows={feedback}
              idOf={({ feedback_id }) => feedback_id}
            />
            {truncated === true && <p className={css['note']}>The first {feedback.length}; there are more.</p>}
          </>
        )}
      </Loaded>
    </Dialog>
  );
};

const ReadButton = ({ trace }: { readonly trace: Trace }) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look="plain" aria-label={`Read feedback on ${trace.name}`} onClick={() => setOpen(true)}>
        Read
      </Button>
      {isOpen && <Judgements trace={trace} onClose={() => setOpen(false)} />}
    </>
  );
};

const columns: readonly Column<Trace>[] = [
  {
    id: 'name',
    head: 'Trace',
    isPinned: true,
    cell: ({ trace_id, name }) => <PageLink to={`/traces/${trace_id}`}>{name}</PageLink>,
  },
  ...kinds.map((kind) => ({
    id: kind,
    head: kind,
    isNumber: true,
    cell: (trace: Trace) => (kind === 'thumbs' ? thumbsText(trace) : formatCount(trace.feedback[kind])),
  })),
  { id: 'read', head: 'Words', cell: (trace) => <ReadButton trace={trace} /> },
  { id: 'time', head: 'Started', cell: ({ start_time }) => <Instant at={start_time} /> },
];

/** Traces on which people said something, with how often. Feedback is counted, never averaged. */
export const FeedbackList = () => {
  const [{ project, from, to, environment }] = useShared();
  const [{ has_feedback = 'thumbs' }, setState] = usePageState(grammar);
  const query = {
    has_feedback,
    limit: PAGE_ROWS,
    ...(project === undefined ? {} : { project }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(environment === undefined ? {} : { environment }),
  };
  const traces = usePaged<Trace>(['traces', 'feedback', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/traces', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.traces, next: page.next_cursor };
  });
  return (
    <>
      <div role="group" aria-label="Filters" className={css['filters']}>
        <label>
          With
          <select
            value={has_feedback}
            onChange={({ target }) => setState({ has_feedback: grammar.has_feedback.parse(target.value) }, 'push')}
          >
            {kinds.map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Loaded query={traces} what="feedback">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={`No trace with ${has_feedback}`}>
              <p>Choose another kind above, or a wider time.</p>
            </EmptyState>
          ) : (
            <DataTable
              name="Traces with feedback"
              columns={columns}
              rows={rows}
              idOf={({ trace_id }) => trace_id}
              onEnd={traces.more}
              foot={`${plural(rows.length, 'trace')} shown${traces.hasMore ? '; scroll for more' : ''}. How many judgements of each kind; they are never averaged.`}
            />
          )
        }
      </Loaded>
    </>
  );
};
