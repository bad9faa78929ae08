import type { UnixMs } from '../model/run.ts';

/** A timer row is due: its actor takes this, and clears the row in the turn that follows. */
export type TimerMessage = { readonly kind: 'timer'; readonly name: string; readonly dueAt: UnixMs };
