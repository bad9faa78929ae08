import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { formatDuration, formatMoney, plural } from '../../model/units.ts';
import { Button } from '../../widgets/button.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { useParam } from '../../widgets/param.ts';
import { useShared } from '../../widgets/page-state.ts';
import { PayloadView } from '../../widgets/payload-view.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './people.module.css';

type Trace = components['schemas']['TraceSummary'];

const PAGE_ROWS = 50;

/** What went in and came out of a trace, read from its root. */
const Exchange = ({ trace }: { readonly trace: Trace }) => {
  const query = useQuery({
    queryKey: ['trace', trace.trace_id, 'exchange'],
    queryFn: async ({ signal }) => {
      const path = { trace_id: trace.trace_id };
      const { spans } = await ask(
        api.GET('/v1/api/traces/{trace_id}', { params: { path, query: { payloads: 'none' } }, signal }),
      );
      const root = spans.find(({ parent_span_id }) => parent_span_id === undefined) ?? spans[0];
      if (root === undefined) return null;
      const found = await ask(
        api.GET('/v1/api/traces/{trace_id}/spans/{span_id}', {
          params: { path: { ...path, span_id: root.span_id } },
          signal,
        }),
      );
      return found.span;
    },
  });
  return (
    <Loaded query={query} what="what was said">
      {(span) => (
        <>
          <h2>Input</h2>
          {span?.input === undefined ? (
            <p className={css['note']}>None was sent.</p>
          ) : (
            <PayloadView value={span.input} name="input" />
          )}
          <h2>Answer</h2>
          {span?.output === undefined ? (
            <p className={css['note']}>None was sent.</p>
          ) : (
            <PayloadView value={span.output} name="output" />
          )}
        </>
      )}
    </Loaded>
  );
};

const Turn = ({ trace }: { readonly trace: Trace }) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className={css['turn']}>
      <div className={css['line']}>
        <StatusMark state={trace.cancelled === true ? 'cancelled' : trace.status} />
        <PageLink to={`/traces/${trace.trace_id}`} className={css['grow']}>
          {trace.name}
        </PageLink>
        <span>{formatDuration(trace.duration_ns)}</span>
        <span>{formatMoney(trace.cost)}</span>
        <Instant at={trace.start_time} />
        <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Hide what was said' : 'What was said'}
        </Button>
      </div>
      {isOpen && <Exchange trace={trace} />}
    </li>
  );
};

export default function SessionPage() {
  const session_id = useParam('sessionId');
  const [{ project, from, to }] = useShared();
  const query = {
    session_id,
    order: 'asc' as const,
    limit: PAGE_ROWS,
    ...(project === undefined ? {} : { project }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const traces = usePaged<Trace>(['traces', 'session', query], async (cursor, signal) => {
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
      <PageHead title={session_id} of="Session">
        <PageLink to="/traces" params={{ session_id }}>
          As a list of traces
        </PageLink>
      </PageHead>
      <div className={css['page']}>
        <Loaded query={traces} what="the session">
          {(rows) =>
            rows.length === 0 ? (
              <EmptyState title="No trace of this session in this window" />
            ) : (
              <>
                <ol className={css['turns']} aria-label="Turns">
                  {rows.map((trace) => (
                    <Turn key={trace.trace_id} trace={trace} />
                  ))}
                </ol>
                <p className={css['note']}>
                  {plural(rows.length, 'trace')}, oldest first.{' '}
                  {traces.hasMore && <Button onClick={traces.more}>Later ones</Button>}
                </p>
              </>
            )
          }
        </Loaded>
      </div>
    </>
  );
}
