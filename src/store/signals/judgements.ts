import type { FeedbackKind } from '../../model/signal.ts';

/** Scores of one trace by scorer and version. */
export type ScoreMeanRow = [scorerId: string, scorerVersion: string | null, mean: number, count: number];

/** Judgements of one kind. Of thumbs also how many of them point up; totals that were stored before that was counted have no such number. */
export type FeedbackCount = readonly [kind: FeedbackKind, count: number, up?: number];

/** @param up how many judgements of the kind say `up` */
export const feedbackCount = (kind: FeedbackKind, count: number, up: number): FeedbackCount =>
  kind === 'thumbs' ? [kind, count, up] : [kind, count];

/** What was said of one trace. */
export type Judgements = {
  /** By scorer, then by version. */
  readonly scores: readonly ScoreMeanRow[];
  /** For each scorer the mean of the version that judged last. */
  readonly latestMeans: readonly (readonly [scorerId: string, mean: number])[];
  readonly feedback: readonly FeedbackCount[];
};

export const noJudgements: Judgements = { scores: [], latestMeans: [], feedback: [] };

/** Values are divided by this where their sum has no number: a power of two, so no digit is lost. As many may be added. */
export const MEAN_SCALE = 2 ** 30;

/** What a sum of values that were divided by `MEAN_SCALE` stands for; `undefined` where nothing was added. */
export const unscaled = (sum: number | null | undefined): number | undefined =>
  sum === null || sum === undefined ? undefined : sum * MEAN_SCALE;

type ScoreValue = readonly [scorerId: string, scorerVersion: string | null, value: number];

/**
 * Means of the scores of one trace, for every engine. Sums run in the order in which scores are added, so the same scores give the same
 * means: by scorer, then oldest first, then by score id.
 */
const newMeans = () => {
  const sums = new Map<string, { readonly row: ScoreMeanRow; sum: number; scaledSum: number }>();
  const latest = new Map<string, ScoreMeanRow>();
  return {
    add: ([scorer, version, value]: ScoreValue): void => {
      const key = `${scorer}\0${version ?? ''}`;
      let entry = sums.get(key);
      if (entry === undefined) {
        entry = { row: [scorer, version, 0, 0], sum: 0, scaledSum: 0 };
        sums.set(key, entry);
      }
      entry.sum += value;
      entry.scaledSum += value / MEAN_SCALE;
      entry.row[3]++;
      entry.row[2] = Number.isFinite(entry.sum)
        ? entry.sum / entry.row[3]
        : (entry.scaledSum / entry.row[3]) * MEAN_SCALE;
      latest.set(scorer, entry.row);
    },
    means: (): Pick<Judgements, 'scores' | 'latestMeans'> => {
      const rows = [...sums.values()].map(({ row }) => row);
      rows.sort((a, b) => (a[0] === b[0] ? ((a[1] ?? '') < (b[1] ?? '') ? -1 : 1) : a[0] < b[0] ? -1 : 1));
      return { scores: rows, latestMeans: [...latest].map(([scorer, [, , mean]]) => [scorer, mean] as const) };
    },
  };
};

/** A score, and a count of feedback, behind the trace that they judge. */
export type ScoreOf<K> = readonly [trace: K, scorerId: string, scorerVersion: string | null, value: number];
export type FeedbackOf<K> = readonly [trace: K, count: FeedbackCount];

/**
 * Judgements by trace, of the traces that have any.
 * @param scores by scorer, then oldest first, then by score id; none of them is kept, as a trace may have very many
 */
export const judgementsOf = <K>(
  scores: Iterable<ScoreOf<K>>,
  feedback: Iterable<FeedbackOf<K>>,
): ReadonlyMap<K, Judgements> => {
  const found = new Map<K, { readonly means: ReturnType<typeof newMeans>; readonly feedback: FeedbackCount[] }>();
  const of = (trace: K) => {
    let entry = found.get(trace);
    if (entry === undefined) {
      entry = { means: newMeans(), feedback: [] };
      found.set(trace, entry);
    }
    return entry;
  };
  for (const [trace, ...score] of scores) of(trace).means.add(score);
  for (const [trace, count] of feedback) of(trace).feedback.push(count);
  return new Map([...found].map(([trace, { means, feedback }]) => [trace, { ...means.means(), feedback }]));
};
