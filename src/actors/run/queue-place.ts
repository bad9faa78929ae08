import { placeOf, type RunContext, type RunSnapshot } from '../../machines/run.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import type { Turn } from '../runs-kernel.ts';
import type { RunHost } from './host.ts';

/** So much age counts as much as one point of priority. @see Interface decisions, section 13, "Start" */
const POINT_MS = 60_000;

/**
 * Place in the queue: higher priority first, then older first; of the same age, a run that has begun before one that has not. A
 * step gains one point of priority for each minute that it waits. All steps age alike, so that this needs no clock: a point is
 * worth a minute of age, and the place of a step never changes. A run that joins gets a place behind all others of its priority, also
 * after the wall clock was set back. A run that goes back after an offer has the age that it had, by the wall clock of that time; it
 * never comes behind one that joins now.
 * @param queueTime the place in time of what joins now
 */
export const queueOrderOf = (
  context: RunContext,
  priority: number,
  before: { readonly snapshot: { readonly context: RunContext } } | undefined,
  queueTime: number,
): number => {
  const { queuedAt = 0 } = context;
  const goesBack = before?.snapshot.context.queuedAt === queuedAt;
  const time = goesBack ? Math.min(queuedAt, queueTime) : queueTime;
  return (time - priority * POINT_MS) * 2 + (context.stepCount === 1 && context.attempt === 0 ? 1 : 0);
};

/** At least the time that gave this place. @see queueOrderOf */
export const queueTimeOf = (queueOrder: number, priority: number): number =>
  Math.ceil(queueOrder / 2) + priority * POINT_MS;

/** True where the step can be offered. */
export const isOfferable = ({ value, context }: Pick<RunSnapshot, 'value' | 'context'>): boolean => {
  const place = placeOf(value);
  return place.at === 'step' && place.phase === 'queued' && context.paused === undefined;
};

/** A run that enters the queue is known to the dispatcher before the commit. */
export const offerSoon = (host: RunHost, turn: Turn, record: RunRecord): void => {
  const { runId, queueOrder, project, definitionOwner, definitionId, definitionVersion } = record;
  if (queueOrder === undefined) return;
  turn.atEnd(() => {
    host.ready({ runId, order: queueOrder, project, definitionOwner, definitionId, definitionVersion });
  });
};
