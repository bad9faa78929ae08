import { createHash } from 'node:crypto';

/** Bytes of an id that its run decides, so that the scores of one run stand together in an index; the scorer decides the rest. */
const RUN_BYTES = 5;

/** A text for each list of texts: no separator could stand inside of one. */
const digestOf = (...parts: readonly string[]): Buffer => createHash('sha256').update(JSON.stringify(parts)).digest();

/**
 * The id of the score that one scorer, in one version, gives one run: a UUIDv7 whose random bits are digests of these. Scoring a run
 * again replaces its score, so a mean counts each run once however often it was asked for.
 *
 * Its time is left at zero. The one time that belongs to a run, its start, moves when an earlier span arrives late, as root spans
 * do; with it in the id, such a run would be counted twice.
 * @see RFC 9562, section 5.7
 */
export const offlineScoreId = (project: string, traceId: string, scorerId: string, scorerVersion: string): string => {
  const bytes = Buffer.alloc(16);
  digestOf(project, traceId).copy(bytes, 6, 0, RUN_BYTES);
  digestOf(project, traceId, scorerId, scorerVersion).copy(bytes, 6 + RUN_BYTES);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};
