import { useMemo } from 'react';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { inTrouble, isSilent, type LeaseTimes, leaseStates, stateOfLease } from '../../model/lease-clock.ts';
import { LEASE_CALLS } from '../../model/refusals.ts';
import { formatAge, formatCount, shortId } from '../../model/units.ts';
import { formatState, oneOf, text } from '../../model/url.ts';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { FilterBar } from '../../widgets/filter-bar.tsx';
import { Instant } from '../../widgets/instant.tsx';
import { LastHeartbeat, LeaseClock, LeaseState, useLeaseTimes } from '../../widgets/lease-clock.tsx';
import { Listed } from '../../widgets/listed.tsx';
import { usePolled } from '../../widgets/live.tsx';
import { useNow } from '../../widgets/now.ts';
import { PageHead } from '../../widgets/page-head.tsx';
import { PageLink } from '../../widgets/page-link.tsx';
import { type Paged, usePaged } from '../../widgets/paged.ts';
import { usePageState, useShared } from '../../widgets/page-state.ts';
import { PlainTable } from '../../widgets/plain-table.tsx';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { EmptyState, Loaded } from '../../widgets/states.tsx';
import { StatusMark } from '../../widgets/status-mark.tsx';
import css from './workers.module.css';

type Worker = components['schemas']['Worker'];
type Lease = components['schemas']['LiveLease'];

const PAGE_ROWS = 200;

const grammar = { state: oneOf(leaseStates), worker: text(), definition: text() } as const;
const filterNames = ['state', 'worker', 'definition'] as const;

/** Ages change by themselves. If the columns changed with them, every cell would be drawn anew while somebody reads or points at it. */
const Seen = ({ at }: { readonly at: string }) => {
  const now = useNow();
  return (
    <>
      {isSilent(at, now) && <StatusMark state="silent" />} {formatAge(at, now)}
    </>
  );
};

const workerColumns: readonly Column<Worker>[] = [
  {
    id: 'worker',
    head: 'Worker',
    isPinned: true,
    cell: ({ worker_id, name }) => (
      <PageLink to="/workers" params={{ worker: worker_id }}>
        {name === undefined ? worker_id : `${name} (${worker_id})`}
      </PageLink>
    ),
  },
  {
    id: 'seen',
    head: 'Last seen',
    cell: ({ last_seen_at }) => <Seen at={last_seen_at} />,
  },
  {
    id: 'leases',
    head: 'Leases',
    isNumber: true,
    cell: ({ leases, concurrency }) =>
      concurrency === undefined ? formatCount(leases) : `${formatCount(leases)} of ${formatCount(concurrency)}`,
  },
  { id: 'version', head: 'Version', cell: ({ version }) => version ?? '—' },
  { id: 'project', head: 'Project', cell: ({ project }) => project ?? 'any' },
  {
    id: 'definitions',
    head: 'Serves',
    cell: ({ definitions }) => definitions.map(({ id, version }) => `${id}@${version}`).join(', ') || '—',
  },
];

const leaseColumnsOf = (times: LeaseTimes | undefined): readonly Column<Lease>[] => [
  {
    id: 'step',
    head: 'Step',
    isPinned: true,
    cell: ({ lease_id, definition_id, step_id }) => (
      <PageLink to={`/actors/lease/${encodeURIComponent(lease_id)}`}>
        {definition_id} › {step_id}
      </PageLink>
    ),
  },
  { id: 'status', head: 'Status', cell: (lease) => <LeaseState lease={lease} times={times} /> },
  { id: 'clock', head: 'By itself', cell: (lease) => <LeaseClock lease={lease} times={times} /> },
  { id: 'heartbeat', head: 'Last heartbeat', cell: ({ last_heartbeat_at: at }) => <LastHeartbeat at={at} /> },
  {
    id: 'run',
    head: 'Run',
    cell: ({ run_id }) => (
      <PageLink to={`/runs/${encodeURIComponent(run_id)}`} label={`run ${run_id}`}>
        <code>
          {shortId(run_id)}…{run_id.slice(-4)}
        </code>
      </PageLink>
    ),
  },
  { id: 'attempt', head: 'Attempt', isNumber: true, cell: ({ attempt }) => formatCount(attempt) },
  { id: 'worker', head: 'Worker', cell: ({ worker_id }) => worker_id },
  { id: 'offered', head: 'Offered', cell: ({ offered_at }) => <Instant at={offered_at} /> },
  { id: 'started', head: 'Started', cell: ({ started_at }) => <Instant at={started_at} /> },
];

type Refusal = components['schemas']['Refusals']['refusals'][number];

const refusalColumns: readonly Column<Refusal>[] = [
  { id: 'call', head: 'Call', cell: ({ door }) => <code>{door.slice(LEASE_CALLS.length)}</code> },
  { id: 'reason', head: 'Reason', cell: ({ code }) => <StatusMark state={code} /> },
  { id: 'count', head: 'Times', isNumber: true, cell: ({ count }) => formatCount(count) },
  { id: 'last', head: 'Last', cell: ({ last_at }) => <Instant at={last_at} /> },
];

/** Calls on leases that came too late, or from a worker that holds no lease any more. */
const RefusedCalls = () => {
  const may = useMay('admin');
  const query = usePolled({
    queryKey: ['refusals'],
    enabled: may === true,
    queryFn: ({ signal }) => ask(api.GET('/v1/api/refusals', { signal })),
  });
  return (
    <>
      <h2 className={css['head']}>
        Refused calls <NeedsScope scope="admin" may={may} />
      </h2>
      {may === true && (
        <Loaded query={query} what="refused calls">
          {({ refusals, since }) => {
            const ofLeases = refusals.filter(({ door }) => door.startsWith(LEASE_CALLS));
            return (
              <div className={css['head']}>
                {ofLeases.length > 0 && (
                  <PlainTable
                    name="Refused calls"
                    columns={refusalColumns}
                    rows={ofLeases}
                    idOf={({ door, code, field }) => [door, code, field ?? ''].join(' ')}
                  />
                )}
                <p>
                  {ofLeases.length === 0 ? 'No call on a lease was refused' : 'Calls on leases, by reason,'} since{' '}
                  <Instant at={since} />, when the service started.
                </p>
              </div>
            );
          }}
        </Loaded>
      )}
    </>
  );
};

type LeaseFilter = Partial<Readonly<Record<(typeof filterNames)[number], string | undefined>>>;

/** Live leases, those in trouble first. A lease becomes expiring by itself: the order is made anew when that happens, not each second. */
const Leases = ({
  rows,
  filter,
  leases,
  onClear,
}: {
  readonly rows: readonly Lease[];
  readonly filter: LeaseFilter;
  readonly leases: Pick<Paged<Lease>, 'hasMore' | 'more'>;
  readonly onClear: () => void;
}) => {
  const times = useLeaseTimes();
  const columns = useMemo(() => leaseColumnsOf(times), [times]);
  const now = useNow();
  const states = rows.map((row) => stateOfLease(row, times, now)).join(' ');
  const { state, worker, definition } = filter;
  const listed = useMemo(() => {
    const shown = states.split(' ');
    const ours = rows
      .map((row, at) => ({ row, shown: shown[at] ?? row.status }))
      .filter(
        (one) =>
          (state === undefined || one.shown === state || one.row.status === state) &&
          (worker === undefined || one.row.worker_id === worker) &&
          (definition === undefined || one.row.definition_id === definition),
      );
    return inTrouble(ours, (one) => one.shown).map(({ row }) => row);
  }, [rows, states, state, worker, definition]);
  return (
    <Listed
      what="lease"
      rows={rows}
      listed={listed}
      paged={leases}
      order="orphaned first, then expiring, then the oldest"
      onClear={onClear}
    >
      {(shown, foot) => (
        <DataTable
          name="Leases"
          columns={columns}
          rows={shown}
          idOf={({ lease_id }) => lease_id}
          onEnd={leases.more}
          foot={foot}
        />
      )}
    </Listed>
  );
};

export default function WorkersPage() {
  const [{ project }] = useShared();
  const query = { limit: PAGE_ROWS, ...(project === undefined ? {} : { project }) };
  const workers = usePaged<Worker>(['workers', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/workers', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.workers, next: page.next_cursor };
  });
  const leases = usePaged<Lease>(['leases', query], async (cursor, signal) => {
    const page = await ask(
      api.GET('/v1/api/leases', {
        params: { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } },
        signal,
      }),
    );
    return { rows: page.leases, next: page.next_cursor };
  });
  const [state, setState] = usePageState(grammar);
  const { worker, definition } = state;
  const active = Object.entries(formatState(grammar, state)).map(([name, value]) => ({ name, value }));
  const clear = (): void => setState({ state: undefined, worker: undefined, definition: undefined }, 'push');
  const isOurs = (row: Worker): boolean =>
    (worker === undefined || row.worker_id === worker || row.name === worker) &&
    (definition === undefined || row.definitions.some(({ id }) => id === definition));
  return (
    <>
      <PageHead title="Workers" />
      <FilterBar
        active={active}
        names={filterNames}
        choices={{ state: leaseStates }}
        onSet={(name, value) =>
          setState(
            { [name]: value === undefined ? undefined : grammar[name as keyof typeof grammar].parse(value) },
            'push',
          )
        }
        onClear={clear}
      />
      <Loaded query={workers} what="workers">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title="No workers">
              <p>A worker registers what it serves and then claims steps. Runs wait until one does.</p>
            </EmptyState>
          ) : (
            <Listed what="worker" rows={rows} listed={rows.filter(isOurs)} paged={workers} onClear={clear}>
              {(listed, foot) => (
                <DataTable
                  name="Workers"
                  columns={workerColumns}
                  rows={listed}
                  idOf={({ worker_id }) => worker_id}
                  onEnd={workers.more}
                  foot={foot}
                />
              )}
            </Listed>
          )
        }
      </Loaded>
      <h2 className={css['head']}>Live leases</h2>
      <Loaded query={leases} what="leases">
        {(rows) =>
          rows.length === 0 ? (
            <p className={css['none']}>No worker holds a step at the moment.</p>
          ) : (
            <Leases rows={rows} filter={state} leases={leases} onClear={clear} />
          )
        }
      </Loaded>
      <RefusedCalls />
    </>
  );
}
