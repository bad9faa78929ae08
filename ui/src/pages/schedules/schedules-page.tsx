import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { firingText, timesText } from '../../model/schedule.ts';
import { formatCount } from '../../model/units.ts';
import { formatState, oneOf, text } from '../../model/url.ts';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { FilterBar } from '../../widgets/filter-bar.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { Listed } from '../../widgets/listed.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';

type Schedule = components['schemas']['ListedSchedule'];

const PAGE_ROWS = 200;
const STATUSES = ['active', 'paused', 'ended'] as const;

const grammar = { status: oneOf(STATUSES), definition_id: text() } as const;
const filterNames = ['status', 'definition_id'] as const;

const columns: readonly Column<Schedule>[] = [
  {
    id: 'id',
    head: 'Schedule',
    isPinned: true,
    cell: ({ id, project }) => (
      <PageLink to={`/schedules/${encodeURIComponent(id)}`} params={{ project }}>
        {id}
      </PageLink>
    ),
  },
  {
    id: 'status',
    head: 'Status',
    cell: ({ status, fault }) =>
      fault === undefined ? <StatusMark state={status ?? '—'} /> : `cannot be loaded: ${fault}`,
  },
  {
    id: 'definition',
    head: 'Starts',
    cell: ({ definition_id: id }) => (id === undefined ? '—' : <PageLink to={`/definitions/${id}`}>{id}</PageLink>),
  },
  { id: 'times', head: 'Times', cell: timesText },
  { id: 'next', head: 'Next', cell: ({ next_at }) => <Instant at={next_at} /> },
  { id: 'last', head: 'Last firing', cell: ({ last_firing: last }) => (last === undefined ? '—' : firingText(last)) },
  { id: 'started', head: 'Started', isNumber: true, cell: ({ started }) => formatCount(started) },
  { id: 'skipped', head: 'Skipped', isNumber: true, cell: ({ skipped }) => formatCount(skipped) },
  { id: 'project', head: 'Project', cell: ({ project }) => project },
];

export default function SchedulesPage() {
  const [{ project }] = useShared();
  const query = { limit: PAGE_ROWS, ...(project === undefined ? {} : { project }) };
  const schedules = usePaged<Schedule>(['schedules', 'list', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/schedules', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.schedules, next: page.next_cursor };
  });
  const [state, setState] = usePageState(grammar);
  const { status, definition_id: definition } = state;
  const active = Object.entries(formatState(grammar, state)).map(([name, value]) => ({ name, value }));
  const clear = (): void => setState({ status: undefined, definition_id: undefined }, 'push');
  const isListed = (row: Schedule): boolean =>
    (status === undefined || row.status === status) && (definition === undefined || row.definition_id === definition);
  return (
    <>
      <PageHead title="Schedules" />
      <FilterBar
        active={active}
        names={filterNames}
        choices={{ status: STATUSES }}
        onSet={(name, value) =>
          setState(
            { [name]: value === undefined ? undefined : grammar[name as keyof typeof grammar].parse(value) },
            'push',
          )
        }
        onClear={clear}
      />
      <Loaded query={schedules} what="schedules">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No schedules">
              <p>
                A schedule starts runs at the times of a cron expression, or each so often. <code>svc schedules</code>{' '}
                or <code>POST /v1/api/schedules</code> makes one.
              </p>
            </EmptyState>
          ) : (
            <Listed what="schedule" rows={rows} listed={rows.filter(isListed)} paged={schedules} fills onClear={clear}>
              {(listed, foot) => (
                <DataTable
                  name="Schedules"
                  columns={columns}
                  rows={listed}
                  idOf={({ id, project: owner }) => `${owner} ${id}`}
                  onEnd={schedules.more}
                  foot={foot}
                />
              )}
            </Listed>
          )
        }
      </Loaded>
    </>
  );
}
