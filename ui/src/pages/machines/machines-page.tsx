import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { formatCount, plural } from '../../model/units.ts';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';

type Machine = components['schemas']['Machine'];

const PAGE_ROWS = 100;

const isOfRuns = ({ name }: Machine): boolean => name.startsWith('run:');

const columns: readonly Column<Machine>[] = [
  {
    id: 'name',
    head: 'Machine',
    isPinned: true,
    cell: (machine) => (
      <PageLink
        to={`/machines/${encodeURIComponent(machine.name)}`}
        params={machine.project === undefined ? {} : { project: machine.project }}
      >
        {machine.name}
      </PageLink>
    ),
  },
  { id: 'of', head: 'Of', cell: (machine) => (isOfRuns(machine) ? 'runs of a definition' : 'the service') },
  { id: 'project', head: 'Project', cell: ({ project }) => project ?? 'all' },
  { id: 'version', head: 'Version', isNumber: true, cell: ({ version }) => formatCount(version) },
  { id: 'count', head: 'States', isNumber: true, cell: ({ states }) => formatCount(states.length) },
  { id: 'states', head: 'Which', cell: ({ states }) => states.join(', ') },
];

export default function MachinesPage() {
  const machines = usePaged<Machine>(['machines', 'list'], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/machines', {
        params: { query: { limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.machines, next: page.next_cursor };
  });
  return (
    <>
      <PageHead title="Machines" />
      <Loaded query={machines} what="machines">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No machines" />
          ) : (
            <DataTable
              name="Machines"
              columns={columns}
              rows={rows}
              idOf={({ name, project }) => `${project ?? ''} ${name}`}
              onEnd={machines.more}
              foot={`${plural(rows.length, 'machine')} shown${machines.hasMore ? '; scroll for more' : ''}`}
            />
          )
        }
      </Loaded>
    </>
  );
}
