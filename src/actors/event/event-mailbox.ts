import type { EventMailbox as Meeting, SeenEvent } from '../../store/runs/run-store.ts';
import type { Turn } from '../kernel/kernel.ts';

/** Events live this long without a taker. @see Interface specification, "Limits" */
export const PARKED_LIFETIME_MS = 24 * 60 * 60 * 1000;
/** Most waits, and most parked events, of one name and key that a turn looks at, and that memory keeps. */
const MEETING_LIMIT = 64;
/** A turn for which they were not enough is put off to the next group, and looks at so many times as much there. */
const FARTHER = 4;
/** About what an open wait takes in memory, in bytes. */
const WAIT_BYTES = 300;

/** Where waits and events of one name and key find each other: one memory, so that neither misses the other in a group. */
const meetingKey = (project: string, event: string, key: string): string =>
  `meeting/${JSON.stringify([project, event, key])}`;

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

/** What waits, and what is parked, under one name and key: as this turn left it. Parked events past their time are not in it. */
export const readMeeting = (turn: Turn, project: string, event: string, key: string): Meeting => {
  const parkedAfter = turn.at - PARKED_LIFETIME_MS;
  const meeting = turn.read(meetingKey(project, event, key), {
    kind: 'event_mailbox',
    project,
    event,
    key,
    parkedAfter,
    limit: MEETING_LIMIT * FARTHER ** turn.postponed,
  });
  // Memory may have known it for longer than an event lives.
  const [oldest] = meeting.parked;
  if (oldest === undefined || oldest.at > parkedAfter) return meeting;
  return { ...meeting, parked: meeting.parked.filter(({ at }) => at > parkedAfter) };
};

export const writeMeeting = (turn: Turn, project: string, event: string, key: string, meeting: Meeting): void => {
  const at = meetingKey(project, event, key);
  turn.write(at, meeting);
  if (meeting.waits.length === 0 && meeting.parked.length === 0) turn.forget(at);
};

/** Says that memory does not know who waits here: the store is asked, by the next group. */
export const forgetMeeting = (turn: Turn, project: string, event: string, key: string): void => {
  writeMeeting(turn, project, event, key, { waits: [], moreWaits: true, parked: [], moreParked: true });
};

/**
 * Whether memory may keep what it holds under a key for the next groups. A meeting that is whole stays true, for whoever opens
 * or closes a wait, parks or takes an event writes it too; of one that is cut off, or grew large, the store knows what comes next.
 */
export const lastsBeyondGroup = (key: string, value: unknown): boolean => {
  if (!key.startsWith('meeting/')) return true;
  const { waits, moreWaits, parked, moreParked } = value as Meeting;
  return !moreWaits && !moreParked && waits.length <= MEETING_LIMIT && parked.length <= MEETING_LIMIT;
};

/** About how many bytes memory holds for a meeting. */
export const weighMeeting = (key: string, value: unknown): number =>
  key.startsWith('meeting/')
    ? (value as Meeting).parked.reduce(
        (sum, { payload }) => sum + 2 * payload.length,
        WAIT_BYTES * (value as Meeting).waits.length,
      )
    : 0;
