import type { Changes, RunStore } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/signals/signal-store.ts';
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
};

/**
 * The store of one life of the process, over the file that outlives it. A commit fails before anything was written, after
 * all of it was, or hangs in between; when the process dies meanwhile, chance says whether it was written.
 */
export const createUnsafeStore = (
  file: RunStore,
  time: VirtualTime,
  chance: Chance,
  faults: () => StoreFaults,
  plant?: Planted,
  onCommitted: (changes: Changes) => void = () => {},
) => {
  let dead = false;
  const never = new Promise<never>(() => {});
  const inFlight = new Set<Changes>();
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
    // Told what the service believes: what the store kept to itself must be noticed by its consequences.
    onCommitted(plant === 'lost timer' ? changes : kept);
  };
  const commit = async (changes: Changes): Promise<void> => {
    if (dead) return never;
    if (plant === 'lost commit' && lie()) return undefined;
    const { commit: failing, slow } = faults();
    if (chance.is(failing / 3)) throw new StoreUnavailable('nothing was written');
    if (chance.is(slow)) {
      inFlight.add(changes);
      await time.sleep(chance.between(1, 8000));
      inFlight.delete(changes);
      if (dead) return never;
    }
    if (chance.is(failing / 3)) throw new StoreUnavailable('it took long, and nothing was written');
    await write(changes);
    if (dead) return never;
    if (chance.is(failing / 3)) throw new StoreUnavailable('all of it was written');
    return undefined;
  };
  const reading =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (dead) return never;
      if (chance.is(faults().read)) throw new StoreUnavailable('the file could not be read');
      const found = await read(...args);
      return dead ? never : found;
    };
  const store: RunStore = {
    ...file,
    commit,
    load: reading(file.load),
    resume: reading(file.resume),
    dueTimers: reading(file.dueTimers),
    readOutbox: reading(file.readOutbox),
    close: async () => {},
  };
  return {
    store,
    /** The process is gone. What it was writing is in the file or is not; nothing of it comes later. */
    die: async (): Promise<void> => {
      dead = true;
      for (const changes of inFlight) if (chance.is(0.5)) await write(changes);
    },
  };
};
