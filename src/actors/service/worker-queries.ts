import { pageOf } from '../../model/page.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import type { WorkerRegistry } from '../workers/registry.ts';
import { attempt } from './calls.ts';
import { attemptOf } from './run-views.ts';
import type { LeaseInfo, LeaseTimes, WorkerInfo, WorkerQueries } from './runs-service.ts';
import { within } from './stored-runs.ts';

/** What is asked about workers and the leases they hold. */
export const createWorkerQueries = (host: {
  readonly store: Pick<RunStore, 'listWorkers' | 'listLiveLeases' | 'leasesHeld'>;
  readonly registry: Pick<WorkerRegistry, 'lastSeenAt'>;
  /** How many live leases each worker holds, where memory knows all of them; those that hold none are left out. */
  readonly held: (() => ReadonlyMap<string, number>) | undefined;
  readonly leaseTimes: LeaseTimes;
}): WorkerQueries => {
  const { store, registry } = host;
  return {
    listWorkers: ({ reach, limit, after }) =>
      attempt(async () => {
        const records = await store.listWorkers({
          reach,
          limit: limit + 1,
          ...(after === undefined ? {} : { after: String(after[0]) }),
        });
        // A worker may serve several projects: what it holds of others is not for those who see some.
        const held = reach === 'all' && host.held !== undefined ? host.held() : await store.leasesHeld(reach);
        const items = records.map((record): WorkerInfo => {
          const { registeredBy: _, ...worker } = record;
          const { workerId, lastSeenAt } = worker;
          return {
            ...worker,
            lastSeenAt: registry.lastSeenAt(workerId) ?? lastSeenAt,
            leases: held.get(workerId) ?? 0,
          };
        });
        return { ok: true, value: pageOf(items, limit, (last) => [last.workerId]) };
      }),

    listLeases: (query) =>
      attempt(async () => {
        const reach = within(query.project, query.reach);
        if (!reach.ok) return reach;
        const { limit, after } = query;
        const rows = await store.listLiveLeases(
          reach.value,
          after === undefined ? undefined : String(after[0]),
          limit + 1,
        );
        const leases = rows.map((row): LeaseInfo => {
          const {
            leaseId,
            stepId,
            visit,
            attempt: number,
            status,
            workerId,
            offeredAt,
            startedAt,
            lastHeartbeatAt,
          } = attemptOf(row);
          return {
            leaseId,
            runId: row.runId,
            project: row.project,
            definitionId: row.definitionId,
            definitionVersion: row.definitionVersion,
            stepId,
            visit,
            attempt: number,
            status,
            workerId,
            offeredAt,
            ...(startedAt === undefined ? {} : { startedAt }),
            ...(lastHeartbeatAt === undefined ? {} : { lastHeartbeatAt }),
            leaseExpiresAt: row.expiresAt,
          };
        });
        return { ok: true, value: { ...pageOf(leases, limit, (last) => [last.leaseId]), times: host.leaseTimes } };
      }),
  };
};
