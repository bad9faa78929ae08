import { assign, setup } from 'xstate';
import type { ReportedCondition, RunShare, Slo, SloReading, WatchContext, WatchEvent } from '../model/watch.ts';

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
export const judgeBurn = (
  { objective, minSamples }: SloRule,
  { hour, sixHours }: SloReading,
): 'outside' | 'inside' | 'silent' => {
  const [fast, slow] = [burnRate(objective, hour), burnRate(objective, sixHours)];
  if (fast === undefined || slow === undefined || Math.min(hour.runs, sixHours.runs) < minSamples) return 'silent';
  return fast > BURN_RATE_1H && slow > BURN_RATE_6H ? 'outside' : 'inside';
};

export const SLO_MACHINE_VERSION = 1;

/**
 * The life of one service level objective; its conditions are those of a monitor.
 * @see Interface specification, "States and transitions", "Monitor (and SLO)"
 */
export const sloMachine = setup({
  types: {
    context: {} as WatchContext<SloRule, SloReading>,
    input: {} as SloRule,
    events: {} as WatchEvent<SloReading>,
  },
  guards: {
    burnsTooFast: ({ context, event }) =>
      event.type === 'evaluation.ended' && judgeBurn(context.rule, event.reading) === 'outside',
    burnsNoMore: ({ context, event }) =>
      event.type === 'evaluation.ended' && judgeBurn(context.rule, event.reading) === 'inside',
  },
  actions: {
    takeReading: assign(({ event }) =>
      event.type === 'evaluation.ended' ? { reading: event.reading, evaluatedAt: event.at, missed: undefined } : {},
    ),
    noteMiss: assign(({ event }) => (event.type === 'evaluation.missed' ? { missed: event.note } : {})),
    noteTrip: assign({ trippedAt: ({ event }) => event.at }),
    noteAcknowledgement: assign({ acknowledgedAt: ({ event }) => event.at }),
    forgetTrip: assign({ trippedAt: undefined, acknowledgedAt: undefined }),
    // Intent: the host writes a log line and calls the webhook, after the commit.
    report: (_args, _params: { readonly condition: ReportedCondition }) => {},
  },
}).createMachine({
  id: 'slo',
  initial: 'nominal',
  context: ({ input }) => ({ rule: input }),
  states: {
    nominal: {
      description: 'The error budget is not being spent too fast.',
      on: {
        'evaluation.ended': [
          {
            guard: 'burnsTooFast',
            target: 'tripped',
            actions: ['takeReading', 'noteTrip', { type: 'report', params: { condition: 'tripped' } }],
          },
          { actions: 'takeReading' },
        ],
        'evaluation.missed': { actions: 'noteMiss' },
      },
    },
    tripped: {
      description: 'Burning too fast over the last hour and the last six; nobody has said that they know.',
      on: {
        'evaluation.ended': [
          {
            guard: 'burnsNoMore',
            target: 'nominal',
            actions: ['takeReading', 'forgetTrip', { type: 'report', params: { condition: 'nominal' } }],
          },
          { actions: 'takeReading' },
        ],
        'evaluation.missed': { actions: 'noteMiss' },
        'trip.acknowledged': { target: 'acknowledged', actions: 'noteAcknowledgement' },
      },
    },
    acknowledged: {
      description: 'Burning too fast, and known. Ends by itself when it burns no more.',
      on: {
        'evaluation.ended': [
          {
            guard: 'burnsNoMore',
            target: 'nominal',
            actions: ['takeReading', 'forgetTrip', { type: 'report', params: { condition: 'nominal' } }],
          },
          { actions: 'takeReading' },
        ],
        'evaluation.missed': { actions: 'noteMiss' },
      },
    },
  },
});
