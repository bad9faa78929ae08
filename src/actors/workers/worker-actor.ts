import { hashDefinition } from '../../model/definition/hash.ts';
import { parseDefinition } from '../../model/definition/parse.ts';
import type { Result } from '../../model/failure.ts';
import type { Json } from '../../model/json.ts';
import { covers, type ProjectReach, reaches } from '../../model/scope.ts';
import type { DefinitionRecord, WorkerRecord } from '../../store/runs/run-store.ts';
import { byId } from '../kernel/slot.ts';
import { type ActorKind, storedSlot, type Turn } from '../runs-kernel.ts';
import { definitionSlot, latestDefinitionSlot } from '../run/program.ts';
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
    const held: Registration['definitions'][number][] = [];
    const created: DefinitionRecord[] = [];
    for (const [index, document] of body.definitions.entries()) {
      const parsed = parseDefinition(document);
      if (!parsed.ok) return { ok: false, failure: { ...parsed.failure, field: `definitions[${index}]` } };
      const { id, version } = parsed.value;
      const hash = hashDefinition(document);
      const stored =
        created.find((record) => record.id === id && record.version === version) ??
        turn.read(definitionSlot, { id, version });
      if (stored !== undefined && stored.hash !== hash)
        return {
          ok: false,
          failure: {
            code: 'definition_conflict',
            message: `definition ${id} version ${version} is stored with other content; a changed definition needs a higher version`,
            field: `definitions[${index}]`,
          },
        };
      if (stored === undefined) {
        turn.read(latestDefinitionSlot, id);
        created.push({ id, version, document: JSON.stringify(document), hash, createdAt: turn.at });
      }
      held.push({ id, version, stored: stored === undefined ? 'created' : 'unchanged' });
    }
    for (const record of created) storeDefinition(turn, record);
    const worker: WorkerRecord = {
      ...body.worker,
      workerId,
      definitions: held.map(({ id, version }) => ({ id, version })),
      lastSeenAt: turn.at,
    };
    turn.rows.workers.push(worker);
    turn.write(workerSlot, workerId, worker);
    return { ok: true, value: { worker, definitions: held } };
  },
});

const storeDefinition = (turn: Turn, record: DefinitionRecord): void => {
  turn.rows.definitions.push(record);
  turn.write(definitionSlot, record, record);
  const latest = turn.read(latestDefinitionSlot, record.id);
  if (latest === undefined || latest.version < record.version) turn.write(latestDefinitionSlot, record.id, record);
};
