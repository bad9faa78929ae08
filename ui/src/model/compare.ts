import type { components } from '../api/types.ts';
import { formatNumber } from './watch.ts';

export type ComparedScorer = components['schemas']['Comparison']['scorers'][number];

/** Each side needs so many scores before anything is decided; the service decides by it, too. */
export const NEEDED_SCORES = 20;
const SIGNIFICANCE = 0.05;

export type Verdict = 'regressed' | 'improved' | 'no difference shown' | 'not decidable';

/** Where too little was scored there is no verdict, whatever the means say. */
export const verdictOf = ({ decidable, regressed, delta, p_value }: ComparedScorer): Verdict => {
  if (!decidable) return 'not decidable';
  if (regressed) return 'regressed';
  return delta > 0 && p_value !== undefined && p_value < SIGNIFICANCE ? 'improved' : 'no difference shown';
};

export const explainVerdict = (scorer: ComparedScorer): string => {
  const verdict = verdictOf(scorer);
  if (verdict === 'not decidable')
    return `not decidable (${Math.min(scorer.baseline.count, scorer.candidate.count)} of ${NEEDED_SCORES})`;
  const { p_value } = scorer;
  if (p_value === undefined) return verdict;
  return `${verdict}, p ${p_value < 0.001 ? '< 0.001' : `= ${p_value.toFixed(3)}`}`;
};

/** With its sign: `+0.075`, `−0.257`. */
export const formatDelta = (delta: number): string => `${delta > 0 ? '+' : ''}${formatNumber(delta).replace('-', '−')}`;

/** A case as one side of a comparison ran it. */
export type Ran = {
  readonly traceId: string;
  readonly input: unknown;
  readonly output: unknown;
  readonly value: number;
  readonly reason: string | undefined;
};
export type Pair = { readonly key: string; readonly input: unknown; readonly baseline: Ran; readonly candidate: Ran };

/** JSON whose members stand in one order, so that equal values are equal texts. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? '';

/**
 * Puts runs with the same input beside each other, those that lost most first. Of several runs of one input the first counts.
 * @returns the pairs, and how many runs of each side have no partner
 */
export const pairCases = (
  baseline: readonly Ran[],
  candidate: readonly Ran[],
): { readonly pairs: readonly Pair[]; readonly alone: { readonly baseline: number; readonly candidate: number } } => {
  const sides = [baseline, candidate].map((runs) => {
    const byInput = new Map<string, Ran>();
    for (const run of runs) {
      if (run.input === undefined) continue;
      const key = canonicalJson(run.input);
      if (!byInput.has(key)) byInput.set(key, run);
    }
    return byInput;
  });
  const [before = new Map<string, Ran>(), after = new Map<string, Ran>()] = sides;
  const pairs = [...before].flatMap(([key, run]) => {
    const other = after.get(key);
    return other === undefined ? [] : [{ key, input: run.input, baseline: run, candidate: other }];
  });
  const lost = (pair: Pair): number => pair.candidate.value - pair.baseline.value;
  return {
    pairs: pairs.toSorted((a, b) => lost(a) - lost(b)),
    alone: { baseline: baseline.length - pairs.length, candidate: candidate.length - pairs.length },
  };
};

export type DiffPart = { readonly kind: 'same' | 'removed' | 'added'; readonly text: string };

/** Beyond that, texts are shown beside each other without a diff. */
const MOST_WORDS = 1500;

const wordsOf = (text: string): readonly string[] => text.match(/\s+|[^\s]+/g) ?? [];

/** What was taken out and put in between two texts, word by word. @returns nothing for texts that are too long for it */
export const diffWords = (before: string, after: string): readonly DiffPart[] | undefined => {
  const a = wordsOf(before);
  const b = wordsOf(after);
  if (a.length > MOST_WORDS || b.length > MOST_WORDS) return undefined;
  // lengths[i][j]: the longest common sequence of what follows i and j.
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] =
        a[i] === b[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
  const parts: { kind: DiffPart['kind']; text: string }[] = [];
  const put = (kind: DiffPart['kind'], text: string): void => {
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else parts.push({ kind, text });
  };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const [old = '', fresh = ''] = [a[i], b[j]];
    if (i < a.length && j < b.length && old === fresh) {
      put('same', old);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      put('removed', old);
      i += 1;
    } else {
      put('added', fresh);
      j += 1;
    }
  }
  return parts;
};
