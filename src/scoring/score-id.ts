import { createHash } from 'node:crypto';
import { millisFromUnixNano, type UnixNano } from '../model/time.ts';

/**
 * The id of the score that one scorer, in one version, gives one run: a UUIDv7 at the time of the run whose other bits are a
 * digest of the three. Scoring a run again replaces its score, so a mean counts each run once however often it was asked for.
 * @see RFC 9562, section 5.7
 */
export const offlineScoreId = (
  project: string,
  traceId: string,
  scorerId: string,
  scorerVersion: string,
  startTime: UnixNano,
): string => {
  const millis = Math.max(0, millisFromUnixNano(startTime)) % 2 ** 48;
  const digest = createHash('sha256')
    .update(JSON.stringify([project, traceId, scorerId, scorerVersion]))
    .digest();
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(millis, 0, 6);
  digest.copy(bytes, 6, 0, 10);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};
