/** A text of fewer units is given the room that it may need at most; a longer one is measured. */
const MEASURED_UNITS = 16 * 1024;
const MOST_BYTES_A_UNIT = 3;

/** JSON in the making, as UTF-8. */
export type JsonBytes = {
  /** Bytes written since the last `take`. */
  readonly length: number;
  text(json: string): void;
  bytes(json: Uint8Array): void;
  /** Writes once more what lies between two lengths that there were since the last `take`. */
  again(from: number, to: number): void;
  /** @returns what was written, in a buffer of its own that may be handed to another thread */
  take(): Uint8Array;
};

/** @param expected bytes that are likely to be taken at a time: what is written beyond them is copied once more */
export const jsonBytes = (expected: number): JsonBytes => {
  let buffer: Buffer | undefined;
  let length = 0;
  const reserve = (bytes: number): Buffer => {
    const needed = length + bytes;
    if (buffer !== undefined && needed <= buffer.length) return buffer;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, expected, 2 * (buffer?.length ?? 0)));
    buffer?.copy(larger, 0, 0, length);
    buffer = larger;
    return larger;
  };
  return {
    get length() {
      return length;
    },
    text: (json) => {
      const most = json.length < MEASURED_UNITS ? json.length * MOST_BYTES_A_UNIT : Buffer.byteLength(json);
      length += reserve(most).write(json, length);
    },
    bytes: (json) => {
      reserve(json.length).set(json, length);
      length += json.length;
    },
    again: (from, to) => {
      reserve(to - from).copyWithin(length, from, to);
      length += to - from;
    },
    take: () => {
      const taken = new Uint8Array(buffer?.buffer ?? new ArrayBuffer(0), 0, length);
      buffer = undefined;
      length = 0;
      return taken;
    },
  };
};
