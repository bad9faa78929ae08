/**
 * Arrays in PostgreSQL's binary format, to be bound as one parameter. The driver sends a Buffer as it is; an array it would write as
 * text, which costs the service twice as much for a batch.
 * @see array_recv in src/backend/utils/adt/arrayfuncs.c
 */

type Element<T> = {
  readonly oid: number;
  /** Bytes that the value takes. */
  readonly size: (value: T) => number;
  readonly write: (value: T, into: Buffer, at: number) => void;
};

const HEAD_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;

const arrayOf =
  <T>({ oid, size, write }: Element<T>) =>
  (values: readonly (T | null)[]): Buffer => {
    const sizes = values.map((value) => (value === null ? NULL_LENGTH : size(value)));
    let bytes = HEAD_BYTES;
    for (const length of sizes) bytes += LENGTH_BYTES + Math.max(length, 0);
    const buffer = Buffer.allocUnsafe(bytes);
    buffer.writeInt32BE(1, 0); // dimensions
    buffer.writeInt32BE(sizes.includes(NULL_LENGTH) ? 1 : 0, 4);
    buffer.writeInt32BE(oid, 8);
    buffer.writeInt32BE(values.length, 12);
    buffer.writeInt32BE(1, 16); // of the first element
    let at = HEAD_BYTES;
    for (const [place, value] of values.entries()) {
      const length = sizes[place] ?? NULL_LENGTH;
      at = buffer.writeInt32BE(length, at);
      if (value === null) continue;
      write(value, buffer, at);
      at += length;
    }
    return buffer;
  };

/** Text in UTF-8; it holds no U+0000, which PostgreSQL refuses. */
export const textArray = arrayOf<string>({
  oid: 25,
  size: (text) => Buffer.byteLength(text),
  write: (text, into, at) => void into.write(text, at),
});
export const int8Array = arrayOf<bigint | number>({
  oid: 20,
  size: () => 8,
  write: (value, into, at) => void into.writeBigInt64BE(BigInt(value), at),
});
export const int4Array = arrayOf<number>({
  oid: 23,
  size: () => 4,
  write: (value, into, at) => void into.writeInt32BE(value, at),
});
export const float8Array = arrayOf<number>({
  oid: 701,
  size: () => 8,
  write: (value, into, at) => void into.writeDoubleBE(value, at),
});
/** Bytes that are given as hexadecimal digits. */
export const byteaArray = arrayOf<string>({
  oid: 17,
  size: (hex) => hex.length / 2,
  write: (hex, into, at) => void into.write(hex, at, 'hex'),
});
/** A UUID is 32 hexadecimal digits, as a trace id is. */
export const uuidArray = arrayOf<string>({
  oid: 2950,
  size: () => 16,
  write: (hex, into, at) => void into.write(hex, at, 'hex'),
});
