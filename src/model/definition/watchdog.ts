import { createContext, Script } from 'node:vm';

const call = new Script('work()');
const sandbox: { work: (() => unknown) | undefined } = { work: undefined };
const context = createContext(sandbox);

/** A machine that was asleep, or busy with something else, uses the time up without doing the work: it gets another try. */
const TRIES = 2;

/**
 * Runs synchronous work that its author could make arbitrarily slow (a loop of a condition), and stops it in the
 * middle when its time is over. V8 ends whatever runs, a regular expression included.
 *
 * The watch costs about 90 microseconds, so it is for work that needs it.
 * @param limitMs wall time in milliseconds, at least 1, of each of two tries
 * @param work without effects: it may be cut between any two instructions, and started again
 * @returns what the work returned, or that it did not finish
 * @throws whatever the work throws
 */
export const runWatched = <T>(limitMs: number, work: () => T): { finished: true; value: T } | { finished: false } => {
  const outer = sandbox.work;
  sandbox.work = work;
  try {
    for (let tries = 1; ; tries += 1) {
      try {
        return { finished: true, value: call.runInContext(context, { timeout: limitMs }) as T };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        if (tries === TRIES) return { finished: false };
      }
    }
  } finally {
    sandbox.work = outer;
  }
};
