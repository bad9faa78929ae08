import type { RunContext } from '../../machines/run.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';

/** Place in the queue: older first; of the same age, a run that has begun before one that has not. */
export const queueOrderOf = (context: RunContext): number =>
  (context.queuedAt ?? 0) * 2 + (context.stepCount === 1 && context.attempt === 0 ? 1 : 0);

/** A run that enters the queue is known to the dispatcher before the commit. */
export const offerSoon = (host: RunHost, turn: Turn, record: RunRecord): void => {
  const { runId, queueOrder, project, definitionOwner, definitionId, definitionVersion } = record;
  if (queueOrder === undefined) return;
  turn.atEnd(() => {
    host.ready({ runId, order: queueOrder, project, definitionOwner, definitionId, definitionVersion });
  });
};
