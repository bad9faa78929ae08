import { onTestFinished } from 'vitest';

/** One turn of the event loop: what is ready to run has run. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/**
 * Looks once a turn of the event loop until it is so. No time passes on purpose, and the looking ends with the test: one that
 * waits in vain fails by the timeout of the suite and leaves nothing running behind.
 */
export const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  while (!(await isSo())) {
    if (isOver) throw new Error('the test ended before what it waited for');
    await turn();
  }
};
