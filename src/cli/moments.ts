const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Whole units, and two of them where the larger one alone would hide too much. */
const rounded = (ms: number): string => {
  if (ms < 90 * SECOND) return `${Math.round(ms / SECOND)} s`;
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 90) return `${minutes} min`;
  if (ms >= 2 * DAY) return `${Math.round(ms / DAY)} days`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

/** How long something takes, in words. */
export const span = (ms: number): string => {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  return ms < 10 * SECOND ? `${(ms / SECOND).toFixed(1)} s` : rounded(ms);
};

/** Times as people read them. */
export type Moments = {
  /** A timestamp of the API, or milliseconds since 1970, in the time zone of the reader: `2026-11-22 10:04:12`. */
  readonly at: (time: string | number) => string;
  /** How far off that is: `in 4 min`, `3 days ago`, `now`. */
  readonly distance: (time: string | number) => string;
  /** Both: `2026-11-22 10:04:12 (in 4 min)`. */
  readonly moment: (time: string | number) => string;
  readonly isAhead: (time: string | number) => boolean;
  readonly timeZone: string;
};

/**
 * @param now milliseconds since 1970
 * @param timeZone an IANA name; that of the process by default
 */
export const createMoments = (now: number, timeZone?: string): Moments => {
  // Sweden writes a date as ISO 8601 does.
  const format = new Intl.DateTimeFormat('sv-SE', {
    dateStyle: 'short',
    timeStyle: 'medium',
    ...(timeZone === undefined ? {} : { timeZone }),
  });
  const millis = (time: string | number): number => (typeof time === 'number' ? time : Date.parse(time));
  const at = (time: string | number): string => {
    const ms = millis(time);
    return Number.isNaN(new Date(ms).getTime()) ? 'an unreadable time' : format.format(ms);
  };
  const distance = (time: string | number): string => {
    const ms = millis(time) - now;
    if (Number.isNaN(ms)) return 'unknown';
    if (Math.abs(ms) < SECOND) return 'now';
    const text = rounded(Math.abs(ms));
    return ms > 0 ? `in ${text}` : `${text} ago`;
  };
  return {
    at,
    distance,
    isAhead: (time) => millis(time) > now,
    moment: (time) => `${at(time)} (${distance(time)})`,
    timeZone: format.resolvedOptions().timeZone,
  };
};
