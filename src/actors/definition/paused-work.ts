import { ownerAndId } from '../../model/definition/owner.ts';
import type { UnixMs } from '../../model/run.ts';
import type { RunStore } from '../../store/runs/run-store.ts';
import { pauseOf, snapshotOf } from './paused-definitions.ts';

/** A paused definition of which runs would go on if it were not. */
export type PausedWork = {
  readonly owner: string;
  readonly id: string;
  readonly since: UnixMs;
  readonly reason?: string;
  /** Its queued runs: held before their first step, or with a step that is not offered. */
  readonly runs: number;
  /** There are more than were counted. */
  readonly isMore: boolean;
};

/** Rows that one question brings. */
const PAGE = 500;
/** Queued runs of a definition id that are counted. */
const COUNTED_RUNS = 1000;

/** Paused definitions with due work, by id, at most `limit`. */
export const findPausedWork = async (
  store: Pick<RunStore, 'listKeptActors' | 'listRuns'>,
  limit: number,
): Promise<readonly PausedWork[]> => {
  const found: PausedWork[] = [];
  for (let after: string | undefined = ''; after !== undefined; ) {
    const records = await store.listKeptActors({ type: 'definition', reach: 'all', after, limit: PAGE });
    for (const record of records) {
      const pause = pauseOf(snapshotOf(record));
      if (pause === undefined) continue;
      const { definitionOwner: owner, definitionId: id } = ownerAndId(record.id);
      const queued = await store.listRuns({ reach: 'all', status: 'queued', definitionId: id, limit: COUNTED_RUNS });
      const runs = queued.filter(({ definitionOwner }) => definitionOwner === owner).length;
      if (runs > 0) found.push({ owner, id, ...pause, runs, isMore: queued.length === COUNTED_RUNS });
      if (found.length >= limit) return found;
    }
    after = records.length < PAGE ? undefined : records.at(-1)?.id;
  }
  return found;
};
