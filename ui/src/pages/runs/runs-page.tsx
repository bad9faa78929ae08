import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import { Problem } from '../../api/problem.ts';
import type { components, QueryOf } from '../../api/types.ts';
import { bulkFilterOf } from '../../model/bulk.ts';
import { formatCount, formatMoney, plural, shortId } from '../../model/units.ts';
import { formatState, keepShared, oneOf, type Params, shared, text } from '../../model/url.ts';
import { waitingText } from '../../model/waiting.ts';
import { Age } from '../../widgets/age.tsx';
import { Button } from '../../widgets/button.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { FilterBar } from '../../widgets/filter-bar.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { useSelection } from '../../widgets/selection.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import { filtersCss } from '../../widgets/filters.tsx';
import noteCss from '../overview/overview.module.css';
import { BulkActions } from './bulk.tsx';
import { SelectedRuns } from './selected.tsx';
import { WaitingFacets } from './waiting.tsx';

type RunRow = components['schemas']['RunSummary'];

const STATUSES = ['scheduled', 'queued', 'running', 'waiting', 'paused', 'succeeded', 'failed', 'cancelled'] as const;
const WAITS = ['event', 'timer', 'backoff', 'children', 'worker', 'orphan', 'key'] as const;

const filterFields = {
  status: oneOf(STATUSES),
  definition_id: text(),
  waiting_on: oneOf(WAITS),
  user_id: text(),
  session_id: text(),
  parent_run_id: text(),
  restarted_from: text(),
  stalled: oneOf(['true']),
} as const;
type FilterName = keyof typeof filterFields;
const filterNames = Object.keys(filterFields) as FilterName[];
const PAGE_ROWS = 100;
const MOST_STALLED = 500;
const { environment, ...sharedOfRuns } = shared;
const asked = { ...sharedOfRuns, ...filterFields, 'correlation.environment': environment } as const;

const columns: readonly Column<RunRow>[] = [
  {
    id: 'run',
    head: 'Run',
    isPinned: true,
    cell: (row) => (
      <PageLink to={`/runs/${row.run_id}`}>
        <code>{shortId(row.run_id.replaceAll('-', '').slice(-12))}</code> {row.definition_id}@{row.definition_version}
      </PageLink>
    ),
  },
  { id: 'status', head: 'Status', cell: (row) => <StatusMark state={row.status} /> },
  { id: 'cursor', head: 'At step', cell: (row) => row.cursor ?? row.error?.step_id ?? '—' },
  { id: 'attempts', head: 'Attempts', isNumber: true, cell: (row) => formatCount(row.attempt) },
  { id: 'waiting', head: 'Waiting on', cell: waitingText },
  {
    id: 'why',
    head: 'Why',
    cell: (row) => row.fault ?? row.error?.message ?? row.queued_reason?.replaceAll('_', ' ') ?? '',
  },
  { id: 'steps', head: 'Steps', isNumber: true, cell: (row) => formatCount(row.step_count) },
  { id: 'cost', head: 'Cost', isNumber: true, cell: (row) => formatMoney(row.tree_cost ?? row.cost) },
  { id: 'age', head: 'Age', cell: (row) => <Age at={row.created_at} /> },
  { id: 'updated', head: 'Updated', cell: (row) => <Instant at={row.updated_at} /> },
];

export default function RunsPage() {
  const [sharedState] = useShared();
  const [state, setState] = usePageState(filterFields);
  const navigate = useNavigate();
  const client = useQueryClient();
  const params = useMemo<Params>(
    () => formatState(asked, { ...sharedState, ...state, 'correlation.environment': sharedState.environment }),
    [sharedState, state],
  );
  const paramsKey = JSON.stringify(params);
  const query = useMemo(() => JSON.parse(paramsKey) as QueryOf<'listRuns'>, [paramsKey]);
  const isStalled = state.stalled === 'true';
  const runs = usePaged<RunRow>(['runs', 'list', paramsKey], async (cursor, signal) => {
    // A list of its own, of at most one page: the other filters are not its.
    if (isStalled) {
      const { project } = sharedState;
      const given = { limit: MOST_STALLED, ...(project === undefined ? {} : { project }) };
      const page = await ask(api.GET('/v1/api/runs/stalled', { params: { query: given }, signal }));
      return { rows: page.runs, next: undefined };
    }
    const given = { ...query, limit: PAGE_ROWS, ...(cursor === undefined ? {} : { cursor }) };
    const page = await ask(api.GET('/v1/api/runs', { params: { query: given }, signal }));
    return { rows: page.runs, next: page.next_cursor };
  });
  const selection = useSelection(paramsKey);
  const filter = useMemo(() => (isStalled ? undefined : bulkFilterOf(query)), [query, isStalled]);
  const readAgain = useCallback(() => void client.invalidateQueries({ queryKey: ['runs', 'list'] }), [client]);
  // What does not filter the list is not shown as if it did.
  const active = (isStalled ? (['stalled'] as const) : filterNames).flatMap((name) => {
    const value = params[name];
    return value === undefined ? [] : [{ name, value }];
  });
  const clear = (): void => setState(Object.fromEntries(filterNames.map((name) => [name, undefined])), 'push');

  if (runs.error instanceof Problem && runs.error.code === 'runs_disabled')
    return (
      <>
        <PageHead title="Runs" />
        <EmptyState title="Durable runs are turned off">
          <p>
            The service was started with <code>--runs-data off</code>. Started without it, it keeps runs in a file of
            their own.
          </p>
        </EmptyState>
      </>
    );
  return (
    <>
      <PageHead title="Runs" actions={<BulkActions filter={filter} onDone={readAgain} />} />
      <FilterBar
        active={active}
        names={filterNames}
        choices={{ status: STATUSES, waiting_on: WAITS, stalled: ['true'] }}
        onSet={(name, value) =>
          setState({ [name]: value === undefined ? undefined : filterFields[name as FilterName].parse(value) }, 'push')
        }
        onClear={clear}
      />
      {isStalled ? (
        <p className={`${filtersCss['filters']} ${noteCss['note']}`}>
          Runs whose step is open for longer than 95 of 100 of its finished visits took; those that moved longest ago
          come first.
        </p>
      ) : (
        <WaitingFacets
          query={query}
          chosen={state.waiting_on}
          onChoose={(waitingOn) => setState({ waiting_on: waitingOn }, 'push')}
        />
      )}
      <Loaded query={runs} what="runs">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={active.length === 0 ? 'No runs' : 'No run matches'}>
              {active.length === 0 ? (
                <p>
                  A run is started with <code>POST /v1/api/runs</code> or <code>svc runs start</code>; workers serve its
                  steps.
                </p>
              ) : (
                <Button onClick={clear}>Clear all filters</Button>
              )}
            </EmptyState>
          ) : (
            <>
              <DataTable
                name="Runs"
                columns={columns}
                rows={rows}
                idOf={(row) => row.run_id}
                onOpen={(row) =>
                  void navigate({ to: `/runs/${row.run_id}`, search: (before: Params) => keepShared(before) })
                }
                selection={selection}
                onEnd={runs.more}
                foot={`${plural(rows.length, 'run')} shown${runs.hasMore ? ', more below' : ''}`}
              />
              <SelectedRuns selection={selection} project={sharedState.project} onDone={readAgain} />
            </>
          )
        }
      </Loaded>
    </>
  );
}
