import { expect, it } from 'vitest';
import { onEachEngine } from '../../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, task } from '../../run-harness.ts';

const lines = [
  { event: 'paid', key: 'order-${input.id}' },
  { event: 'refused', key: 'order-${input.id}', to: 'sorry' },
  { event: 'paid', key: 'account-${input.account?}', to: 'end' },
];
const either = (more: object = {}, any: readonly object[] = lines) =>
  aDefinition('flow', [
    { id: 'ask', kind: 'wait_event', any, ...more },
    task('then', { input: { name: '${event.name?}', key: '${event.key?}', got: '${steps.ask.output?}' }, next: 'end' }),
    { id: 'sorry', kind: 'succeed', output: { why: '${event.payload?}' } },
  ]);
const publish = (service: Pick<Harness, 'runs'>, event: string, key: string, more: object = {}) =>
  service.runs.publishEvent({ ...ALL, project: 'p', event, key, payload: { ok: true }, ...more });

onEachEngine('a wait for any of several events', ({ createHarness }) => {
  it('lists every event that is waited for, in the journal and among the waits of the run', async () => {
    const service = await createHarness({ definitions: [either({ timeout_ms: 5000 })] });
    const { runId } = await service.start('flow', { id: 7, account: 1 });
    const of = { stepId: 'ask', since: service.time.now(), deadlineAt: service.time.now() + 5000 };
    expect(await service.detail(runId)).toMatchObject({
      status: 'waiting',
      timers: [{ name: 'wait' }],
      waits: [
        { event: 'paid', key: 'order-7', ...of },
        { event: 'refused', key: 'order-7', ...of },
        { event: 'paid', key: 'account-1', ...of },
      ],
    });
    expect((await service.journal(runId)).at(-1)).toMatchObject({
      kind: 'run.waiting',
      data: {
        reason: 'event',
        any: [
          { event: 'paid', key: 'order-7' },
          { event: 'refused', key: 'order-7' },
          { event: 'paid', key: 'account-1' },
        ],
        due_at: service.time.now() + 5000,
      },
    });
    const { items } = must(await service.runs.listRuns({ ...ALL, limit: 9, waitingOn: 'event' }));
    expect(items.map((run) => run.runId)).toEqual([runId]);
  });

  it('the first that comes wins, and the others close in the same commit', async () => {
    const service = await createHarness({ definitions: [either()] });
    const { runId } = await service.start('flow', { id: 7 });
    // Both are decided before the first of them is committed.
    const [first, second] = await Promise.all([
      publish(service, 'paid', 'order-7', { payload: 1 }),
      publish(service, 'refused', 'order-7', { payload: 2 }),
    ]);
    expect([must(first), must(second)]).toEqual([{ outcome: 'delivered', runId }, { outcome: 'parked' }]);
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'then', waits: [], timers: [] });
    expect((await service.take()).input).toEqual({ name: 'paid', key: 'order-7', got: 1 });
    expect((await service.journal(runId)).find(({ kind }) => kind === 'event.delivered')).toMatchObject({
      stepId: 'ask',
      data: { event: 'paid', key: 'order-7' },
    });
  });

  it('an event with a step of its own leads there, past next; another goes where next says', async () => {
    const service = await createHarness({ definitions: [either({}, lines)] });
    const refused = await service.start('flow', { id: 1, account: 1 });
    must(await publish(service, 'refused', 'order-1', { payload: 'no' }));
    expect(await service.detail(refused.runId)).toMatchObject({ status: 'succeeded', output: { why: 'no' } });
    const ended = await service.start('flow', { id: 2, account: 2 });
    must(await publish(service, 'paid', 'account-2', { payload: 'all' }));
    expect(await service.detail(ended.runId)).toMatchObject({ status: 'succeeded', output: 'all' });
  });

  it('goes back to itself by an event, as another visit', async () => {
    const again = [{ event: 'more', to: 'ask' }, { event: 'done' }, { event: 'no', to: 'sorry' }];
    const service = await createHarness({ definitions: [either({}, again)] });
    const { runId } = await service.start('flow');
    for (let n = 0; n < 2; n += 1) expect(must(await publish(service, 'more', '')).outcome).toBe('delivered');
    must(await publish(service, 'done', ''));
    expect((await service.take()).visit).toBe(1);
    const visits = (await service.journal(runId))
      .filter(({ kind }) => kind === 'run.waiting')
      .map(({ visit }) => visit);
    expect(visits).toEqual([1, 2, 3]);
  });

  it('takes the oldest event that is parked for one of them, and leaves the others parked', async () => {
    const service = await createHarness({ definitions: [either({ accept_parked: true })] });
    must(await publish(service, 'refused', 'order-7', { payload: 'older' }));
    must(await publish(service, 'paid', 'order-7', { payload: 'younger' }));
    const first = await service.start('flow', { id: 7 });
    expect(await service.detail(first.runId)).toMatchObject({ status: 'succeeded', output: { why: 'older' } });
    expect(await service.kinds(first.runId)).not.toContain('run.waiting');
    const second = await service.start('flow', { id: 7 });
    expect(await service.detail(second.runId)).toMatchObject({ cursor: 'then' });
    expect((await service.start('flow', { id: 7 })).status).toBe('waiting');
  });

  it('fails once at its deadline, and names the events that did not come', async () => {
    const service = await createHarness({ definitions: [either({ timeout_ms: 5000 })] });
    const { runId } = await service.start('flow', { id: 7 });
    await service.pass(5000);
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      waits: [],
      error: { class: 'timeout', message: 'none of the events "paid", "refused" came within 5000 ms' },
    });
    expect(must(await publish(service, 'paid', 'order-7')).outcome).toBe('parked');
    expect(must(await publish(service, 'refused', 'order-7')).outcome).toBe('parked');
  });

  it('goes on at its deadline by next, whatever came to an earlier visit', async () => {
    const again = [
      { event: 'more', to: 'ask' },
      { event: 'other', to: 'sorry' },
    ];
    const service = await createHarness({
      definitions: [either({ timeout_ms: 5000, on_timeout: 'continue' }, again)],
    });
    const { runId } = await service.start('flow');
    must(await publish(service, 'more', ''));
    await service.pass(5000);
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'then' });
  });

  it('where two lines come to one event and key, the first of them is the wait', async () => {
    const service = await createHarness({ definitions: [either()] });
    const same = [
      { event: 'e', key: '${input.a}', to: 'sorry' },
      { event: 'e', key: '${input.b}' },
    ];
    must(
      await service.runs.registerWorker({
        ...ALL,
        workerId: 'w1',
        definitions: [Object.assign(either({}, same) as object, { version: 2 })],
      }),
    );
    const { runId } = await service.start('flow', { a: 'x', b: 'x' });
    expect((await service.detail(runId)).waits).toMatchObject([{ event: 'e', key: 'x' }]);
    expect(must(await publish(service, 'e', 'x'))).toEqual({ outcome: 'delivered', runId });
    expect((await service.detail(runId)).status).toBe('succeeded');
    expect(must(await publish(service, 'e', 'x')).outcome).toBe('parked');
  });

  it('a key that misses its path fails the step, and nothing is opened', async () => {
    const service = await createHarness({ definitions: [either()] });
    const { runId } = await service.start('flow', {});
    expect(await service.detail(runId)).toMatchObject({ status: 'failed', error: { class: 'expression' }, waits: [] });
  });

  it('a signal goes to the first of them that has its name', async () => {
    const service = await createHarness({ definitions: [either()] });
    const signal = (runId: string, event: string) => service.runs.signalRun({ ...ALL, runId, event, payload: 5 });
    const paid = await service.start('flow', { id: 1, account: 1 });
    expect(codeOf(await signal(paid.runId, 'other'))).toBe('conflict');
    expect(must(await signal(paid.runId, 'paid'))).toEqual({ outcome: 'delivered', runId: paid.runId });
    expect((await service.take()).input).toMatchObject({ key: 'order-1' });
    const refused = await service.start('flow', { id: 2 });
    must(await signal(refused.runId, 'refused'));
    expect((await service.detail(refused.runId)).status).toBe('succeeded');
  });

  it('an event whose id was seen changes nothing, whichever of the waits it is for', async () => {
    const service = await createHarness({ definitions: [either()] });
    const first = await service.start('flow', { id: 1 });
    const second = await service.start('flow', { id: 2 });
    must(await publish(service, 'paid', 'order-1', { eventId: 'mail-1' }));
    expect(must(await publish(service, 'refused', 'order-2', { eventId: 'mail-1' }))).toEqual({
      outcome: 'duplicate',
      runId: first.runId,
    });
    expect((await service.detail(second.runId)).waits).toHaveLength(3);
  });

  it('a run that memory has dropped is found by each of its events, and a cancel closes all', async () => {
    const service = await createHarness({ definitions: [either()] });
    const { runId } = await service.start('flow', { id: 7 });
    const other = await service.start('flow', { id: 8 });
    const again = await service.reopen();
    expect(must(await publish({ runs: again }, 'refused', 'order-7'))).toEqual({ outcome: 'delivered', runId });
    must(await again.cancelRun({ ...ALL, runId: other.runId }));
    for (const event of ['paid', 'refused'])
      expect(must(await publish({ runs: again }, event, 'order-8')).outcome).toBe('parked');
  });

  it('can be looked at as it was while it waited', async () => {
    const service = await createHarness({ definitions: [either()] });
    const { runId } = await service.start('flow', { id: 7 });
    const { seq } = (await service.journal(runId)).at(-1) ?? { seq: -1 };
    must(await publish(service, 'paid', 'order-7'));
    const then = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: seq }));
    expect(then).toMatchObject({
      value: { active: { ask: 'waiting' } },
      context: { waitKey: ['order-7', 'order-7', 'account-'] },
    });
    const { chain } = must(
      await service.runs.stepCause({ ...ALL, runId, stepId: 'then' }).then(async (before) => {
        expect(must(before).chain).toEqual([]);
        await service.take();
        return service.runs.stepCause({ ...ALL, runId, stepId: 'then' });
      }),
    );
    expect(chain.map(({ kind }) => kind)).toContain('event.delivered');
  });

  it('is one wait in the span of the run, and its end says which event it was', async () => {
    const service = await createHarness({ definitions: [either()] });
    await service.start('flow', { id: 7 });
    must(await publish(service, 'refused', 'order-7'));
    await service.runs.flushOutbox();
    const root = service.spans.findLast((span) => span.parentSpanId === undefined);
    expect(root?.events.map(({ name, attributes }) => ({ name, ...attributes }))).toEqual([
      {
        name: 'wait.opened',
        step_id: 'ask',
        visit: 1,
        kind: 'event',
        event: ['paid', 'refused', 'paid'],
        key: ['order-7', 'order-7', 'account-'],
      },
      { name: 'wait.ended', step_id: 'ask', visit: 1, reason: 'delivered', event: 'refused', key: 'order-7' },
    ]);
  });
});
