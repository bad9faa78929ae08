import { keepPreviousData } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import { type Bucket, bucketFor, buckets, countedBy, metrics } from '../../model/series.ts';
import { windowOf } from '../../model/time-range.ts';
import { formatMoney, plural } from '../../model/units.ts';
import { oneOf } from '../../model/url.ts';
import { Instant } from '../../widgets/instant.tsx';
import { useNow } from '../../widgets/now.ts';
import { usePolled } from '../../widgets/live.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { CostChart } from './cost-chart.tsx';
import css from './cost.module.css';
import { Groups, type Grouping } from './groups.tsx';

const groupings = [
  'model',
  'provider',
  'entity_name',
  'environment',
  'status',
  'session_id',
  'user_id',
  'service_name',
  'name',
] as const satisfies readonly Grouping[];

const grammar = {
  group_by: oneOf(groupings, 'model'),
  bucket: oneOf(buckets),
  metric: oneOf(metrics, 'cost'),
} as const;

/** The service cuts here. */
const MOST_GROUPS = 100;
const MOST_POINTS = 5000;
const MINUTE_MS = 60_000;

const Choice = <T extends string>({
  name,
  value,
  words,
  onChoose,
}: {
  readonly name: string;
  readonly value: T;
  readonly words: readonly { readonly value: T; readonly word: string }[];
  readonly onChoose: (value: T) => void;
}) => (
  <label>
    {name}
    <select
      value={value}
      onChange={({ target }) => {
        const chosen = words.find((one) => one.value === target.value);
        if (chosen !== undefined) onChoose(chosen.value);
      }}
    >
      {words.map((one) => (
        <option key={one.value} value={one.value}>
          {one.word}
        </option>
      ))}
    </select>
  </label>
);

export default function CostPage() {
  const [{ project, from, to, environment }] = useShared();
  const now = useNow(MINUTE_MS);
  const [state, setState] = usePageState(grammar);
  const groupBy = state.group_by ?? 'model';
  const metric = state.metric ?? 'cost';
  const bucket: Bucket = state.bucket ?? bucketFor(...windowOf(from, to, now));
  const query = {
    group_by: groupBy,
    bucket,
    ...(project === undefined ? {} : { project }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const cost = usePolled({
    queryKey: ['cost', query],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/analytics/cost', { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
  const counted = countedBy(groupBy);
  return (
    <>
      <PageHead title="Cost" />
      <div className={css['page']}>
        <div role="group" aria-label="Chart" className={css['choices']}>
          <Choice
            name="Group by"
            value={groupBy}
            words={groupings.map((value) => ({ value, word: value.replaceAll('_', ' ') }))}
            onChoose={(group_by) => setState({ group_by }, 'push')}
          />
          <Choice
            name="Bucket"
            value={state.bucket ?? ''}
            words={[{ value: '', word: `fitting (${bucket})` }, ...buckets.map((value) => ({ value, word: value }))]}
            onChoose={(chosen) => setState({ bucket: chosen === '' ? undefined : chosen })}
          />
          <Choice
            name="Show"
            value={metric}
            words={[
              { value: 'cost', word: 'cost' },
              { value: 'count', word: counted.toLowerCase() },
            ]}
            onChoose={(chosen) => setState({ metric: chosen })}
          />
        </div>
        <Loaded query={cost} what="the report of costs">
          {(report) => {
            const isPriced = report.groups.some(({ total_cost }) => total_cost !== undefined);
            return (
              <>
                <div className={css['total']}>
                  <b>
                    {formatMoney(
                      isPriced && report.total_cost !== undefined
                        ? { total_cost: report.total_cost, currency: report.currency }
                        : undefined,
                    )}
                  </b>
                  <span>
                    {isPriced ? 'total' : 'nothing was priced'}, <Instant at={report.from} /> to{' '}
                    <Instant at={report.to} />
                  </span>
                </div>
                <p className={css['note']}>
                  Priced spans only. Calls of models that are not in the price book and carry no cost are in no group:{' '}
                  <PageLink to="/doctor">Doctor</PageLink> names them.
                  {environment !== undefined && ' The environment of the bar on top does not narrow this report.'}
                </p>
                {report.groups.length === 0 ? (
                  <EmptyState title={`No ${counted.toLowerCase()} in this window`} />
                ) : (
                  <>
                    <CostChart
                      name={`${metric === 'cost' ? 'Cost' : counted} over time`}
                      report={report}
                      bucket={bucket}
                      metric={metric}
                    />
                    {(report.series?.length ?? 0) >= MOST_POINTS && (
                      <p className={css['note']}>The chart is cut at {MOST_POINTS} points: choose a wider bucket.</p>
                    )}
                    <Groups report={report} groupBy={groupBy} />
                    <p className={css['note']}>
                      {report.groups.length >= MOST_GROUPS
                        ? `The ${MOST_GROUPS} largest groups; the service gives no more.`
                        : plural(report.groups.length, 'group')}
                    </p>
                  </>
                )}
              </>
            );
          }}
        </Loaded>
      </div>
    </>
  );
}
