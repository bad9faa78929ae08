import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import { covers, type ProjectReach, reaches } from '../../model/scope.ts';
import type { WorkerRecord } from '../../store/runs/run-store.ts';
import { storeDefinitions } from '../definition/store-definitions.ts';
import { byId } from '../kernel/slot.ts';
import { type ActorKind, storedSlot } from '../runs-kernel.ts';
import type { Registration } from '../service/runs-service.ts';

export type RegisterMessage = {
  readonly worker: Omit<WorkerRecord, 'workerId' | 'definitions' | 'lastSeenAt'> & {
    readonly registeredBy: ProjectReach;
  };
  readonly definitions: readonly Json[];
};
export type Registered = {
  readonly worker: WorkerRecord;
  readonly definitions: Registration['definitions'];
};

/**
 * True when a key may replace this registration. It must reach the worker's project; for a worker without a project, it must
 * reach every project that the registering key reached.
 */
const mayReplace = (reach: ProjectReach, { project, registeredBy }: WorkerRecord): boolean =>
  project === undefined ? registeredBy === undefined || covers(reach, registeredBy) : reaches(reach, project);

/** Workers as they are registered. */
const workerSlot = storedSlot({
  name: 'worker',
  lifetime: 'group',
  keyOf: byId,
  lookup: (workerId: string) => ({ kind: 'worker', workerId }),
});

/** Registers workers and stores the definitions they hold: all of them, or none when one is refused. */
export const createWorkerActors = (): ActorKind => ({
  type: 'worker',
  receive: (turn, workerId, message): Result<Registered> => {
    const body = message as RegisterMessage;
    const before = turn.read(workerSlot, workerId);
    if (before !== undefined && !mayReplace(body.worker.registeredBy, before))
      return {
        ok: false,
        failure: {
          code: 'forbidden',
          message: 'a worker of a project that this key does not reach has this id; choose another',
          field: 'worker_id',
        },
      };
    const held = storeDefinitions(turn, body.worker.owner, body.definitions);
    if (!held.ok) return held;
    const worker: WorkerRecord = {
      ...body.worker,
      workerId,
      definitions: held.value.map(({ id, version }) => ({ id, version })),
      lastSeenAt: turn.at,
    };
    turn.rows.workers.push(worker);
    turn.write(workerSlot, workerId, worker);
    return { ok: true, value: { worker, definitions: held.value } };
  },
});
