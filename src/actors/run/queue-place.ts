import type { RunContext } from '../../machines/run.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';

/**
 * Place in the queue: older first; of the same age, a run that has begun before one that has not. A run that joins gets a place behind
 * all others, also after the wall clock was set back. A run that goes back after an offer has the age that it had, by the wall
 * clock of that time; it never comes behind one that joins now.
 * @param queueTime the place in time of what joins now
 */
export const queueOrderOf = (
  context: RunContext,
  before: { readonly snapshot: { readonly context: RunContext } } | undefined,
  queueTime: number,
): number => {
  const { queuedAt = 0 } = context;
  const goesBack = before?.snapshot.context.queuedAt === queuedAt;
  const time = goesBack ? Math.min(queuedAt, queueTime) : queueTime;
  return time * 2 + (context.stepCount === 1 && context.attempt === 0 ? 1 : 0);
};

/** A run that enters the queue is known to the dispatcher before the commit. */
export const offerSoon = (host: RunHost, turn: Turn, record: RunRecord): void => {
  const { runId, queueOrder, project, definitionOwner, definitionId, definitionVersion } = record;
  if (queueOrder === undefined) return;
  turn.atEnd(() => {
    host.ready({ runId, order: queueOrder, project, definitionOwner, definitionId, definitionVersion });
  });
};
