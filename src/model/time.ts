/** Nanoseconds since the Unix epoch. A bigint, because a double holds whole nanoseconds only up to the year 1970. */
export type UnixNano = bigint;

const NANOS_PER_SECOND = 1_000_000_000n;
const NANOS_PER_MILLI = 1_000_000n;

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const SECONDS_END = 'YYYY-MM-DDThh:mm:ss'.length;
const OFFSET_LENGTH = '+hh:mm'.length;
const RELATIVE = /^-(\d{1,9})([smhdw])$/;
const UNIT_SECONDS = { s: 1n, m: 60n, h: 3_600n, d: 86_400n, w: 604_800n } as const;

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
/** @param month 1 to 12; any other has no day */
const daysInMonth = (year: number, month: number): number =>
  (DAYS[month - 1] ?? 0) + (month === 2 && isLeap(year) ? 1 : 0);

/** The calendar repeats itself after so many years, which have so many milliseconds. */
const [CYCLE_YEARS, CYCLE_MS] = [400, 146_097 * 86_400_000] as const;
/** `Date.UTC` takes the years below 100 for those of the twentieth century. */
const millisOf = (year: number, month: number, day: number, hour: number, minute: number, second: number): number =>
  Date.UTC(year + CYCLE_YEARS, month - 1, day, hour, minute, second) - CYCLE_MS;

/** Digits of a fraction that are kept. */
const NANO_DIGITS = 9;
const ZERO = '0'.charCodeAt(0);
const digitsOf = (text: string, start: number, count: number): number => {
  let value = 0;
  for (let at = start; at < start + count; at += 1) value = value * 10 + text.charCodeAt(at) - ZERO;
  return value;
};

/**
 * Reads an RFC 3339 timestamp exactly, without floating point.
 * @returns nanoseconds since the epoch, or `undefined` when the text is not a timestamp of the calendar (30 February,
 * hour 24, a missing offset); digits past the ninth of a fraction are cut
 * @see RFC 3339, section 5.6
 */
export const parseTimestamp = (text: string): UnixNano | undefined => {
  if (!RFC_3339.test(text)) return undefined;
  // Groups of the expression would be eight texts of which most are thrown away: a batch has ten thousands of times.
  const [year, month, day] = [digitsOf(text, 0, 4), digitsOf(text, 5, 2), digitsOf(text, 8, 2)];
  const [hour, minute, second] = [digitsOf(text, 11, 2), digitsOf(text, 14, 2), digitsOf(text, 17, 2)];
  if (day < 1 || day > daysInMonth(year, month)) return undefined;
  // RFC 3339 allows :60 for a leap second. The epoch has no place for one, so it is the first moment of the next minute.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const isUtc = text.endsWith('Z') || text.endsWith('z');
  const offset = text.length - (isUtc ? 1 : OFFSET_LENGTH);
  let offsetSeconds = 0;
  if (!isUtc) {
    const [offsetHour, offsetMinute] = [digitsOf(text, offset + 1, 2), digitsOf(text, offset + 4, 2)];
    if (offsetHour > 23 || offsetMinute > 59) return undefined;
    offsetSeconds = (text[offset] === '-' ? -1 : 1) * (offsetHour * 3600 + offsetMinute * 60);
  }
  const seconds = BigInt(millisOf(year, month, day, hour, minute, second) / 1000 - offsetSeconds) * NANOS_PER_SECOND;
  const fraction = SECONDS_END + 1;
  const digits = Math.min(offset - fraction, NANO_DIGITS);
  return digits > 0 ? seconds + BigInt(digitsOf(text, fraction, digits) * 10 ** (NANO_DIGITS - digits)) : seconds;
};

/**
 * Writes a timestamp as RFC 3339 in UTC with `Z`; the fraction has 0, 3, 6 or 9 digits, the fewest that lose nothing.
 * @see Interface decisions, "1. Conventions"
 */
export const formatTimestamp = (at: UnixNano): string => {
  const fraction = ((at % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  const wholeSeconds = (at - fraction) / NANOS_PER_SECOND;
  const seconds = new Date(Number(wholeSeconds) * 1000).toISOString().slice(0, -5);
  if (fraction === 0n) return `${seconds}Z`;
  const digits = fraction.toString().padStart(9, '0');
  if (digits.endsWith('000000')) return `${seconds}.${digits.slice(0, 3)}Z`;
  if (digits.endsWith('000')) return `${seconds}.${digits.slice(0, 6)}Z`;
  return `${seconds}.${digits}Z`;
};

/**
 * Reads a time parameter: RFC 3339, or `-<n><unit>` before now with unit `s`, `m`, `h`, `d` or `w`.
 * @returns nanoseconds since the epoch, or `undefined` when the text is neither
 * @see Interface decisions, "1. Conventions"
 */
export const parseTimeParameter = (text: string, now: UnixNano): UnixNano | undefined => {
  const relative = RELATIVE.exec(text);
  if (relative === null) return parseTimestamp(text);
  const unit = relative[2] as keyof typeof UNIT_SECONDS;
  return now - BigInt(relative[1] ?? 0) * UNIT_SECONDS[unit] * NANOS_PER_SECOND;
};

const AHEAD = /^\+(\d{1,9})([smhdw])$/;
/** As durations of definitions: ten years. */
const MOST_DAYS_AHEAD = 3650;

/**
 * Reads the time of a later start: RFC 3339, or `+<n><unit>` from now with unit `s`, `m`, `h`, `d` or `w`.
 * @returns milliseconds since the epoch, rounded up, or milliseconds from now; `undefined` when the text is neither, or names a time
 * after `MAX_UNIX_NANO` or more than 3650 days from now
 * @see Interface decisions, section 13, "Start"
 */
export const parseLaterTime = (text: string): { readonly at: number } | { readonly afterMs: number } | undefined => {
  const relative = AHEAD.exec(text);
  if (relative === null) {
    const at = parseTimestamp(text);
    if (at === undefined || at > MAX_UNIX_NANO) return undefined;
    const millis = millisFromUnixNano(at);
    return { at: unixNanoFromMillis(millis) < at ? millis + 1 : millis };
  }
  const unit = relative[2] as keyof typeof UNIT_SECONDS;
  const seconds = Number(relative[1] ?? 0) * Number(UNIT_SECONDS[unit]);
  return seconds > MOST_DAYS_AHEAD * Number(UNIT_SECONDS.d) ? undefined : { afterMs: seconds * 1000 };
};

/** The wall clock in nanoseconds; its resolution is the millisecond. Deciding code is handed the time and never calls this. */
export const nowUnixNano = (): UnixNano => BigInt(Date.now()) * NANOS_PER_MILLI;

export const unixNanoFromMillis = (millis: number): UnixNano => BigInt(Math.trunc(millis)) * NANOS_PER_MILLI;

/** Whole milliseconds since the epoch, rounded towards the past. */
export const millisFromUnixNano = (at: UnixNano): number => Number(at / NANOS_PER_MILLI);

/** The latest time that fits a signed 64-bit count of nanoseconds: in the year 2262. Beyond it nothing is ever due. */
export const MAX_UNIX_NANO: UnixNano = 9_223_372_036_854_775_807n;
