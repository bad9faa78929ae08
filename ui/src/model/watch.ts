import type { components } from '../api/types.ts';
import { formatCount, formatDuration, formatDurationMs, formatMoney, formatShare, UNKNOWN } from './units.ts';

type Schemas = components['schemas'];
export type Monitor = Schemas['Monitor'];
export type Slo = Schemas['Slo'];
type Watched = Schemas['Watched'];

/** How a monitor or an objective stands, in the order in which somebody wants to see it. */
export const watchStates = ['tripped', 'acknowledged', 'holding', 'nominal', 'disabled'] as const;
export type WatchState = (typeof watchStates)[number];

/** Too few samples neither trip nor recover: the condition holds, whatever it was. */
export const isHolding = ({ samples, min_samples, evaluated_at }: Watched): boolean =>
  evaluated_at !== undefined && samples < min_samples;

export const stateOfMonitor = (monitor: Monitor): WatchState =>
  !monitor.enabled ? 'disabled' : monitor.condition === 'nominal' && isHolding(monitor) ? 'holding' : monitor.condition;

/** The last hour must hold `min_samples`; how many it held, only `detail` says. */
const SLO_HOLDS = /fewer than min_samples/;

export const stateOfSlo = (slo: Slo): WatchState =>
  slo.condition === 'nominal' && SLO_HOLDS.test(slo.detail) ? 'holding' : slo.condition;

/** The worst first, then by name. */
export const inOrder = <T extends { readonly name: string }>(
  watched: readonly T[],
  stateOf: (one: T) => WatchState,
): readonly T[] =>
  watched.toSorted(
    (a, b) => watchStates.indexOf(stateOf(a)) - watchStates.indexOf(stateOf(b)) || a.name.localeCompare(b.name),
  );

/** A number without the noise of binary fractions. */
export const formatNumber = (value: number | undefined): string =>
  value === undefined
    ? UNKNOWN
    : value.toLocaleString('en-US', { maximumSignificantDigits: Math.abs(value) >= 1000 ? 6 : 3 });

/** A reading or a threshold of a monitor, in the unit of what it watches. */
export const formatReading = (watch: Monitor['watch'], value: number | undefined): string => {
  if (value === undefined) return UNKNOWN;
  switch (watch) {
    case 'error_rate':
    case 'step_count_divergence':
      return formatShare(value);
    case 'latency_p95':
      return formatDurationMs(value);
    case 'cost':
      return formatMoney({ total_cost: value });
    case 'trace_count':
      return formatCount(value);
    case 'score_mean':
    case 'run_repetition':
      return formatNumber(value);
    default:
      return formatNumber(value);
  }
};

const watchWords: Readonly<Record<Monitor['watch'], string>> = {
  error_rate: 'Error rate',
  latency_p95: 'Latency p95',
  cost: 'Cost',
  score_mean: 'Mean score',
  trace_count: 'Traces',
  step_count_divergence: 'Runs of unusual length',
  run_repetition: 'Attempts a step',
};

export const wordOfWatch = ({ watch, scorer_id }: Monitor): string => {
  const word = watchWords[watch] ?? watch;
  return scorer_id === undefined ? word : `${word} of ${scorer_id}`;
};

/** `last 15 min` */
export const formatWindow = (seconds: number): string => `last ${formatDuration(seconds * 1e9)}`;

/** `trips above 5 %` */
export const formatRule = ({ watch, compare, threshold }: Monitor): string =>
  `trips ${compare} ${formatReading(watch, threshold)}`;

/** What the samples of a reading are. */
export const samplesOf = ({ watch }: Monitor): string => (watch === 'score_mean' ? 'scores' : 'runs');

/** A share as an objective is written: 99.5 %, never rounded up to 100 %. @param share from 0 to 1 */
export const formatObjective = (share: number | undefined): string =>
  share === undefined ? UNKNOWN : `${Number((Math.floor(share * 1e6 + 1e-6) / 1e4).toFixed(4))} %`;

/** The sum behind the error budget of an objective. */
export type Budget = {
  readonly runs: number;
  /** So many of the runs may fail; not a whole number. */
  readonly allowed: number;
  readonly failed: number;
  /** The share that is left; negative when overspent. */
  readonly remaining: number;
};

export const budgetOf = ({ objective, samples, success_rate, budget_remaining }: Slo): Budget | undefined =>
  success_rate === undefined || budget_remaining === undefined
    ? undefined
    : {
        runs: samples,
        allowed: (1 - objective) * samples,
        failed: Math.round((1 - success_rate) * samples),
        remaining: budget_remaining,
      };

const oneDigit = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 1 });

/** A share of a budget, signed: `44.6 %`, `−1,007.8 %`. */
export const formatRemaining = (share: number | undefined): string =>
  share === undefined ? UNKNOWN : `${oneDigit(share * 100).replace('-', '−')} %`;

/** `99.5 % of 1,020 runs allows 5.1 failures; 113 failed, so the budget is overspent by 107.9.` */
export const explainBudget = (slo: Slo): string => {
  const budget = budgetOf(slo);
  if (budget === undefined) return 'Nothing could be read in the window, so no budget is known.';
  const { runs, allowed, failed } = budget;
  const left = allowed - failed;
  return (
    `${formatObjective(slo.objective)} of ${formatCount(runs)} runs allows ${oneDigit(allowed)} failures; ${formatCount(failed)} failed, ` +
    (left < 0 ? `so the budget is overspent by ${oneDigit(-left)}.` : `${oneDigit(left)} are left.`)
  );
};

/** An objective trips when both of its burn rates are above their lines. */
export const BURN_LINE_1H = 14.4;
export const BURN_LINE_6H = 6;

export type BurnState = 'critical' | 'increasing' | 'recovering' | 'acceptable' | 'unknown';

export const burnStateOf = ({ burn_rate_1h, burn_rate_6h }: Slo): BurnState => {
  if (burn_rate_1h === undefined || burn_rate_6h === undefined) return 'unknown';
  const fast = burn_rate_1h > BURN_LINE_1H;
  const slow = burn_rate_6h > BURN_LINE_6H;
  if (fast) return slow ? 'critical' : 'increasing';
  return slow ? 'recovering' : 'acceptable';
};

export const burnWords: Readonly<Record<BurnState, string>> = {
  critical: 'Both burn rates are above their lines: the objective trips.',
  increasing: 'The last hour is above its line, six hours are not yet.',
  recovering: 'Six hours are above their line, the last hour no longer is.',
  acceptable: 'The last six hours burn below their line, and so does the last hour.',
  unknown: 'No burn rate could be read.',
};

/** Both burn rates share one logarithmic axis, from a tenth of what is allowed to a hundred times that. */
export const BURN_TICKS = [0.1, 1, 10, 100] as const;
const LOWEST = Math.log10(BURN_TICKS[0]);
const DECADES = Math.log10(BURN_TICKS[3]) - LOWEST;

/** @returns a place on that axis, from 0 to 1; what lies outside stands at its end */
export const burnPlace = (rate: number): number =>
  rate <= BURN_TICKS[0] ? 0 : Math.min(1, (Math.log10(rate) - LOWEST) / DECADES);

/** Where the bar of a budget lies: its axis runs from `low`, which is negative for an overspent one, to 1. */
export const budgetBar = (
  remaining: number,
): { readonly zero: number; readonly from: number; readonly width: number } => {
  const low = Math.min(0, remaining);
  const size = 1 - low;
  const zero = Math.abs(low) / size;
  const end = (Math.min(1, remaining) - low) / size;
  return { zero, from: Math.min(zero, end), width: Math.abs(end - zero) };
};

const MINUTE_S = 60;

/** How long a service is up, in whole minutes where it is up for one. */
export const uptimeText = (seconds: number): string =>
  formatDurationMs(1000 * (seconds < MINUTE_S ? seconds : seconds - (seconds % MINUTE_S)));
