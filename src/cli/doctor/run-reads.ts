import { findPausedWork } from '../../actors/definition/paused-work.ts';
import { findIdleSchedules } from '../../actors/schedule/idle-schedules.ts';
import type { DefinitionRecord } from '../../store/runs/records.ts';
import type { RunQueries } from '../../store/runs/run-queries.ts';
import type { RunReads } from './deployment.ts';

const MOST_STUCK = 20;
const DEFINITIONS_PAGE = 100;
const WORKERS_PAGE = 1000;

/** What the checks ask, of a store that no service has to answer for. */
export const runReadsOf = (
  reads: Pick<
    RunQueries,
    | 'counts'
    | 'stuckRuns'
    | 'stalledLimits'
    | 'listKeptActors'
    | 'listRuns'
    | 'listDefinitions'
    | 'definitionVersions'
    | 'listWorkers'
  >,
): RunReads => ({
  counts: reads.counts,
  stuckRuns: () => reads.stuckRuns(MOST_STUCK),
  stalledKeys: async (movedBefore) => reads.stalledLimits(movedBefore, MOST_STUCK),
  idleSchedules: (now) => findIdleSchedules(reads, now, MOST_STUCK),
  pausedWork: () => findPausedWork(reads, MOST_STUCK),
  newestChange: async () => (await reads.listRuns({ reach: 'all', limit: 1 }))[0]?.updatedAt,
  pinnedVersions: async () => {
    const pinned = [];
    for (let after: DefinitionRecord | undefined; ; ) {
      const definitions = await reads.listDefinitions({
        reach: 'all',
        limit: DEFINITIONS_PAGE,
        ...(after === undefined ? {} : { after }),
      });
      for (const { owner, id } of definitions) pinned.push(...(await reads.definitionVersions(owner, id, 'all')));
      after = definitions.at(-1);
      if (after === undefined || definitions.length < DEFINITIONS_PAGE) return pinned;
    }
  },
  // Only the running service knows when a worker last called; the file says when it registered.
  workers: async () => {
    const workers = [];
    for (let after: string | undefined; ; ) {
      const page = await reads.listWorkers({
        reach: 'all',
        limit: WORKERS_PAGE,
        ...(after === undefined ? {} : { after }),
      });
      workers.push(...page.map(({ owner, definitions }) => ({ owner, definitions })));
      after = page.at(-1)?.workerId;
      if (after === undefined || page.length < WORKERS_PAGE) return workers;
    }
  },
});
