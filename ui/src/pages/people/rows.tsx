import type { components } from '../../api/types.ts';
import { formatCount, formatMoney, formatShare, UNKNOWN } from '../../model/units.ts';
import type { Column } from '../../widgets/data-table.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageLink } from '../../widgets/page-link.tsx';

type RollUp = components['schemas']['RollUp'];
/** A session or a user, under its id. */
export type PeopleRow = RollUp & { readonly id: string };

export const columnsOf = (head: string, path: string): readonly Column<PeopleRow>[] => [
  {
    id: 'id',
    head,
    isPinned: true,
    cell: ({ id, project }) => (
      <PageLink to={`${path}/${encodeURIComponent(id)}`} params={{ project }}>
        {id}
      </PageLink>
    ),
  },
  { id: 'project', head: 'Project', cell: ({ project }) => project },
  {
    id: 'traces',
    head: 'Traces',
    sort: 'trace_count',
    isNumber: true,
    cell: ({ trace_count }) => formatCount(trace_count),
  },
  {
    id: 'errors',
    head: 'Failed',
    sort: 'error_count',
    isNumber: true,
    cell: ({ trace_count, error_count }) =>
      trace_count === 0 ? UNKNOWN : `${formatCount(error_count)} (${formatShare(error_count / trace_count)})`,
  },
  { id: 'cost', head: 'Cost', sort: 'cost', isNumber: true, cell: ({ cost }) => formatMoney(cost) },
  { id: 'first', head: 'First seen', sort: 'first_seen', cell: ({ first_seen }) => <Instant at={first_seen} /> },
  { id: 'last', head: 'Last seen', sort: 'last_seen', cell: ({ last_seen }) => <Instant at={last_seen} /> },
];
