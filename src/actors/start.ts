import { newRecordId } from '../model/ids.ts';
import type { ReportedUsage } from '../model/run.ts';
import type { ProjectReach } from '../model/scope.ts';
import type { Cost, Span } from '../model/span.ts';
import type { RunStore } from '../store/runs/run-store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { createRestartSlices } from './bulk/restart-slices.ts';
import { createCarriedOver } from './carried-over.ts';
import {
  type Clock,
  type ClockJump,
  createOrderClock,
  createServiceClock,
  type ServiceClock,
  systemClock,
} from './kernel/clock.ts';
import { createKernel } from './kernel/kernel.ts';
import { createKinds } from './kinds.ts';
import { createDueLimits } from './limit/due-limits.ts';
import { createKeysInUse } from './limit/keys-in-use.ts';
import { createPausedDefinitions } from './definition/paused-definitions.ts';
import { createLeaseWatch } from './lease/deadlines.ts';
import { createOutbox, type Holding } from './outbox.ts';
import { createQuarantine } from './quarantine-upkeep.ts';
import { createNumbers, createResume } from './resume.ts';
import { createRootSpans } from './root-spans.ts';
import { MAX_DESCENDANTS } from './run/descendants.ts';
import { createHeldRuns } from './run/held-runs.ts';
import { createPrograms } from './run/program.ts';
import { Damaged, Quarantined } from './run/quarantined.ts';
import { createRunCounts, type RunCounts } from './run-counts.ts';
import { changeSet } from './runs-kernel.ts';
import { createScheduleUpkeep } from './schedule/schedule-upkeep.ts';
import type { ActorSource } from './service/actor-directory.ts';
import { createCalls } from './service/calls.ts';
import { createFollowers } from './service/follow-journal.ts';
import { createKeptActors } from './service/kept-actors.ts';
import { createResidentActors } from './service/resident-actors.ts';
import { createLimitSource } from './service/limit-actors.ts';
import type { RunsService } from './service/runs-service.ts';
import { createService } from './service/service.ts';
import { createStoredActors } from './service/stored-actors.ts';
import { createStoredRuns } from './service/stored-runs.ts';
import { createSweep } from './sweep.ts';
import { createTimer } from './timer-actor.ts';
import type { UpkeepMessage } from './upkeep-actor.ts';
import { createDispatcher } from './workers/dispatcher.ts';
import { createLiveWorkers } from './workers/live-workers.ts';
import { createWorkerRegistry } from './workers/registry.ts';

export type RunsOptions = {
  readonly store: RunStore;
  /** Brings spans into the trace store through the ingest pipeline; resolves when they are there. */
  readonly writeSpans: (spans: readonly Span[]) => Promise<void>;
  /** Absent where no other service may take the runs over. */
  readonly holding?: Holding | undefined;
  /** Prices one report of usage; absent when the book does not hold its model. */
  readonly price: (usage: ReportedUsage) => Cost | undefined;
  /** A fault that no caller gets as an answer: a loop that failed and goes on, a bug in a turn. */
  readonly onFault?: (error: unknown) => void;
  /** A run was quarantined; the fault holds no payload. Reported once a start. */
  readonly onQuarantine?: (run: { readonly runId: string; readonly fault: string }) => void;
  /** The same of a schedule. */
  readonly onScheduleQuarantine?: (schedule: { readonly scheduleId: string; readonly fault: string }) => void;
  /** Most runs below one root. */
  readonly maxDescendants?: number;
  /** The wall clock was set by more than five seconds. Reported once. */
  readonly onClockJump?: (jump: ClockJump) => void;
  readonly leaseTtlMs?: number;
  readonly reclaimWindowMs?: number;
  readonly offerTtlMs?: number;
  readonly clock?: Clock;
  readonly newId?: () => string;
  readonly random?: () => number;
  readonly defer?: (callback: () => void) => void;
  /** After a commit for several callers, how long the next one waits for what follows from their answers, in milliseconds. Absent: not at all. */
  readonly gatherMs?: number;
  /** Off: nothing happens by itself, and `tick` moves the timers. For tests and simulations. */
  readonly ticks?: boolean;
  /** Off: this half moves no run and answers for those of several kernels, from the store that they share. */
  readonly moves?: boolean;
};

const runsDefaults = { leaseTtlMs: 30_000, reclaimWindowMs: 5000, offerTtlMs: 5000 } as const;

/** The running service, with what tests and the composition root need beside its interface. */
export type RunningRuns = RunsService & {
  /** Its actors; a directory of more than these shows them beside others. */
  readonly actors: readonly ActorSource[];
  /** Looks at timers, leases and claims once, as each second does, and waits for what commits carried over. */
  tick(): Promise<void>;
  /** Sends the spans that wait in the outbox. */
  flushOutbox(): Promise<void>;
  /** From now on no timer fires and no lease expires: who takes no heartbeats must not miss them. The next start looks again. */
  stopDeadlines(): void;
  /** Closes as `close` does, and sends one more batch of spans before: those of steps that ended a moment ago. */
  stop(): Promise<void>;
  /** Claims that wait. */
  waitingClaims(): number;
  /** Jumps of the wall clock by more than five seconds since the start. */
  clockJumps(): ReturnType<ServiceClock['jumps']>;
  /** Runs by status. */
  runCounts(): RunCounts;
  /** Calls that wait for the end of a run. */
  endsAwaited(): number;
  /** Whether callers were served just now: they are likely to come back at once, and wait for the event loop. */
  isBusy(): boolean;
  /** Other kernels share the store: these workers called a service just now. */
  workersSeen(workerIds: readonly string[]): void;
  /** Other kernels share the store, and may have paused or resumed a definition: from now on this one knows it. */
  reloadPauses(): Promise<void>;
};

/**
 * Starts the durable half on a store: reads what the last service left, and goes on. Open runs stay rows: they are counted by an index, and
 * no more.
 * @throws StoreUnavailable when the store cannot be read
 */
export const startRuns = async (options: RunsOptions): Promise<RunningRuns> => {
  const { store, gatherMs } = options;
  const clock = options.clock ?? systemClock;
  const leaseTtlMs = options.leaseTtlMs ?? runsDefaults.leaseTtlMs;
  /** A worker that misses two of three heartbeats keeps its leases. */
  const heartbeatMs = Math.max(1, Math.floor(leaseTtlMs / 3));
  const reclaimWindowMs = options.reclaimWindowMs ?? runsDefaults.reclaimWindowMs;
  const offerTtlMs = Math.min(options.offerTtlMs ?? runsDefaults.offerTtlMs, leaseTtlMs);
  const onFault = options.onFault ?? (() => {});
  const defer = options.defer ?? ((callback: () => void): void => void setImmediate(callback));
  const serviceClock = createServiceClock(clock, (jump) => {
    if (jump.byMs < 0) schedules.clockSetBack();
    options.onClockJump?.(jump);
  });
  const { now, steady } = serviceClock;
  const queueTimes = createOrderClock(clock);
  const closing = new AbortController();

  const newId = options.newId ?? newRecordId;

  const programs = createPrograms();
  const numbers = createNumbers();
  const leases = createLeaseWatch(clock);
  /** For the snapshots of actors. They are shown also while the store fails, because that is when they are needed. */
  const asked = {
    backlog: () => store.backlog(now(), steady()).catch(() => undefined),
    queuedRuns: (reach: ProjectReach, limit: number) => store.queuedRuns(reach, limit).catch(() => undefined),
  };
  const pausedDefinitions = createPausedDefinitions({
    store,
    changed: (definition) => dispatcher.pauseChanged(definition),
  });
  const isPaused = (definition: string): boolean => pausedDefinitions.find(definition) !== undefined;
  const dispatcher = createDispatcher({ clock, now, offerTtlMs, queuedRuns: asked.queuedRuns, isPaused });
  const storedRuns = createStoredRuns(store, programs);
  const damaged = (damage: Damaged): void => quarantine.damaged(damage);
  const followers = createFollowers(store, storedRuns, clock, closing.signal, damaged);

  const counts = createRunCounts();
  const keysInUse = createKeysInUse();
  const resume = createResume({ store, now, queueTimes, numbers, leases, counts, leaseTtlMs });

  const kernel = createKernel({
    store: {
      load: store.load,
      commit: async (changes) => {
        await store.commit(changes);
        counts.committed(changes);
        keysInUse.committed(changes);
      },
    },
    changes: changeSet,
    now,
    steady,
    newId,
    random: options.random ?? Math.random,
    defer,
    ...(gatherMs === undefined ? {} : { gather: (callback) => void clock.after(gatherMs, callback) }),
    kinds: createKinds({
      programs,
      nextOutboxNo: numbers.nextOutboxNo,
      orderIsBack: numbers.orderIsBack,
      queueTime: queueTimes.next,
      dispatcher,
      followers,
      leases,
      pausedDefinitions,
      definitionResumed: (definition) => heldRuns.resumed(definition),
      maxDescendants: options.maxDescendants ?? MAX_DESCENDANTS,
      leaseTtlMs,
      reclaimWindowMs,
      price: options.price,
      outboxed: () => outbox.kick(),
      quarantined: (runId, fault) => options.onQuarantine?.({ runId, fault }),
      scheduleQuarantined: (scheduleId, fault) => options.onScheduleQuarantine?.({ scheduleId, fault }),
      carriedOver: {
        add: (timer) => carriedOver.add(timer),
        addFirst: (timer) => carriedOver.addFirst(timer),
      },
      restarts: { take: (slice) => restartSlices.take(slice) },
      limits: {
        nextOrder: numbers.nextOrder,
        limitDue: (limitId, project, dueAt) => dueLimits.add(limitId, project, dueAt),
        isUnused: keysInUse.isUnused,
      },
      keysInUse,
    }),
    follow: dispatcher.follow,
    sealed: dispatcher.sealed,
    committed: dispatcher.committed,
    dropped: () => {
      keysInUse.dropped();
      dispatcher.dropped(new StoreUnavailable('the runs store failed before the offer was committed'));
    },
    recover: async () => {
      await resume.recover();
      await pausedDefinitions.reload();
      lookAtKeys();
    },
    onFault: (error, message) => {
      if (error instanceof Quarantined) quarantine.quarantine(error, message);
      else onFault(error);
    },
  });
  /** Where it fails, the next minute looks again. */
  const lookAtKeys = (): void => void kernel.send(keysInUse.look).catch(() => {});
  const calls = createCalls(kernel, clock);
  const carriedOver = createCarriedOver({
    store,
    // Its rows are looked at each second, so a send that fails, or a close in between, loses nothing.
    send: (message) => kernel.send(message).catch(() => {}),
    // A clock that a test moves would never end a rest.
    servedSince: (at) => options.ticks !== false && calls.servedSince(at),
    clock,
    now,
    steady,
    closing: closing.signal,
  });
  const dueLimits = createDueLimits({
    store,
    // As above: its rows are looked at each second.
    send: (message) => kernel.send(message).catch(() => {}),
    servedSince: (at) => options.ticks !== false && calls.servedSince(at),
    clock,
    steady,
    closing: closing.signal,
  });
  const heldRuns = createHeldRuns({
    store,
    kernel,
    isPaused,
    servedSince: (at) => options.ticks !== false && calls.servedSince(at),
    clock,
    closing: closing.signal,
    onFault,
  });
  const restartSlices = createRestartSlices({
    store,
    restart: (request) => service.restartRun(request),
    // As above: the row of the timer of the action is looked at each second.
    send: (message) => kernel.send(message).catch(() => {}),
    closing: closing.signal,
    onFault,
  });
  const upkeep = (body: UpkeepMessage): Promise<unknown> => kernel.send({ type: 'upkeep', id: '', body });

  const quarantine = createQuarantine({ store, kernel, leases, upkeep, steady, closing: closing.signal, onFault });
  const schedules = createScheduleUpkeep({ store, kernel, now, closing: closing.signal, onFault });
  const outbox = createOutbox({
    store,
    clock,
    defer,
    now,
    writeSpans: options.writeSpans,
    holding: options.holding,
    rootSpan: createRootSpans(store),
    delivered: async (upTo) => {
      await upkeep({ kind: 'delivered', upTo });
    },
    backlog: asked.backlog,
    onFault: (error) => {
      if (error instanceof Damaged) damaged(error);
      else onFault(error);
    },
  });
  const registry = createWorkerRegistry({
    store,
    clock: serviceClock,
    upkeep,
    held: leases.held,
    keeps: options.moves ?? true,
  });
  const liveWorkers = createLiveWorkers({ registry, dispatcher, pausedDefinitions, steady, heartbeatMs });
  const sweep = createSweep(clock, [
    () => upkeep({ kind: 'expire_parked' }),
    registry.noteSeen,
    registry.forgetSilent,
    quarantine.retryRelease,
    async () => (keysInUse.isComplete() ? undefined : lookAtKeys()),
  ]);
  const matchAgain = async (): Promise<void> => {
    if (dispatcher.waiting() === 0) return;
    dispatcher.askAgain();
    await upkeep({ kind: 'match' });
  };
  const timer = createTimer({
    store,
    kernel,
    leases,
    clock,
    serviceClock,
    eachSecond: [carriedOver.look, heldRuns.look, dueLimits.look, schedules.look, matchAgain, sweep],
    backlog: asked.backlog,
    onFault,
  });
  const actors = [
    ...createResidentActors([timer.actor, dispatcher.actor, outbox.actor]),
    ...createStoredActors({ store, storedRuns, damaged, mailbox: kernel.mailbox }),
    createKeptActors('bulk', { store, mailbox: kernel.mailbox }),
    createLimitSource({ store, mailbox: kernel.mailbox, steady, wallOf: serviceClock.wallOf }),
    createKeptActors('schedule', { store, mailbox: kernel.mailbox }),
    createKeptActors('definition', { store, mailbox: kernel.mailbox }),
  ];

  const service = createService({
    store,
    kernel,
    calls,
    upkeep,
    programs,
    storedRuns,
    followers,
    damaged,
    dispatcher,
    registry,
    leases,
    liveWorkers,
    pausedDefinitions,
    restartSlices,
    now,
    newId,
    wallOf: serviceClock.wallOf,
    steady,
    defer,
    leaseTimes: { offerTtlMs, leaseTtlMs, heartbeatMs, reclaimWindowMs },
    actors,
    flushOutbox: outbox.flush,
    closing: closing.signal,
    moves: options.moves ?? true,
  });

  await resume.start();
  await pausedDefinitions.reload();
  lookAtKeys();
  outbox.kick();
  if (options.ticks !== false) timer.start();
  const released = quarantine.release();

  /** @param endOutbox runs when nothing that adds spans begins any more */
  const close = async (endOutbox: () => Promise<void>): Promise<void> => {
    if (closing.signal.aborted) return;
    closing.abort();
    dueLimits.close();
    const timerStopped = timer.stop();
    dispatcher.close();
    await timerStopped;
    await released;
    await restartSlices.idle();
    await endOutbox();
    await kernel.idle();
    dispatcher.close();
    await store.close();
  };

  return {
    ...service,
    actors,
    tick: async () => {
      await timer.tick();
      await heldRuns.idle();
      do await carriedOver.idle();
      while (await restartSlices.idle());
      await dueLimits.idle();
    },
    flushOutbox: outbox.flush,
    waitingClaims: dispatcher.waiting,
    clockJumps: serviceClock.jumps,
    runCounts: counts.read,
    endsAwaited: followers.endsAwaited,
    isBusy: calls.isBusy,
    workersSeen: (workerIds) => {
      for (const workerId of workerIds) registry.seen(workerId);
    },
    reloadPauses: async () => {
      for (const definition of await pausedDefinitions.reload()) heldRuns.resumed(definition);
    },

    stopDeadlines: () => void timer.stop(),
    close: () => close(outbox.stop),
    stop: () => close(() => outbox.sendLast().catch(onFault)),
  };
};
