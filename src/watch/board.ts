import { type AnyStateMachine, getInitialSnapshot, type SnapshotFrom } from 'xstate';
import { step } from '../machines/transition.ts';
import type { Result } from '../model/failure.ts';
import type { UnixMs } from '../model/run.ts';
import type {
  Condition,
  Monitor,
  MonitorReading,
  ReportedCondition,
  Slo,
  SloReading,
  WatchContext,
  WatchEvent,
} from '../model/watch.ts';
import type { ActorKind } from '../actors/kernel/kernel.ts';
import { notFound } from '../actors/run/run-failures.ts';
import type { WatchReport } from './report.ts';

/** Evaluations that are kept in memory, of each monitor and each SLO. @see Interface decisions, "4. Signals, native names" */
export const KEPT_EVALUATIONS = 1_000;

/** One evaluation, and the condition in which it left what it evaluated. */
export type Evaluation<Reading> = {
  /** Counts the evaluations of one monitor from 1. */
  readonly no: number;
  readonly at: UnixMs;
  readonly condition: Condition;
  readonly detail: string;
  /** Absent when nothing could be read. */
  readonly reading?: Reading;
};

/** A monitor or an SLO as it stands. */
export type WatchView<Definition, Reading> = {
  readonly definition: Definition;
  readonly condition: Condition;
  readonly detail: string;
  readonly reading?: Reading;
  readonly evaluatedAt?: UnixMs;
  readonly trippedAt?: UnixMs;
  readonly acknowledgedAt?: UnixMs;
};

/** What differs between monitors and SLOs. */
export type WatchKind<Definition, Reading> = {
  readonly type: 'monitor' | 'slo';
  readonly machine: AnyStateMachine;
  /** The part of a definition that the machine is born with. */
  readonly ruleOf: (definition: Definition) => object;
  readonly describe: (definition: Definition, reading: Reading) => string;
  readonly reportOf: (
    definition: Definition,
    reading: Reading,
    condition: ReportedCondition,
    at: UnixMs,
  ) => WatchReport;
};
export type MonitorKind = WatchKind<Monitor, MonitorReading>;
export type SloKind = WatchKind<Slo, SloReading>;

type Snapshot<Reading> = SnapshotFrom<AnyStateMachine> & {
  readonly value: Condition;
  readonly context: WatchContext<object, Reading>;
};
export type WatchActor<Reading> = {
  readonly snapshot: Snapshot<Reading>;
  /** Counts the changes. */
  readonly version: number;
  readonly updatedAt: UnixMs;
};

type Kept<Reading> = {
  readonly no: number;
  readonly at: UnixMs;
  readonly condition: Condition;
  readonly outcome: Reading | string;
};
type Place<Definition, Reading> = {
  readonly definition: Definition;
  actor: WatchActor<Reading>;
  readonly history: Kept<Reading>[];
};

/** What readers and callers see of all monitors, or of all SLOs. */
export type WatchBoard<Definition, Reading> = {
  /** By id. */
  readonly list: () => readonly WatchView<Definition, Reading>[];
  readonly find: (id: string) => WatchView<Definition, Reading> | undefined;
  /**
   * Says that a trip is known. Again: changes nothing.
   * @returns `conflict` when there is no trip to acknowledge, `not_found`
   */
  readonly acknowledge: (id: string) => Promise<Result<WatchView<Definition, Reading>>>;
  /** Newest first, at most the last 1,000; from below `before` where it is given. Nothing of an id that is not there. */
  readonly history: (id: string, limit: number, before?: number) => readonly Evaluation<Reading>[];
};

type Watchable = { readonly id: string; readonly project: string; readonly enabled?: boolean };

/**
 * Holds the actors of one kind between their turns. They live in memory alone: every start begins from nominal, and what
 * changes in a turn is seen here after its commit.
 * @param send hands a message to the kernel that hosts `actorKind`
 * @param report called after the commit of a transition that reports
 */
export const createWatchBoard = <Definition extends Watchable, Reading>(
  kind: WatchKind<Definition, Reading>,
  definitions: readonly Definition[],
  host: {
    readonly send: (id: string, body: unknown) => Promise<unknown>;
    readonly report: (definition: Definition, report: WatchReport) => void;
    readonly now: () => UnixMs;
  },
) => {
  const bornAt = host.now();
  const places = new Map<string, Place<Definition, Reading>>(
    definitions
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((definition) => [
        definition.id,
        {
          definition,
          actor: {
            snapshot: getInitialSnapshot(kind.machine, kind.ruleOf(definition)) as Snapshot<Reading>,
            version: 1,
            updatedAt: bornAt,
          },
          history: [],
        },
      ]),
  );

  const detailOf = (definition: Definition, outcome: Reading | string): string =>
    typeof outcome === 'string' ? `nothing was read: ${outcome}` : kind.describe(definition, outcome);

  const viewOf = ({ definition, actor }: Place<Definition, Reading>): WatchView<Definition, Reading> => {
    const { reading, evaluatedAt, missed, trippedAt, acknowledgedAt } = actor.snapshot.context;
    const latest = missed ?? reading;
    const none = definition.enabled === false ? 'disabled: it is not evaluated' : 'not evaluated yet';
    return {
      definition,
      condition: actor.snapshot.value,
      detail: latest === undefined ? none : detailOf(definition, latest),
      ...(reading === undefined ? {} : { reading }),
      ...(evaluatedAt === undefined ? {} : { evaluatedAt }),
      ...(trippedAt === undefined ? {} : { trippedAt }),
      ...(acknowledgedAt === undefined ? {} : { acknowledgedAt }),
    };
  };

  const remember = (
    { history }: Place<Definition, Reading>,
    event: WatchEvent<Reading>,
    condition: Condition,
  ): void => {
    if (event.type === 'trip.acknowledged') return;
    const outcome = event.type === 'evaluation.ended' ? event.reading : event.note;
    history.push({ no: (history.at(-1)?.no ?? 0) + 1, at: event.at, condition, outcome });
    if (history.length > KEPT_EVALUATIONS) history.shift();
  };

  const actorKind: ActorKind = {
    type: kind.type,
    receive: (turn, id, body) => {
      const place = places.get(id);
      if (place === undefined) throw new Error(`no ${kind.type} ${id}`);
      const key = `${kind.type}/${id}`;
      const event = body as WatchEvent<Reading>;
      const actor = turn.peek<WatchActor<Reading>>(key) ?? place.actor;
      if (event.type === 'trip.acknowledged' && actor.snapshot.value !== 'tripped') return actor.snapshot.value;
      const { next, effects } = step(kind.machine, actor.snapshot, event);
      const changed: WatchActor<Reading> = {
        snapshot: next as Snapshot<Reading>,
        version: actor.version + 1,
        updatedAt: turn.at,
      };
      turn.write(key, changed);
      turn.forget(key);
      turn.after(() => {
        place.actor = changed;
        remember(place, event, changed.snapshot.value);
      });
      for (const { type, params } of effects) {
        if (type !== 'report' || event.type !== 'evaluation.ended') continue;
        const { condition } = params as { readonly condition: ReportedCondition };
        const report = kind.reportOf(place.definition, event.reading, condition, event.at);
        turn.after(() => host.report(place.definition, report));
      }
      return changed.snapshot.value;
    },
  };

  const board: WatchBoard<Definition, Reading> = {
    list: () => [...places.values()].map(viewOf),
    find: (id) => {
      const place = places.get(id);
      return place && viewOf(place);
    },
    acknowledge: async (id) => {
      const place = places.get(id);
      if (place === undefined) return notFound(kind.type, id);
      const event: WatchEvent<Reading> = { type: 'trip.acknowledged', at: host.now() };
      const condition = (await host.send(id, event)) as Condition;
      if (condition === 'acknowledged') return { ok: true, value: viewOf(place) };
      const message = `${kind.type} ${id} is ${condition}; only a tripped one can be acknowledged`;
      return { ok: false, failure: { code: 'conflict', message } };
    },
    history: (id, limit, before = Number.POSITIVE_INFINITY) => {
      const place = places.get(id);
      if (place === undefined) return [];
      const kept = place.history.filter(({ no }) => no < before);
      return kept
        .slice(-limit)
        .reverse()
        .map(({ outcome, ...evaluation }) => ({
          ...evaluation,
          detail: detailOf(place.definition, outcome),
          ...(typeof outcome === 'string' ? {} : { reading: outcome }),
        }));
    },
  };

  return {
    board,
    actorKind,
    /** Those that are evaluated. */
    armed: [...places.values()].map(({ definition }) => definition).filter(({ enabled }) => enabled !== false),
    /** The actor of an id, as of the last commit; those that are not armed have none. */
    actorOf: (id: string): { definition: Definition; actor: WatchActor<Reading> } | undefined => {
      const place = places.get(id);
      return place === undefined || place.definition.enabled === false ? undefined : place;
    },
  };
};
