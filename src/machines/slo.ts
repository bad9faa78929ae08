import type { Judgement, RunShare, Slo, SloReading } from '../model/watch.ts';
import { createWatchMachine } from './watch.ts';

/** By what a reading is judged. */
export type SloRule = Pick<Slo, 'objective' | 'minSamples'>;

/** Above both at once the error budget is being spent too fast. @see Interface specification, "Limits", "SLO burn" */
export const BURN_RATE_1H = 14.4;
export const BURN_RATE_6H = 6;

/** Digits that a ratio of two counts is good for: without the cut, 7.2 % on 99.5 % would be a little under 14.4. */
const DIGITS = 12;
const cut = (value: number): number => Number(value.toPrecision(DIGITS));

/** The share of runs that did not fail; absent of no runs. */
export const successRate = ({ runs, failed }: RunShare): number | undefined =>
  runs === 0 ? undefined : cut(1 - failed / runs);

/** How many times faster than the objective allows runs fail; 1 uses the budget up exactly. Absent of no runs. */
export const burnRate = (objective: number, { runs, failed }: RunShare): number | undefined =>
  runs === 0 ? undefined : cut(failed / runs / (1 - objective));

/** The share of the window's error budget that is left; negative when it is overspent. Absent of no runs. */
export const budgetRemaining = (objective: number, share: RunShare): number | undefined => {
  const burnt = burnRate(objective, share);
  return burnt === undefined ? undefined : cut(1 - burnt);
};

/**
 * Whether the budget burns too fast. Each of the two windows must hold enough runs: one failed run of a quiet hour is no
 * reading. The six hours contain the one, so the hour decides.
 */
export const judgeBurn = ({ objective, minSamples }: SloRule, { hour, sixHours }: SloReading): Judgement => {
  const [fast, slow] = [burnRate(objective, hour), burnRate(objective, sixHours)];
  if (fast === undefined || slow === undefined || Math.min(hour.runs, sixHours.runs) < minSamples) return 'silent';
  return fast > BURN_RATE_1H && slow > BURN_RATE_6H ? 'outside' : 'inside';
};

export const SLO_MACHINE_VERSION = 1;

/** The life of one service level objective; its conditions are those of a monitor. */
export const sloMachine = createWatchMachine({
  id: 'slo',
  judge: judgeBurn,
  guards: { outside: 'burnsTooFast', inside: 'burnsNoMore' },
  descriptions: {
    nominal: 'The error budget is not being spent too fast.',
    tripped: 'Burning too fast over the last hour and the last six; nobody has said that they know.',
    acknowledged: 'Burning too fast, and known. Ends by itself when it burns no more.',
  },
});
