import { keepPreviousData } from '@tanstack/react-query';
import { useNow } from '../../widgets/now.ts';
import { api, ask } from '../../api/client.ts';
import type { QueryOf } from '../../api/types.ts';
import { cardOf } from '../../model/saved-view.ts';
import { bucketFor, buckets, metrics } from '../../model/series.ts';
import { windowOf } from '../../model/time-range.ts';
import { formatCount, formatMoney, plural } from '../../model/units.ts';
import { lookOf } from '../../model/status.ts';
import { type Params, parseState, shared } from '../../model/url.ts';
import { usePolled } from '../../widgets/live.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { useParam } from '../../widgets/param.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { CostChart } from '../cost/cost-chart.tsx';
import { filterFields } from '../traces/filters.ts';
import css from './boards.module.css';
import { isBoard, type SavedView, useViews } from './read.ts';
import { SavedLink } from './saved-link.tsx';

const MINUTE_MS = 60_000;
/** The card asks for few values, and shows the status of all. */
const VALUES = 5;
const asGiven = { ...shared, ...filterFields } as const;

/** How many traces a list holds, by status: bars with their numbers. */
const TracesCard = ({ project, params }: { readonly project: string; readonly params: Params }) => {
  // What the address does not spell as the list would is left out, as the list leaves it out.
  const asked = { project, ...parseState(asGiven, params), limit: VALUES } as QueryOf<'countTraceFacets'>;
  const query = usePolled({
    queryKey: ['traces', 'facets', 'card', asked],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/traces/facets', { params: { query: asked }, signal })),
    placeholderData: keepPreviousData,
  });
  return (
    <Loaded query={query} what="the counts">
      {({ traces, complete, facets }) => (
        <>
          <p>
            {complete ? '' : 'at least '}
            {plural(traces, 'trace')}
          </p>
          {facets
            .find(({ field }) => field === 'status')
            ?.values.map(({ value, traces: count }) => (
              <label key={value}>
                <StatusMark state={value} /> {formatCount(count)}
                <progress
                  max={Math.max(traces, 1)}
                  value={count}
                  style={{ accentColor: `var(--${lookOf(value).color})` }}
                />
              </label>
            ))}
        </>
      )}
    </Loaded>
  );
};

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
] as const;

const CostCard = ({
  project,
  params,
  name,
}: {
  readonly project: string;
  readonly params: Params;
  readonly name: string;
}) => {
  const now = useNow(MINUTE_MS);
  const { from, to } = params;
  const bucket = buckets.find((one) => one === params['bucket']) ?? bucketFor(...windowOf(from, to, now));
  const metric = metrics.find((one) => one === params['metric']) ?? 'cost';
  const groupBy = groupings.find((one) => one === params['group_by']) ?? 'model';
  const asked = {
    project: params['project'] ?? project,
    group_by: groupBy,
    bucket,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const query = usePolled({
    queryKey: ['cost', asked],
    queryFn: ({ signal }) =>
      ask(
        api.GET('/v1/api/analytics/cost', {
          params: { query: asked },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
  return (
    <Loaded query={query} what="the cost">
      {(report) => (
        <>
          <p>
            {report.total_cost === undefined
              ? '— nothing was priced'
              : formatMoney({ total_cost: report.total_cost, currency: report.currency })}
          </p>
          <CostChart name={name} report={report} bucket={bucket} metric={metric} />
        </>
      )}
    </Loaded>
  );
};

const Card = ({ view }: { readonly view: SavedView }) => {
  const card = cardOf(view.path ?? '');
  return (
    <article className={css['card']} aria-label={view.name}>
      <h2>
        <SavedLink view={view} />
      </h2>
      {card.kind === 'traces' && <TracesCard project={view.project} params={card.params} />}
      {card.kind === 'cost' && <CostCard project={view.project} params={card.params} name={view.name} />}
      {card.kind === 'link' && <code className={css['path']}>{view.path}</code>}
    </article>
  );
};

export default function BoardPage() {
  const viewId = useParam('viewId');
  const query = useViews();
  const board = query.data?.find((view) => isBoard(view) && view.view_id === viewId);
  return (
    <Loaded query={query} what="the board" head="Board">
      {(all) => {
        if (board === undefined)
          return (
            <>
              <PageHead title="Board" />
              <EmptyState title="No such board">
                <p>It was deleted, or is of another project: choose that in the bar on top.</p>
              </EmptyState>
            </>
          );
        const shown = (board.views ?? []).map((id) =>
          all.find((view) => view.view_id === id && view.project === board.project && !isBoard(view)),
        );
        const gone = shown.filter((view) => view === undefined).length;
        return (
          <>
            <PageHead title={board.name} of="Board" />
            <div className={css['board']}>
              {shown.map((view) => view && <Card key={view.view_id} view={view} />)}
              {gone > 0 && (
                <p>
                  {plural(gone, 'view')} of it {gone === 1 ? 'was' : 'were'} deleted.
                </p>
              )}
            </div>
          </>
        );
      }}
    </Loaded>
  );
}
