import { serverTimeOf } from '../../api/server-clock.ts';
import { useParams } from '@tanstack/react-router';
import { layOut, type TraceDetail } from '../../model/trace.ts';
import { formatCount, formatDuration, formatMoney, plural, shortId } from '../../model/units.ts';
import { useMemo } from 'react';
import { CopyButton } from '../../widgets/button.tsx';
import { CopyCurl } from '../../widgets/copy-curl.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './trace.module.css';
import { traceQuery } from './trace-query.ts';
import { TraceView } from './trace-view.tsx';

const Head = ({ loaded: { trace, truncated } }: { readonly loaded: TraceDetail }) => {
  const { correlation } = trace;
  return (
    <>
      <PageHead
        title={trace.name}
        of="Trace"
        actions={
          <span className={css['span-facts']}>
            <PageLink to="/traces/compare" params={{ a: trace.trace_id }}>
              Compare…
            </PageLink>
            <CopyCurl paths={[`/v1/api/traces/${trace.trace_id}`]} />
            <CopyButton text={trace.trace_id} label="Copy the trace’s id">
              {shortId(trace.trace_id)}
            </CopyButton>
          </span>
        }
      >
        <StatusMark state={trace.cancelled === true ? 'cancelled' : trace.status} />
        <span>{formatDuration(trace.duration_ns)}</span>
        <span>{plural(trace.span_count, 'span')}</span>
        {trace.error_count > 0 && <span className={css['bad']}>{plural(trace.error_count, 'error')}</span>}
        <span title="The sum of what was priced">
          {trace.cost === undefined ? '— not priced' : formatMoney(trace.cost)}
        </span>
        <span>{formatCount(trace.usage?.total_tokens)} tokens</span>
        <Instant at={trace.start_time} />
        {correlation.session_id !== undefined && (
          <PageLink to="/traces" params={{ session_id: correlation.session_id }}>
            session {correlation.session_id}
          </PageLink>
        )}
        {correlation.user_id !== undefined && (
          <PageLink to="/traces" params={{ user_id: correlation.user_id }}>
            user {correlation.user_id}
          </PageLink>
        )}
        {correlation.run_id !== undefined && (
          <PageLink to={`/runs/${correlation.run_id}`}>run {shortId(correlation.run_id)}</PageLink>
        )}
      </PageHead>
      {truncated !== undefined && truncated.length > 0 && (
        <p className={css['notice']}>Only the first 10,000 of these are shown: {truncated.join(', ')}.</p>
      )}
    </>
  );
};

const isRunning = ({ spans }: TraceDetail): boolean =>
  spans.some((span) => span.end_time === undefined && !span.is_event);

/** One trace, its payloads left where they are until somebody looks at a span. */
export default function TracePage() {
  const { traceId } = useParams({ strict: false }) as { readonly traceId: string };
  const query = usePolled(
    traceQuery(traceId, 'scores,feedback'),
    // Refreshed while something of it still runs.
    true,
    isRunning,
  );
  const { data, dataUpdatedAt } = query;
  // Only what still runs is drawn up to now. Another answer that says the same is no reason to lay a large trace out again, and to hold both.
  const drawnAt = data !== undefined && isRunning(data) ? dataUpdatedAt : 0;
  const rows = useMemo(
    () => (data === undefined ? undefined : layOut(data.spans, serverTimeOf(drawnAt))),
    [data, drawnAt],
  );
  return (
    <Loaded query={query} what="the trace" head="Trace">
      {(loaded) => (
        <>
          <Head loaded={loaded} />
          {rows !== undefined && <TraceView key={traceId} loaded={loaded} rows={rows} />}
        </>
      )}
    </Loaded>
  );
}
