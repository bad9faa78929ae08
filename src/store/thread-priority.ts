import { constants, getPriority, setPriority } from 'node:os';

/**
 * How much threads give way to the rest of the process, as `nice` counts it; three more is half of the share. A batch may take longer to be
 * written, but no heartbeat and no step of a run may wait for it; and a body that means much work may take longer to be read, but no batch that
 * was read waits for it to be written.
 */
export const NICENESS = { writesSignals: 5, readsHeavyBodies: 8 } as const;

/**
 * Lowers the priority of this thread below the rest of the process. Linux counts this by thread; elsewhere it would be the process.
 * @see setpriority(2)
 */
export const standBack = (niceness: number): void => {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + niceness));
  } catch {
    // A sandbox may forbid it. Then all threads are equal.
  }
};
