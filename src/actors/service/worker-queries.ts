import type { RunStore } from '../../store/runs/run-store.ts';
import { badCursor } from '../run/run-failures.ts';
import type { WorkerRegistry } from '../workers/registry.ts';
import { attempt } from './calls.ts';
import { page } from './page.ts';
import { listMark, readCursor, writeCursor } from './page-cursor.ts';
import { attemptOf } from './run-views.ts';
import type { LeaseInfo, WorkerInfo, WorkerQueries } from './runs-service.ts';
import { within } from './stored-runs.ts';

/** What is asked about workers and the leases they hold. */
export const createWorkerQueries = (host: {
  readonly store: Pick<RunStore, 'listWorkers' | 'listLiveLeases'>;
  readonly registry: Pick<WorkerRegistry, 'lastSeenAt'>;
  /** How many live leases each worker holds; those that hold none are left out. */
  readonly held: () => ReadonlyMap<string, number>;
}): WorkerQueries => {
  const { store, registry } = host;
  return {
    listWorkers: ({ reach, limit, cursor }) =>
      attempt(async () => {
        const mark = listMark('workers', []);
        const after = cursor === undefined ? undefined : readCursor(cursor, mark)?.[0];
        if (cursor !== undefined && after === undefined) return badCursor;
        const records = await store.listWorkers({
          reach,
          limit: limit + 1,
          ...(after === undefined ? {} : { after }),
        });
        const held = host.held();
        const items = records.map((record): WorkerInfo => {
          const { registeredBy: _, ...worker } = record;
          const { workerId, lastSeenAt } = worker;
          return {
            ...worker,
            lastSeenAt: registry.lastSeenAt(workerId) ?? lastSeenAt,
            leases: held.get(workerId) ?? 0,
          };
        });
        return { ok: true, value: page(items, limit, (last) => writeCursor(mark, [last.workerId])) };
      }),

    listLeases: (query) =>
      attempt(async () => {
        const reach = within(query.project, query.reach);
        if (!reach.ok) return reach;
        const mark = listMark('leases', [query.project]);
        const after = query.cursor === undefined ? undefined : readCursor(query.cursor, mark);
        if (query.cursor !== undefined && after === undefined) return badCursor;
        const rows = await store.listLiveLeases(reach.value, after?.[0], query.limit + 1);
        const leases = rows.map((row): LeaseInfo => {
          const { leaseId, stepId, visit, attempt: number, status, workerId, offeredAt, startedAt } = attemptOf(row);
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
            leaseExpiresAt: row.expiresAt,
          };
        });
        return { ok: true, value: page(leases, query.limit, (last) => writeCursor(mark, [last.leaseId])) };
      }),
  };
};
