/**
 * Node's own slices of a Buffer to text: what `toString` calls after looking at its arguments. Thousands of short texts a
 * batch make that look a cost.
 */
export type Sliceable = Buffer & {
  hexSlice(start: number, end: number): string;
  base64Slice(start: number, end: number): string;
  latin1Slice(start: number, end: number): string;
  utf8Slice(start: number, end: number): string;
};

const SLOTS = 4096;
/** Runs of bytes are compared so many at a time; a shorter one by itself. */
const STEP = 4;

/** All bytes of a run of one to three. */
const shortRun = (view: DataView, start: number, length: number): number =>
  view.getUint8(start) | (view.getUint8(start + (length >> 1)) << 8) | (view.getUint8(start + length - 1) << 16);

/**
 * Values found again by the bytes they were made of: most names and many words of a batch come again with each span, and
 * making a text is dearer than comparing its bytes. Direct-mapped, in one block of memory: a collision costs a miss, and
 * no sender can make it grow.
 */
export class ByteCache<T> {
  /** Longest run of bytes that is kept. */
  private readonly width: number;
  private readonly block: DataView;
  private readonly lengths = new Uint8Array(SLOTS);
  private readonly values = new Array<T | undefined>(SLOTS).fill(undefined);

  /** @param width longest run of bytes to keep; a multiple of four below 256 */
  constructor(width: number) {
    this.width = width;
    this.block = new DataView(new ArrayBuffer(SLOTS * width));
  }

  private slotOf(view: DataView, start: number, length: number): number {
    if (length < STEP) {
      const hash = Math.imul(shortRun(view, start, length), 0x9e3779b1) + length;
      return (hash ^ (hash >>> 15)) & (SLOTS - 1);
    }
    const first = view.getInt32(start, true);
    const middle = view.getInt32(start + ((length - 4) >> 1), true);
    const last = view.getInt32(start + length - 4, true);
    const hash = Math.imul(Math.imul(first, 0x9e3779b1) + middle, 0x85ebca6b) + Math.imul(last, 0xc2b2ae35) + length;
    return (hash ^ (hash >>> 15)) & (SLOTS - 1);
  }

  /** What was last put for these bytes, if it is still there. */
  find(view: DataView, start: number, length: number): T | undefined {
    if (length === 0 || length > this.width) return undefined;
    const slot = this.slotOf(view, start, length);
    if (this.lengths[slot] !== length) return undefined;
    const { block } = this;
    const kept = slot * this.width;
    if (length < STEP)
      return shortRun(view, start, length) === shortRun(block, kept, length) ? this.values[slot] : undefined;
    const last = length - STEP;
    for (let at = 0; at < last; at += STEP)
      if (view.getInt32(start + at, true) !== block.getInt32(kept + at, true)) return undefined;
    if (view.getInt32(start + last, true) !== block.getInt32(kept + last, true)) return undefined;
    return this.values[slot];
  }

  put(view: DataView, start: number, length: number, value: T): void {
    if (length === 0 || length > this.width) return;
    const slot = this.slotOf(view, start, length);
    const kept = slot * this.width;
    for (let at = 0; at < length; at++) this.block.setUint8(kept + at, view.getUint8(start + at));
    this.lengths[slot] = length;
    this.values[slot] = value;
  }
}

/** Short ASCII texts without a NUL, by their bytes: models, providers, kinds, regions. */
export const words = new ByteCache<string>(24);
