import type { Column } from '../signals/rows/columns.ts';

/** What a column of a table may hold: what rows of all engines hold, lists of texts, and numbers by text. */
export type Value = Column | readonly string[] | ReadonlyMap<string, number>;
export type ValueRow = readonly Value[];

/** Bytes that grow as they are written. */
type Sink = { bytes: Buffer; at: number };

const room = (sink: Sink, more: number): void => {
  if (sink.at + more <= sink.bytes.length) return;
  const larger = Buffer.allocUnsafe(Math.max(sink.bytes.length * 2, sink.at + more));
  sink.bytes.copy(larger, 0, 0, sink.at);
  sink.bytes = larger;
};

type Write = (sink: Sink, value: Value) => void;

const writeByte = (sink: Sink, byte: number): void => {
  room(sink, 1);
  sink.bytes[sink.at++] = byte;
};
/** A length, seven bits a byte, the lowest first. */
const writeLength = (sink: Sink, length: number): void => {
  let left = length;
  for (; left > 0x7f; left >>>= 7) writeByte(sink, (left & 0x7f) | 0x80);
  writeByte(sink, left);
};
const writeText = (sink: Sink, text: string): void => {
  const bytes = Buffer.byteLength(text);
  writeLength(sink, bytes);
  room(sink, bytes);
  sink.at += sink.bytes.write(text, sink.at);
};
const writeFloat = (sink: Sink, value: number): void => {
  room(sink, 8);
  sink.at = sink.bytes.writeDoubleLE(value, sink.at);
};
const writeUnsigned = (sink: Sink, value: bigint): void => {
  room(sink, 8);
  sink.at = sink.bytes.writeBigUInt64LE(BigInt.asUintN(64, value), sink.at);
};

const writers = {
  String: (sink, value) => writeText(sink, value as string),
  Int64: (sink, value) => writeUnsigned(sink, BigInt(value as bigint | number)),
  UInt64: (sink, value) => writeUnsigned(sink, BigInt(value as bigint | number)),
  UInt256: (sink, value) => {
    for (let word = 0n; word < 4n; word += 1n) writeUnsigned(sink, (value as bigint) >> (64n * word));
  },
  UInt8: (sink, value) => writeByte(sink, Number(value)),
  Float64: (sink, value) => writeFloat(sink, Number(value)),
  'Array(String)': (sink, value) => {
    const texts = value as readonly string[];
    writeLength(sink, texts.length);
    for (const text of texts) writeText(sink, text);
  },
  'Map(String, Float64)': (sink, value) => {
    const entries = value as ReadonlyMap<string, number>;
    writeLength(sink, entries.size);
    for (const [key, number] of entries) {
      writeText(sink, key);
      writeFloat(sink, number);
    }
  },
} as const satisfies Record<string, Write>;

type Plain = keyof typeof writers;
/** A type of ClickHouse, as it stands in CREATE TABLE. */
export type ColumnType = Plain | `Nullable(${Exclude<Plain, `${'Array' | 'Map'}${string}`>})`;
/** Columns of a table, in the order of the rows that are written to it. */
export type Columns = readonly (readonly [name: string, type: ColumnType])[];

const NULLABLE = /^Nullable\((.*)\)$/;
const writerOf = (type: ColumnType): Write => {
  const [, inner] = NULLABLE.exec(type) ?? [];
  const write = writers[(inner ?? type) as Plain];
  if (inner === undefined) return write;
  return (sink, value) => {
    writeByte(sink, value === null ? 1 : 0);
    if (value !== null) write(sink, value);
  };
};

const FIRST_BYTES = 64 * 1024;

/** Rows in the format RowBinary: in the order of the columns, without names. */
export const encodeRows = (columns: Columns, rows: readonly ValueRow[]): Buffer => {
  const writes = columns.map(([, type]) => writerOf(type));
  const sink: Sink = { bytes: Buffer.allocUnsafe(FIRST_BYTES), at: 0 };
  for (const row of rows) for (const [place, write] of writes.entries()) write(sink, row[place] ?? null);
  return sink.bytes.subarray(0, sink.at);
};
