import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { plural, UNKNOWN } from '../../model/units.ts';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { useListQuery } from '../people/use-list-query.ts';

type Experiment = components['schemas']['Experiment'];

const columns: readonly Column<Experiment>[] = [
  {
    id: 'name',
    head: 'Name',
    isPinned: true,
    cell: ({ experiment_id, name, project }) => (
      <PageLink to={`/experiments/${encodeURIComponent(experiment_id)}`} params={{ project }}>
        {name}
      </PageLink>
    ),
  },
  { id: 'project', head: 'Project', cell: ({ project }) => project },
  {
    id: 'dataset',
    head: 'Dataset',
    cell: ({ dataset_id, project }) =>
      dataset_id === undefined ? (
        UNKNOWN
      ) : (
        <PageLink to={`/datasets/${encodeURIComponent(dataset_id)}`} params={{ project }}>
          {dataset_id}
        </PageLink>
      ),
  },
  { id: 'version', head: 'Version', cell: ({ service_version }) => service_version ?? UNKNOWN },
  { id: 'created', head: 'Created', cell: ({ created_at }) => <Instant at={created_at} /> },
  {
    id: 'compare',
    head: 'Compare',
    cell: ({ experiment_id, name, project }) => (
      <PageLink
        to="/experiments/compare"
        params={{ baseline: experiment_id, project }}
        label={`Compare with ${name} as the baseline`}
      >
        as the baseline
      </PageLink>
    ),
  },
];

export default function ExperimentsPage() {
  const query = useListQuery();
  const experiments = usePaged<Experiment>(['experiments', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/experiments', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.experiments, next: page.next_cursor };
  });
  return (
    <>
      <PageHead title="Experiments" actions={<PageLink to="/experiments/compare">Compare two</PageLink>} />
      <Loaded query={experiments} what="experiments">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No experiments">
              <p>
                <code>POST /v1/api/experiments</code> records one; scores belong to it by their{' '}
                <code>experiment_id</code>.
              </p>
            </EmptyState>
          ) : (
            <DataTable
              name="Experiments"
              columns={columns}
              rows={rows}
              idOf={({ project, experiment_id }) => `${project} ${experiment_id}`}
              onEnd={experiments.more}
              foot={`${plural(rows.length, 'experiment')} shown${experiments.hasMore ? '; scroll for more' : ''}`}
            />
          )
        }
      </Loaded>
    </>
  );
}
