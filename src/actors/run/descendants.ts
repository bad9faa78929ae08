import type { StepError } from '../../model/definition/step-error.ts';
import type { RunRecord } from '../../store/runs/run-store.ts';
import { byId } from '../kernel/slot.ts';
import { storedSlot, type Turn } from '../runs-kernel.ts';

/** Most runs below one root, where nothing else is configured. */
export const MAX_DESCENDANTS = 100_000;

/**
 * How many runs were started below a root. Beside its row, and not in it: each commit writes one small row a tree, however many turns of it
 * started runs, and a root that has ended or is quarantined is left alone.
 */
const treeSizeSlot = storedSlot({
  name: 'tree_size',
  lifetime: 'kept',
  keyOf: byId,
  lookup: (traceId: string) => ({ kind: 'tree_size', traceId }),
  flush: (before, after, changes) => {
    if (after.descendants !== before?.descendants) changes.treeSizes.push(after);
  },
});

/**
 * What fails a step that would start more runs than may stand below its root. The runs that it has yet to start count at once, so that
 * a step which cannot end well does not begin.
 * @param wanted runs that the step has yet to start
 * @see Interface decisions, "12. Decided since", "Bounds that were missing"
 */
export const tooManyDescendants = (
  turn: Turn,
  { traceId }: Pick<RunRecord, 'traceId'>,
  wanted: number,
  most: number,
): StepError | undefined => {
  const { descendants } = turn.read(treeSizeSlot, traceId);
  if (descendants + wanted <= most) return undefined;
  return {
    class: 'limit',
    limit: 'descendants',
    message: `the root run has ${descendants} descendants and would have ${descendants + wanted}, at most ${most} are allowed (--max-descendants)`,
  };
};

/** Counts runs that start in this turn. */
export const countDescendants = (turn: Turn, { traceId }: Pick<RunRecord, 'traceId'>, count: number): void => {
  const { descendants } = turn.read(treeSizeSlot, traceId);
  turn.write(treeSizeSlot, traceId, { traceId, descendants: descendants + count });
};
