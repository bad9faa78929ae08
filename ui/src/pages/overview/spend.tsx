import { api, ask } from '../../api/client.ts';
import { bucketFor } from '../../model/series.ts';
import { windowOf } from '../../model/time-range.ts';
import { formatMoney, plural } from '../../model/units.ts';
import { useNow } from '../../widgets/now.ts';
import { usePolled } from '../../widgets/live.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { Loaded } from '../../widgets/states.tsx';
import { CostChart } from '../cost/cost-chart.tsx';
import css from './overview.module.css';

const DAYS_BEFORE = 7;
const MINUTE_MS = 60_000;

/** What the last day cost, beside a mean day of the week before it. */
export const SpendOfToday = () => {
  const [{ project }] = useShared();
  const of = project === undefined ? {} : { project };
  const query = usePolled({
    queryKey: ['summary', 'today', project],
    queryFn: async ({ signal }) => {
      // Of traces, which are added up as they come: a report on the calls of eight days takes several times as long.
      const read = (from: string, to: string) =>
        ask(api.GET('/v1/api/analytics/summary', { params: { query: { ...of, from, to } }, signal }));
      const [today, before] = await Promise.all([read('-24h', '-0s'), read(`-${DAYS_BEFORE + 1}d`, '-24h')]);
      return { today, before };
    },
  });
  return (
    <Loaded query={query} what="what was spent">
      {({ today, before }) => {
        const money = ({ total_cost: total, currency }: typeof today, days: number): string =>
          formatMoney(total === undefined ? undefined : { total_cost: total / days, currency });
        return (
          <p>
            Last 24 hours: <b>{money(today, 1)}</b> for {plural(today.trace_count, 'trace')}; mean of the {DAYS_BEFORE}{' '}
            days before: <b>{money(before, DAYS_BEFORE)}</b> a day. <PageLink to="/cost">Where it goes</PageLink>
          </p>
        );
      }}
    </Loaded>
  );
};

/** Cost and calls of the chosen window, by model. */
export const SpendOverTime = () => {
  const [{ project, from, to }] = useShared();
  const now = useNow(MINUTE_MS);
  const bucket = bucketFor(...windowOf(from, to, now));
  const query = {
    group_by: 'model' as const,
    bucket,
    ...(project === undefined ? {} : { project }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const cost = usePolled({
    queryKey: ['cost', query],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/analytics/cost', { params: { query }, signal })),
  });
  return (
    <Loaded query={cost} what="cost over time">
      {(report) =>
        report.groups.length === 0 ? (
          <p className={css['note']}>No model calls in this window.</p>
        ) : (
          <div className={css['charts']}>
            <CostChart name="Cost over time" report={report} bucket={bucket} metric="cost" />
            <CostChart name="Model calls over time" report={report} bucket={bucket} metric="count" />
          </div>
        )
      }
    </Loaded>
  );
};
