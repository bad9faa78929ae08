import { createHash } from 'node:crypto';
import { millisFromUnixNano, type UnixNano } from '../model/time.ts';

/** Where the time of a UUIDv7 ends, in its text: 48 bits, with the dash between them. */
const TIME_CHARACTERS = 13;
const MAX_TIME = 2 ** 48 - 1;

/** A text for each list of texts: no separator could stand inside of one. */
const digestOf = (...parts: readonly string[]): Buffer => createHash('sha256').update(JSON.stringify(parts)).digest();

/**
 * The id of the score that one scorer, in one version, gives one run: a UUIDv7 whose time is the start of the run and whose random
 * bits are a digest of project, run, scorer and version.
 * @param startTime of the run; a time before 1970 counts as 1970
 * @see RFC 9562, section 5.7
 */
export const offlineScoreId = (
  project: string,
  traceId: string,
  scorerId: string,
  scorerVersion: string,
  startTime: UnixNano,
): string => {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Math.min(Math.max(0, millisFromUnixNano(startTime)), MAX_TIME), 0, 6);
  digestOf(project, traceId, scorerId, scorerVersion).copy(bytes, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/**
 * Scoring a run again replaces its score, so a mean counts each run once however often it was asked for. The start of a run moves
 * when an earlier span arrives late, as root spans do; the score that was made before keeps its id then.
 * @param stored ids of scores of the same run
 * @returns the stored id of the same project, run, scorer and version, else `id` itself
 */
export const keepScoreId = (id: string, stored: readonly string[]): string =>
  stored.find((one) => one.slice(TIME_CHARACTERS) === id.slice(TIME_CHARACTERS)) ?? id;
