import { isLive, LEASE_MACHINE_VERSION, leaseMachine } from '../machines/lease.ts';
import { drawMachine, stateNames } from '../machines/mermaid.ts';
import { decodeSnapshot, Unloadable } from '../machines/persisted.ts';
import { RUN_MACHINE_VERSION } from '../machines/run.ts';
import { createInputChecks } from '../model/definition/input-schema.ts';
import type { Failure, Result } from '../model/failure.ts';
import { newRecordId } from '../model/ids.ts';
import type { Json, JsonObject } from '../model/json.ts';
import {
  type Attempt,
  hasEnded,
  type JournalEntry,
  type JournalKind,
  type Lease,
  type ReportedUsage,
  type UnixMs,
} from '../model/run.ts';
import { type ProjectReach, reaches } from '../model/scope.ts';
import type { Cost, Span } from '../model/span.ts';
import type { DefinitionRecord, Found, RunRecord, RunStore, StoredRun, WorkerRecord } from '../store/runs/run-store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { type Clock, createServiceClock, systemClock } from './kernel/clock.ts';
import { createDispatcher } from './workers/dispatcher.ts';
import { createEventActor } from './event/event-actor.ts';
import type { EventMessage } from './event/messages.ts';
import { createKernel, type FollowUp, type Message } from './kernel/kernel.ts';
import { createLeaseActors } from './lease/lease-actor.ts';
import type { LeaseMessage } from './lease/messages.ts';
import { createLeaseWatch } from './lease/deadlines.ts';
import { entriesOf, entryAt, snapshotAt } from './run/replay.ts';
import { lastsBeyondGroup, weighMeeting } from './event/event-mailbox.ts';
import { createOutbox } from './outbox.ts';
import { createPrograms, type Program } from './run/program.ts';
import type { RunMessage, Started, StartMessage } from './run/messages.ts';
import { createRunActors } from './run/run-actor.ts';
import { listMark, readCursor, writeCursor } from './service/page-cursor.ts';
import { badCursor, forbidden, notFound, overloaded } from './run/run-failures.ts';
import { Quarantined, weighRunMemory } from './run/run-memory.ts';
import { attemptOf, contextOf, detailOfRows, runOfRows, summaryOfRecord } from './service/run-views.ts';
import type {
  ActorSnapshot,
  ActorSummary,
  DefinitionVersion,
  HeldLease,
  LeaseInfo,
  MachineDescription,
  MachineInfo,
  Page,
  RunsService,
  WorkerInfo,
} from './service/runs-service.ts';
import { createStartActor, createWorkerActors, type Registered, type RegisterMessage } from './run/start-actor.ts';
import { upkeepActor, type UpkeepMessage } from './upkeep-actor.ts';

export type RunsOptions = {
  readonly store: RunStore;
  /** Brings spans into the trace store through the ingest pipeline; resolves when they are there. */
  readonly writeSpans: (spans: readonly Span[]) => Promise<void>;
  /** Prices one report of usage; absent when the book does not hold its model. */
  readonly price: (usage: ReportedUsage) => Cost | undefined;
  /** Something that is nobody's answer: a loop that failed and goes on, a fault in a turn. */
  readonly onFault?: (error: unknown) => void;
  readonly leaseTtlMs?: number;
  readonly reclaimWindowMs?: number;
  readonly offerTtlMs?: number;
  readonly clock?: Clock;
  readonly newId?: () => string;
  readonly random?: () => number;
  readonly defer?: (callback: () => void) => void;
  /** Off: nothing happens by itself, and `tick` moves the timers. For tests and simulations. */
  readonly ticks?: boolean;
};

const runsDefaults = { leaseTtlMs: 30_000, reclaimWindowMs: 5000, offerTtlMs: 5000 } as const;
const TICK_MS = 1000;
const TIMER_SLICE = 500;
/** How often what is past its time is looked for: parked events, and workers that fell silent. */
const SWEEP_MS = 60_000;
/** A worker that was not heard of for so long is registered no more. It may register again at any time. */
export const WORKER_RETENTION_MS = 30 * 24 * 60 * 60 * 1000;
/** When a worker was last heard of is written down this often; between that, memory knows it. */
export const WORKER_SEEN_MS = 60 * 60 * 1000;
/** Workers that one sweep writes down, and that it lets go of, at most. */
const WORKERS_SLICE = 500;
/** How long a timer or lease of a run that cannot be loaded is left alone. */
const PUT_OFF_MS = 60 * 60 * 1000;
const CAUSE_LIMIT = 200;
const JOURNAL_PAGE = 500;
const ERASE_SLICE = 500;
const ASIDE_SLICE = 100;
/** Calls that may wait for a commit at once: more than that a client waits for in vain. */
const BACKLOG_LIMIT = 10_000;
const CLAIMS_LIMIT = 10_000;
/** After a call the next one of the same caller is expected for so long. */
const BUSY_MS = 50;
/** Workers that memory knows; the store knows them all. */
const WORKERS_KEPT = 10_000;

/** A service that runs, with what tests and the composition root need beside its interface. */
export type RunningRuns = RunsService & {
  /** Looks at timers, leases and claims once, as each second does. */
  tick(): Promise<void>;
  /** Sends the spans that wait in the outbox. */
  flushOutbox(): Promise<void>;
  /** Claims that wait. */
  waitingClaims(): number;
  /** Whether callers were served just now: they are likely to come back at once, and wait for the event loop. */
  isBusy(): boolean;
};

/**
 * Starts the durable half on a store: reads what the last service left, which is as little with a hundred thousand open
 * runs as with none, and goes on.
 * @throws StoreUnavailable when the store cannot be read
 */
export const startRuns = async (options: RunsOptions): Promise<RunningRuns> => {
  const { store } = options;
  const clock = options.clock ?? systemClock;
  const leaseTtlMs = options.leaseTtlMs ?? runsDefaults.leaseTtlMs;
  const reclaimWindowMs = options.reclaimWindowMs ?? runsDefaults.reclaimWindowMs;
  const offerTtlMs = Math.min(options.offerTtlMs ?? runsDefaults.offerTtlMs, leaseTtlMs);
  const onFault = options.onFault ?? (() => {});
  const serviceClock = createServiceClock(clock);
  const programs = createPrograms();
  const checks = createInputChecks();
  const checkInput = (program: Program, input: Json): Result<Json | undefined> => checks(program.definition, input);
  const watch = createLeaseWatch(clock);
  const dispatcher = createDispatcher({ clock, offerTtlMs });
  const followers = new Map<string, Set<() => void>>();
  const workers = new Map<string, WorkerRecord>();
  const seenAt = new Map<string, UnixMs>();
  const closing = new AbortController();
  let outboxNo = 1;
  let order = 1;
  let cancelTick: (() => void) | undefined;
  let ticking: Promise<void> | undefined;
  let sweptAt = 0;
  let askedAt = Number.NEGATIVE_INFINITY;
  let triesAside = false;

  const nextOutboxNo = (): number => outboxNo++;
  const nextOrder = (): number => order++;
  const outboxed = (): void => {
    outbox.kick();
  };

  const follow = (at: UnixMs): FollowUp | undefined => {
    const runId = dispatcher.unasked();
    if (runId !== undefined)
      return {
        lookup: { kind: 'run', runId },
        found: (value) => {
          const stored = value as StoredRun | undefined;
          if (stored?.record.queueOrder === undefined) return;
          const { project, definitionId, definitionVersion, queueOrder } = stored.record;
          dispatcher.known({ runId, project, definitionId, definitionVersion, order: queueOrder });
        },
      };
    const next = dispatcher.next(at);
    if (next === undefined || 'offer' in next) return next;
    const { wanted } = next;
    return {
      lookup: wanted,
      found: (value) => {
        dispatcher.fill(wanted, value as Parameters<typeof dispatcher.fill>[1]);
      },
    };
  };

  const resume = async (): Promise<void> => {
    const now = serviceClock.now();
    const left = await store.resume(now + leaseTtlMs);
    serviceClock.reach(left.latestAt);
    outboxNo = Math.max(outboxNo, left.nextOutboxNo);
    order = Math.max(order, left.nextOrder);
    watch.clear();
    for (const { leaseId, workerId, expiresAt, timeoutAt } of left.liveLeases)
      watch.watch({
        leaseId,
        workerId,
        expiresAt,
        expiresInMs: leaseTtlMs,
        ...(timeoutAt === undefined ? {} : { timeoutAt, timeoutInMs: timeoutAt - now }),
      });
  };

  const defer =
    options.defer ??
    ((callback: () => void): void => {
      setImmediate(callback);
    });
  const kernel = createKernel({
    store,
    now: serviceClock.now,
    newId: options.newId ?? newRecordId,
    random: options.random ?? Math.random,
    defer,
    kinds: [
      createRunActors({
        programs,
        checkInput,
        nextOutboxNo,
        nextOrder,
        outboxed,
        ready: dispatcher.ready,
        due: ({ runId, name, dueAt }) => {
          // Each second looks at what is due, so a service that closes, or a send that fails, leaves nothing undone.
          if (closing.signal.aborted) return;
          const body: RunMessage = { kind: 'timer', name, dueAt };
          kernel.send({ type: 'run', id: runId, body }).catch(() => {});
        },
        journalled: (runId) => {
          for (const wake of followers.get(runId) ?? []) wake();
        },
      }),
      createLeaseActors({
        programs,
        leaseTtlMs,
        reclaimWindowMs,
        nextOutboxNo,
        outboxed,
        price: options.price,
        watch: watch.watch,
        unwatch: watch.unwatch,
        unservable: dispatcher.unservable,
      }),
      createEventActor({ programs, nextOrder }),
      createStartActor({ programs, checkInput }),
      createWorkerActors(),
      upkeepActor,
    ],
    lasts: lastsBeyondGroup,
    weigh: (key, value) => weighRunMemory(key, value) + weighMeeting(key, value),
    follow,
    sealed: dispatcher.sealed,
    committed: dispatcher.committed,
    dropped: () => {
      dispatcher.dropped(new StoreUnavailable('the runs store failed before the offer was committed'));
    },
    recover: resume,
    onFault: (error, message) => {
      if (error instanceof Quarantined) setAside(error, message);
      else onFault(error);
    },
  });

  const outbox = createOutbox({
    store,
    clock,
    defer,
    now: serviceClock.now,
    writeSpans: options.writeSpans,
    delivered: async (upTo) => {
      await upkeep({ kind: 'delivered', upTo });
    },
    onFault,
  });

  const upkeep = (body: UpkeepMessage): Promise<unknown> => kernel.send({ type: 'upkeep', id: '', body });

  /** Marks the run, and leaves its timers and leases alone for a while: they would fail every second. */
  const putAside = async ({ runId }: Quarantined, { type, id, body }: Message): Promise<void> => {
    const message: RunMessage = { kind: 'quarantine' };
    await kernel.send({ type: 'run', id: runId, body: message });
    if (type === 'lease') watch.putOff(id, PUT_OFF_MS);
    const timer = body as { readonly kind?: unknown; readonly name?: unknown };
    if (type === 'run' && timer.kind === 'timer' && typeof timer.name === 'string')
      await upkeep({
        kind: 'put_off',
        runId: id,
        name: timer.name,
        because: runId,
        until: serviceClock.now() + PUT_OFF_MS,
      });
  };

  const setAside = (fault: Quarantined, message: Message): void => {
    putAside(fault, message).catch(onFault);
  };

  /**
   * Tries the runs that were set aside: another release could not load them, and this one may. Once a start; where the store
   * fails meanwhile, again with the next sweep.
   */
  const takeBack = async (): Promise<void> => {
    let after = '';
    triesAside = false;
    try {
      while (!closing.signal.aborted) {
        const [ids] = (await store.load([{ kind: 'set_aside', after, limit: ASIDE_SLICE }])) as [Found['set_aside']];
        const last = ids.at(-1);
        if (last === undefined) return;
        const body: RunMessage = { kind: 'take_back' };
        const answers = await kernel.handle(ids.map((id) => ({ type: 'run', id, body })));
        triesAside ||= answers.some(({ status }) => status === 'rejected');
        after = last;
      }
    } catch (error) {
      triesAside = true;
      onFault(error);
    }
  };

  const unavailable = (error: StoreUnavailable): Failure => ({
    code: 'store_unavailable',
    message: error.message,
    retryAfterSeconds: 1,
  });
  /** Sends a message and gives its answer; what is expected to go wrong comes back as a failure. */
  const ask = async <T>(message: Message): Promise<Result<T>> => {
    if (kernel.backlog() >= BACKLOG_LIMIT) return overloaded(kernel.backlog());
    askedAt = clock.monotonic();
    return attempt(async () => (await kernel.send(message)) as Result<T>);
  };
  const attempt = async <T>(work: () => Promise<Result<T>>): Promise<Result<T>> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreUnavailable) return { ok: false, failure: unavailable(error) };
      if (error instanceof Quarantined || error instanceof Unloadable)
        return { ok: false, failure: { code: 'conflict', message: error.message } };
      throw error;
    }
  };

  /** Keeps what was learnt of a worker, and lets go of those learnt longest ago. */
  const remember = <V>(known: Map<string, V>, workerId: string, value: V): void => {
    known.delete(workerId);
    known.set(workerId, value);
    for (const oldest of known.keys()) {
      if (known.size <= WORKERS_KEPT) break;
      known.delete(oldest);
    }
  };

  const lease = async <T>(request: HeldLease, body: LeaseMessage): Promise<Result<T>> => {
    const answer = await ask<T>({ type: 'lease', id: request.leaseId, body });
    // Only the holder of a lease is taken for the worker that it says it is.
    if (answer.ok) remember(seenAt, request.workerId, serviceClock.now());
    return answer;
  };

  const workerOf = async (workerId: string): Promise<WorkerRecord | undefined> => {
    const known = workers.get(workerId);
    if (known !== undefined) return known;
    const [found] = await store.load([{ kind: 'worker', workerId }]);
    if (found !== undefined) remember(workers, workerId, found as WorkerRecord);
    return found as WorkerRecord | undefined;
  };

  const recordOf = async (runId: string): Promise<RunRecord | undefined> => {
    const [found] = await store.load([{ kind: 'run', runId }]);
    return (found as StoredRun | undefined)?.record;
  };
  /** The row of a run that the caller may see. */
  const visible = async (runId: string, reach: ProjectReach): Promise<Result<RunRecord>> => {
    const record = await recordOf(runId);
    if (record === undefined) return notFound('run', runId);
    return reaches(reach, record.project) ? { ok: true, value: record } : forbidden(record.project);
  };

  const within = (project: string | undefined, reach: ProjectReach): Result<ProjectReach> => {
    if (project === undefined) return { ok: true, value: reach };
    return reaches(reach, project) ? { ok: true, value: [project] } : forbidden(project);
  };

  const page = <T>(items: readonly T[], limit: number, cursorOf: (last: T) => string): Page<T> => {
    const last = items[limit - 1];
    return items.length > limit && last !== undefined
      ? { items: items.slice(0, limit), nextCursor: cursorOf(last) }
      : { items };
  };

  const programOf = async (id: string, version: number): Promise<Program | undefined> => {
    const [found] = await store.load([{ kind: 'definition', id, version }]);
    return found === undefined ? undefined : programs(found as DefinitionRecord);
  };

  const moveTimers = async (): Promise<void> => {
    for (;;) {
      const now = serviceClock.now();
      const due = await store.dueTimers(now, TIMER_SLICE);
      const answers = await kernel.handle(
        due.map(({ runId, name, dueAt }) => {
          const body: RunMessage = { kind: 'timer', name, dueAt };
          return { type: 'run', id: runId, body };
        }),
      );
      // What could not be taken is still due: it is looked at again with the next tick, not at once and for ever.
      if (due.length < TIMER_SLICE || answers.every(({ status }) => status === 'rejected')) return;
    }
  };

  const noteSeenWorkers = async (): Promise<void> => {
    const seen: { workerId: string; at: UnixMs }[] = [];
    let asked = 0;
    // A copy: those that are heard of meanwhile are put to its end.
    for (const [workerId, at] of [...seenAt]) {
      if (seen.length >= WORKERS_SLICE || asked >= WORKERS_SLICE) break;
      if (!workers.has(workerId)) asked += 1;
      const worker = workers.get(workerId) ?? (await workerOf(workerId));
      if (worker === undefined) seenAt.delete(workerId);
      else if (at - worker.lastSeenAt >= WORKER_SEEN_MS) seen.push({ workerId, at });
    }
    if (seen.length === 0) return;
    await upkeep({ kind: 'workers_seen', seen });
    for (const { workerId, at } of seen) {
      const worker = workers.get(workerId);
      if (worker !== undefined) workers.set(workerId, { ...worker, lastSeenAt: Math.max(worker.lastSeenAt, at) });
    }
  };

  const forgetSilentWorkers = async (): Promise<void> => {
    const before = serviceClock.now() - WORKER_RETENTION_MS;
    const workerIds = await store.silentWorkers(before, WORKERS_SLICE);
    if (workerIds.length === 0) return;
    const holders = watch.held();
    const isSilent = (workerId: string): boolean =>
      !holders.has(workerId) && (seenAt.get(workerId) ?? Number.NEGATIVE_INFINITY) < before;
    await upkeep({ kind: 'forget_workers', workerIds, before, isSilent });
    for (const workerId of workerIds.filter(isSilent)) {
      workers.delete(workerId);
      seenAt.delete(workerId);
    }
  };

  const tick = async (): Promise<void> => {
    await kernel.handle(watch.due());
    await moveTimers();
    if (dispatcher.waiting() > 0) {
      dispatcher.askAgain();
      await upkeep({ kind: 'match' });
    }
    if (clock.monotonic() - sweptAt >= SWEEP_MS) {
      sweptAt = clock.monotonic();
      await upkeep({ kind: 'expire_parked' });
      await noteSeenWorkers();
      await forgetSilentWorkers();
      if (triesAside) await takeBack();
    }
  };

  const armTick = (): void => {
    if (options.ticks === false || closing.signal.aborted) return;
    const from = clock.monotonic();
    cancelTick = clock.after(TICK_MS, () => {
      ticking = tick()
        .catch(onFault)
        .finally(() => {
          ticking = undefined;
          // A tick that took long is followed at once: a timer is late by two seconds at most while the process is awake.
          if (clock.monotonic() - from > 2 * TICK_MS) cancelTick = clock.after(0, () => armTick());
          else armTick();
        });
    });
  };

  const follower = async function* (runId: string, after: number, signal: AbortSignal) {
    let seen = after;
    let wake = (): void => {};
    let woken = false;
    const onWake = (): void => {
      woken = true;
      wake();
    };
    const listeners = followers.get(runId) ?? new Set();
    followers.set(runId, listeners.add(onWake));
    signal.addEventListener('abort', onWake);
    closing.signal.addEventListener('abort', onWake);
    try {
      while (!signal.aborted && !closing.signal.aborted) {
        woken = false;
        const rows = await store.journal(runId, seen, JOURNAL_PAGE);
        const entries = rows.flatMap(entriesOf).filter(({ seq }) => seq > seen);
        const last = entries.at(-1);
        if (last !== undefined) {
          yield entries;
          seen = last.seq;
          if (last.kind === 'run.finished') return;
          continue;
        }
        const record = await recordOf(runId);
        if (record === undefined || (hasEnded(record.status) && !woken)) return;
        if (!woken)
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (woken || signal.aborted || closing.signal.aborted) resolve();
          });
      }
    } catch (error) {
      // A service that closes takes its store away under the read in hand: that ends the journal like the close itself.
      if (!closing.signal.aborted) throw error;
    } finally {
      listeners.delete(onWake);
      if (listeners.size === 0) followers.delete(runId);
      signal.removeEventListener('abort', onWake);
      closing.signal.removeEventListener('abort', onWake);
    }
  };

  const leaseSnapshot = async (leaseId: string, reach: ProjectReach): Promise<Result<ActorSnapshot>> => {
    const record = await store.findAttempt(leaseId);
    if (record === undefined) return notFound('lease', leaseId);
    const run = await visible(record.runId, reach);
    if (!run.ok) return run;
    return {
      ok: true,
      value: {
        type: 'lease',
        id: leaseId,
        machine: 'lease',
        machineVersion: LEASE_MACHINE_VERSION,
        version: 1,
        value: record.state,
        context: { delivery: record.delivery, bodyRan: record.bodyRan, expiresAt: record.expiresAt },
        status: isLive(record.state) ? 'active' : 'done',
        updatedAt: record.endedAt ?? record.startedAt ?? record.offeredAt,
        mailbox: 0,
      },
    };
  };

  const runSnapshot = async (
    runId: string,
    reach: ProjectReach,
    atSeq: number | undefined,
  ): Promise<Result<ActorSnapshot>> => {
    const found = await visible(runId, reach);
    if (!found.ok) return found;
    const record = found.value;
    const summary = {
      type: 'run',
      id: runId,
      machine: `run:${record.definitionId}@${record.definitionVersion}`,
      version: record.version,
      updatedAt: record.updatedAt,
      mailbox: 0,
    } as const;
    if (atSeq !== undefined) {
      const program = await programOf(record.definitionId, record.definitionVersion);
      const snapshot = program === undefined ? undefined : await snapshotAt(store, program, runId, atSeq);
      if (snapshot === undefined) return notFound('journal entry', `${atSeq} of run ${runId}`);
      return {
        ok: true,
        value: {
          ...summary,
          machineVersion: RUN_MACHINE_VERSION,
          value: snapshot.value as Json,
          context: JSON.parse(JSON.stringify(snapshot.context)) as Json,
          status: typeof snapshot.value === 'string' && snapshot.value !== 'created' ? 'done' : 'active',
          updatedAt: (await entryAt(store, runId, atSeq))?.at ?? record.updatedAt,
        },
      };
    }
    const { fault } = record;
    const persisted = readable(record);
    return {
      ok: true,
      value: {
        ...summary,
        machineVersion: persisted?.machineVersion ?? 0,
        value: (persisted?.value ?? record.status) as Json,
        context: (persisted?.context ?? {}) as Json,
        status: fault !== undefined ? 'quarantined' : hasEnded(record.status) ? 'done' : 'active',
        ...(fault === undefined ? {} : { fault }),
      },
    };
  };

  const erase = async (runIds: readonly string[]): Promise<void> => {
    for (let from = 0; from < runIds.length; from += ERASE_SLICE)
      await upkeep({ kind: 'erase', runIds: runIds.slice(from, from + ERASE_SLICE) });
  };

  const versionOf = (record: DefinitionRecord): DefinitionVersion => ({
    id: record.id,
    version: record.version,
    createdAt: record.createdAt,
    document: JSON.parse(record.document) as JsonObject,
  });

  const machine = async (name: string): Promise<Result<MachineDescription>> => {
    if (name === 'lease') {
      const config = leaseMachine.config as unknown as JsonObject;
      return { ok: true, value: { name, version: LEASE_MACHINE_VERSION, states: stateNames(config), config } };
    }
    const match = /^run:([a-z][a-z0-9_-]{0,63})@([1-9]\d{0,9})$/.exec(name);
    const program = match === null ? undefined : await programOf(match[1] ?? '', Number(match[2]));
    if (program === undefined) return notFound('machine', name);
    const config = JSON.parse(JSON.stringify(program.machine.config)) as JsonObject;
    return { ok: true, value: { name, version: RUN_MACHINE_VERSION, states: stateNames(config), config } };
  };

  /** The newest `step.leased` of a step, or of the visit and attempt named. */
  const findLeased = async (
    runId: string,
    matches: (entry: JournalEntry) => boolean,
  ): Promise<{ entry: JournalEntry; before: JournalEntry[] } | undefined> => {
    let seq = Number.MAX_SAFE_INTEGER;
    for (;;) {
      const rows = await store.journalBefore(runId, seq, JOURNAL_PAGE);
      const entries = rows.flatMap((row) => entriesOf(row).toReversed());
      const at = entries.findIndex((entry) => entry.kind === 'step.leased' && matches(entry));
      const entry = entries[at];
      if (entry !== undefined) return { entry, before: entries.slice(at + 1) };
      const last = rows.at(-1);
      if (last === undefined || last.firstSeq === 0) return undefined;
      seq = last.firstSeq - 1;
    }
  };

  const service: RunningRuns = {
    registerWorker: async (request) => {
      const { workerId, definitions, name, version, project, concurrency, reach } = request;
      const body: RegisterMessage = {
        definitions,
        worker: {
          registeredBy: reach,
          ...(name === undefined ? {} : { name }),
          ...(version === undefined ? {} : { version }),
          ...(project === undefined ? {} : { project }),
          ...(concurrency === undefined ? {} : { concurrency }),
        },
      };
      const registered = await ask<Registered>({ type: 'worker', id: workerId, body });
      if (!registered.ok) return registered;
      remember(workers, workerId, registered.value.worker);
      remember(seenAt, workerId, registered.value.worker.lastSeenAt);
      dispatcher.forgive(workerId);
      return {
        ok: true,
        value: {
          workerId,
          leaseTtlMs,
          heartbeatMs: Math.max(1, Math.floor(leaseTtlMs / 3)),
          definitions: registered.value.definitions,
        },
      };
    },

    claim: (request, signal) =>
      attempt(async (): Promise<Result<readonly Lease[]>> => {
        const worker = await workerOf(request.workerId);
        if (worker === undefined)
          return {
            ok: false,
            failure: {
              code: 'not_found',
              message: `worker ${request.workerId} is not registered: register it, then claim`,
              field: 'worker_id',
            },
          };
        if (worker.project !== undefined && !reaches(request.reach, worker.project)) return forbidden(worker.project);
        remember(seenAt, request.workerId, serviceClock.now());
        if (request.runId !== undefined) {
          const run = await visible(request.runId, request.reach);
          if (!run.ok) return run;
        }
        if (closing.signal.aborted) return { ok: true, value: [] };
        if (dispatcher.waiting() >= CLAIMS_LIMIT) return overloaded(dispatcher.waiting());
        const { leases, matched } = dispatcher.claim(
          {
            worker,
            max: request.max,
            waitMs: request.waitMs,
            reach: request.reach,
            ...(request.runId === undefined ? {} : { runId: request.runId }),
          },
          signal,
        );
        // A failure is the answer of the claim, or met by the next tick.
        void upkeep({ kind: 'match' }).then(matched, matched);
        const granted = await leases;
        if (signal?.aborted !== true || granted.length === 0) return { ok: true, value: granted };
        await service.giveBack(granted.map(({ leaseId }) => leaseId));
        return { ok: true, value: [] };
      }),

    giveBack: async (leaseIds) => {
      const body: LeaseMessage = { kind: 'give_back' };
      await kernel.handle(leaseIds.map((id) => ({ type: 'lease', id, body })));
    },

    started: (request) => lease(request, { kind: 'started', workerId: request.workerId, reach: request.reach }),
    heartbeat: (request) =>
      lease(request, {
        kind: 'heartbeat',
        workerId: request.workerId,
        reach: request.reach,
        ...(request.details === undefined ? {} : { details: request.details }),
      }),
    complete: ({ leaseId: _, ...call }) => lease({ ...call, leaseId: _ }, { kind: 'complete', ...call }),
    fail: ({ leaseId: _, ...call }) => lease({ ...call, leaseId: _ }, { kind: 'fail', ...call }),

    startRun: async (request) => {
      if (!reaches(request.reach, request.project)) return forbidden(request.project);
      const body: StartMessage = {
        definitionId: request.definitionId,
        input: request.input,
        correlation: request.correlation ?? {},
        ...(request.definitionVersion === undefined ? {} : { definitionVersion: request.definitionVersion }),
        ...(request.idempotencyKey === undefined ? {} : { idempotencyKey: request.idempotencyKey }),
      };
      const started = await ask<Started>({ type: 'start', id: request.project, body });
      if (!started.ok) return started;
      const { value } = started;
      if ('run' in value) return { ok: true, value: { run: value.run, created: true } };
      return attempt(async () => {
        const rows = await store.findRun(value.existing);
        return rows === undefined
          ? notFound('run', value.existing)
          : { ok: true, value: { run: runOfRows(rows), created: false } };
      });
    },

    cancelRun: ({ runId, reason, reach }) => {
      const body: RunMessage = { kind: 'cancel', reach, ...(reason === undefined ? {} : { reason }) };
      return ask({ type: 'run', id: runId, body });
    },

    signalRun: ({ runId, reach, event, payload, eventId }) =>
      attempt(async () => {
        const run = await visible(runId, reach);
        if (!run.ok) return run;
        const body: EventMessage = {
          kind: 'signal',
          runId,
          reach,
          event,
          payload,
          ...(eventId === undefined ? {} : { eventId }),
        };
        return ask({ type: 'event', id: run.value.project, body });
      }),

    publishEvent: async ({ reach, project, event, key, payload, eventId }) => {
      if (!reaches(reach, project)) return forbidden(project);
      const body: EventMessage = {
        kind: 'publish',
        event,
        key,
        payload,
        ...(eventId === undefined ? {} : { eventId }),
      };
      return ask({ type: 'event', id: project, body });
    },

    getRun: ({ runId, reach }) =>
      attempt(async () => {
        const rows = await store.findRun(runId);
        if (rows === undefined) return notFound('run', runId);
        const { project } = rows.stored.record;
        return reaches(reach, project) ? { ok: true, value: detailOfRows(rows) } : forbidden(project);
      }),

    listRuns: (query) =>
      attempt(async () => {
        const reach = within(query.project, query.reach);
        if (!reach.ok) return reach;
        const { status, definitionId, userId, from, to, limit, cursor } = query;
        const mark = listMark('runs', [query.project, status, definitionId, userId, from, to]);
        const after = cursor === undefined ? undefined : readCursor(cursor, mark);
        if (cursor !== undefined && after === undefined) return badCursor;
        const records = await store.listRuns({
          reach: reach.value,
          limit: limit + 1,
          ...(status === undefined ? {} : { status }),
          ...(definitionId === undefined ? {} : { definitionId }),
          ...(userId === undefined ? {} : { userId }),
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
          ...(after === undefined ? {} : { after: { updatedAt: Number(after[0]), runId: after[1] ?? '' } }),
        });
        return {
          ok: true,
          value: page(records.map(summaryOfRecord), limit, (last) =>
            writeCursor(mark, [String(last.updatedAt), last.runId]),
          ),
        };
      }),

    projectOfRun: async (runId) => (await recordOf(runId))?.project,

    journal: ({ runId, reach, after, limit }) =>
      attempt(async () => {
        const run = await visible(runId, reach);
        if (!run.ok) return run;
        const rows = await store.journal(runId, after, limit);
        const events = rows
          .flatMap(entriesOf)
          .filter(({ seq }) => seq > after)
          .slice(0, limit);
        return { ok: true, value: { events, nextAfter: events.at(-1)?.seq ?? after } };
      }),

    followJournal: ({ runId, reach, after }, signal) =>
      attempt(async () => {
        const run = await visible(runId, reach);
        return run.ok ? { ok: true, value: follower(runId, after, signal) } : run;
      }),

    stepCause: ({ runId, reach, stepId, visit, attempt: number }) =>
      attempt(async () => {
        const run = await visible(runId, reach);
        if (!run.ok) return run;
        const program = await programOf(run.value.definitionId, run.value.definitionVersion);
        if (program !== undefined && !program.compiled.steps.has(stepId)) return notFound('step', stepId);
        const leased = await findLeased(
          runId,
          (entry) =>
            entry.stepId === stepId &&
            (visit === undefined || entry.visit === visit) &&
            (number === undefined || entry.attempt === number),
        );
        if (leased === undefined) return { ok: true, value: { chain: [] } };
        const { entry } = leased;
        let { before } = leased;
        const chain = [entry];
        for (let seq = before.at(-1)?.seq ?? entry.seq; ; ) {
          for (const earlier of before) if (isCause(earlier.kind) && chain.length < CAUSE_LIMIT) chain.push(earlier);
          if (seq === 0 || chain.length >= CAUSE_LIMIT) break;
          const rows = await store.journalBefore(runId, seq - 1, JOURNAL_PAGE);
          before = rows.flatMap((row) => entriesOf(row).toReversed()).filter((earlier) => earlier.seq < seq);
          if (before.length === 0) break;
          seq = before.at(-1)?.seq ?? 0;
        }
        const record = entry.leaseId === undefined ? undefined : await store.findAttempt(entry.leaseId);
        const of: Attempt | undefined = record === undefined ? undefined : attemptOf(record);
        return { ok: true, value: { chain, ...(of === undefined ? {} : { attempt: of }) } };
      }),

    listDefinitions: ({ limit, cursor }) =>
      attempt(async () => {
        const mark = listMark('definitions', []);
        const after = cursor === undefined ? undefined : readCursor(cursor, mark);
        if (cursor !== undefined && after === undefined) return badCursor;
        const records = await store.listDefinitions(after?.[0], limit + 1);
        return { ok: true, value: page(records.map(versionOf), limit, (last) => writeCursor(mark, [last.id])) };
      }),

    getDefinition: (id) =>
      attempt(async () => {
        const versions = await store.definitionVersions(id);
        const latest = versions.at(-1);
        if (latest === undefined) return notFound('definition', id);
        return {
          ok: true,
          value: {
            id,
            versions: versions.map(({ version, createdAt, openRuns, workers: held }) => ({
              version,
              createdAt,
              openRuns,
              workers: held,
            })),
            latest: JSON.parse(latest.document) as JsonObject,
          },
        };
      }),

    getDefinitionVersion: (id, version) =>
      attempt(async () => {
        const [found] = await store.load([{ kind: 'definition', id, version }]);
        return found === undefined
          ? notFound('definition', `${id} version ${version}`)
          : { ok: true, value: versionOf(found as DefinitionRecord) };
      }),

    listWorkers: ({ reach, limit, cursor }) =>
      attempt(async () => {
        const mark = listMark('workers', []);
        const after = cursor === undefined ? undefined : readCursor(cursor, mark)?.[0];
        if (cursor !== undefined && after === undefined) return badCursor;
        const records = await store.listWorkers({
          reach,
          limit: limit + 1,
          ...(after === undefined ? {} : { after }),
        });
        const held = watch.held();
        const items = records.map((record): WorkerInfo => {
          const { registeredBy: _, ...worker } = record;
          const { workerId, lastSeenAt } = worker;
          return { ...worker, lastSeenAt: seenAt.get(workerId) ?? lastSeenAt, leases: held.get(workerId) ?? 0 };
        });
        return { ok: true, value: page(items, limit, (last) => writeCursor(mark, [last.workerId])) };
      }),

    listLeases: (query) =>
      attempt(async () => {
        const reach = within(query.project, query.reach);
        if (!reach.ok) return reach;
        const mark = listMark('leases', [query.project]);
        const after = query.cursor === undefined ? undefined : readCursor(query.cursor, mark);
        if (query.cursor !== undefined && after === undefined) return badCursor;
        const rows = await store.listLiveLeases(reach.value, after?.[0], query.limit + 1);
        const leases = rows.map((row): LeaseInfo => {
          const { leaseId, stepId, visit, attempt: number, status, workerId, offeredAt, startedAt } = attemptOf(row);
          return {
            leaseId,
            runId: row.runId,
            project: row.project,
            definitionId: row.definitionId,
            definitionVersion: row.definitionVersion,
            stepId,
            visit,
            attempt: number,
            status,
            workerId,
            offeredAt,
            ...(startedAt === undefined ? {} : { startedAt }),
            leaseExpiresAt: row.expiresAt,
          };
        });
        return { ok: true, value: page(leases, query.limit, (last) => writeCursor(mark, [last.leaseId])) };
      }),

    listActors: (query) =>
      attempt(async () => {
        const mark = listMark('actors', [query.type, query.status]);
        const after = query.cursor === undefined ? undefined : readCursor(query.cursor, mark);
        if (query.cursor !== undefined && after === undefined) return badCursor;
        const found: ActorSummary[] = [];
        for (const type of ['run', 'lease'] as const) {
          if ((query.type !== undefined && query.type !== type) || (after?.[0] === 'lease' && type === 'run')) continue;
          const rows = await store.listActors({
            reach: query.reach,
            type,
            limit: query.limit + 1 - found.length,
            ...(query.status === undefined ? {} : { status: query.status }),
            ...(after?.[0] === type && after[1] !== undefined ? { before: after[1] } : {}),
          });
          for (const { project: _, ...row } of rows) found.push({ ...row, value: JSON.parse(row.value) as Json });
          if (found.length > query.limit) break;
        }
        return { ok: true, value: page(found, query.limit, (last) => writeCursor(mark, [last.type, last.id])) };
      }),

    getActor: ({ type, id, reach, atSeq }) =>
      attempt(async () => {
        if (type === 'run') return runSnapshot(id, reach, atSeq);
        if (atSeq !== undefined)
          return {
            ok: false,
            failure: {
              code: 'invalid_parameter',
              message: 'at_seq is for runs: a run alone has a journal',
              field: 'at_seq',
            },
          };
        return type === 'lease' ? leaseSnapshot(id, reach) : notFound('actor', `${type}/${id}`);
      }),

    listMachines: () =>
      attempt(async () => {
        const definitions = await store.listDefinitions(undefined, 1000);
        const machines: MachineInfo[] = [];
        for (const name of ['lease', ...definitions.map(({ id, version }) => `run:${id}@${version}`)]) {
          const described = await machine(name);
          if (!described.ok) continue;
          const { config: _, ...info } = described.value;
          machines.push(info);
        }
        return { ok: true, value: machines };
      }),
    getMachine: (name) => attempt(() => machine(name)),
    getMachineDiagram: (name) =>
      attempt(async () => {
        const described = await machine(name);
        if (!described.ok) return described;
        return { ok: true, value: drawMachine(name === 'lease' ? 'lease' : 'run', described.value.config) };
      }),

    eraseSubject: ({ userId, reach }, eraseTraces) =>
      attempt(async () => {
        let runsErased = 0;
        for (;;) {
          const { finished, inFlight } = await store.subjectRuns(userId, reach, ERASE_SLICE);
          if (finished.length === 0) return { ok: true, value: { runsErased, runsInFlight: inFlight } };
          // A span that still waits would come back after its trace was deleted.
          await outbox.flush();
          await eraseTraces([...new Set(finished.map(({ traceId }) => traceId))]);
          await erase(finished.map(({ runId }) => runId));
          runsErased += finished.length;
        }
      }),

    trimFinishedRuns: async (project, before, limit) => {
      const runIds = await store.finishedRuns(project, before, limit);
      await erase(runIds);
      return runIds.length;
    },

    findStuckRuns: () => store.stuckRuns(1000),

    listRunShapes: async (project, from, to, limit) =>
      (await store.runShapes(project, from, to, limit)).map(({ snapshot, ...shape }) => ({
        ...shape,
        stepCount: contextOf({ snapshot }).stepCount,
      })),

    counts: () => store.counts(),
    ping: () => store.ping(),

    tick,
    flushOutbox: () => outbox.flush(),
    waitingClaims: () => dispatcher.waiting(),
    isBusy: () => clock.monotonic() - askedAt < BUSY_MS,

    close: async () => {
      if (closing.signal.aborted) return;
      closing.abort();
      cancelTick?.();
      dispatcher.close();
      await ticking;
      await takingBack;
      await outbox.stop();
      await kernel.idle();
      dispatcher.close();
      await store.close();
    },
  };

  await resume();
  outbox.kick();
  armTick();
  const takingBack = takeBack();
  return service;
};

const readable = (record: RunRecord) => {
  try {
    return decodeSnapshot(record.snapshot);
  } catch {
    return undefined; // the actor list names the fault
  }
};

/** The entries by which an attempt came about: what began, moved, ended and resumed; not what was merely tried or waited. */
const isCause = (kind: JournalKind): boolean =>
  kind !== 'step.leased' && kind !== 'step.started' && kind !== 'run.waiting' && kind !== 'child.started';
