import type { BlockEntry } from './payload-block.ts';

/** Bytes of opened blocks that a connection keeps at the most: some sixty of them. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** What an entry of an index takes in memory. */
const ENTRY_BYTES = 72;

/** A block as it was read. */
export type OpenedBlock = {
  /** The number under which it stands: that of its first span. */
  readonly block: number;
  /** Its index, as it is stored. */
  readonly index: Buffer;
  readonly entries: readonly BlockEntry[];
  readonly last: number;
  readonly firstPart: number;
  readonly parts: number;
  /** Its records, once they were asked for. */
  body?: Buffer | undefined;
};

/** Blocks that a connection keeps from one read to the next. The one that was asked for longest ago leaves first. */
export type OpenedBlocks = {
  /**
   * A number is given to one span, and what is stored under it never changes. So a block that holds the same spans as before is the
   * same, whatever was committed meanwhile.
   * @returns nothing when the block is not kept, or holds other spans by now
   */
  find(block: number, index: Buffer): OpenedBlock | undefined;
  add(block: OpenedBlock): void;
  /** Keeps the records of a block, while there is room. */
  open(block: OpenedBlock, body: Buffer): void;
  clear(): void;
};

export const openedBlocksOf = (mostBytes = KEPT_BYTES): OpenedBlocks => {
  const kept = new Map<number, OpenedBlock>();
  let bytes = 0;
  const weigh = ({ entries, index, body }: OpenedBlock): number =>
    entries.length * ENTRY_BYTES + index.length + (body?.buffer.byteLength ?? 0);
  const remove = (known: OpenedBlock): void => {
    bytes -= weigh(known);
    kept.delete(known.block);
    known.body = undefined;
  };
  const makeRoom = (): void => {
    for (const oldest of kept.values()) {
      if (bytes <= mostBytes) return;
      remove(oldest);
    }
  };
  const add = (block: OpenedBlock): void => {
    const before = kept.get(block.block);
    if (before !== undefined) remove(before);
    kept.set(block.block, block);
    bytes += weigh(block);
    makeRoom();
  };
  return {
    find: (block, index) => {
      const known = kept.get(block);
      if (known === undefined || !known.index.equals(index)) return undefined;
      kept.delete(block);
      kept.set(block, known);
      return known;
    },
    add,
    open: (block, body) => {
      if (kept.get(block.block) === block) remove(block);
      block.body = body;
      add(block);
    },
    clear: () => {
      for (const block of kept.values()) remove(block);
    },
  };
};
