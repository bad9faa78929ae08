import type { RunStatus } from './generated/wire.ts';

/** Whether a run has ended: nothing about it changes any more. */
export const isOver = (status: RunStatus): boolean =>
  status === 'succeeded' || status === 'failed' || status === 'cancelled';
