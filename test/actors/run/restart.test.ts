import { expect, it } from 'vitest';
import type { Json } from '../../../src/model/json.ts';
import type { Run } from '../../../src/model/run.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, task, tasks } from '../run-harness.ts';

const seen = { state: '${state?}', one: '${steps.one.output?}', two: '${steps.two.output?}', in: '${input?}' };
/** Three tasks; the last shows what the run knows. */
const flow = (more: object = {}): Json =>
  aDefinition(
    'flow',
    [task('one', { input: seen }), task('two', { input: seen }), task('three', { input: seen })],
    more,
  );

const failAt = async (service: Harness, stepId: string) => {
  const lease = await service.take();
  expect(lease.stepId).toBe(stepId);
  must(await service.fail(lease, 'fatal'));
};
const done = async (service: Harness, output: Json, statePatch?: object) =>
  must(await service.complete(await service.take(), output, statePatch === undefined ? {} : { statePatch }));
const restart = (service: Pick<Harness, 'runs'>, runId: string, more: object = {}) =>
  service.runs.restartRun({ ...ALL, runId, ...more });
const restarted = async (service: Pick<Harness, 'runs'>, runId: string, more: object = {}): Promise<Run> => {
  const { run, created } = must(await restart(service, runId, more));
  expect(created).toBe(true);
  return run;
};

/** A run that failed at its third step, after two that gave and patched something. */
const failedAtThree = async (service: Harness, more: object = {}): Promise<Run> => {
  const run = await service.start('flow', { n: 7 }, more);
  await done(service, 'first', { a: 1, b: 1 });
  await done(service, 'second', { b: 2, c: 2 });
  await failAt(service, 'three');
  return run;
};

onEachEngine('a restarted run', ({ createHarness }) => {
  it('begins at the step that failed, with state, outputs and visits as they were when it was entered', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const old = await failedAtThree(service, { correlation: { user_id: 'ann', tags: ['x'] }, priority: 5 });
    const before = await service.detail(old.runId);
    const run = await restarted(service, old.runId);
    expect(run).toMatchObject({
      restartedFrom: { runId: old.runId, stepId: 'three', visit: 1 },
      project: 'p',
      correlation: { user_id: 'ann', tags: ['x'] },
      status: 'queued',
      cursor: 'three',
      input: { n: 7 },
      state: { a: 1, b: 2, c: 2 },
      stepCount: 1,
      priority: 5,
    });
    expect(run.traceId).not.toBe(old.traceId);
    const lease = await service.take();
    expect(lease).toMatchObject({ runId: run.runId, stepId: 'three', visit: 1, attempt: 1, traceId: run.traceId });
    expect(lease.stepKey).toBe(`${run.runId}:three:1`);
    expect(lease.input).toEqual({ state: { a: 1, b: 2, c: 2 }, one: 'first', two: 'second', in: { n: 7 } });
    must(await service.complete(lease, 'third'));
    expect(await service.detail(run.runId)).toMatchObject({ status: 'succeeded', output: 'third' });
    // The old run stays as it is.
    expect(await service.detail(old.runId)).toEqual(before);
  });

  it('is what the next process finds, too', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const old = await failedAtThree(service);
    const run = await restarted(service, old.runId);
    const again = await service.reopen();
    const [lease] = must(
      await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 0 }, new AbortController().signal),
    );
    expect(lease?.input).toEqual({ state: { a: 1, b: 2, c: 2 }, one: 'first', two: 'second', in: { n: 7 } });
    expect(must(await again.getRun({ ...ALL, runId: run.runId }))).toMatchObject({
      state: { a: 1, b: 2, c: 2 },
      restartedFrom: { runId: old.runId, stepId: 'three', visit: 1 },
    });
  });

  it('begins its journal with run.started, which says from where', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const old = await failedAtThree(service);
    const run = await restarted(service, old.runId);
    expect((await service.journal(run.runId)).slice(0, 2)).toMatchObject([
      {
        seq: 0,
        kind: 'run.started',
        data: {
          definition_id: 'flow',
          definition_version: 1,
          restarted_from: { run_id: old.runId, step_id: 'three', visit: 1 },
        },
      },
      { seq: 1, kind: 'cursor.moved', stepId: 'three', visit: 1 },
    ]);
    const at = must(await service.runs.getActor({ ...ALL, type: 'run', id: run.runId, atSeq: 1 }));
    expect(at).toMatchObject({
      value: { active: { three: 'queued' } },
      context: { visits: { one: 1, two: 1, three: 1 }, stepCount: 1 },
    });
    await service.take();
    const { chain } = must(await service.runs.stepCause({ ...ALL, runId: run.runId, stepId: 'three' }));
    expect(chain.map(({ kind }) => kind)).toEqual(['step.leased', 'cursor.moved', 'run.started']);
  });

  it('begins at an earlier step with the state of that time: what later steps wrote and replaced is not there', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const old = await failedAtThree(service);
    const two = await restarted(service, old.runId, { fromStep: 'two' });
    expect(two).toMatchObject({ state: { a: 1, b: 1 }, restartedFrom: { stepId: 'two', visit: 1 } });
    expect((await service.take()).input).toEqual({ state: { a: 1, b: 1 }, one: 'first', in: { n: 7 } });
    const one = await restarted(service, old.runId, { fromStep: 'one' });
    expect(one.state).toEqual({});
    expect((await service.take()).input).toEqual({ state: {}, in: { n: 7 } });
  });

  it('begins at any visit of a loop, and counts on from it', async () => {
    const loop = task('one', {
      input: { ...seen, visits: '${state.rounds?}' },
      next: [{ when: 'visits.one < 4', to: 'one' }, { to: 'two' }],
    });
    const service = await createHarness({ definitions: [aDefinition('flow', [loop, task('two')])] });
    const { runId } = await service.start('flow');
    for (let round = 1; round <= 4; round += 1) await done(service, `out ${round}`, { rounds: round });
    await failAt(service, 'two');
    for (const visit of [1, 2, 3, 4]) {
      const run = await restarted(service, runId, { fromStep: 'one', visit });
      expect(run.restartedFrom).toEqual({ runId, stepId: 'one', visit });
      const lease = await service.take();
      expect(lease).toMatchObject({ visit, state: visit === 1 ? {} : { rounds: visit - 1 } });
      expect(lease.steps).toEqual(visit === 1 ? {} : { one: { output: `out ${visit - 1}` } });
      must(await service.complete(lease, 'again'));
      expect((await service.detail(run.runId)).cursor).toBe(visit < 4 ? 'one' : 'two');
      must(await service.runs.cancelRun({ ...ALL, runId: run.runId }));
    }
    expect((await restarted(service, runId, { fromStep: 'one' })).restartedFrom).toMatchObject({ visit: 4 });
  });

  it('has the last event and the last error as they were, and the output of the step before', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          { id: 'ask', kind: 'wait_event', event: 'e', key: '1' },
          task('work', { on_error: [{ to: 'mend' }] }),
          task('mend', { input: { error: '${error.message?}', event: '${event.payload?}' }, next: 'again' }),
          { id: 'again', kind: 'wait_event', event: 'e', key: '2' },
          task('last', { next: 'done' }),
          { id: 'done', kind: 'succeed' },
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    const publish = (key: string) =>
      service.runs.publishEvent({ ...ALL, project: 'p', event: 'e', key, payload: `payload ${key}` });
    must(await publish('1'));
    await failAt(service, 'work');
    await done(service, 'mended');
    must(await publish('2'));
    await done(service, 'at last');
    expect((await service.detail(runId)).output).toBe('at last');
    await restarted(service, runId, { fromStep: 'mend' });
    expect((await service.take()).input).toEqual({ error: 'it broke', event: 'payload 1' });
    // It ends at once: `succeed` gives the output of the step that the run before came from.
    expect(await restarted(service, runId, { fromStep: 'done' })).toMatchObject({
      status: 'succeeded',
      output: 'at last',
    });
    expect(await restarted(service, runId, { fromStep: 'again' })).toMatchObject({
      status: 'waiting',
      cursor: 'again',
    });
    must(await publish('2'));
    expect((await service.take()).stepId).toBe('last');
  });

  it('takes up a step whose own next failed as it was before it ran, although it had ended well', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('one'), task('two', { next: [{ when: 'state.missing == 1', to: 'end' }] })]),
      ],
    });
    const { runId } = await service.start('flow');
    await done(service, 1, { kept: 1 });
    await done(service, 2, { kept: 2, more: 2 });
    expect((await service.detail(runId)).error).toMatchObject({ class: 'expression', stepId: 'two' });
    const run = await restarted(service, runId);
    expect(run.state).toEqual({ kept: 1 });
    expect((await service.take()).steps).toEqual({ one: { output: 1 } });
  });

  it('may have another input and a patched state, which are checked as at a start', async () => {
    const schema = { input_schema: { type: 'object', required: ['n'] } };
    const service = await createHarness({ definitions: [flow(schema)] });
    const old = await failedAtThree(service);
    expect(codeOf(await restart(service, old.runId, { input: { m: 1 } }))).toBe('input_invalid');
    const run = await restarted(service, old.runId, { input: { n: 8 }, statePatch: { b: 'new', d: null } });
    expect(run).toMatchObject({ input: { n: 8 }, state: { a: 1, b: 'new', c: 2, d: null } });
    expect((await service.take()).input).toMatchObject({ in: { n: 8 }, state: { a: 1, b: 'new', c: 2, d: null } });
    expect((await service.detail(old.runId)).state).toEqual({ a: 1, b: 2, c: 2 });
  });

  it('may run on another version, where that has the step', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const old = await failedAtThree(service);
    const fixed = Object.assign(
      aDefinition('flow', [task('zero'), task('three', { input: { state: '${state?}' } })]) as object,
      {
        version: 2,
      },
    );
    const without = Object.assign(aDefinition('flow', tasks('one', 'two')) as object, { version: 3 });
    must(
      await service.runs.registerWorker({ ...ALL, workerId: 'w1', definitions: [flow(), fixed, without] as Json[] }),
    );
    expect(await restarted(service, old.runId)).toMatchObject({ definitionVersion: 1 });
    await service.take();
    const run = await restarted(service, old.runId, { definitionVersion: 2 });
    expect(run).toMatchObject({ definitionVersion: 2, cursor: 'three' });
    expect((await service.take()).input).toMatchObject({ state: { a: 1, b: 2, c: 2 } });
    expect(await restart(service, old.runId, { definitionVersion: 3 })).toMatchObject({
      failure: {
        code: 'invalid_parameter',
        field: 'definition_version',
        message: 'version 3 of definition flow has no step "three"',
      },
    });
    expect(codeOf(await restart(service, old.runId, { definitionVersion: 9 }))).toBe('not_found');
  });

  it('is not made of a run that has not ended, nor without a step where none failed', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const open = await service.start('flow');
    expect(codeOf(await restart(service, open.runId))).toBe('conflict');
    must(await service.runs.cancelRun({ ...ALL, runId: open.runId }));
    expect(await restart(service, open.runId)).toMatchObject({
      failure: { code: 'invalid_parameter', field: 'from_step' },
    });
    const again = await restarted(service, open.runId, { fromStep: 'one' });
    expect(again.status).toBe('queued');
    must(await service.runs.cancelRun({ ...ALL, runId: again.runId }));
    const well = await service.start('flow');
    for (const step of [1, 2, 3]) await done(service, step);
    expect(codeOf(await restart(service, well.runId))).toBe('invalid_parameter');
    expect(codeOf(await restart(service, 'nope'))).toBe('not_found');
  });

  it.each([
    [{ fromStep: 'nowhere' }, 'from_step', 'version 1 of definition flow has no step "nowhere"'],
    [{ fromStep: '' }, 'from_step', 'version 1 of definition flow has no step ""'],
    [{ fromStep: 'constructor' }, 'from_step', 'version 1 of definition flow has no step "constructor"'],
    [{ fromStep: 'two', visit: 2 }, 'visit', 'entered step "two" 1 times, and has no visit 2 of it'],
    [{ fromStep: 'three' }, 'from_step', 'never entered step "three"'],
  ])('refuses %j, naming the member', async (asked, field, message) => {
    const service = await createHarness({ definitions: [flow()] });
    const { runId } = await service.start('flow');
    await done(service, 1);
    await failAt(service, 'two');
    expect(await restart(service, runId, asked)).toMatchObject({
      ok: false,
      failure: { code: 'invalid_parameter', field, message: expect.stringContaining(message) as unknown },
    });
  });

  it('can be restarted itself, and links to the run before it', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const first = await failedAtThree(service);
    const second = await restarted(service, first.runId, { fromStep: 'two', statePatch: { d: 4 } });
    await done(service, 'second again', { b: 3 });
    await failAt(service, 'three');
    const third = await restarted(service, second.runId);
    expect(third).toMatchObject({
      restartedFrom: { runId: second.runId, stepId: 'three', visit: 1 },
      state: { a: 1, b: 3, d: 4 },
    });
    expect((await service.take()).input).toMatchObject({ one: 'first', two: 'second again' });
    // From the step with which the second began, as that began: with its patch.
    const again = await restarted(service, second.runId, { fromStep: 'two' });
    expect(again.state).toEqual({ a: 1, b: 1, d: 4 });
    // What the first run did is not in the journal of the second.
    expect(await restart(service, second.runId, { fromStep: 'one' })).toMatchObject({
      failure: {
        code: 'invalid_parameter',
        field: 'from_step',
        message: expect.stringContaining(first.runId) as unknown,
      },
    });
    const listed = must(await service.runs.listRuns({ ...ALL, limit: 9, restartedFrom: second.runId })).items;
    expect(listed.map(({ runId }) => runId).toSorted()).toEqual([third.runId, again.runId].toSorted());
    expect(must(await service.runs.listRuns({ ...ALL, limit: 9, restartedFrom: 'nope' })).items).toEqual([]);
  });

  it('counts usage, steps and limits from zero', async () => {
    const limits = { limits: { max_steps: 3, max_cost_usd: 1, run_timeout_ms: 60_000 } };
    const service = await createHarness({ definitions: [flow(limits)] });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 1, { usage: [{ cost: 0.5 }] }));
    must(await service.complete(await service.take(), 1, { usage: [{ cost: 0.5 }] }));
    expect((await service.detail(runId)).error).toMatchObject({ limit: 'max_cost_usd', stepId: 'two' });
    await service.pass(10_000);
    const run = await restarted(service, runId);
    expect(run).toMatchObject({ stepCount: 1, usage: { totalTokens: 0 }, deadlineAt: service.time.now() + 60_000 });
    expect(run.cost).toBeUndefined();
    must(await service.complete(await service.take(), 1, { usage: [{ cost: 0.9 }] }));
    await done(service, 3);
    expect(await service.detail(run.runId)).toMatchObject({ status: 'succeeded', cost: { totalCost: 0.9 } });
  });

  it('starts once under an idempotency key, which starts and restarts share', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const old = await failedAtThree(service);
    const [one, other] = await Promise.all([
      restart(service, old.runId, { idempotencyKey: 'k' }),
      restart(service, old.runId, { idempotencyKey: 'k' }),
    ]);
    expect(must(one).created).not.toBe(must(other).created);
    expect(must(one).run.runId).toBe(must(other).run.runId);
    const started = must(
      await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: {}, idempotencyKey: 'k' }),
    );
    expect(started).toMatchObject({ created: false, run: { runId: must(one).run.runId } });
  });

  it('is out of reach where the run before it is', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const old = await failedAtThree(service);
    expect(codeOf(await service.runs.restartRun({ reach: ['q'], runId: old.runId }))).toBe('forbidden');
    expect(codeOf(await service.runs.restartRun({ reach: ['p'], runId: old.runId }))).toBe('ok');
  });

  it('stands alone where the run before it was a child, and starts children of its own', async () => {
    const kid = aDefinition('kid', tasks('work'));
    const parent = aDefinition('flow', [{ id: 'kids', kind: 'child', definition: 'kid', for_each: [1, 2] }]);
    const service = await createHarness({ definitions: [kid, parent] });
    const root = await service.start('flow');
    await failAt(service, 'work');
    const [child] = (await service.detail(root.runId)).children;
    const alone = await restarted(service, child?.runId ?? '');
    expect(alone.parentRunId).toBeUndefined();
    expect(alone.traceId).not.toBe(root.traceId);
    await done(service, 'alone');
    expect((await service.detail(root.runId)).status).toBe('failed');
    const again = await restarted(service, root.runId);
    expect((await service.detail(again.runId)).children).toHaveLength(2);
    await done(service, 'a');
    await done(service, 'b');
    expect(await service.detail(again.runId)).toMatchObject({ status: 'succeeded', output: ['a', 'b'] });
  });

  it('has a trace whose root links to that of the run before it', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const old = await failedAtThree(service);
    const run = await restarted(service, old.runId);
    await done(service, 'third');
    await service.runs.flushOutbox();
    const rootOf = (traceId: string) =>
      service.spans.findLast((span) => span.traceId === traceId && span.parentSpanId === undefined);
    expect(rootOf(run.traceId)).toMatchObject({
      status: 'ok',
      links: [{ traceId: old.traceId, spanId: rootOf(old.traceId)?.spanId, attributes: {} }],
      attributes: { 'svc.run.restarted_from': old.runId },
    });
    expect(rootOf(old.traceId)?.links).toEqual([]);
  });

  it('owns its payloads: it goes on after the run before it was trimmed, and either is erased without the other', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const old = await failedAtThree(service);
    const run = await restarted(service, old.runId);
    expect(await service.runs.trimFinishedRuns('p', service.time.now() + 1, 10)).toBe(1);
    expect(codeOf(await service.runs.getRun({ ...ALL, runId: old.runId }))).toBe('not_found');
    const again = await service.reopen();
    const [lease] = must(
      await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 0 }, new AbortController().signal),
    );
    expect(lease?.input).toEqual({ state: { a: 1, b: 2, c: 2 }, one: 'first', two: 'second', in: { n: 7 } });
    expect(must(await again.getRun({ ...ALL, runId: run.runId })).restartedFrom).toMatchObject({ runId: old.runId });
    expect(codeOf(await restart({ runs: again }, old.runId))).toBe('not_found');
  });

  it('is erased with the person whose run it took up, and nothing of the payloads is left', async () => {
    const service = await createHarness({ definitions: [flow()] });
    const { store } = service;
    const old = await failedAtThree(service, { correlation: { user_id: 'ann' } });
    const run = await restarted(service, old.runId);
    const erase = () =>
      service.runs.eraseSubject({ ...ALL, userId: 'ann' }, async () => ({ deleted: 0, pending: false }));
    const traces = { deleted: 0, pending: false };
    expect(must(await erase())).toEqual({ runsErased: 1, runsInFlight: 1, traces });
    await done(service, 'third');
    expect(must(await erase())).toEqual({ runsErased: 1, runsInFlight: 0, traces });
    for (const runId of [old.runId, run.runId]) {
      expect(await store.findRun(runId)).toBeUndefined();
      const outputs = [['one', 9]] as const;
      const [past] = await store.load([{ kind: 'documents_at', runId, entry: 9, outputs }]);
      expect(past).toBeUndefined();
    }
  });

  it('takes up a long run at any of its visits, over checkpoints and pages of its journal', async () => {
    const loop = task('one', { next: [{ when: 'visits.one < 260', to: 'one' }, { to: 'two' }] });
    const service = await createHarness({ definitions: [aDefinition('flow', [loop, task('two')])] });
    const { runId } = await service.start('flow');
    for (let round = 1; round <= 260; round += 1) await done(service, round, { [`k${round % 3}`]: round });
    await failAt(service, 'two');
    const stateBefore = (visit: number) => {
      const state: Record<string, number> = {};
      for (let round = 1; round < visit; round += 1) state[`k${round % 3}`] = round;
      return state;
    };
    for (const visit of [1, 2, 129, 130, 259, 260]) {
      const run = await restarted(service, runId, { fromStep: 'one', visit });
      expect(run.state).toEqual(stateBefore(visit));
      const lease = await service.take();
      expect(lease.steps).toEqual(visit === 1 ? {} : { one: { output: visit - 1 } });
      must(await service.runs.cancelRun({ ...ALL, runId: run.runId }));
    }
  });
});
