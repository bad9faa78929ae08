import { type AnyStateMachine, getInitialSnapshot, type SnapshotFrom } from 'xstate';
import { notFound } from '../actors/run/run-failures.ts';
import { step } from '../machines/transition.ts';
import type { Result } from '../model/failure.ts';
import type { UnixMs } from '../model/run.ts';
import type { Condition, ReportedCondition, WatchContext, WatchEvent } from '../model/watch.ts';
import type { WatchEntry } from '../store/runs/watch-journal.ts';
import type { WatchKind } from './kinds.ts';
import type { WatchChange, WatchRecorder } from './recorder.ts';
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

type Snapshot<Reading> = SnapshotFrom<AnyStateMachine> & {
  readonly value: Condition;
  readonly context: WatchContext<object, Reading>;
};
export type WatchActor<Reading> = {
  readonly snapshot: Snapshot<Reading>;
  /** Counts the changes, over restarts too. */
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
   * Acknowledges a trip. A second call changes nothing.
   * @returns `conflict` when there is no trip to acknowledge, `not_found`
   */
  readonly acknowledge: (id: string) => Result<WatchView<Definition, Reading>>;
  /** Newest first, at most the last 1,000; from below `before` where it is given. Nothing of an id that is not there. */
  readonly history: (id: string, limit: number, before?: number) => readonly Evaluation<Reading>[];
  /**
   * Starts and changes of the condition, newest first, over restarts too; from below number `before` where it is given.
   * Rejects with `StoreUnavailable` when they cannot be read.
   */
  readonly transitions: (id: string, limit: number, before?: number) => Promise<readonly WatchEntry[]>;
};

type Watchable = { readonly id: string; readonly project: string; readonly enabled?: boolean };

const STARTED = 'the service started: nominal until a reading says otherwise';

/**
 * Holds the actors of one kind, and takes their messages. A message is decided at once: the change is in memory, reported,
 * and handed to the recorder before the call returns. Every start begins from nominal.
 * @param report called once for each transition that reports
 */
export const createWatchBoard = <Definition extends Watchable, Reading>(
  kind: WatchKind<Definition, Reading>,
  definitions: readonly Definition[],
  host: {
    readonly report: (definition: Definition, report: WatchReport) => void;
    readonly recorder: Pick<WatchRecorder, 'record' | 'list' | 'versionOf'>;
    readonly now: () => UnixMs;
  },
) => {
  const { type } = kind;
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
            version: host.recorder.versionOf(type, definition.id) + 1,
            updatedAt: bornAt,
          },
          history: [],
        },
      ]),
  );
  /** Those that are evaluated. */
  const armed = [...places.values()].filter(({ definition }) => definition.enabled !== false);

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

  const record = ({ definition, actor }: Place<Definition, Reading>, transition?: WatchChange['transition']): void => {
    const { id, project } = definition;
    const { snapshot, version, updatedAt } = actor;
    const { machineVersion } = kind;
    const change = { type, id, project, machineVersion, snapshot, version, updatedAt };
    host.recorder.record(transition === undefined ? change : { ...change, transition });
  };

  const placeOf = (id: string): Place<Definition, Reading> => {
    const place = places.get(id);
    if (place === undefined) throw new Error(`no ${type} ${id}`);
    return place;
  };

  /**
   * Takes one message to its end.
   * @throws UnhandledEvent for an acknowledgement where nothing is tripped
   */
  const take = (id: string, event: WatchEvent<Reading>): void => {
    const place = placeOf(id);
    const { definition, actor } = place;
    const from = actor.snapshot.value;
    const { next, effects } = step(kind.machine, actor.snapshot, event);
    const snapshot = next as Snapshot<Reading>;
    place.actor = { snapshot, version: actor.version + 1, updatedAt: host.now() };
    const to = snapshot.value;
    remember(place, event, to);
    for (const effect of effects) {
      if (effect.type !== 'report' || event.type !== 'evaluation.ended') continue;
      const { condition } = effect.params as { readonly condition: ReportedCondition };
      host.report(definition, kind.reportOf(definition, event.reading, condition, event.at));
    }
    record(
      place,
      from === to ? undefined : { event: event.type, at: event.at, from, to, detail: viewOf(place).detail },
    );
  };

  const board: WatchBoard<Definition, Reading> = {
    list: () => [...places.values()].map(viewOf),
    find: (id) => {
      const place = places.get(id);
      return place && viewOf(place);
    },
    acknowledge: (id) => {
      const place = places.get(id);
      if (place === undefined) return notFound(type, id);
      if (place.actor.snapshot.value === 'tripped') take(id, { type: 'trip.acknowledged', at: host.now() });
      const condition = place.actor.snapshot.value;
      if (condition === 'acknowledged') return { ok: true, value: viewOf(place) };
      const message = `${type} ${id} is ${condition}; only a tripped one can be acknowledged`;
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
    transitions: async (id, limit, before = Number.MAX_SAFE_INTEGER) => {
      const project = places.get(id)?.definition.project;
      return project === undefined ? [] : host.recorder.list({ type, id, project }, before, limit);
    },
  };

  return {
    board,
    take,
    /** Notes that the service started. */
    begin: (): void => {
      for (const place of armed)
        record(place, { event: 'watch.started', at: host.now(), to: place.actor.snapshot.value, detail: STARTED });
    },
    armed: armed.map(({ definition }) => definition),
    /** The actor of an id; those that are not armed have none. */
    actorOf: (id: string): { definition: Definition; actor: WatchActor<Reading> } | undefined => {
      const place = places.get(id);
      return place === undefined || place.definition.enabled === false ? undefined : place;
    },
  };
};
