import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';

/** Where the next commits fail: before anything was written, or after all of it was, with the answer lost. */
export type Fault = 'before' | 'after';

/** A store whose commits, and reads, fail on command. */
export const createFaultyStore = (inner: RunStore = createMemoryRunStore()) => {
  const commits: Fault[] = [];
  let loads = 0;
  let away = false;
  const store: RunStore = {
    ...inner,
    commit: async (changes) => {
      const fault = commits.shift();
      if (away || fault === 'before') throw new StoreUnavailable('the disk said no');
      await inner.commit(changes);
      if (fault === 'after') throw new StoreUnavailable('the disk said nothing');
    },
    load: async (lookups) => {
      loads += 1;
      if (away) throw new StoreUnavailable('the disk is away');
      return inner.load(lookups);
    },
    resume: async (...asked) => {
      if (away) throw new StoreUnavailable('the disk is away');
      return inner.resume(...asked);
    },
  };
  return {
    store,
    failNext: (...faults: Fault[]): void => {
      commits.push(...faults);
    },
    setAway: (value: boolean): void => {
      away = value;
    },
    loads: (): number => loads,
  };
};
