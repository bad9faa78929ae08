/** A text that was taken out of its queue. */
export type TakenText<Kind> = {
  readonly kind: Kind;
  /** UTF-8. Its memory is used again when the next text comes in. */
  readonly bytes: Uint8Array;
};

/** Texts one after the other, the first of which may have been taken. */
type Block<Kind> = {
  readonly memory: Uint8Array;
  /** Where each text ends; it begins where the one before it ends. */
  readonly ends: number[];
  readonly kinds: Kind[];
  /** Texts that have memory of their own, by their place in the block. */
  readonly large: Map<number, Uint8Array>;
  taken: number;
};

const BLOCK_BYTES = 1024 * 1024;
const MOST_TEXTS_IN_A_BLOCK = 10_000;
/** A longer text, in UTF-16 units, has memory of its own: else a block would end half empty for it. */
const LARGE_UNITS = 128 * 1024;
/** Blocks that are kept for texts to come; the largest batch sets so many free. */
const MOST_SPARE = 4;

/**
 * Texts, first in, first out, in blocks of memory that are used again. A queue of strings that is full and drops its oldest all the
 * time leaves so much to the collector that the process grows to several times what the queue holds.
 */
export const createTextQueue = <Kind>() => {
  const encoder = new TextEncoder();
  /** None but the last has room. */
  let blocks: Block<Kind>[] = [];
  let spare: Block<Kind>[] = [];
  let count = 0;
  let bytes = 0;

  const clearOf = (block: Block<Kind>): Block<Kind> => {
    block.ends.length = 0;
    block.kinds.length = 0;
    block.large.clear();
    block.taken = 0;
    return block;
  };

  const begin = (): Block<Kind> => {
    const block = spare.pop() ?? {
      memory: new Uint8Array(BLOCK_BYTES),
      ends: [],
      kinds: [],
      large: new Map<number, Uint8Array>(),
      taken: 0,
    };
    blocks.push(block);
    return block;
  };

  const filling = (): Block<Kind> => {
    const last = blocks.at(-1);
    if (last === undefined) return begin();
    // First: a block that is full and taken completely must not stay before a new one, as the oldest.
    if (last.taken === last.ends.length) return clearOf(last);
    return last.ends.length === MOST_TEXTS_IN_A_BLOCK ? begin() : last;
  };

  const usedOf = (block: Block<Kind>): number => block.ends.at(-1) ?? 0;

  /** How many bytes the text with that place in a block has. */
  const sizeOf = (block: Block<Kind>, place: number): number =>
    block.large.get(place)?.length ?? (block.ends[place] ?? 0) - (block.ends[place - 1] ?? 0);

  /** Writes a text behind the others. @returns how many bytes it has; `undefined` where it does not fit */
  const write = (block: Block<Kind>, text: string): number | undefined => {
    const used = usedOf(block);
    const { read, written } = encoder.encodeInto(text, block.memory.subarray(used));
    if (read < text.length) return undefined;
    block.ends.push(used + written);
    return written;
  };

  const forget = (block: Block<Kind>): void => {
    count -= 1;
    bytes -= sizeOf(block, block.taken);
    block.large.delete(block.taken);
    block.taken += 1;
    if (block.taken < block.ends.length || blocks.length === 1) return;
    blocks.shift();
    if (spare.length < MOST_SPARE) spare.push(clearOf(block));
  };

  return {
    count: (): number => count,
    /** Of all texts that wait. */
    bytes: (): number => bytes,
    /** Of the oldest; 0 for none. */
    oldestBytes: (): number => (count === 0 || blocks[0] === undefined ? 0 : sizeOf(blocks[0], blocks[0].taken)),

    push: (kind: Kind, text: string): void => {
      let block = filling();
      let size: number;
      if (text.length > LARGE_UNITS) {
        const own = encoder.encode(text);
        block.large.set(block.ends.length, own);
        block.ends.push(usedOf(block));
        size = own.length;
      } else {
        let written = write(block, text);
        if (written === undefined) {
          block = begin();
          written = write(block, text);
        }
        size = written ?? 0;
      }
      block.kinds.push(kind);
      count += 1;
      bytes += size;
    },

    dropOldest: (): void => {
      if (count > 0 && blocks[0] !== undefined) forget(blocks[0]);
    },

    takeOldest: (): TakenText<Kind> | undefined => {
      const [block] = blocks;
      if (count === 0 || block === undefined) return undefined;
      const { taken: place, kinds, ends, large } = block;
      const own = large.get(place) ?? block.memory.subarray(ends[place - 1] ?? 0, ends[place]);
      const text = { kind: kinds[place] as Kind, bytes: own };
      forget(block);
      return text;
    },

    clear: (): void => {
      blocks = [];
      spare = [];
      count = 0;
      bytes = 0;
    },
  };
};
