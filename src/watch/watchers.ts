import { type Clock, systemClock } from '../actors/kernel/clock.ts';
import type { UnixMs } from '../model/run.ts';
import type { ActorSnapshot } from '../actors/service/runs-service.ts';
import { decodeSnapshot } from '../machines/persisted.ts';
import { type Counters, createCounters } from '../model/counters.ts';
import type { Json } from '../model/json.ts';
import type { Monitor, MonitorReading, Slo, SloReading, WatchEvent, WatchType } from '../model/watch.ts';
import { createMemoryWatchJournal } from '../store/runs/memory/watch-journal.ts';
import type { WatchHead, WatchJournal } from '../store/runs/watch-journal.ts';
import { createWatchBoard, type WatchBoard } from './board.ts';
import { monitorKind, sloKind } from './kinds.ts';
import type { WatchLog } from './log.ts';
import { createReadings, type Round, type WatchSources } from './readings.ts';
import { createWatchRecorder } from './recorder.ts';
import type { WatchReport } from './report.ts';
import { createRounds, type Subject } from './rounds.ts';
import { createSharedReports, type SharedWatch } from './shared-reports.ts';
import { createWebhooks, type Webhooks } from './webhook.ts';

export type WatchersOptions = WatchSources & {
  readonly monitors: readonly Monitor[];
  readonly slos: readonly Slo[];
  readonly intervalSeconds: number;
  readonly log: WatchLog;
  /** Where they are written down, and what it holds already; absent: in memory. */
  readonly record?: { readonly journal: WatchJournal; readonly heads: readonly WatchHead[] };
  readonly counters?: Pick<Counters, 'watchTransitionsDropped'>;
  /** Where other services watch the same; absent: this one alone does. */
  readonly shared?: SharedWatch;
  readonly clock?: Clock;
  readonly webhooks?: Webhooks;
  /** How long one evaluation may read. */
  readonly readingMs?: number;
};

const READING_MS = 20_000;

const subjectOf = <Reading>(
  type: WatchType,
  id: string,
  read: (round: Round) => Promise<Reading>,
  take: (id: string, event: WatchEvent<Reading>) => void,
): Subject => ({
  type,
  id,
  read: async (round) => {
    const reading = await read(round);
    return () => take(id, { type: 'evaluation.ended', at: round.at, reading });
  },
  miss: (at, note) => take(id, { type: 'evaluation.missed', at, note }),
});

/** What the actors of monitors and SLOs look like from outside. */
export type WatchActorView = ActorSnapshot & { readonly project: string };

export type Watchers = {
  readonly monitors: WatchBoard<Monitor, MonitorReading>;
  readonly slos: WatchBoard<Slo, SloReading>;
  /** Monitors first, each kind by id. */
  readonly actors: () => readonly WatchActorView[];
  /**
   * An actor as it was after an entry of its journal, over restarts too; `mailbox` is that of now. Rejects with `StoreUnavailable`
   * when the journal cannot be read.
   */
  readonly actorAt: (type: WatchType, id: string, seq: number) => Promise<WatchActorView | undefined>;
  /** Evaluates everything that is armed once, as each interval does; resolves when the last evaluation has ended. */
  readonly tick: () => Promise<void>;
  /** Notes the start, and begins the intervals, with an evaluation at once. */
  readonly start: () => void;
  /** Reports what the service that reported before this one did not. */
  readonly takeOver: () => Promise<void>;
  /** Ends the intervals, cuts webhooks, and gives the last write a second. Waits for no store and no receiver. */
  readonly close: () => Promise<void>;
};

/**
 * Evaluates monitors and SLOs on a timer and reports their transitions: one log line, and one attempt at their webhook. They
 * are actors without a kernel: they decide at once, on what is in memory, and no store takes part. The recorder writes down
 * what they did; a slow or failing store costs history, never an evaluation or a report.
 * @see Interface specification, "Monitor (and SLO)"
 */
export const createWatchers = (options: WatchersOptions): Watchers => {
  const { log } = options;
  const clock = options.clock ?? systemClock;
  const webhooks = options.webhooks ?? createWebhooks(log);
  const now = (): UnixMs => Math.trunc(clock.wall());
  const { readMonitor, readSlo } = createReadings(options);
  const recorder = createWatchRecorder({
    ...(options.record ?? { journal: createMemoryWatchJournal(), heads: [] }),
    counters: options.counters ?? createCounters(),
    log,
    clock,
  });

  const tell = ({ webhook }: Monitor | Slo, said: WatchReport): void => {
    const { type, id, name: _name, condition, at: _at, ...fields } = said;
    const line = { [`${type}_id`]: id, condition, ...fields };
    if (condition === 'tripped') log.warn(line, `${type} tripped`);
    else log.info(line, `${type} is back to nominal`);
    if (webhook !== undefined) webhooks.send(webhook, said);
  };

  const { report, takeOver } =
    options.shared === undefined
      ? { report: tell, takeOver: async () => {} }
      : createSharedReports(tell, options.shared);

  const monitors = createWatchBoard(monitorKind, options.monitors, { report, recorder, now });
  const slos = createWatchBoard(sloKind, options.slos, { report, recorder, now });
  const rounds = createRounds({
    subjects: [
      ...monitors.armed.map((one) => subjectOf('monitor', one.id, (round) => readMonitor(one, round), monitors.take)),
      ...slos.armed.map((one) => subjectOf('slo', one.id, (round) => readSlo(one, round), slos.take)),
    ],
    intervalSeconds: options.intervalSeconds,
    readingMs: options.readingMs ?? READING_MS,
    clock,
    log,
    ended: recorder.flush,
  });

  const kinds = { monitor: monitorKind, slo: sloKind };
  const actorOf = (type: WatchType, id: string) => (type === 'monitor' ? monitors.actorOf(id) : slos.actorOf(id));

  const viewOf = (type: WatchType, id: string): WatchActorView | undefined => {
    const found = actorOf(type, id);
    if (found === undefined) return undefined;
    const { definition, actor } = found;
    return {
      type,
      id,
      project: definition.project,
      machine: type,
      machineVersion: kinds[type].machineVersion,
      value: actor.snapshot.value,
      context: JSON.parse(JSON.stringify(actor.snapshot.context)) as Json,
      status: 'active',
      version: actor.version,
      updatedAt: actor.updatedAt,
      mailbox: rounds.awaitedBy(type, id),
    };
  };

  return {
    monitors: monitors.board,
    slos: slos.board,
    actors: () =>
      [
        ...monitors.armed.map(({ id }) => viewOf('monitor', id)),
        ...slos.armed.map(({ id }) => viewOf('slo', id)),
      ].filter((view) => view !== undefined),
    actorAt: async (type, id, seq) => {
      const present = viewOf(type, id);
      if (present === undefined) return undefined;
      const entry = await recorder.find({ type, id, project: present.project }, seq);
      if (entry === undefined) return undefined;
      const { machineVersion, value, context } = decodeSnapshot(entry.snapshot);
      return {
        ...present,
        machineVersion,
        value: value as Json,
        context: context as Json,
        version: entry.version,
        updatedAt: entry.at,
      };
    },
    tick: rounds.tick,
    takeOver,
    start: () => {
      monitors.begin();
      slos.begin();
      rounds.start();
    },
    close: async () => {
      rounds.close();
      await Promise.all([recorder.close(), webhooks.close()]);
    },
  };
};
