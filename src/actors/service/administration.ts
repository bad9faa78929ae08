import type { RunStore } from '../../store/runs/run-store.ts';
import { findPausedWork } from '../definition/paused-work.ts';
import { findIdleSchedules } from '../schedule/idle-schedules.ts';
import { contextOf } from '../run/stored-context.ts';
import type { UpkeepMessage } from '../upkeep-actor.ts';
import { attempt } from './calls.ts';
import type { ErasedTraces, RunAdministration } from './runs-service.ts';

/** Runs that one commit erases. */
const ERASE_SLICE = 500;
/** Stuck runs that are looked for at most: there must be none. */
const STUCK_LIMIT = 1000;
/** Idle schedules, and paused definitions with due work, that are named. */
const NAMED_LIMIT = 20;

/** What the service does with runs as a whole: erases and trims them, and counts what monitors and `doctor` ask for. */
export const createRunAdministration = (host: {
  readonly store: Pick<
    RunStore,
    | 'subjectRuns'
    | 'finishedRuns'
    | 'stuckRuns'
    | 'stalledLimits'
    | 'listKeptActors'
    | 'listRuns'
    | 'runShapes'
    | 'counts'
  >;
  readonly upkeep: (body: UpkeepMessage) => Promise<unknown>;
  readonly flushOutbox: () => Promise<void>;
}): RunAdministration => {
  const { store } = host;
  const erase = async (runIds: readonly string[]): Promise<void> => {
    for (let from = 0; from < runIds.length; from += ERASE_SLICE)
      await host.upkeep({ kind: 'erase', runIds: runIds.slice(from, from + ERASE_SLICE) });
  };
  return {
    eraseSubject: ({ userId, reach }, eraseTraces) =>
      attempt(async () => {
        let runsErased = 0;
        let traces: ErasedTraces = { deleted: 0, pending: false };
        for (;;) {
          const { finished, inFlight } = await store.subjectRuns(userId, reach, ERASE_SLICE);
          if (finished.length === 0) return { ok: true, value: { runsErased, runsInFlight: inFlight, traces } };
          // A span that still waits would come back after its trace was deleted.
          await host.flushOutbox();
          const { deleted, pending } = await eraseTraces([...new Set(finished.map(({ traceId }) => traceId))]);
          traces = { deleted: traces.deleted + deleted, pending: traces.pending || pending };
          await erase(finished.map(({ runId }) => runId));
          runsErased += finished.length;
        }
      }),

    trimFinishedRuns: async (project, before, limit) => {
      const runIds = await store.finishedRuns(project, before, limit);
      await erase(runIds);
      return runIds.length;
    },

    findStuckRuns: () => store.stuckRuns(STUCK_LIMIT),
    findStalledKeys: (movedBefore) => store.stalledLimits(movedBefore, STUCK_LIMIT),
    findIdleSchedules: (now) => findIdleSchedules(store, now, NAMED_LIMIT),
    findPausedWork: () => findPausedWork(store, NAMED_LIMIT),

    listRunShapes: async (project, from, to, limit) =>
      (await store.runShapes(project, from, to, limit)).map(({ snapshot, ...shape }) => ({
        ...shape,
        stepCount: contextOf({ snapshot }).stepCount,
      })),

    counts: () => store.counts(),
  };
};
