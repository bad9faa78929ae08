import PQueue from 'p-queue';
import { MONITOR_MACHINE_VERSION, monitorMachine } from '../machines/monitor.ts';
import { SLO_MACHINE_VERSION, sloMachine } from '../machines/slo.ts';
import { newRecordId } from '../model/ids.ts';
import type { Json } from '../model/json.ts';
import type { Monitor, MonitorReading, Slo, SloReading, WatchEvent } from '../model/watch.ts';
import { createMemoryRunStore } from '../store/runs/memory-run-store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { type Clock, createServiceClock, systemClock } from '../actors/kernel/clock.ts';
import { createKernel, type Kernel } from '../actors/kernel/kernel.ts';
import type { ActorSnapshot } from '../actors/service/runs-service.ts';
import { createWatchBoard, type MonitorKind, type SloKind, type WatchBoard } from './board.ts';
import { createReadings, newRound, type Round, type WatchSources } from './readings.ts';
import { describeMonitor, describeSlo, monitorReport, sloReport, type WatchReport } from './report.ts';
import { createWebhooks, type WatchLog, type Webhooks } from './webhook.ts';

export type WatchersOptions = WatchSources & {
  readonly monitors: readonly Monitor[];
  readonly slos: readonly Slo[];
  readonly intervalSeconds: number;
  readonly log: WatchLog;
  readonly clock?: Clock;
  readonly webhooks?: Webhooks;
  /** How long one evaluation may read. */
  readonly readingMs?: number;
};

/** Evaluations that read at once: half the readers of the store, so that queries have the other half. */
const READING_AT_ONCE = 2;
const READING_MS = 20_000;

const monitorKind: MonitorKind = {
  type: 'monitor',
  machine: monitorMachine,
  ruleOf: ({ compare, threshold, minSamples }) => ({ compare, threshold, minSamples }),
  describe: describeMonitor,
  reportOf: monitorReport,
};
const sloKind: SloKind = {
  type: 'slo',
  machine: sloMachine,
  ruleOf: ({ objective, minSamples }) => ({ objective, minSamples }),
  describe: describeSlo,
  reportOf: sloReport,
};

/** One monitor or SLO on its way through evaluations. */
type Watched = {
  readonly type: 'monitor' | 'slo';
  readonly id: string;
  readonly read: (round: Round) => Promise<unknown>;
  /** From being queued until its read has come back, however late. */
  isBusy: boolean;
};

/** What the actors of monitors and SLOs look like from outside. */
export type WatchActorView = ActorSnapshot & { readonly project: string };

export type Watchers = {
  readonly monitors: WatchBoard<Monitor, MonitorReading>;
  readonly slos: WatchBoard<Slo, SloReading>;
  /** Monitors first, each kind by id. */
  readonly actors: () => readonly WatchActorView[];
  /** Evaluates everything that is armed once, as each interval does; resolves when the last evaluation has ended. */
  readonly tick: () => Promise<void>;
  /** Begins the intervals, with an evaluation at once. */
  readonly start: () => void;
  /** Ends the intervals, lets the turn in hand finish, cuts webhooks. Waits for no store and no receiver. */
  readonly close: () => Promise<void>;
};

/**
 * Evaluates monitors and SLOs on a timer and reports their transitions: one log line, and one attempt at their webhook, each
 * after its commit. They are actors of the kernel that hosts runs, on a store in memory of their own: their state is not
 * kept over a restart, so a disk would only be in their way.
 *
 * An evaluation that reads too long is given up and waits for no other; while its read is still under way, it is not
 * repeated, so a store that hangs holds as many reads as there are monitors at the most.
 * @see Interface specification, "Monitor (and SLO)"
 */
export const createWatchers = (options: WatchersOptions): Watchers => {
  const { log } = options;
  const clock = options.clock ?? systemClock;
  const readingMs = options.readingMs ?? READING_MS;
  const webhooks = options.webhooks ?? createWebhooks(log);
  const { now } = createServiceClock(clock);
  const { readMonitor, readSlo } = createReadings(options);
  const closing = new AbortController();
  const queue = new PQueue({ concurrency: READING_AT_ONCE });
  const mailboxes = new Map<string, number>();

  const report = ({ webhook }: Monitor | Slo, said: WatchReport): void => {
    const { type, id, name: _name, condition, at: _at, ...fields } = said;
    const line = { [`${type}_id`]: id, condition, ...fields };
    if (condition === 'tripped') log.warn(line, `${type} tripped`);
    else log.info(line, `${type} is back to nominal`);
    if (webhook !== undefined) webhooks.send(webhook, said);
  };

  const sendTo =
    (type: 'monitor' | 'slo') =>
    async (id: string, body: unknown): Promise<unknown> => {
      const key = `${type}/${id}`;
      mailboxes.set(key, (mailboxes.get(key) ?? 0) + 1);
      try {
        return await kernel.send({ type, id, body });
      } finally {
        mailboxes.set(key, (mailboxes.get(key) ?? 1) - 1);
      }
    };
  const monitors = createWatchBoard(monitorKind, options.monitors, { send: sendTo('monitor'), report, now });
  const slos = createWatchBoard(sloKind, options.slos, { send: sendTo('slo'), report, now });
  const send = { monitor: sendTo('monitor'), slo: sendTo('slo') };

  const kernel: Kernel = createKernel({
    store: createMemoryRunStore(),
    now,
    newId: newRecordId,
    random: Math.random,
    defer: (callback) => {
      setImmediate(callback);
    },
    kinds: [monitors.actorKind, slos.actorKind],
    onFault: (error, { type, id }) => log.error({ err: error, actor: `${type}/${id}` }, 'a bug in an evaluation'),
  });

  const watched: Watched[] = [
    ...monitors.armed.map(
      (monitor): Watched => ({
        type: 'monitor',
        id: monitor.id,
        read: (round) => readMonitor(monitor, round),
        isBusy: false,
      }),
    ),
    ...slos.armed.map(
      (slo): Watched => ({ type: 'slo', id: slo.id, read: (round) => readSlo(slo, round), isBusy: false }),
    ),
  ];

  /** Resolves with a note when time is up, or when the service stops. */
  const givenUp = (): { readonly late: Promise<string>; readonly forget: () => void } => {
    let forget = (): void => {};
    const late = new Promise<string>((resolve) => {
      const stop = (): void => resolve('the service stops');
      const cancel = clock.after(readingMs, () => resolve(`the store did not answer within ${readingMs} ms`));
      closing.signal.addEventListener('abort', stop, { once: true });
      forget = () => {
        cancel();
        closing.signal.removeEventListener('abort', stop);
      };
    });
    return { late, forget };
  };

  const noteOf = (error: unknown, { type, id }: Watched): string => {
    if (error instanceof StoreUnavailable) return 'the store is unavailable';
    log.error({ err: error, actor: `${type}/${id}` }, 'a bug in a reading');
    return 'the reading failed';
  };

  let round = newRound(0);

  /** @returns why nothing was read, where nothing was */
  const evaluate = async (subject: Watched): Promise<string | undefined> => {
    const { type, id, read } = subject;
    if (closing.signal.aborted) return undefined;
    const at = round.at;
    const reading = read(round).then(
      (value) => ({ value }),
      (error: unknown) => noteOf(error, subject),
    );
    void reading.finally(() => {
      subject.isBusy = false;
    });
    const { late, forget } = givenUp();
    const outcome = await Promise.race([reading, late]);
    forget();
    if (closing.signal.aborted) return undefined;
    const event: WatchEvent<unknown> =
      typeof outcome === 'string'
        ? { type: 'evaluation.missed', at, note: outcome }
        : { type: 'evaluation.ended', at, reading: outcome.value };
    await send[type](id, event);
    return typeof outcome === 'string' ? outcome : undefined;
  };

  const tick = async (): Promise<void> => {
    round = newRound(Math.trunc(clock.wall()));
    const { at } = round;
    const notes = await Promise.all(
      watched.map(async (subject) => {
        try {
          if (subject.isBusy) {
            const note = 'the evaluation before this one still reads';
            await send[subject.type](subject.id, { type: 'evaluation.missed', at, note });
            return note;
          }
          subject.isBusy = true;
          return await queue.add(() => evaluate(subject));
        } catch {
          return 'a bug'; // told by the kernel's `onFault`
        }
      }),
    );
    const missed = notes.filter((note) => note !== undefined);
    if (missed.length > 0)
      log.warn({ missed: missed.length, of: watched.length, reason: missed[0] }, 'evaluations read nothing');
  };

  const intervalMs = options.intervalSeconds * 1000;
  let cancelTick: (() => void) | undefined;
  /** Counts on a grid: however long a round takes, the next one is not late by it. */
  const arm = (from: number, no: number): void => {
    if (closing.signal.aborted) return;
    cancelTick = clock.after(Math.max(0, from + no * intervalMs - clock.monotonic()), () => {
      void tick();
      arm(from, Math.max(no, Math.floor((clock.monotonic() - from) / intervalMs)) + 1);
    });
  };

  const actorView = (type: 'monitor' | 'slo', version: number, id: string): WatchActorView | undefined => {
    const found = type === 'monitor' ? monitors.actorOf(id) : slos.actorOf(id);
    if (found === undefined) return undefined;
    const { definition, actor } = found;
    return {
      type,
      id,
      project: definition.project,
      machine: type,
      machineVersion: version,
      value: actor.snapshot.value,
      context: JSON.parse(JSON.stringify(actor.snapshot.context)) as Json,
      status: 'active',
      version: actor.version,
      updatedAt: actor.updatedAt,
      mailbox: mailboxes.get(`${type}/${id}`) ?? 0,
    };
  };

  return {
    monitors: monitors.board,
    slos: slos.board,
    actors: () =>
      [
        ...monitors.armed.map(({ id }) => actorView('monitor', MONITOR_MACHINE_VERSION, id)),
        ...slos.armed.map(({ id }) => actorView('slo', SLO_MACHINE_VERSION, id)),
      ].filter((view) => view !== undefined),
    tick,
    start: () => {
      if (watched.length > 0) arm(clock.monotonic(), 0);
    },
    close: async () => {
      closing.abort();
      cancelTick?.();
      await kernel.idle();
      await webhooks.close();
    },
  };
};
