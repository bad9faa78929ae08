import type { components } from '../api/types.ts';
import { formatNumber } from './watch.ts';

export type Score = components['schemas']['Score'];

export const BINS = 10;

/** Scores of one scorer in one version: only they compare. */
export type ScoreGroup = {
  readonly scorerId: string;
  readonly version: string | undefined;
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  /** How many lie in each tenth of the range, lowest first; the last tenth holds its upper end. */
  readonly bins: readonly number[];
};

const binOf = ({ value, min, max }: Score): number =>
  max > min ? Math.min(BINS - 1, Math.max(0, Math.floor(((value - min) / (max - min)) * BINS))) : 0;

export const groupScores = (scores: readonly Score[]): readonly ScoreGroup[] => {
  const groups = Map.groupBy(scores, ({ scorer_id, scorer_version, min, max }) =>
    JSON.stringify([scorer_id, scorer_version ?? null, min, max]),
  );
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const bins = Array.from({ length: BINS }, () => 0);
      for (const score of group) bins[binOf(score)] = (bins[binOf(score)] ?? 0) + 1;
      return [
        {
          scorerId: first.scorer_id,
          version: first.scorer_version,
          count: group.length,
          mean: group.reduce((sum, { value }) => sum + value, 0) / group.length,
          min: first.min,
          max: first.max,
          bins,
        },
      ];
    })
    .toSorted((a, b) => a.scorerId.localeCompare(b.scorerId) || (a.version ?? '').localeCompare(b.version ?? ''));
};

export const nameOfScorer = (scorerId: string, version: string | undefined): string =>
  version === undefined ? scorerId : `${scorerId} v${version}`;

/** A value with its range, unless that is 0 to 1: `0.74`, `212 of 0 to 500`. */
export const formatScore = ({ value, min, max }: Score): string =>
  min === 0 && max === 1
    ? formatNumber(value)
    : `${formatNumber(value)} of ${formatNumber(min)} to ${formatNumber(max)}`;

/** What a judge was, where the score says so. */
export const judgeOf = ({ metadata }: Score): string | undefined => {
  const judge = metadata?.['judge_model'] ?? metadata?.['model'];
  return typeof judge === 'string' ? judge : undefined;
};

/** Ids in a text, one a line or with commas between. */
export const idsIn = (text: string): readonly string[] => text.split(/[\s,]+/).filter((id) => id !== '');

/** The settings that a form gives, without those that were left empty. */
export const configOf = (given: Readonly<Record<string, string>>): Record<string, unknown> => {
  const config: Record<string, unknown> = {};
  for (const [key, text] of Object.entries(given)) {
    const trimmed = text.trim();
    if (trimmed === '') continue;
    if (key.startsWith('max_')) config[key] = Number(trimmed);
    else if (key === 'case_sensitive') config[key] = trimmed === 'true';
    else config[key] = trimmed;
  }
  return config;
};
