import type { UnixMs } from '../run.ts';

/** A local date and time, written as the instant that it would be in UTC. */
export type LocalMs = number;

const NANOS_PER_MS = 1_000_000;
const inZone = (at: UnixMs, zone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
const offsetMs = (time: Temporal.ZonedDateTime): number => time.offsetNanoseconds / NANOS_PER_MS;
const localOf = (time: Temporal.ZonedDateTime): LocalMs => time.epochMilliseconds + offsetMs(time);

/** The name of a zone of the IANA database as it is spelled there; `undefined` for what is none, offsets included. */
export const zoneNamed = (name: string): string | undefined => {
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    return inZone(0, name).timeZoneId;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};

/**
 * The instant of a local time. One that does not exist is the first instant after the gap, and `gapFrom` is the local time at which the
 * gap begins; one that exists twice is its first.
 */
export const instantOfLocal = (local: LocalMs, zone: string): { readonly at: UnixMs; readonly gapFrom?: LocalMs } => {
  const plain = inZone(local, 'UTC').toPlainDateTime();
  const earlier = plain.toZonedDateTime(zone, { disambiguation: 'earlier' });
  if (localOf(earlier) === local) return { at: earlier.epochMilliseconds };
  const gap = earlier.getTimeZoneTransition('next');
  if (gap === null) throw new Error(`no gap in ${zone} at the local time ${plain.toString()}`);
  return { at: gap.epochMilliseconds, gapFrom: gap.epochMilliseconds + offsetMs(gap.subtract({ nanoseconds: 1 })) };
};

/** The highest local time whose instant is not later: in the second pass of a repeated hour it is the end of the first. */
export const highestLocalUpTo = (at: UnixMs, zone: string): LocalMs => {
  const time = inZone(at, zone);
  const local = localOf(time);
  const changed = time.add({ nanoseconds: 1 }).getTimeZoneTransition('previous');
  if (changed === null) return local;
  const before = changed.epochMilliseconds + offsetMs(changed.subtract({ nanoseconds: 1 }));
  return Math.max(local, before - 1);
};
