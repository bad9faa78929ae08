import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { Span } from '../../model/trace.ts';
import { Instant } from '../../widgets/instant.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { SeverityMark } from './logs-view.tsx';
import css from './trace.module.css';

const MOST_RECORDS = 100;

/** The log records of one span. */
export const SpanLogs = ({ span }: { readonly span: Span }) => {
  const query = {
    project: span.correlation.project,
    trace_id: span.trace_id,
    span_id: span.span_id,
    order: 'asc' as const,
    limit: MOST_RECORDS,
  };
  const logs = useQuery({
    queryKey: ['logs', span.trace_id, span.span_id],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/logs', { params: { query }, signal })),
  });
  return (
    <Loaded query={logs} what="the logs">
      {({ logs: records, next_cursor: next }) =>
        records.length === 0 ? (
          <p>This span wrote no log records.</p>
        ) : (
          <>
            <ul className={css['entries']}>
              {records.map(({ log_id, severity, timestamp, message }) => (
                <li key={log_id}>
                  <SeverityMark severity={severity} /> <Instant at={timestamp} />
                  <pre className={css['message']}>{message.slice(0, 4000)}</pre>
                </li>
              ))}
            </ul>
            {next !== undefined && <p>The first {MOST_RECORDS}; the view “Logs” has all of them.</p>}
          </>
        )
      }
    </Loaded>
  );
};
