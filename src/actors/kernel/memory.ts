import type { Slot } from './slot.ts';

/** What is known under one key; `undefined` is known not to exist. */
export type Cell = { readonly slot: Slot<unknown, unknown>; readonly value: unknown };

/** What one group has read and written, over what it started from. */
export type GroupMemory = {
  /** Memory of the group that was in commit when this one was opened. Dropped when this one is sealed. */
  base: GroupMemory | undefined;
  readonly written: Map<string, Cell>;
  /** What stood under the written keys before. */
  readonly before: Map<string, Cell | undefined>;
  readonly loaded: Map<string, Cell>;
  /** Keys that memory lets go of after the commit. */
  readonly forgotten: Set<string>;
};

export const newGroupMemory = (base: GroupMemory | undefined): GroupMemory => ({
  base,
  written: new Map(),
  before: new Map(),
  loaded: new Map(),
  forgotten: new Set(),
});

/** Whether the groups that follow may go on with it. */
const lasts = ({ slot, value }: Cell): boolean => value !== undefined && slot.lifetime === 'kept' && slot.lasts(value);

export type Memory = ReturnType<typeof createMemory>;

/**
 * What is kept between groups, bounded by number and by weight. It never runs ahead of the store: a group's memory joins it
 * when the group is committed.
 */
export const createMemory = (limits: { readonly keys: number; readonly bytes: number }) => {
  const kept = new Map<string, Cell>();
  let bytes = 0;

  /**
   * The memory that a group starts from. The store answers as of the commit under way, so keys that this commit removes or
   * found absent are read again, and so are values that do not last.
   */
  const inherited = ({ base }: GroupMemory, key: string): Cell | undefined => {
    if (base !== undefined) {
      const written = base.written.get(key);
      if (written !== undefined) return lasts(written) ? written : undefined;
      const loaded = base.loaded.get(key);
      if (loaded !== undefined && lasts(loaded)) return loaded;
    }
    return kept.get(key);
  };

  const drop = (key: string): void => {
    const cell = kept.get(key);
    if (cell === undefined) return;
    bytes -= cell.slot.weigh(cell.value);
    kept.delete(key);
  };

  const enter = (key: string, cell: Cell): void => {
    drop(key);
    if (!lasts(cell)) return;
    kept.set(key, cell);
    bytes += cell.slot.weigh(cell.value);
  };

  return {
    /** What a turn of the group finds under a key, its own writes aside. */
    find: (group: GroupMemory, key: string): Cell | undefined =>
      group.written.get(key) ?? group.loaded.get(key) ?? inherited(group, key),

    /** The same, of what this group or the one in commit wrote. */
    findWritten: (group: GroupMemory, key: string): Cell | undefined => {
      const own = group.written.get(key);
      if (own !== undefined || group.base === undefined) return own;
      const cell = group.base.written.get(key);
      return cell !== undefined && lasts(cell) ? cell : undefined;
    },

    /** A turn of the group has ended well. */
    merge: (group: GroupMemory, writes: ReadonlyMap<string, Cell>): void => {
      for (const [key, cell] of writes) {
        if (!group.written.has(key)) group.before.set(key, group.loaded.get(key) ?? inherited(group, key));
        group.written.set(key, cell);
      }
    },

    /** The group was committed. */
    remember: (group: GroupMemory): void => {
      for (const [key, cell] of group.loaded) enter(key, cell);
      for (const [key, cell] of group.written) enter(key, cell);
      for (const key of group.forgotten) drop(key);
      // A Map keeps the order of insertion, so the keys longest unchanged go first.
      if (kept.size > limits.keys || bytes > limits.bytes)
        for (const key of kept.keys()) {
          if (kept.size <= limits.keys && bytes <= limits.bytes) break;
          drop(key);
        }
    },

    clear: (): void => {
      kept.clear();
      bytes = 0;
    },
  };
};
