import type { Changes } from '../../store/runs/run-store.ts';
import type { Message } from '../kernel/message.ts';
import { type ActorKind, storedSlot } from '../runs-kernel.ts';

/** Most keys that memory knows by their ids, some four megabytes. With more in use each look for a key asks the store. */
export const MOST_KNOWN = 50_000;

/** The ids of all keys in use, as of the commit before this group: at most one more than `MOST_KNOWN`. */
const idsSlot = storedSlot({
  name: 'limit_ids',
  lifetime: 'group',
  keyOf: () => '',
  lookup: () => ({ kind: 'limit_ids', limit: MOST_KNOWN + 1 }),
});

/**
 * Which keys are in use, as of the last commit. Many keys are used by one run alone, and are new when it starts. Without this, each such
 * start would ask the store for a row that is not there, and its whole group would wait for the answer.
 *
 * The ids are read in a turn: no commit is made between this read and the first commit that is counted here.
 */
export const createKeysInUse = () => {
  let known: Set<string> | undefined;
  return {
    /** Whether the last commit left no such key. `false` where that is not known. */
    isUnused: (limitId: string): boolean => known !== undefined && !known.has(limitId),
    /** Whether all of them are known. Where they are not, `look` has them read. */
    isComplete: (): boolean => known !== undefined,
    look: { type: 'keys_in_use', id: '', body: undefined } satisfies Message,
    actor: {
      type: 'keys_in_use',
      receive: (turn) => {
        const ids = turn.read(idsSlot, undefined);
        known = ids.length > MOST_KNOWN ? undefined : new Set(ids);
        return undefined;
      },
    } satisfies ActorKind,
    /** A commit is through. */
    committed: ({ limitsInserted, limitsGone }: Pick<Changes, 'limitsInserted' | 'limitsGone'>): void => {
      if (known === undefined) return;
      for (const limitId of limitsGone) known.delete(limitId);
      for (const { limitId } of limitsInserted) known.add(limitId);
      if (known.size > MOST_KNOWN) known = undefined;
    },
    /** A commit has failed, or nobody knows what became of it. */
    dropped: (): void => {
      known = undefined;
    },
  };
};
export type KeysInUse = ReturnType<typeof createKeysInUse>;
