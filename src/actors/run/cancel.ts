import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';
import { isOpen, type RunActor } from './run-state.ts';
import { advance } from './settle.ts';

/** Ends a run that is open; one that has ended stays as it is. */
export const cancelRun = (host: RunHost, turn: Turn, run: RunActor, reason: string | undefined): RunActor =>
  isOpen(run)
    ? advance(host, turn, run, () => ({
        type: 'run.cancelled',
        at: turn.at,
        ...(reason === undefined ? {} : { reason }),
      }))
    : run;
