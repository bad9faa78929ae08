import type { Meeting } from '../store/runs/run-store.ts';
import type { Turn } from './kernel.ts';

/** Events live this long without a taker. @see Interface specification, "Limits" */
export const PARKED_LIFETIME_MS = 24 * 60 * 60 * 1000;
/** Most waits, and most parked events, of one name and key that one group looks at. */
const MEETING_LIMIT = 64;

/** Where waits and events of one name and key find each other: one memory, so that neither misses the other in a group. */
export const meetingKey = (project: string, event: string, key: string): string =>
  `once/meeting/${JSON.stringify([project, event, key])}`;

export const readMeeting = (turn: Turn, project: string, event: string, key: string): Meeting =>
  turn.read(meetingKey(project, event, key), {
    kind: 'meeting',
    project,
    event,
    key,
    parkedAfter: turn.at - PARKED_LIFETIME_MS,
    limit: MEETING_LIMIT,
  });
