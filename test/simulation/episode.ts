import type { Result } from '../../src/model/failure.ts';
import type { Json } from '../../src/model/json.ts';
import type { Lease } from '../../src/model/run.ts';
import { type RunningRuns, startRuns } from '../../src/actors/start.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createPrices } from '../actors/run-prices.ts';
import { createChance, createIds } from './chance.ts';
import { simulated } from './definitions.ts';
import { checkAfterwards, checkAtRest, createWatch, Violation } from './invariants.ts';
import { type Call, createLedger, type Verb } from './ledger.ts';
import { createUnsafeStore, type Planted } from './unsafe-store.ts';
import { createVirtualTime } from './virtual-time.ts';

export type Episode = {
  readonly seed: number;
  /** How long the world is unkind; then it is kind, until all is over. */
  readonly troubleMs?: number;
  readonly workers?: number;
  readonly plant?: Planted;
};
export type Report = {
  readonly seed: number;
  readonly simulatedMs: number;
  readonly runs: number;
  readonly attempts: number;
  readonly entries: number;
  readonly calls: number;
  readonly timers: number;
  readonly restarts: number;
  readonly storeFaults: number;
  readonly clockJumps: number;
  /** Runs that began at their `start_at`. */
  readonly laterStarts: number;
  readonly signals: number;
  readonly erased: number;
  /** Events whose id was found to outlive the day. */
  readonly resent: number;
  /** Reads for a group that was decided while the one before it was in commit. */
  readonly readAhead: number;
};

const ALL = { reach: 'all' } as const;
const START = Date.parse('2026-03-01T12:00:00Z');
const HOUR = 3600_000;
/** The service is back after so long. */
const LONGEST_AWAY_MS = 120_000;
const YEAR = 365 * 24 * HOUR;
const LEASE_TTL_MS = 15_000;
/** People whose runs there are. */
const USERS = 6;

/**
 * One history of a small world, drawn from one number: a service that dies and comes back, over a store that fails, fake
 * workers that crash, hang, repeat and come late, people who start, cancel and pay. Then peace, until nothing moves, and all
 * that was promised is looked at.
 * @throws Violation with the seed in its message; the same seed throws it again at the same moment
 */
export const playEpisode = async ({ seed, troubleMs = HOUR / 2, workers = 4, plant }: Episode): Promise<Report> => {
  const chance = createChance(seed);
  const time = createVirtualTime(START);
  const file: RunStore = createMemoryRunStore();
  const watch = createWatch(time.now);
  const ledger = createLedger();
  const spans = new Set<string>();
  const newId = createIds();
  const faultsSeen: string[] = [];
  let trouble = true;
  let clockJumps = 0;
  let signals = 0;
  /** By the machine's clock. */
  let latestStart = 0;
  let restarts = 0;
  let storeFaults = 0;
  let readAhead = 0;
  let service: RunningRuns | undefined;
  let die = async (): Promise<void> => {};
  let readAheadNow = (): number => 0;
  let broken: unknown;
  const over = (): boolean => broken !== undefined;
  /** Each strand of the world runs beside the others; the first that throws ends the episode. */
  const strand = (work: () => Promise<void>): void => {
    work().catch((error: unknown) => {
      broken ??= error;
    });
  };

  // The service.
  const bringUp = async (): Promise<void> => {
    while (service === undefined) {
      const unsafe = createUnsafeStore(
        file,
        time,
        chance,
        () =>
          trouble ? { commit: 0.03, read: 0.005, slow: 0.02, lag: 0.5 } : { commit: 0, read: 0, slow: 0, lag: 0.5 },
        plant,
        (changes) => {
          try {
            watch.look(changes);
          } catch (error) {
            broken ??= error;
          }
        },
        watch.restarted,
      );
      readAhead += readAheadNow();
      readAheadNow = unsafe.readAhead;
      die = unsafe.die;
      try {
        service = await startRuns({
          store: unsafe.store,
          clock: time.clock,
          newId,
          random: chance.next,
          defer: time.defer,
          price: createPrices(),
          leaseTtlMs: LEASE_TTL_MS,
          writeSpans: async (batch) => {
            await time.sleep(chance.between(0, 200));
            if (trouble && chance.is(0.1)) throw new StoreUnavailable('the trace store is away');
            for (const { spanId } of batch) spans.add(spanId);
          },
          onFault: (error) => {
            storeFaults += 1;
            faultsSeen.push(error instanceof Error ? error.message : 'no error at all');
          },
        });
      } catch {
        storeFaults += 1;
        await time.sleep(1000);
      }
    }
  };
  const keepUp = async (): Promise<void> => {
    await bringUp();
    while (trouble) {
      await time.sleep(chance.between(10_000, 300_000));
      if (!trouble) break;
      const last = service;
      service = undefined;
      if (chance.is(0.3)) await Promise.race([last?.close(), time.sleep(20_000)]);
      await die();
      restarts += 1;
      await time.sleep(chance.between(0, 30_000));
      await bringUp();
    }
  };

  // The network: a request, its answer, or both may be lost or late, and a request may come twice.
  const lost = Symbol('lost');
  const call = async <T>(ask: (runs: RunningRuns) => Promise<Result<T>>): Promise<Result<T> | typeof lost> => {
    await time.sleep(chance.between(0, trouble ? 200 : 2));
    const to = service;
    if (to === undefined || (trouble && chance.is(0.02))) {
      await time.sleep(chance.between(100, 5000));
      return lost;
    }
    const answer = await Promise.race([ask(to), time.sleep(30_000).then((): typeof lost => lost)]);
    await time.sleep(chance.between(0, trouble ? 200 : 2));
    if (trouble && chance.is(0.02)) return lost;
    if (answer !== lost && !answer.ok && answer.failure.code === 'store_unavailable') return lost;
    return answer;
  };
  /** Until there is an answer. */
  const insist = async <T>(ask: (runs: RunningRuns) => Promise<Result<T>>): Promise<Result<T>> => {
    for (;;) {
      const answer = await call(ask);
      if (answer !== lost) return answer;
      await time.sleep(chance.between(200, 3000));
    }
  };

  // The workers.
  const lease = async <T>(
    held: Lease,
    verb: Verb,
    ask: (runs: RunningRuns) => Promise<Result<T>>,
    errorClass?: string,
  ): Promise<Result<T> | typeof lost> => {
    const one: Call = { verb, from: time.now(), ...(errorClass === undefined ? {} : { errorClass }) };
    const calls: Call[] = ledger.leases.get(held.leaseId)?.calls ?? [];
    calls.push(one);
    if (trouble && chance.is(0.03)) {
      calls.push({ ...one });
      strand(async () => {
        await time.sleep(chance.between(0, 20_000));
        await call(ask);
      });
    }
    const answer = await call(ask);
    if (answer !== lost) {
      one.to = time.now();
      one.answer = answer.ok ? 'ok' : answer.failure.code;
    }
    return answer;
  };
  type Life = { dead: boolean };
  const body = async (held: Lease, workerId: string, life: Life): Promise<void> => {
    const who = { ...ALL, leaseId: held.leaseId, workerId };
    const { runId, stepId, visit, delivery } = held;
    ledger.leases.set(held.leaseId, { runId, stepId, visit, delivery, calls: [] });
    const entry = ledger.leases.get(held.leaseId);
    /** An answer promises a whole ttl from the moment of the call, however the machine's clock is set. */
    const promised = (from: number): void => {
      const one = { at: time.now(), until: from + LEASE_TTL_MS };
      ledger.promises.set(held.leaseId, [...(ledger.promises.get(held.leaseId) ?? []), one]);
    };
    const fail = (cls: string) => (runs: RunningRuns) =>
      runs.fail({
        ...who,
        error: { class: cls, message: 'drawn' },
        ...(cls === 'rate_limited' ? { retryAfterMs: 3000 } : {}),
      });
    if (trouble && chance.is(0.03)) {
      await lease(held, 'fail', fail('unservable'), 'unservable');
      return;
    }
    const declares = !(trouble && chance.is(0.03));
    if (declares) {
      const from = time.now();
      let started: Result<object> | typeof lost = lost;
      while (started === lost && time.now() - from < LEASE_TTL_MS && !life.dead)
        started = await lease(held, 'started', (runs) => runs.started(who));
      if (life.dead || started === lost || !started.ok) return;
      promised(from);
      const name = `${runId} ${stepId} ${visit} ${delivery}`;
      ledger.bodies.set(name, (ledger.bodies.get(name) ?? 0) + 1);
    }
    let stopped = false;
    const silent = trouble && chance.is(0.06);
    let done = false;
    strand(async () => {
      while (!done && !stopped && !life.dead) {
        await time.sleep(chance.between(3000, LEASE_TTL_MS / 3));
        if (done || stopped || life.dead || silent) return;
        const from = time.now();
        const beat = await lease(held, 'heartbeat', (runs) => runs.heartbeat({ ...who, details: { at: time.now() } }));
        if (beat === lost) continue;
        if (beat.ok) {
          if (declares) promised(from);
        } else stopped = true;
      }
    });
    const long = trouble ? chance.pick([1000, 5000, 5000, 30_000, 70_000, 200_000]) : 3000;
    await time.sleep(chance.between(0, long));
    if (life.dead || stopped) {
      done = true;
      return;
    }
    const cls =
      trouble && chance.is(0.2) ? chance.pick(['retryable', 'retryable', 'fatal', 'rate_limited', 'own']) : undefined;
    const usage = chance.is(0.5) ? [{ model: 'm', inputTokens: chance.between(0, 900), outputTokens: 10 }] : undefined;
    if (entry !== undefined && usage !== undefined && cls === undefined) entry.usage = usage;
    const output: Json = { by: workerId };
    for (let tries = 0; tries < 40 && !life.dead; tries += 1) {
      const answer =
        cls === undefined
          ? await lease(held, 'complete', (runs) =>
              runs.complete({
                ...who,
                output,
                statePatch: { [stepId]: visit },
                ...(usage === undefined ? {} : { usage }),
              }),
            )
          : await lease(held, 'fail', fail(cls), cls);
      if (answer !== lost) break;
      await time.sleep(chance.between(100, 2000));
    }
    done = true;
  };
  let lives = 0;
  const work = async (): Promise<void> => {
    for (;;) {
      const workerId = `worker-${(lives += 1)}`;
      const life: Life = { dead: false };
      const registered = await insist((runs) => runs.registerWorker({ ...ALL, workerId, definitions: simulated }));
      if (!registered.ok) throw new Violation(`register: ${registered.failure.code}`);
      while (!life.dead) {
        if (trouble && chance.is(0.02)) life.dead = true;
        const gone = new AbortController();
        const waitMs = chance.between(0, 20_000);
        const answer = await call((runs) =>
          runs.claim({ ...ALL, workerId, max: chance.between(1, 3), waitMs }, gone.signal),
        );
        if (answer === lost) {
          if (chance.is(0.5)) gone.abort();
          await time.sleep(500);
          continue;
        }
        if (!answer.ok) throw new Violation(`claim: ${answer.failure.code}`);
        for (const held of answer.value) strand(() => body(held, workerId, life));
        await time.sleep(chance.between(10, trouble ? 8000 : 500));
      }
      await time.sleep(chance.between(1000, 60_000));
    }
  };

  // Those who start, pay and cancel.
  const live = async (number: number): Promise<void> => {
    const key = `k${number}`;
    const pay = async (): Promise<void> => {
      const eventId = `event-${number}`;
      ledger.events.set(eventId, { key });
      const event = chance.pick(['paid', 'waived']);
      for (let times = chance.pick([1, 1, 2]); times > 0; times -= 1) {
        const sent = await insist((runs) =>
          runs.publishEvent({ ...ALL, project: 'p', event, key, payload: { id: eventId }, eventId }),
        );
        if (!sent.ok) throw new Violation(`event: ${sent.failure.code}`);
        if (sent.value.outcome !== 'duplicate') ledger.events.set(eventId, { key, ...sent.value });
      }
    };
    /** To the run itself, whatever it waits for. */
    const nudge = async (runId: string): Promise<void> => {
      await time.sleep(chance.between(0, 400_000));
      const eventId = `signal-${number}`;
      ledger.events.set(eventId, { key });
      const sent = await insist((runs) =>
        runs.signalRun({
          ...ALL,
          runId,
          event: number % 2 === 0 ? 'paid' : 'waived',
          payload: { id: eventId },
          eventId,
        }),
      );
      if (sent.ok) {
        signals += 1;
        if (sent.value.runId !== runId) throw new Violation(`the signal to ${runId} went to ${sent.value.runId}`);
        ledger.events.set(eventId, { key, outcome: 'delivered', runId });
      } else if (!['conflict', 'run_terminal', 'not_found'].includes(sent.failure.code))
        throw new Violation(`signal: ${sent.failure.code}`);
    };
    /** Pauses the run for some time, now and then twice. */
    const holdUp = async (runId: string): Promise<void> => {
      for (let times = chance.pick([1, 1, 2]); times > 0; times -= 1) {
        await time.sleep(chance.between(0, 200_000));
        for (const change of ['pauseRun', 'resumeRun'] as const) {
          const changed = await insist((runs) => runs[change]({ ...ALL, runId, reason: `reason-${number}` }));
          if (!changed.ok && !['run_terminal', 'not_found'].includes(changed.failure.code))
            throw new Violation(`${change}: ${changed.failure.code}`);
          await time.sleep(chance.between(0, 300_000));
        }
      }
    };
    if (chance.is(0.3)) await pay();
    else if (chance.is(0.8))
      strand(async () => {
        await time.sleep(chance.between(1000, 400_000));
        await pay();
      });
    // A burst has more children than one commit starts, and all of them end at once.
    const definitionId = chance.is(0.03) ? 'burst' : chance.pick(['order', 'order', 'batch']);
    const most = definitionId === 'burst' ? 350 : 4;
    const input = { key, items: Array.from({ length: chance.between(0, most) }, (_, n) => n) };
    const startAt = chance.is(0.15) ? time.clock.wall() + chance.between(-10_000, 600_000) : undefined;
    latestStart = Math.max(latestStart, startAt ?? 0);
    const started = await insist((runs) =>
      runs.startRun({
        ...ALL,
        project: 'p',
        definitionId,
        input,
        idempotencyKey: key,
        correlation: { user_id: `user-${number % USERS}` },
        ...(chance.is(0.3) ? { priority: chance.between(-100, 100) } : {}),
        ...(startAt === undefined ? {} : { startAt: { at: startAt } }),
      }),
    );
    if (!started.ok) {
      // Nobody has registered the definition yet.
      if (started.failure.code !== 'not_found') throw new Violation(`start: ${started.failure.code}`);
      return;
    }
    const { runId } = started.value.run;
    ledger.started.set(key, runId);
    if (chance.is(0.2)) strand(() => nudge(runId));
    if (chance.is(0.2)) strand(() => holdUp(runId));
    if (!chance.is(0.15)) return;
    await time.sleep(chance.between(0, 300_000));
    const cancelled = await insist((runs) => runs.cancelRun({ ...ALL, runId }));
    if (!cancelled.ok) {
      if (cancelled.failure.code !== 'not_found' || !watch.erased.has(runId))
        throw new Violation(`cancel: ${cancelled.failure.code}`);
      return;
    }
    ledger.cancelled.add(runId);
  };
  const people = async (): Promise<void> => {
    for (let number = 0; trouble; number += 1) {
      strand(() => live(number));
      await time.sleep(chance.between(1000, 60_000));
    }
  };

  // Those who erase: a person's runs on request, and what is older than it may be.
  const erasure = async (): Promise<void> => {
    while (trouble) {
      await time.sleep(chance.between(60_000, 600_000));
      if (!trouble) return;
      if (chance.is(0.5)) {
        const userId = `user-${chance.between(0, USERS - 1)}`;
        await call((runs) => runs.eraseSubject({ ...ALL, userId }, async () => ({ deleted: 0, pending: false })));
      } else {
        const before = time.now() - chance.between(0, 600_000);
        await call(async (runs) => {
          try {
            return { ok: true, value: await runs.trimFinishedRuns('p', before, chance.between(1, 20)) };
          } catch (error) {
            if (!(error instanceof StoreUnavailable)) throw error;
            return { ok: false, failure: { code: 'store_unavailable', message: error.message } };
          }
        });
      }
    }
  };
  // The clock of the machine: set ahead, and set back.
  const clocks = async (): Promise<void> => {
    while (trouble) {
      await time.sleep(chance.between(60_000, 900_000));
      if (!trouble) return;
      const furthest = chance.pick([2000, HOUR / 2, 10 * YEAR]);
      const ms = chance.pick([1, -1]) * chance.between(1, furthest);
      watch.clockSet(time.clock.wall());
      time.jumpWall(ms);
      clockJumps += 1;
      // Now and then somebody notices at once.
      if (!chance.is(0.5)) continue;
      await time.sleep(chance.between(0, 5000));
      watch.clockSet(time.clock.wall());
      time.jumpWall(-ms);
      clockJumps += 1;
    }
  };

  /** Time goes on beside the questions: answers wait for it. */
  const beside = async <T>(questions: Promise<T>): Promise<T> => {
    let asked = false;
    const answered = questions.finally(() => {
      asked = true;
    });
    answered.catch(() => {}); // it is awaited below, once time has gone on for it
    while (!asked) await time.runUntil(time.now() + 1000, () => asked);
    return answered;
  };

  const at = (): string => `${((time.now() - START) / 1000).toFixed(3)} s`;
  try {
    strand(keepUp);
    for (let number = 0; number < workers; number += 1) strand(work);
    strand(people);
    strand(erasure);
    strand(clocks);
    await time.runUntil(START + troubleMs, over);
    trouble = false;
    // Where the machine's clock was set back, what was named by it before may lie years ahead. A service that starts behind the leap would
    // find all else overdue.
    await time.runUntil(time.now() + LONGEST_AWAY_MS, over);
    time.jumpWall(Math.max(0, latestStart - time.clock.wall()));
    // Every run has a longest time; after that, an hour for the last word to get about.
    const quiet = async (): Promise<boolean> => (await file.counts()).openRuns === 0;
    for (let hour = 0; hour < 12 && !over(); hour += 1) {
      await time.runUntil(time.now() + HOUR, over);
      if (await quiet()) break;
    }
    if (broken !== undefined) throw broken;
    const runs = service;
    if (runs === undefined) throw new Violation('the service did not come back');
    const counted = await beside(checkAtRest(runs, file, watch, ledger, spans));
    time.jumpWall(25 * HOUR);
    await time.runUntil(time.now() + 5 * 60_000, over);
    const erased = watch.erased.size;
    const rest = { erased, resent: await beside(checkAfterwards(runs, file, watch, ledger)) };
    if (broken !== undefined) throw broken;
    const odd = faultsSeen.find((fault) => !/written|file could not be read|trace store is away|closed/.test(fault));
    if (odd !== undefined) throw new Violation(`a turn failed: ${odd}`);
    return {
      seed,
      simulatedMs: time.now() - START,
      ...counted,
      timers: watch.fired.timers,
      laterStarts: watch.fired.starts,
      restarts,
      storeFaults,
      clockJumps,
      signals,
      ...rest,
      readAhead: readAhead + readAheadNow(),
    };
  } catch (error) {
    throw new Violation(`seed ${seed}, at ${at()}: ${error instanceof Error ? error.message : 'no error at all'}`, {
      cause: error,
    });
  }
};
