import { api, ask } from '../../api/client.ts';
import {
  formatCompact,
  formatCount,
  formatDuration,
  formatDurationMs,
  formatMoney,
  formatShare,
} from '../../model/units.ts';
import type { Params } from '../../model/url.ts';
import { Instant } from '../../widgets/instant.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { Firing } from './firing.tsx';
import { IngestHealth } from './ingest.tsx';
import css from './overview.module.css';
import { SpendOfToday, SpendOverTime } from './spend.tsx';
import { TroubledRuns } from './troubled-runs.tsx';

const Figure = ({
  name,
  value,
  to,
  params,
}: {
  readonly name: string;
  readonly value: string;
  readonly to?: string;
  readonly params?: Params;
}) => (
  <div className={css['figure']}>
    <dt>{name}</dt>
    <dd>
      {to === undefined ? (
        value
      ) : (
        <PageLink to={to} {...(params === undefined ? {} : { params })}>
          {value}
        </PageLink>
      )}
    </dd>
  </div>
);

const RECENT = 10;

/** What is wrong now, then what happened in the window, each number a link to what it counts. */
export const Overview = () => {
  const [{ project, from, to }] = useShared();
  const range = {
    ...(project === undefined ? {} : { project }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const summary = usePolled({
    queryKey: ['summary', range],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/analytics/summary', { params: { query: range }, signal })),
  });
  const failing = usePolled({
    queryKey: ['traces', 'failing', range],
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/api/traces', { params: { query: { ...range, has_error: true, limit: RECENT } }, signal })),
  });
  return (
    <div className={css['page']}>
      <Firing />
      <Loaded query={summary} what="the summary">
        {(report) => (
          <section aria-label="Summary">
            <p className={css['note']}>
              <Instant at={report.from} /> to <Instant at={report.to} />
            </p>
            <dl className={css['figures']}>
              <Figure name="Traces" value={formatCount(report.trace_count)} to="/traces" />
              <Figure name="Failed" value={formatCount(report.error_count)} to="/traces" params={{ status: 'error' }} />
              <Figure name="Error rate" value={formatShare(report.error_rate)} />
              <Figure name="Latency p50" value={formatDurationMs(report.latency?.p50)} />
              <Figure
                name="Latency p95"
                value={formatDurationMs(report.latency?.p95)}
                to="/traces"
                params={{ sort: 'duration' }}
              />
              <Figure
                name="Cost, priced only"
                value={formatMoney(
                  report.total_cost === undefined
                    ? undefined
                    : { total_cost: report.total_cost, currency: report.currency },
                )}
                to="/traces"
                params={{ sort: 'cost' }}
              />
              <Figure name="Tokens in" value={formatCompact(report.input_tokens)} />
              <Figure name="Tokens out" value={formatCompact(report.output_tokens)} />
            </dl>
          </section>
        )}
      </Loaded>
      <section aria-labelledby="failing">
        <h2 id="failing">
          <PageLink to="/traces" params={{ has_error: 'true' }}>
            Traces with errors
          </PageLink>
          , newest first
        </h2>
        <Loaded query={failing} what="failing traces">
          {({ traces }) =>
            traces.length === 0 ? (
              <p className={css['note']}>None.</p>
            ) : (
              <ul className={css['list']}>
                {traces.map((trace) => (
                  <li key={trace.trace_id}>
                    <StatusMark state={trace.status} />
                    <PageLink to={`/traces/${trace.trace_id}`} className={css['grow']}>
                      {trace.name}
                    </PageLink>
                    <span>{formatDuration(trace.duration_ns)}</span>
                    <Instant at={trace.start_time} />
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      <TroubledRuns />
      <section aria-labelledby="spend">
        <h2 id="spend">Cost and calls</h2>
        <SpendOfToday />
        <SpendOverTime />
      </section>
      <IngestHealth />
    </div>
  );
};
