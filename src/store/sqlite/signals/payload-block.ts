import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Row, StoredRow } from '../../signals/rows/columns.ts';

/**
 * A block: payloads of spans whose numbers follow each other, compressed together. Its index is not compressed; it says which spans the
 * block holds, how much of each, and whether they have text. Each record in the body stands by itself, so that a block can be made anew
 * without some of them.
 */

/** Columns of `span_payloads` after the number: the forms, and texts that may be absent. */
const TEXTS = 9;
const [INPUT, INPUT_ATTRIBUTE, OUTPUT, OUTPUT_ATTRIBUTE] = [0, 1, 2, 3] as const;

export type BlockEntry = {
  readonly span: number;
  /** Where its record stands in the body. */
  readonly offset: number;
  readonly bytes: number;
  /** Whether it has an input or an output: words of it are in the index of texts. */
  readonly hasText: boolean;
  /** Bytes of it that an answer says twice: payloads that also stand among the attributes. */
  readonly repeated: number;
};

/** A record of a block. It is written when its block is: those of a unit together may be as large as its body. */
export type PayloadRecord = Omit<BlockEntry, 'offset'> & { readonly writeTo: (body: Buffer, at: number) => void };

/** Payloads that cannot be opened: an error as SQLite has it of a damaged page, of a file that is sound but for these bytes. */
export class DamagedPayloads extends Error {
  readonly code = 'SQLITE_CORRUPT';
  constructor(cause?: unknown) {
    super('stored payloads are damaged', { cause });
  }
}

/** Numbers below 2^53, seven bits a byte, the lowest first; the highest bit says that another follows. */
const varintBytes = (value: number): number => {
  let bytes = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
};
const writeVarint = (into: Uint8Array, at: number, value: number): number => {
  let place = at;
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) into[place++] = (rest % 128) + 128;
  into[place++] = rest;
  return place;
};
/** Reads one number after the other. Behind the end it reads zeros. */
const varintsOf = (bytes: Uint8Array, from: number) => {
  let place = from;
  return {
    next: (): number => {
      let byte = bytes[place++] ?? 0;
      if (byte < 128) return byte;
      let value = 0;
      for (let factor = 1; ; factor *= 128) {
        value += (byte % 128) * factor;
        if (byte < 128) return value;
        byte = bytes[place++] ?? 0;
      }
    },
    place: (): number => place,
  };
};

/** @param row the columns of `span_payloads` */
export const recordOf = (row: Row): PayloadRecord => {
  const [span, forms, ...texts] = row as [number, number, ...(string | null)[]];
  const lengths = texts.map((text) => (text === null ? 0 : Buffer.byteLength(text) + 1));
  let bytes = varintBytes(forms);
  for (const length of lengths) bytes += varintBytes(length) + Math.max(0, length - 1);
  const twice = (payload: number, attribute: number): number =>
    texts[attribute] === null ? 0 : Math.max(0, (lengths[payload] ?? 0) - 1);
  return {
    span,
    bytes,
    hasText: texts[INPUT] !== null || texts[OUTPUT] !== null,
    repeated: twice(INPUT, INPUT_ATTRIBUTE) + twice(OUTPUT, OUTPUT_ATTRIBUTE),
    writeTo: (body, at) => {
      let place = writeVarint(body, at, forms);
      for (const length of lengths) place = writeVarint(body, place, length);
      for (const text of texts) if (text !== null) place += body.write(text, place);
    },
  };
};

/** Reads the columns of a record's row after the number. */
const columnsIn = <R>(
  body: Buffer,
  { offset }: BlockEntry,
  read: (text: number, from: number, to: number) => R,
): (R | number | null)[] => {
  const numbers = varintsOf(body, offset);
  const row: (R | number | null)[] = [numbers.next()];
  for (let text = 0; text < TEXTS; text++) row.push(numbers.next());
  let place = numbers.place();
  for (let text = 0; text < TEXTS; text++) {
    const length = row[text + 1] as number;
    const to = place + Math.max(0, length - 1);
    row[text + 1] = length === 0 ? null : read(text, place, to);
    place = to;
  }
  return row;
};

/** The columns of a record's row after the number. */
export const rowIn = (body: Buffer, entry: BlockEntry): Row =>
  columnsIn(body, entry, (_, from, to) => body.toString('utf8', from, to));

/** The same, with input and output as they lie in the body. */
export const storedRowIn = (body: Buffer, entry: BlockEntry): StoredRow =>
  columnsIn(body, entry, (text, from, to) =>
    text === INPUT || text === OUTPUT ? body.subarray(from, to) : body.toString('utf8', from, to),
  );

/** Its forms, its input and its output. */
export const textsIn = (
  body: Buffer,
  entry: BlockEntry,
): [forms: number, input: string | null, output: string | null] => {
  const row = columnsIn(body, entry, (text, from, to) =>
    text === INPUT || text === OUTPUT ? body.toString('utf8', from, to) : null,
  );
  return [row[0] as number, row[1 + INPUT] as string | null, row[1 + OUTPUT] as string | null];
};

/** The record itself. */
export const recordIn = (body: Buffer, { offset, ...entry }: BlockEntry): PayloadRecord => ({
  ...entry,
  writeTo: (into, at) => void body.copy(into, at, offset, offset + entry.bytes),
});

/** Output is taken in pieces of so many bytes: a body goes in one. */
const PIECE_BYTES = 64 * 1024;
/** The same of a body that is opened, whose length is known: a piece that is filled to its end asks for another. */
const SPARE_BYTES = 64;
const MOST_PIECE_BYTES = 1024 * 1024;
const COMPRESSION = {
  chunkSize: PIECE_BYTES,
  params: {
    // Level 3 keeps 5 % less and takes half as long again.
    [constants.ZSTD_c_compressionLevel]: 1,
    // A damaged byte is found when the block is opened.
    [constants.ZSTD_c_checksumFlag]: 1,
  },
};

/** The index of a block, as it is stored. @param entries in the order of their spans */
export const packIndex = (block: number, entries: readonly Omit<BlockEntry, 'offset'>[]): Buffer => {
  const numbers: number[] = [entries.length];
  let last = block;
  for (const { span, bytes, hasText, repeated } of entries) {
    numbers.push(span - last, bytes * 2 + (hasText ? 1 : 0), repeated);
    last = span;
  }
  const index = Buffer.allocUnsafe(numbers.reduce((sum, number) => sum + varintBytes(number), 0));
  let place = 0;
  for (const number of numbers) place = writeVarint(index, place, number);
  return index;
};

/** The body of a block before it is compressed. */
export const bodyOf = (records: readonly PayloadRecord[]): Buffer => {
  const body = Buffer.allocUnsafe(records.reduce((sum, { bytes }) => sum + bytes, 0));
  let at = 0;
  for (const { bytes, writeTo } of records) {
    writeTo(body, at);
    at += bytes;
  }
  return body;
};

/**
 * @param block the number under which the block stands; none of its spans has a lower one
 * @param records in the order of their spans
 */
export const packBlock = (
  block: number,
  records: readonly PayloadRecord[],
): { readonly index: Buffer; readonly body: Buffer } => {
  const index = packIndex(block, records);
  const body = bodyOf(records);
  return { index, body: zstdCompressSync(body, { ...COMPRESSION, pledgedSrcSize: body.length }) };
};

/** Reads the index of a block: its spans in the order of their numbers. */
export const readIndex = (block: number, index: Uint8Array): BlockEntry[] => {
  const read = varintsOf(index, 0);
  const count = read.next();
  if (count * 3 > index.length) throw new DamagedPayloads();
  let span = block;
  let offset = 0;
  return Array.from({ length: count }, () => {
    span += read.next();
    const held = read.next();
    const bytes = Math.floor(held / 2);
    const entry = { span, offset, bytes, hasText: held % 2 === 1, repeated: read.next() };
    offset += bytes;
    return entry;
  });
};

/** @throws DamagedPayloads */
export const openBody = (compressed: Uint8Array, entries: readonly BlockEntry[]): Buffer => {
  const last = entries.at(-1);
  const bytes = last === undefined ? 0 : last.offset + last.bytes;
  try {
    const body = zstdDecompressSync(compressed, {
      chunkSize: Math.min(bytes + SPARE_BYTES, MOST_PIECE_BYTES),
      maxOutputLength: Math.max(bytes, 1),
    });
    if (body.length === bytes) return body;
  } catch (error) {
    throw new DamagedPayloads(error);
  }
  throw new DamagedPayloads();
};
