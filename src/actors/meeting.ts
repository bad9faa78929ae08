import type { Meeting, SeenEvent } from '../store/runs/run-store.ts';
import type { Turn } from './kernel.ts';

/** Events live this long without a taker. @see Interface specification, "Limits" */
export const PARKED_LIFETIME_MS = 24 * 60 * 60 * 1000;
/** Most waits, and most parked events, of one name and key that one group looks at. */
const MEETING_LIMIT = 64;

/** Where waits and events of one name and key find each other: one memory, so that neither misses the other in a group. */
export const meetingKey = (project: string, event: string, key: string): string =>
  `once/meeting/${JSON.stringify([project, event, key])}`;

const eventIdKey = (project: string, eventId: string): string => `once/event-id/${JSON.stringify([project, eventId])}`;

/**
 * What is known of an `event_id`. One that a run took is known for as long as the run; one that nobody took, for as long as
 * its event can be taken: after that the same id brings a new event, for the old one will never move anything.
 * @see Interface specification, "Run": "`event_id` seen before"
 */
export const readEventId = (turn: Turn, project: string, eventId: string): SeenEvent | undefined => {
  const seen = turn.read(eventIdKey(project, eventId), { kind: 'event_id', project, eventId });
  return seen?.runId === undefined && (seen?.at ?? 0) <= turn.at - PARKED_LIFETIME_MS ? undefined : seen;
};

/** Notes an `event_id` as seen now, and the run that takes its event where one does. */
export const noteEventId = (
  turn: Turn,
  project: string,
  eventId: string | undefined,
  runId: string | undefined,
): void => {
  if (eventId === undefined) return;
  const seen: SeenEvent = { project, eventId, at: turn.at, ...(runId === undefined ? {} : { runId }) };
  turn.rows.eventsSeen.push(seen);
  turn.write(eventIdKey(project, eventId), seen);
};

export const readMeeting = (turn: Turn, project: string, event: string, key: string): Meeting =>
  turn.read(meetingKey(project, event, key), {
    kind: 'meeting',
    project,
    event,
    key,
    parkedAfter: turn.at - PARKED_LIFETIME_MS,
    limit: MEETING_LIMIT,
  });
