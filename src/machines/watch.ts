import { assign, setup } from 'xstate';
import type { Judgement, ReportedCondition, WatchContext, WatchEvent } from '../model/watch.ts';

/** What differs between the kinds: the name, how a reading is judged, and the text of the diagram. */
export type WatchMachineOptions<Rule, Reading> = {
  readonly id: string;
  readonly judge: (rule: Rule, reading: Reading) => Judgement;
  /** Names of the two guards, as the diagram shows them. */
  readonly guards: { readonly outside: string; readonly inside: string };
  readonly descriptions: { readonly nominal: string; readonly tripped: string; readonly acknowledged: string };
};

/**
 * The life that monitors and SLOs share. The specification does not say whether an acknowledged one reports its recovery. It does:
 * a receiver that was sent a trip is sent its end.
 * @see Interface specification, "States and transitions", "Monitor (and SLO)"
 */
export const createWatchMachine = <Rule, Reading>({
  id,
  judge,
  guards,
  descriptions,
}: WatchMachineOptions<Rule, Reading>) => {
  type Given = { readonly context: WatchContext<Rule, Reading>; readonly event: WatchEvent<Reading> };
  const isJudged =
    (judgement: Judgement) =>
    ({ context, event }: Given): boolean =>
      event.type === 'evaluation.ended' && judge(context.rule, event.reading) === judgement;

  /** Both of the states that a trip leads to end alike. */
  const recovery = [
    {
      guard: guards.inside,
      target: 'nominal',
      actions: ['takeReading', 'forgetTrip', { type: 'report', params: { condition: 'nominal' } }],
    },
    { actions: 'takeReading' },
  ] as const;

  return setup({
    types: {
      context: {} as WatchContext<Rule, Reading>,
      input: {} as Rule,
      events: {} as WatchEvent<Reading>,
    },
    guards: { [guards.outside]: isJudged('outside'), [guards.inside]: isJudged('inside') },
    actions: {
      takeReading: assign(({ event }) =>
        event.type === 'evaluation.ended' ? { reading: event.reading, evaluatedAt: event.at, missed: undefined } : {},
      ),
      noteMiss: assign(({ event }) => (event.type === 'evaluation.missed' ? { missed: event.note } : {})),
      noteTrip: assign({ trippedAt: ({ event }) => event.at }),
      noteAcknowledgement: assign({ acknowledgedAt: ({ event }) => event.at }),
      forgetTrip: assign({ trippedAt: undefined, acknowledgedAt: undefined }),
      // Intent: the host writes a log line and calls the webhook.
      report: (_args, _params: { readonly condition: ReportedCondition }) => {},
    },
  }).createMachine({
    id,
    initial: 'nominal',
    context: ({ input }) => ({ rule: input }),
    states: {
      nominal: {
        description: descriptions.nominal,
        on: {
          'evaluation.ended': [
            {
              guard: guards.outside,
              target: 'tripped',
              actions: ['takeReading', 'noteTrip', { type: 'report', params: { condition: 'tripped' } }],
            },
            { actions: 'takeReading' },
          ],
          'evaluation.missed': { actions: 'noteMiss' },
        },
      },
      tripped: {
        description: descriptions.tripped,
        on: {
          'evaluation.ended': recovery,
          'evaluation.missed': { actions: 'noteMiss' },
          'trip.acknowledged': { target: 'acknowledged', actions: 'noteAcknowledgement' },
        },
      },
      acknowledged: {
        description: descriptions.acknowledged,
        on: {
          'evaluation.ended': recovery,
          'evaluation.missed': { actions: 'noteMiss' },
        },
      },
    },
  });
};
