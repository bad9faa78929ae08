import { assign, setup } from 'xstate';
import type { Monitor, MonitorReading, ReportedCondition, WatchContext, WatchEvent } from '../model/watch.ts';

/** By what a reading is judged. */
export type MonitorRule = Pick<Monitor, 'compare' | 'threshold' | 'minSamples'>;

/**
 * Where a reading stands to the threshold. A value on the threshold is inside it.
 * @returns `silent` when the window holds too little, or nothing that the value could be computed from
 */
export const judgeReading = (
  { compare, threshold, minSamples }: MonitorRule,
  { value, samples }: MonitorReading,
): 'outside' | 'inside' | 'silent' => {
  if (value === undefined || samples < minSamples) return 'silent';
  return (compare === 'above' ? value > threshold : value < threshold) ? 'outside' : 'inside';
};

export const MONITOR_MACHINE_VERSION = 1;

/**
 * The life of one monitor. The specification is silent on whether an acknowledged monitor that recovers reports it: it does,
 * so that whoever was told of a trip is told of its end.
 * @see Interface specification, "States and transitions", "Monitor (and SLO)"
 */
export const monitorMachine = setup({
  types: {
    context: {} as WatchContext<MonitorRule, MonitorReading>,
    input: {} as MonitorRule,
    events: {} as WatchEvent<MonitorReading>,
  },
  guards: {
    crosses: ({ context, event }) =>
      event.type === 'evaluation.ended' && judgeReading(context.rule, event.reading) === 'outside',
    isBackInside: ({ context, event }) =>
      event.type === 'evaluation.ended' && judgeReading(context.rule, event.reading) === 'inside',
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
  id: 'monitor',
  initial: 'nominal',
  context: ({ input }) => ({ rule: input }),
  states: {
    nominal: {
      description: 'Inside the threshold, or never outside it with enough samples.',
      on: {
        'evaluation.ended': [
          {
            guard: 'crosses',
            target: 'tripped',
            actions: ['takeReading', 'noteTrip', { type: 'report', params: { condition: 'tripped' } }],
          },
          { actions: 'takeReading' },
        ],
        'evaluation.missed': { actions: 'noteMiss' },
      },
    },
    tripped: {
      description: 'Outside the threshold; nobody has said that they know. Silence is not recovery.',
      on: {
        'evaluation.ended': [
          {
            guard: 'isBackInside',
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
      description: 'Outside the threshold, and known. Ends by itself when the value recovers.',
      on: {
        'evaluation.ended': [
          {
            guard: 'isBackInside',
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
