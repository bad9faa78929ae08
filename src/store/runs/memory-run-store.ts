import { StoreUnavailable } from '../unavailable.ts';
import { memoryCommits } from './memory/commits.ts';
import { memoryQueries } from './memory/queries.ts';
import { emptyShelves } from './memory/shelves.ts';
import type { RunStore } from './run-store.ts';

/**
 * Runs in memory, gone with the process: what a service without a runs file hosts its monitors on, and what simulations
 * run on. Keeps the promises of `RunStore` but the one that outlives the process.
 */
export const createMemoryRunStore = (): RunStore => {
  const shelves = emptyShelves();
  let closed = false;
  /** Answers like a store that is elsewhere: later, and never with what it still works on. */
  const soon = async <T>(work: () => T): Promise<T> => {
    if (closed) throw new StoreUnavailable('the runs store is closed');
    await Promise.resolve();
    return work();
  };
  return {
    kind: 'memory',
    ...memoryCommits(shelves, soon),
    ...memoryQueries(shelves, soon),
    ping: () => soon(() => {}),
    close: () => {
      closed = true;
      return Promise.resolve();
    },
  };
};
