import type { components } from '../api/types.ts';
import { canonicalJson } from './compare.ts';

type Attempt = components['schemas']['Attempt'];

/** So many visits of one step in a row with one result are a loop that gets nowhere. */
export const LEAST_REPEATS = 3;

/** A step that gave the same result again and again. */
export type RunLoop = { readonly step: string; readonly times: number };

/**
 * The loop that a run is in, or was in when it ended: the longest row of equal results at the end of the visits of one step. What a step
 * was given is not kept, so its results are compared.
 */
export const loopOf = (attempts: readonly Attempt[]): RunLoop | undefined => {
  const steps = Map.groupBy(
    attempts.filter(({ status }) => status === 'succeeded'),
    ({ step_id: step }) => step,
  );
  let longest: RunLoop | undefined;
  for (const [step, of] of steps) {
    const inOrder = of.toSorted((a, b) => a.visit - b.visit);
    const last = inOrder.at(-1);
    if (last === undefined || inOrder.length < LEAST_REPEATS) continue;
    const result = canonicalJson(last.output);
    const other = inOrder.findLastIndex(({ output }) => canonicalJson(output) !== result);
    const times = inOrder.length - other - 1;
    if (times >= LEAST_REPEATS && times > (longest?.times ?? 0)) longest = { step, times };
  }
  return longest;
};
