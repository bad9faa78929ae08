import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Result } from '../../src/model/failure.ts';
import type { Json, JsonObject } from '../../src/model/json.ts';
import type { JournalEntry, Lease, RunDetail } from '../../src/model/run.ts';
import type { StepError } from '../../src/model/definition/step-error.ts';
import type { Clock } from '../../src/actors/kernel/clock.ts';
import type { RunningRuns } from '../../src/actors/start.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { ALL, createFakeClock, createHarness, must } from '../actors/run-harness.ts';
import { createPrices } from '../actors/run-prices.ts';
import { type Answer, type Attempt, createEngine, type Entry, isOver, type Run, shown, type Usage } from './engine.ts';

const settings = { leaseTtlMs: 10_000, reclaimWindowMs: 3_000, offerTtlMs: 4_000 } as const;
const random = 0.5;
export const config = { ...settings, random } as const;
export const projects = ['p', 'q'] as const;
export const events = ['go', 'stop'] as const;
export const keys = ['', '1', 'k'] as const;

const round = (cost: number | undefined): number | undefined =>
  cost === undefined ? undefined : Math.round(cost * 1e6) / 1e6;
/** Fails with the first place where the two differ. */
const agree = (real: unknown, naive: unknown, path = ''): void => {
  if (isDeepStrictEqual(real, naive)) return;
  if (typeof real === 'object' && typeof naive === 'object' && real !== null && naive !== null)
    for (const key of new Set([...Object.keys(naive), ...Object.keys(real)]))
      agree((real as JsonObject)[key], (naive as JsonObject)[key], `${path}.${key}`);
  assert.deepEqual(
    real,
    naive,
    `${path}: the service says ${JSON.stringify(real)}, the oracle ${JSON.stringify(naive)}`,
  );
};
/** What of an error the decisions fix; its message is free. */
const fixed = (error: (StepError & { readonly stepId?: string; readonly limit?: string }) | undefined) =>
  error === undefined ? undefined : { class: error.class, code: error.code, stepId: error.stepId, limit: error.limit };
const byName = <T extends { readonly name: string }>(list: readonly T[]): readonly T[] =>
  list.toSorted((a, b) => (a.name < b.name ? -1 : 1));
const byNumber = <T extends { readonly no: number | undefined }>(list: readonly T[]): readonly T[] =>
  list.toSorted((a, b) => (a.no ?? -1) - (b.no ?? -1));
/** The engine knows no ids and no messages: where an output lists the error of a child, they count for nothing. */
const withoutIds = (_key: string, value: unknown): unknown => {
  if (value === null || typeof value !== 'object' || !('run_id' in value) || !('class' in value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'run_id' && name !== 'message'));
};
/** Absent and undefined are one. */
const plainJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value), withoutIds);

/** What of a journal entry the decisions fix: order, kind and time, and the lease where the kind speaks of one. */
const entryView = ({ seq, kind, at, stepId, visit, attempt, worker }: Entry & { readonly seq: number }) => {
  if (kind.startsWith('run.')) return { seq, kind, at };
  return { seq, kind, at, stepId, visit, attempt, worker: kind === 'step.leased' ? worker : undefined };
};

/** The whole state of one run, as the naive engine sees it. Leases and runs are numbered in the order they came to be. */
const viewOfRun = (run: Run, waitsForDefinition: boolean) => ({
  no: run.no,
  status: shown(run),
  waitsForDefinition,
  pause: run.paused === undefined ? undefined : { since: run.paused.since, byParent: run.paused.by === 'parent' },
  startAt: run.startAt,
  definition: `${run.program.definition.id}@${run.program.definition.version}`,
  project: run.project,
  cursor: run.cursor,
  input: run.input,
  output: run.output,
  state: run.state,
  error: fixed(run.error),
  correlation: run.correlation,
  key: run.key,
  usage: { in: run.inputTokens, out: run.outputTokens, cost: round(run.cost) },
  stepCount: run.stepCount,
  createdAt: run.createdAt,
  updatedAt: run.updatedAt,
  endedAt: run.endedAt,
  deadlineAt: run.deadlineAt,
  parent: run.parent?.run.no,
  attempts: run.attempts.map((one) => ({
    stepId: one.stepId,
    visit: one.visit,
    attempt: one.attempt,
    status: one.status,
    worker: one.worker,
    offeredAt: one.offeredAt,
    startedAt: one.startedAt,
    endedAt: one.endedAt,
    expiresAt: one.live ? one.expiresAt : undefined,
    output: one.output,
    error: fixed(one.error),
    cost: round(one.cost),
  })),
  timers: byName([
    ...[...run.timers].map(([name, timer]) => ({ name, ...timer })),
    ...run.attempts.flatMap(({ live, timeoutAt, stepId }) =>
      live && timeoutAt !== undefined ? [{ name: 'timeout', stepId, dueAt: timeoutAt }] : [],
    ),
  ]),
  waits: run.waits.map(({ event, key, stepId, since, deadlineAt }) => ({ event, key, stepId, since, deadlineAt })),
  children: run.children.map((child) => ({
    no: child.no,
    status: shown(child),
    stepId: child.parent?.stepId,
    visit: child.parent?.visit,
    index: child.parent?.index,
    error: fixed(child.error),
  })),
  journal: run.journal.map((entry, seq) => entryView({ seq, ...entry })),
});

const viewOfReal = (
  no: number,
  detail: RunDetail,
  journal: readonly JournalEntry[],
  noOf: (runId: string) => number | undefined,
) => ({
  no,
  status: detail.status,
  waitsForDefinition: detail.queuedReason === 'definition_paused',
  pause: detail.pause === undefined ? undefined : { since: detail.pause.since, byParent: detail.pause.byParent },
  startAt: detail.startAt,
  definition: `${detail.definitionId}@${detail.definitionVersion}`,
  project: detail.project,
  cursor: detail.cursor,
  input: detail.input,
  output: detail.output,
  state: detail.state,
  error: fixed(detail.error),
  correlation: detail.correlation,
  key: detail.idempotencyKey,
  usage: { in: detail.usage.inputTokens, out: detail.usage.outputTokens, cost: round(detail.usage.cost) },
  stepCount: detail.stepCount,
  createdAt: detail.createdAt,
  updatedAt: detail.updatedAt,
  endedAt: detail.endedAt,
  deadlineAt: detail.deadlineAt,
  parent: detail.parentRunId === undefined ? undefined : noOf(detail.parentRunId),
  attempts: detail.attempts.map((one) => ({
    stepId: one.stepId,
    visit: one.visit,
    attempt: one.attempt,
    status: one.status,
    worker: one.workerId,
    offeredAt: one.offeredAt,
    startedAt: one.startedAt,
    endedAt: one.endedAt,
    expiresAt: one.leaseExpiresAt,
    output: one.output,
    error: fixed(one.error),
    cost: round(one.cost?.totalCost),
  })),
  timers: byName(detail.timers),
  waits: detail.waits,
  children: byNumber(
    detail.children.map((child) => ({
      no: noOf(child.runId),
      status: child.status,
      stepId: child.stepId,
      visit: child.visit,
      index: child.index,
      error: fixed(child.error),
    })),
  ),
  journal: journal.map(({ workerId, ...entry }) =>
    entryView({ ...entry, ...(workerId === undefined ? {} : { worker: workerId }) }),
  ),
});

/** The real service and the naive engine side by side: each method does the same to both and compares what they say. */
export const createPair = async (store: RunStore) => {
  const prices = createPrices();
  const time = createFakeClock();
  // A claim that does not wait is over as soon as it was matched.
  const after: Clock['after'] = (ms, callback) => {
    if (ms > 0) return time.clock.after(ms, callback);
    const immediate = setImmediate(callback);
    return () => {
      clearImmediate(immediate);
    };
  };
  const harness = await createHarness({ store, ...settings, random: () => random, clock: { ...time.clock, after } });
  let service: RunningRuns = harness.runs;
  const engine = createEngine({ ...config, price: (use: Usage) => prices(use)?.totalCost }, time.now());
  const idOf = new Map<Run, string>();
  const noOf = new Map<string, number>();
  const leases: { readonly leaseId: string; readonly attempt: Attempt }[] = [];

  const know = (run: Run, runId: string): void => {
    idOf.set(run, runId);
    noOf.set(runId, run.no);
  };
  /** Children are known by their place below their parent. */
  const knowChildren = (run: Run, detail: RunDetail): void => {
    for (const child of run.children) {
      const { stepId, visit, index } = child.parent ?? {};
      const real = detail.children.find((one) => one.stepId === stepId && one.visit === visit && one.index === index);
      if (real !== undefined && !idOf.has(child)) know(child, real.runId);
    }
  };
  const compare = async (): Promise<void> => {
    const ended: boolean[] = [];
    for (const run of engine.runs) {
      const runId = idOf.get(run) ?? '';
      const detail = must(await service.getRun({ ...ALL, runId }));
      knowChildren(run, detail);
      const { events: entries } = must(await service.journal({ ...ALL, runId, after: -1, limit: 1000 }));
      const really = viewOfReal(run.no, detail, entries, (id) => noOf.get(id));
      // The histories first: where they part, all else follows.
      const steps = (list: readonly { kind: string; stepId?: string | undefined }[]): string =>
        list.map(({ kind, stepId }) => `${kind} ${stepId ?? ''}`).join(', ');
      const naively = viewOfRun(run, engine.waitsForDefinition(run));
      assert.equal(steps(really.journal), steps(naively.journal), `the journal of ${really.definition}`);
      agree(plainJson(really), plainJson(naively), `run ${run.no} (${steps(really.journal)})`);
      ended.push(isOver(run));
    }
    const live = engine.runs.flatMap((run) => run.attempts.filter((one) => one.live));
    const { items } = must(await service.listLeases({ ...ALL, limit: 1000 }));
    assert.deepEqual(items.length, live.length);
    assert.deepEqual((await service.counts()).openRuns, ended.filter((over) => !over).length);
    assert.deepEqual(await service.findStuckRuns(), []);
    const places = projects.flatMap((project) =>
      events.flatMap((event) => keys.map((key) => ({ project, event, key }))),
    );
    const lookups = places.map((place) => ({
      kind: 'event_mailbox' as const,
      ...place,
      parkedAfter: engine.now() - 24 * 3600_000,
      limit: 100,
    }));
    const meetings = await store.load(lookups);
    const really = places.map((place, at) => ({
      ...place,
      payloads: (meetings[at] as { parked: readonly { payload: string }[] }).parked.map(
        ({ payload }) => JSON.parse(payload) as Json,
      ),
    }));
    const naively = places.map((place) => ({
      ...place,
      payloads: engine
        .parkedNow()
        .filter((one) => one.project === place.project && one.event === place.event && one.key === place.key)
        .map(({ payload }) => payload),
    }));
    assert.deepEqual(really, naively);
    assert.deepEqual(harness.faults, []);
  };

  /** The real answer, in the words of the naive one. */
  const same = (
    real: Result<object | void>,
    naive: Answer,
    about: (value: never) => unknown = (value) => value,
  ): void => {
    const said = real.ok ? { code: 'ok', ...(about(real.value as never) as object) } : { code: real.failure.code };
    agree(plainJson(said), plainJson({ code: naive.code, ...(naive.code === 'ok' ? naive.value : {}) }));
  };
  const runIdOf = (run: Run | undefined): string =>
    run === undefined ? '01900000-dead-7000-8000-000000000000' : (idOf.get(run) ?? '');
  const heldBy = (lease: { leaseId: string } | undefined, workerId: string) => ({
    ...ALL,
    leaseId: lease?.leaseId ?? '01900000-dead-7000-8000-000000000000',
    workerId,
  });
  const leaseView = (lease: Lease): unknown => ({
    stepId: lease.stepId,
    visit: lease.visit,
    attempt: lease.attempt,
    delivery: lease.delivery,
    steps: lease.steps,
    state: lease.state,
    correlation: lease.correlation,
    leaseExpiresAt: lease.leaseExpiresAt,
    input: lease.input,
    deadlineAt: lease.deadlineAt,
    lastDetails: lease.lastDetails,
  });
  type Held = (typeof leases)[number] | undefined;

  const pair = {
    engine,
    leases,
    harness,
    compare,
    register: async (workerId: string, documents: readonly Json[], project?: string): Promise<void> => {
      const real = await service.registerWorker({
        ...ALL,
        workerId,
        definitions: documents,
        ...(project === undefined ? {} : { project }),
      });
      same(real, engine.registerWorker(workerId, documents, project), ({ definitions }: { definitions: unknown }) => ({
        definitions,
      }));
    },
    claim: async (workerId: string, max: number, only?: Run): Promise<readonly Held[]> => {
      const real = await service.claim({
        ...ALL,
        workerId,
        max,
        waitMs: 0,
        ...(only === undefined ? {} : { runId: runIdOf(only) }),
      });
      const naive = engine.offerable(workerId, only);
      if (!real.ok || naive.order === undefined) {
        same(real, naive);
        return [];
      }
      if (real.value.some(({ runId }) => !noOf.has(runId)))
        for (const run of engine.runs)
          if (run.children.length > 0)
            knowChildren(run, must(await service.getRun({ ...ALL, runId: idOf.get(run) ?? '' })));
      let left = naive.order;
      assert.deepEqual(real.value.length, Math.min(max, left.length));
      const taken = [];
      for (const lease of real.value) {
        const chosen = left.find(({ run }) => idOf.get(run) === lease.runId);
        assert.ok(chosen, 'a run was offered that cannot be');
        // The oldest goes first, a started run before a new one of the same age. Among equals either may go.
        const passedOver = left.filter(
          ({ age, fresh }) => age < chosen.age || (age === chosen.age && !fresh && chosen.fresh),
        );
        assert.deepEqual(
          passedOver.map(({ run }) => run.no),
          [],
          'an older step was passed over',
        );
        left = left.filter((other) => other !== chosen);
        const attempt = engine.offer(chosen.run, workerId);
        agree(plainJson(leaseView(lease)), plainJson(engine.leaseOf(attempt)));
        const held = { leaseId: lease.leaseId, attempt };
        leases.push(held);
        taken.push(held);
      }
      if (taken.length > 1) engine.note('claim of several');
      if (taken.length === max && left.length > 0) engine.note('claim cut by max');
      if (taken.length === 0) engine.note('claim of nothing');
      return taken;
    },
    giveBack: async (lease: Held): Promise<void> => {
      if (lease === undefined) return;
      await service.giveBack([lease.leaseId]);
      engine.giveBack(lease.attempt);
    },
    started: async (lease: Held, workerId: string): Promise<void> =>
      same(await service.started(heldBy(lease, workerId)), engine.started(lease?.attempt, workerId)),
    heartbeat: async (lease: Held, workerId: string, details?: Json): Promise<void> =>
      same(
        await service.heartbeat({ ...heldBy(lease, workerId), ...(details === undefined ? {} : { details }) }),
        engine.heartbeat(lease?.attempt, workerId, details),
      ),
    complete: async (
      lease: Held,
      workerId: string,
      output?: Json,
      statePatch?: JsonObject,
      usage?: readonly Usage[],
    ): Promise<void> =>
      same(
        await service.complete({
          ...heldBy(lease, workerId),
          ...(output === undefined ? {} : { output }),
          ...(statePatch === undefined ? {} : { statePatch }),
          ...(usage === undefined ? {} : { usage }),
        }),
        engine.complete(lease?.attempt, workerId, output, statePatch, usage),
      ),
    fail: async (
      lease: Held,
      workerId: string,
      error: StepError,
      retryAfterMs?: number,
      usage?: readonly Usage[],
    ): Promise<void> =>
      same(
        await service.fail({
          ...heldBy(lease, workerId),
          error,
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
          ...(usage === undefined ? {} : { usage }),
        }),
        engine.fail(lease?.attempt, workerId, error, retryAfterMs, usage),
      ),
    start: async (
      project: string,
      definitionId: string,
      version: number | undefined,
      input: Json,
      correlation: JsonObject,
      key?: string,
      afterMs = 0,
    ): Promise<void> => {
      const real = await service.startRun({
        ...ALL,
        project,
        definitionId,
        input,
        correlation,
        ...(version === undefined ? {} : { definitionVersion: version }),
        ...(key === undefined ? {} : { idempotencyKey: key }),
        ...(afterMs === 0 ? {} : { startAt: { afterMs } }),
      });
      const naive = engine.startRun(project, definitionId, version, input, correlation, key, afterMs);
      same(real, naive, ({ created }: { created: boolean }) => ({ created }));
      if (!real.ok || naive.run === undefined) return;
      if (real.value.created) know(naive.run, real.value.run.runId);
      assert.deepEqual([real.value.run.runId, real.value.run.status], [idOf.get(naive.run), shown(naive.run)]);
    },
    cancel: async (run: Run | undefined): Promise<void> =>
      same(await service.cancelRun({ ...ALL, runId: runIdOf(run) }), engine.cancel(run), () => ({})),
    pause: async (run: Run | undefined): Promise<void> =>
      same(
        await service.pauseRun({ ...ALL, runId: runIdOf(run) }),
        engine.pause(run),
        ({ status }: { status: string }) => ({ status }),
      ),
    resume: async (run: Run | undefined): Promise<void> =>
      same(
        await service.resumeRun({ ...ALL, runId: runIdOf(run) }),
        engine.resume(run),
        ({ status }: { status: string }) => ({ status }),
      ),
    pauseDefinition: async (id: string): Promise<void> =>
      same(await service.pauseDefinition({ ...ALL, id }), engine.pauseDefinition(id), () => ({})),
    /** Its runs begin in commits that follow its own. */
    resumeDefinition: async (id: string): Promise<void> => {
      same(await service.resumeDefinition({ ...ALL, id }), engine.resumeDefinition(id), () => ({}));
      await pair.hop(0);
    },
    signal: async (run: Run | undefined, event: string, payload: Json, eventId?: string): Promise<void> => {
      const real = await service.signalRun({
        ...ALL,
        runId: runIdOf(run),
        event,
        payload,
        ...(eventId === undefined ? {} : { eventId }),
      });
      const naive = engine.signal(run, event, payload, eventId);
      same(real, naive, ({ outcome }: { outcome: string }) => ({ outcome }));
      if (real.ok) assert.equal(real.value.runId, naive.run === undefined ? undefined : idOf.get(naive.run));
    },
    publish: async (project: string, event: string, key: string, payload: Json, eventId?: string): Promise<void> => {
      const real = await service.publishEvent({
        ...ALL,
        project,
        event,
        key,
        payload,
        ...(eventId === undefined ? {} : { eventId }),
      });
      const oldest = engine.oldestWaits(project, event, key);
      const taker =
        real.ok && real.value.outcome === 'delivered'
          ? oldest.find((run) => idOf.get(run) === real.value.runId)
          : undefined;
      const naive = engine.publish(project, event, key, payload, eventId, taker ?? oldest[0]);
      same(real, naive, ({ outcome }: { outcome: string }) => ({ outcome }));
      if (real.ok) assert.equal(real.value.runId, naive.run === undefined ? undefined : idOf.get(naive.run));
    },
    /** Second by second. */
    pass: async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 1000) await pair.hop(Math.min(1000, left));
    },
    /** At once, as when the process was asleep. */
    hop: async (ms: number): Promise<void> => {
      for (let left = ms; left >= 0; ) {
        const step = engine.atOnce(left);
        time.advance(step);
        engine.advance(step);
        await service.tick();
        engine.tick();
        left = step < left ? left - step : -1;
      }
    },
    reopen: async (): Promise<void> => {
      service = await harness.reopen();
      engine.reopen();
      engine.note('reopen');
    },
  };
  return pair;
};
export type Pair = Awaited<ReturnType<typeof createPair>>;
