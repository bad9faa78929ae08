import { ownedId } from '../../model/definition/owner.ts';
import type { QueuedReason, UnixMs } from '../../model/run.ts';
import { reaches } from '../../model/scope.ts';
import type { RunRecord, WorkerRecord } from '../../store/runs/run-store.ts';
import type { PausedDefinitions } from '../definition/paused-definitions.ts';
import type { PinnedDefinition } from '../run/program.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { WorkerRegistry } from './registry.ts';

/** A worker that missed so many heartbeats is not there any more. */
const HEARTBEATS_MISSED = 3;

/** Whether runs of this project may be served by this worker. */
const serves = ({ project, registeredBy }: WorkerRecord, runProject: string): boolean =>
  (project === undefined || project === runProject) &&
  (registeredBy === undefined || reaches(registeredBy, runProject));

/**
 * Workers that are there: a claim of theirs is held, or they called within three heartbeats. Memory alone says so: after a
 * restart a worker is there from its first call on.
 */
export const createLiveWorkers = (host: {
  readonly registry: Pick<WorkerRegistry, 'findAll' | 'seenSince'>;
  readonly dispatcher: Pick<Dispatcher, 'claimers' | 'refuses'>;
  readonly pausedDefinitions: Pick<PausedDefinitions, 'holds'>;
  readonly steady: () => UnixMs;
  readonly heartbeatMs: number;
}) => {
  const all = (): Promise<readonly WorkerRecord[]> => {
    const since = host.steady() - HEARTBEATS_MISSED * host.heartbeatMs;
    return host.registry.findAll([...new Set([...host.dispatcher.claimers(), ...host.registry.seenSince(since)])]);
  };

  return {
    all,

    /** Why each of these runs waits for a worker; only those that do. */
    queuedReasons: async (
      records: readonly Pick<RunRecord, 'runId' | 'status' | 'project' | 'held' | keyof PinnedDefinition>[],
    ): Promise<ReadonlyMap<string, QueuedReason>> => {
      const queued = records.filter(({ status, held }) => status === 'queued' && held === undefined);
      if (queued.length === 0) return new Map();
      const byDefinition = Map.groupBy(
        (await all()).flatMap((worker) =>
          [...new Set(worker.definitions.map(({ id }) => ownedId(worker.owner, id)))].map((key) => ({ key, worker })),
        ),
        ({ key }) => key,
      );
      const reasonOf = (run: (typeof queued)[number]): QueuedReason => {
        if (host.pausedDefinitions.holds(run)) return 'definition_paused';
        const { project, definitionOwner, definitionId, definitionVersion } = run;
        const holders = (byDefinition.get(ownedId(definitionOwner, definitionId)) ?? []).flatMap(({ worker }) =>
          serves(worker, project) ? [worker] : [],
        );
        if (holders.length === 0) return 'no_worker';
        const isServed = holders.some(
          ({ workerId, definitions }) =>
            definitions.some(({ id, version }) => id === definitionId && version === definitionVersion) &&
            !host.dispatcher.refuses(workerId, run),
        );
        return isServed ? 'workers_busy' : 'version_missing';
      };
      // A page of one definition has one reason, however many workers there are.
      const known = new Map<string, QueuedReason>();
      return new Map(
        queued.map((record) => {
          const key = JSON.stringify([
            record.project,
            record.definitionOwner,
            record.definitionId,
            record.definitionVersion,
          ]);
          const reason = known.get(key) ?? reasonOf(record);
          known.set(key, reason);
          return [record.runId, reason];
        }),
      );
    },
  };
};
export type LiveWorkers = ReturnType<typeof createLiveWorkers>;
