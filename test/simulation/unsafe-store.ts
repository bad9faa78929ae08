import type { Changes, RunStore } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import type { Chance } from './chance.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Faults that a test of the simulation plants: each is a lie of the store, and each must be noticed. */
export const planted = ['lost commit', 'lost timer', 'commit in half'] as const;
export type Planted = (typeof planted)[number];

export type StoreFaults = {
  /** Chance that a commit, or a read, goes wrong. */
  readonly commit: number;
  readonly read: number;
  /** Chance that a commit takes long. */
  readonly slow: number;
  /** Chance that a commit takes as long as a disk does: what is decided meanwhile is decided upon it. */
  readonly lag: number;
};

/**
 * The store of one life of the process, over the file that outlives it. A commit fails before anything was written, after
 * all of it was, or hangs in between; when the process dies meanwhile, chance says whether it was written. Reads answer as of
 * the commits that were called before them, as the interface says.
 */
export const createUnsafeStore = (
  file: RunStore,
  time: VirtualTime,
  chance: Chance,
  faults: () => StoreFaults,
  plant?: Planted,
  onCommitted: (changes: Changes) => void = () => {},
  onRestarted: (wall: number) => void = () => {},
) => {
  let dead = false;
  const never = new Promise<never>(() => {});
  const inFlight = new Set<Changes>();
  let last: Promise<unknown> = Promise.resolve();
  /** Reads of this life that were asked while a commit was in hand: what they served was decided ahead. */
  let readAhead = 0;
  let lies = 0;
  const lie = (): boolean => plant !== undefined && (lies += 1) > 40 && chance.is(0.02);
  const write = async (changes: Changes): Promise<void> => {
    const kept: Changes =
      plant === undefined || !lie()
        ? changes
        : plant === 'lost timer'
          ? { ...changes, timersSet: [] }
          : { ...changes, journal: changes.journal.slice(0, -1) };
    await file.commit(kept);
    // Says that the commit succeeded: what the store left out must be noticed by its consequences.
    onCommitted(plant === 'lost timer' ? changes : kept);
  };
  const hold = async (changes: Changes, ms: number): Promise<void> => {
    inFlight.add(changes);
    await time.sleep(ms);
    inFlight.delete(changes);
  };
  const commitNow = async (changes: Changes): Promise<void> => {
    if (dead) return never;
    if (plant === 'lost commit' && lie()) return undefined;
    const { commit: failing, slow, lag } = faults();
    if (chance.is(failing / 3)) throw new StoreUnavailable('nothing was written');
    const ms = chance.is(slow) ? chance.between(1, 8000) : chance.is(lag) ? chance.between(1, 300) : 0;
    if (ms > 0) await hold(changes, ms);
    if (dead) return never;
    if (chance.is(failing / 3)) throw new StoreUnavailable('it took long, and nothing was written');
    await write(changes);
    if (dead) return never;
    if (chance.is(failing / 3)) throw new StoreUnavailable('all of it was written');
    return undefined;
  };
  const commit = (changes: Changes): Promise<void> => {
    const work = commitNow(changes);
    last = work.catch(() => {});
    return work;
  };
  const reading =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (inFlight.size > 0) readAhead += 1;
      await last;
      if (dead) return never;
      if (chance.is(faults().read)) throw new StoreUnavailable('the file could not be read');
      const found = await read(...args);
      return dead ? never : found;
    };
  const store: RunStore = {
    ...file,
    commit,
    load: reading(file.load),
    resume: reading(async (leasesUntil: number, restartedAt?: number) => {
      const left = await file.resume(leasesUntil, restartedAt);
      if (restartedAt !== undefined) onRestarted(restartedAt);
      return left;
    }),
    dueTimers: reading(file.dueTimers),
    readOutbox: reading(file.readOutbox),
    close: async () => {},
  };
  return {
    store,
    readAhead: () => readAhead,
    /** The process is gone. What it was writing is in the file or is not; nothing of it comes later. */
    die: async (): Promise<void> => {
      dead = true;
      for (const changes of inFlight) if (chance.is(0.5)) await write(changes);
    },
  };
};
