import { createHash, randomBytes, randomUUIDv7 } from 'node:crypto';

const TRACE_ID = /^[0-9a-f]{32}$/;
const SPAN_ID = /^[0-9a-f]{16}$/;
const RUN_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
export const ZERO_TRACE_ID = '0'.repeat(32);
export const ZERO_SPAN_ID = '0'.repeat(16);

/** True for 32 lowercase hex characters that are not all zero. @see Interface specification, "Identifiers and time" */
export const isTraceId = (text: string): boolean => TRACE_ID.test(text) && text !== ZERO_TRACE_ID;

/** True for 16 lowercase hex characters that are not all zero. @see Interface specification, "Identifiers and time" */
export const isSpanId = (text: string): boolean => SPAN_ID.test(text) && text !== ZERO_SPAN_ID;

/** True for a UUID, which the id of a durable run is, in either case. */
export const isRunId = (text: string): boolean => RUN_ID.test(text);

/** A random trace id: 128 bits as lowercase hex, never all zero. */
export const newTraceId = (): string => {
  const id = randomBytes(16).toString('hex');
  return id === ZERO_TRACE_ID ? newTraceId() : id;
};

/** A random span id: 64 bits as lowercase hex, never all zero. */
export const newSpanId = (): string => {
  const id = randomBytes(8).toString('hex');
  return id === ZERO_SPAN_ID ? newSpanId() : id;
};

/** An id for a record that the service creates: a UUIDv7, so ids sort by the time of their making. */
export const newRecordId = (): string => randomUUIDv7();

/** Shards that an id can name. */
export const MOST_SHARDS = 1024;

/** The same, which says in ten of its random bits in which shard the record was made. */
export const newIdOfShard = (shard: number): string => {
  const id = newRecordId();
  const last = (Number.parseInt(id.slice(-4), 16) & ~(MOST_SHARDS - 1)) | shard;
  return id.slice(0, -4) + last.toString(16).padStart(4, '0');
};

/** The shard that an id says, where it was made to say one; of any other text a number that means nothing. */
export const shardSaidBy = (id: string): number => Number.parseInt(id.slice(-4), 16) & (MOST_SHARDS - 1);

/** The id that follows from a text: a UUIDv8 of its SHA-256. */
export const recordIdOf = (text: string): string => {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6); // version
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8); // variant
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};
