import type { AnyStateMachine, SnapshotFrom } from 'xstate';
import { getInitialSnapshot } from 'xstate';
import { getAdjacencyMap, getShortestPaths } from 'xstate/graph';
import { describe, expect, it } from 'vitest';
import { decodeSnapshot, encodeSnapshot, restore } from '../../src/machines/persisted.ts';
import type { Effect } from '../../src/machines/effect.ts';
import { step, UnhandledEvent } from '../../src/machines/transition.ts';
import type { Condition, ReportedCondition, WatchContext, WatchEvent } from '../../src/model/watch.ts';

/** What a machine of a monitor or an SLO is tested with: its rule, and readings on either side of it. */
export type Watching<Reading> = {
  readonly machine: AnyStateMachine;
  readonly version: number;
  readonly rule: object;
  /** With enough samples, and beyond what is allowed. */
  readonly outside: Reading;
  readonly inside: Reading;
  /** As bad, of too few samples; and as good. */
  readonly fewOutside: Reading;
  readonly fewInside: Reading;
};

type Snapshot<Reading> = SnapshotFrom<AnyStateMachine> & {
  readonly value: Condition;
  readonly context: WatchContext<object, Reading>;
};

/** Plays events from the birth of an actor; gives the last snapshot, and the reports in order. */
export const play = <Reading>({ machine, rule }: Watching<Reading>, events: readonly WatchEvent<Reading>[]) => {
  let snapshot = getInitialSnapshot(machine, rule) as Snapshot<Reading>;
  const effects: Effect[] = [];
  for (const event of events) {
    const stepped = step(machine, snapshot, event);
    snapshot = stepped.next as Snapshot<Reading>;
    effects.push(...stepped.effects);
  }
  return {
    snapshot,
    effects,
    reports: effects.map(({ params }) => (params as { condition: ReportedCondition }).condition),
  };
};

/** A way to a state, and one event there. */
export type ModelPath<Reading> = {
  /** From birth to the event, which is the last of them. */
  readonly events: readonly WatchEvent<Reading>[];
  readonly what: string;
  readonly from: Condition;
  readonly to: Condition;
  /** False where the state has no transition for the event. */
  readonly isTaken: boolean;
};

/** Every event in every state, each behind a shortest way there, as the graph of the machine has them. */
export const modelPaths = <Reading>(watching: Watching<Reading>): readonly ModelPath<Reading>[] => {
  const { machine, rule, outside, inside, fewOutside, fewInside } = watching;
  const named: Record<string, WatchEvent<Reading>> = {
    'a reading outside': { type: 'evaluation.ended', at: 1, reading: outside },
    'a reading inside': { type: 'evaluation.ended', at: 1, reading: inside },
    'too few samples, outside': { type: 'evaluation.ended', at: 1, reading: fewOutside },
    'too few samples, inside': { type: 'evaluation.ended', at: 1, reading: fewInside },
    'nothing read': { type: 'evaluation.missed', at: 9, note: 'the store is unavailable' },
    'an acknowledgement': { type: 'trip.acknowledged', at: 7 },
  };
  const valueOf = (state: unknown): Condition => (state as Snapshot<Reading>).value;
  const options = {
    input: rule,
    events: Object.values(named),
    serializeState: (state: unknown) => valueOf(state),
    serializeEvent: (event: unknown) => JSON.stringify(event),
  } as never;
  const adjacency = Object.values(getAdjacencyMap(machine, options));
  return getShortestPaths(machine, options).flatMap(({ state, steps }) => {
    const there = adjacency.find((place) => valueOf(place.state) === valueOf(state));
    // The first step is the birth.
    const way = steps.slice(1).map(({ event }) => event as unknown as WatchEvent<Reading>);
    return Object.values(
      (there?.transitions ?? {}) as Record<string, { readonly event: unknown; readonly state: unknown }>,
    ).map(({ event, state: next }) => {
      const last = event as WatchEvent<Reading>;
      return {
        events: [...way, last],
        what: Object.keys(named).find((name) => named[name] === last) ?? '',
        from: valueOf(state),
        to: valueOf(next),
        isTaken: last.type !== 'trip.acknowledged' || valueOf(state) === 'tripped',
      };
    });
  });
};

/** The rows of the table that monitors and SLOs share, and paths through the whole machine. */
export const runWatchMachineSuite = <Reading>(name: string, watching: Watching<Reading>): void => {
  const { machine, rule, outside, inside, fewOutside, fewInside } = watching;
  const saw = (reading: Reading, at = 1): WatchEvent<Reading> => ({ type: 'evaluation.ended', at, reading });
  const missed: WatchEvent<Reading> = { type: 'evaluation.missed', at: 9, note: 'the store is unavailable' };
  const acknowledged: WatchEvent<Reading> = { type: 'trip.acknowledged', at: 7 };
  const after = (...events: WatchEvent<Reading>[]) => play(watching, events);

  describe(`${name}: the state table`, () => {
    it('begins nominal, without a reading', () => {
      const { snapshot } = after();
      expect([snapshot.value, snapshot.context]).toEqual(['nominal', { rule }]);
    });

    it('nominal | evaluation | a reading with at least min_samples crosses | tripped | one report', () => {
      const { snapshot, reports } = after(saw(outside, 5));
      expect([snapshot.value, reports]).toEqual(['tripped', ['tripped']]);
      expect(snapshot.context).toEqual({ rule, reading: outside, evaluatedAt: 5, trippedAt: 5 });
    });

    it('a condition that lasts is reported once', () =>
      expect(after(saw(outside), saw(outside), saw(outside)).reports).toEqual(['tripped']));

    it('tripped | evaluation | a reading with at least min_samples is back inside | nominal | one report', () => {
      const { snapshot, reports } = after(saw(outside, 5), saw(inside, 6), saw(inside, 7));
      expect([snapshot.value, reports]).toEqual(['nominal', ['tripped', 'nominal']]);
      expect(JSON.parse(JSON.stringify(snapshot.context))).toEqual({ rule, reading: inside, evaluatedAt: 7 });
    });

    it('nominal | evaluation | the window holds fewer than min_samples | unchanged', () => {
      const { snapshot, reports } = after(saw(fewOutside));
      expect([snapshot.value, reports, snapshot.context.reading]).toEqual(['nominal', [], fewOutside]);
    });

    it('tripped | evaluation | the window holds fewer than min_samples | unchanged: silence is not recovery', () => {
      const { snapshot, reports } = after(saw(outside, 5), saw(fewInside, 6));
      expect([snapshot.value, reports, snapshot.context.trippedAt]).toEqual(['tripped', ['tripped'], 5]);
    });

    it('tripped | ack | acknowledged, with the time of it and of the trip, and no report', () => {
      const { snapshot, reports } = after(saw(outside, 5), acknowledged);
      expect([snapshot.value, reports]).toEqual(['acknowledged', ['tripped']]);
      expect(snapshot.context).toMatchObject({ trippedAt: 5, acknowledgedAt: 7 });
    });

    it('acknowledged stays acknowledged while the condition persists, and in silence', () => {
      const { snapshot, reports } = after(saw(outside), acknowledged, saw(outside), saw(fewInside), missed);
      expect([snapshot.value, reports]).toEqual(['acknowledged', ['tripped']]);
    });

    it('acknowledged returns to nominal on its own when the value recovers, and reports it', () => {
      const { snapshot, reports } = after(saw(outside), acknowledged, saw(inside));
      expect([snapshot.value, reports]).toEqual(['nominal', ['tripped', 'nominal']]);
      expect(JSON.parse(JSON.stringify(snapshot.context))).toEqual({ rule, reading: inside, evaluatedAt: 1 });
    });

    it('a new trip after a recovery is reported anew and is not acknowledged', () => {
      const { snapshot, reports } = after(saw(outside), acknowledged, saw(inside), saw(outside, 8));
      expect([snapshot.value, reports]).toEqual(['tripped', ['tripped', 'nominal', 'tripped']]);
      expect(snapshot.context.trippedAt).toBe(8);
      expect(snapshot.context.acknowledgedAt).toBeUndefined();
    });

    it.each([
      ['nominal', []],
      ['tripped', [saw(outside)]],
      ['acknowledged', [saw(outside), acknowledged]],
    ] as const)('%s | nothing could be read | unchanged; the last reading stays', (condition, events) => {
      const before = after(...events);
      const { snapshot, reports } = after(...events, missed);
      expect([snapshot.value, reports]).toEqual([condition, before.reports]);
      expect(snapshot.context).toEqual({ ...before.snapshot.context, missed: 'the store is unavailable' });
      expect(after(...events, missed, saw(outside)).snapshot.context.missed).toBeUndefined();
    });

    it.each([
      ['nominal', []],
      ['acknowledged', [saw(outside), acknowledged]],
    ] as const)('%s takes no ack: there is nothing to acknowledge', (_condition, events) =>
      expect(() => after(...events, acknowledged)).toThrow(UnhandledEvent),
    );
  });

  describe(`${name}: paths that the machine itself generates`, () => {
    const paths = modelPaths(watching);

    it('reach every state, and take every event in each', () => {
      expect(new Set(paths.map(({ from }) => from))).toEqual(new Set(['nominal', 'tripped', 'acknowledged']));
      expect(paths).toHaveLength(3 * 6);
    });

    it.each(paths)(
      '$from, then $what: $to, reported exactly when it trips or recovers',
      ({ events, from, to, isTaken }) => {
        if (!isTaken) {
          expect(() => after(...events)).toThrow(UnhandledEvent);
          return;
        }
        const before = after(...events.slice(0, -1)).snapshot;
        expect(before.value).toBe(from);
        const last = events.at(-1);
        if (last === undefined) throw new Error('a path without an event');
        // As a snapshot that went through storage, as every stored one does.
        const stored = decodeSnapshot(encodeSnapshot(watching.version, before));
        const { next, effects } = step(machine, restore(machine, watching.version, stored, new Map()), last);
        const expected = (from === 'nominal') === (to === 'nominal') ? [] : [{ condition: to }];
        expect([(next as Snapshot<Reading>).value, effects.map(({ params }) => params)]).toEqual([to, expected]);
      },
    );
  });
};
