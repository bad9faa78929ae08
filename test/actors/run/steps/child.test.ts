import { expect, it } from 'vitest';
import type { RunRecord, RunStore, StoredRun } from '../../../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../../../src/store/unavailable.ts';
import { onEachEngine } from '../../engines.ts';
import { until } from '../../../until.ts';
import {
  ALL,
  aDefinition,
  codeOf,
  createHarness as createOn,
  type Harness,
  must,
  settled,
  task,
} from '../../run-harness.ts';

const recordOf = async (store: RunStore, runId: string): Promise<RunRecord> =>
  ((await store.load([{ kind: 'run', runId }]))[0] as StoredRun).record;

onEachEngine('children', ({ createHarness, open }) => {
  const child = aDefinition('kid', [task('work', { input: { doc: '${input.doc}' }, next: 'end' })]);

  const parent = (more: object = {}) =>
    aDefinition('flow', [
      {
        id: 'index',
        kind: 'child',
        definition: 'kid',
        for_each: '${input.docs}',
        input: { doc: '${item}' },
        max_parallel: 2,
        ...more,
      },
      task('then', { input: { all: '${steps.index.output}' }, next: 'end' }),
    ]);

  /** An empty store, and how many children each of its commits has started. */
  const openWatched = async () => {
    const started: number[] = [];
    const inner = await open();
    const store: RunStore = {
      ...inner,
      commit: (changes) => {
        started.push(changes.runsInserted.filter(({ parent }) => parent !== undefined).length);
        return inner.commit(changes);
      },
    };
    return { store, started };
  };
  /** Resolves when a run waits no more: its children are started, and end, in as many commits as they need. */
  const untilItGoesOn = ({ runs, store }: Harness, runId: string): Promise<void> =>
    until(async () => {
      await settled(runs);
      return (await recordOf(store, runId)).status !== 'waiting';
    });

  it('for_each starts one child an item, at most max_parallel at once, and gives the outputs in item order', async () => {
    const service = await createHarness({ definitions: [child, parent()] });
    const { runId, traceId } = await service.start(
      'flow',
      { docs: ['a', 'b', 'c'] },
      { correlation: { user_id: 'u' } },
    );
    const [first, second, none] = await service.claim('w1', 5);
    expect(none).toBeUndefined();
    if (first === undefined || second === undefined) throw new Error('two were expected');
    expect([first.input, second.input]).toEqual([{ doc: 'a' }, { doc: 'b' }]);
    expect(first).toMatchObject({ traceId, project: 'p', correlation: { user_id: 'u' } });
    must(await service.complete(second, 'B'));
    const third = await service.take();
    expect(third.input).toEqual({ doc: 'c' });
    await Promise.all([service.complete(third, 'C'), service.complete(first, 'A')]);
    expect((await service.take()).input).toEqual({ all: ['A', 'B', 'C'] });
    const detail = await service.detail(runId);
    expect(detail.children.map(({ index, status, stepId }) => [index, status, stepId])).toEqual([
      [0, 'succeeded', 'index'],
      [1, 'succeeded', 'index'],
      [2, 'succeeded', 'index'],
    ]);
    expect((await service.kinds(runId)).filter((kind) => kind.startsWith('child.'))).toEqual([
      'child.started',
      'child.started',
      'child.finished',
      'child.started',
      'child.finished',
      'child.finished',
    ]);
  });

  it('for_each over 10,000 children that end at once: no commit starts more than 100, and the outputs are in order', async () => {
    const { store, started } = await openWatched();
    const docs = Array.from({ length: 10_000 }, (_, n) => n);
    const quick = aDefinition('kid', [{ id: 'done', kind: 'succeed', output: '${input.doc}' }]);
    const service = await createOn({ store, definitions: [quick, parent({ max_parallel: 1000 })] });
    const { runId } = await service.start('flow', { docs });
    await untilItGoesOn(service, runId);
    expect((await service.take()).input).toEqual({ all: docs });
    expect(Math.max(...started)).toBe(100);
    expect(started.reduce((sum, n) => sum + n)).toBe(10_000);
    expect((await service.detail(runId)).timers).toEqual([]);
    expect(service.faults).toEqual([]);
  });

  it('children that one commit could not start are started by the next service, and none is started twice', async () => {
    const docs = Array.from({ length: 250 }, (_, n) => n);
    const store = await open();
    let dead = false;
    const dying: RunStore = {
      ...store,
      commit: async (changes) => {
        if (dead) throw new StoreUnavailable('the process is gone');
        dead = changes.runsInserted.some(({ definitionId }) => definitionId === 'flow');
        return store.commit(changes);
      },
    };
    const service = await createOn({ store: dying, definitions: [child, parent({ max_parallel: 1000 })] });
    const { runId } = await service.start('flow', { docs });
    expect(await service.detail(runId)).toMatchObject({
      status: 'waiting',
      timers: [{ name: 'children', stepId: 'index', dueAt: service.time.now() }],
    });
    expect((await service.detail(runId)).children).toHaveLength(100);
    expect(await service.runs.findStuckRuns()).toEqual([]);
    const next = await service.reopen({ store });
    await settled(next);
    const { children, timers } = await service.detail(runId);
    expect(children).toHaveLength(250);
    expect(timers).toEqual([]);
    const started = (await service.journal(runId)).filter(({ kind }) => kind === 'child.started');
    expect(started.map(({ data }) => data['index'])).toEqual(docs);
    for (const seq of [0, 100, 200, 251])
      expect(must(await next.getActor({ ...ALL, type: 'run', id: runId, atSeq: seq })).value).toBeDefined();
    must(await next.cancelRun({ ...ALL, runId }));
    expect((await service.detail(runId)).children.every(({ status }) => status === 'cancelled')).toBe(true);
  });

  it('cancel ends a step that has yet to start children, and the timer that would', async () => {
    const docs = Array.from({ length: 150 }, (_, n) => n);
    const service = await createHarness({ definitions: [child, parent({ max_parallel: 1000 })] });
    const [{ runId }, cancelled] = await Promise.all([
      service.start('flow', { docs }),
      service.start('flow', { docs }),
    ]);
    must(await service.runs.cancelRun({ ...ALL, runId: cancelled.runId }));
    await settled(service.runs);
    const ended = await service.detail(cancelled.runId);
    expect(ended).toMatchObject({ status: 'cancelled', timers: [] });
    expect(ended.children.filter(({ status }) => status !== 'cancelled')).toEqual([]);
    expect((await service.detail(runId)).children).toHaveLength(150);
    expect(service.faults).toEqual([]);
  });

  it('cancel ends a tree of more children than one commit takes, those beyond right after it', async () => {
    const branches = aDefinition('tree', [
      {
        id: 'grow',
        kind: 'child',
        definition: 'flow',
        for_each: '${input.branches}',
        input: { docs: '${item}' },
        max_parallel: 20,
      },
    ]);
    const service = await createHarness({ definitions: [child, parent({ max_parallel: 1000 }), branches] });
    const leaves = Array.from({ length: 60 }, (_, n) => n);
    const { runId } = await service.start('tree', { branches: Array.from({ length: 20 }, () => leaves) });
    const openRuns = async () => (await service.runs.counts()).openRuns;
    await settled(service.runs);
    expect(await openRuns()).toBe(1 + 20 + 20 * 60);
    must(await service.runs.cancelRun({ ...ALL, runId }));
    await settled(service.runs);
    expect(await openRuns()).toBe(0);
    expect(
      await service.store.load([
        { kind: 'carried_over', wall: Number.MAX_SAFE_INTEGER, steady: Number.MAX_SAFE_INTEGER, limit: 10 },
      ]),
    ).toEqual([[]]);
    expect(service.faults).toEqual([]);
  });

  it("without for_each the output is the child's", async () => {
    const service = await createHarness({
      definitions: [child, aDefinition('flow', [{ id: 'index', kind: 'child', definition: 'kid', input: { doc: 1 } }])],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), { done: true }));
    expect(await service.detail(runId)).toMatchObject({ status: 'succeeded', output: { done: true } });
  });

  it('children that end in the turn that starts them are all counted, in one answer', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('kid', [{ id: 'at_once', kind: 'succeed', output: '${input.doc}' }]),
        aDefinition('flow', [
          { id: 'index', kind: 'child', definition: 'kid', for_each: '${input.docs}', input: { doc: '${item}' } },
        ]),
      ],
    });
    const docs = Array.from({ length: 100 }, (_, n) => n);
    const run = await service.start('flow', { docs });
    expect(run).toMatchObject({ status: 'succeeded', output: docs });
  });

  it('an empty list gives an empty output and starts no child', async () => {
    const service = await createHarness({ definitions: [child, parent()] });
    await service.start('flow', { docs: [] });
    expect((await service.take()).input).toEqual({ all: [] });
  });

  it('a failed child fails the step with class fatal and code child_failed, and its siblings are cancelled', async () => {
    const service = await createHarness({
      definitions: [child, parent({ on_error: [{ code: 'child_failed', to: 'end' }] })],
    });
    const { runId } = await service.start('flow', { docs: ['a', 'b', 'c'] });
    const lease = await service.take();
    must(await service.fail(lease, 'fatal'));
    const detail = await service.detail(runId);
    expect(detail.status).toBe('succeeded');
    expect(detail.children.map(({ status }) => status)).toEqual(['failed', 'cancelled']);
    expect(await service.claim()).toEqual([]);
  });

  it("a child's error is shown with its parent: with the child, in the failure of the step, in the journal", async () => {
    const service = await createHarness({ definitions: [child, parent({ for_each: undefined, input: { doc: 1 } })] });
    const { runId } = await service.start('flow');
    const lease = await service.take();
    must(await service.fail(lease, 'odd', { code: 'no_ink' }));
    const error = { class: 'odd', code: 'no_ink', message: 'it broke', stepId: 'work' };
    const detail = await service.detail(runId);
    expect(detail.children).toMatchObject([{ runId: lease.runId, status: 'failed', error }]);
    expect(detail.error).toEqual({
      class: 'fatal',
      code: 'child_failed',
      message: `child run ${lease.runId} failed at step work (class odd, code no_ink): it broke`,
      stepId: 'index',
    });
    const finished = (await service.journal(runId)).find(({ kind }) => kind === 'child.finished');
    expect(finished?.data).toEqual({
      run_id: lease.runId,
      index: 0,
      status: 'failed',
      error: { class: 'odd', code: 'no_ink', message: 'it broke', step_id: 'work' },
    });
  });

  it('the failure of a grandchild is named at each level, by a message of at most 2,000 characters', async () => {
    const top = aDefinition('top', [{ id: 'sub', kind: 'child', definition: 'flow', input: { docs: ['x'] } }]);
    const service = await createHarness({ definitions: [child, parent(), top] });
    const { runId } = await service.start('top');
    const lease = await service.take();
    must(await service.fail(lease, 'fatal', { message: 'm'.repeat(2000) }));
    const detail = await service.detail(runId);
    const [middle] = detail.children;
    expect(detail.error?.message).toMatch(
      `child run ${middle?.runId} failed at step index (class fatal, code child_failed): ` +
        `child run ${lease.runId} failed at step work (class fatal): mmm`,
    );
    expect(detail.error?.message).toHaveLength(2000);
    expect(middle?.error?.message).toHaveLength(2000);
  });

  it('a child that ended well or was cancelled has no error', async () => {
    const service = await createHarness({ definitions: [child, parent({ on_error: [{ to: 'end' }] })] });
    const { runId } = await service.start('flow', { docs: ['a', 'b'] });
    must(await service.complete(await service.take(), 'A'));
    const open = (await service.detail(runId)).children.find(({ status }) => status !== 'succeeded');
    must(await service.runs.cancelRun({ ...ALL, runId: open?.runId ?? '' }));
    const { children } = await service.detail(runId);
    expect(children.map(({ status }) => status)).toEqual(['succeeded', 'cancelled']);
    for (const one of children) expect(one).not.toHaveProperty('error');
  });

  const collecting = (more: object = {}) => parent({ on_item_error: 'collect', ...more });
  const kid = (id: string) => aDefinition('kid', [{ id, kind: 'succeed', output: '${input.doc}' }]);

  it('collect: the step succeeds, and its output says of each item in their order how it ended', async () => {
    const service = await createHarness({
      definitions: [child, collecting({ max_parallel: 4, on_error: [{ to: 'end' }] })],
    });
    const { runId } = await service.start('flow', { docs: ['a', 'b', 'c', 'd'] });
    const [a, b, c, d] = await service.claim('w1', 4);
    if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('four were expected');
    must(await service.runs.cancelRun({ ...ALL, runId: d.runId }));
    must(await service.fail(b, 'odd', { code: 'no_ink' }));
    must(await service.complete(c));
    expect((await service.detail(runId)).status).toBe('waiting');
    must(await service.complete(a, 'A'));
    const { input } = await service.take();
    expect(input).toEqual({
      all: [
        { output: 'A' },
        { error: { class: 'odd', code: 'no_ink', message: 'it broke', step_id: 'work', run_id: b.runId } },
        { output: null },
        { error: { class: 'cancelled', message: `child run ${d.runId} was cancelled`, run_id: d.runId } },
      ],
    });
    expect((await service.kinds(runId)).filter((kind) => kind === 'step.failed')).toEqual([]);
    expect((await service.journal(runId)).filter(({ kind }) => kind === 'child.finished')).toHaveLength(4);
    await service.runs.flushOutbox();
    expect(service.spans.findLast(({ name }) => name === 'index')?.status).toBe('ok');
  });

  it.each(['one commit', 'many commits', 'several services'])(
    'collect: children that end in %s are all listed, whatever their order',
    async (when) => {
      const store = await open();
      const service = await createOn({ store, definitions: [child, collecting({ max_parallel: 6 })] });
      const docs = [0, 1, 2, 3, 4, 5];
      const { runId } = await service.start('flow', { docs });
      const leases = (await service.claim('w1', 6)).toReversed();
      const report = (n: number, { runs } = service) => {
        const lease = leases[n];
        if (lease === undefined) throw new Error('six were expected');
        const held = { ...ALL, leaseId: lease.leaseId, workerId: 'w1' };
        return n % 2 === 0
          ? runs.complete({ ...held, output: n })
          : runs.fail({ ...held, error: { class: 'fatal', message: `m${n}` } });
      };
      if (when === 'one commit') await Promise.all(docs.map((n) => report(n)));
      else
        for (const n of docs) {
          const runs = when === 'several services' ? await service.reopen() : service.runs;
          must(await report(n, { ...service, runs }));
        }
      const runs = when === 'several services' ? await service.reopen() : service.runs;
      expect((await service.detail(runId)).status).toBe('queued');
      const [lease] = must(await runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 0 }));
      const idOf = (n: number) => leases[n]?.runId;
      const failed = (n: number) => ({
        error: { class: 'fatal', message: `m${n}`, step_id: 'work', run_id: idOf(n) },
      });
      expect(lease?.input).toEqual({
        all: [failed(5), { output: 4 }, failed(3), { output: 2 }, failed(1), { output: 0 }],
      });
    },
  );

  it('collect: an item whose child cannot be given its input is listed by that error, and its child has failed', async () => {
    const strict = aDefinition('kid', [task('work', { next: 'end' })], {
      input_schema: { type: 'object', properties: { doc: { type: 'string' } } },
    });
    const service = await createHarness({ definitions: [strict, collecting({ input: { doc: '${item.name}' } })] });
    const { runId } = await service.start('flow', { docs: [{ name: 'a' }, { name: 7 }, {}] });
    const lease = await service.take();
    must(await service.complete(lease, 'A'));
    const { children, status } = await service.detail(runId);
    expect(status).toBe('queued');
    const [, misfit, nameless] = children;
    expect(misfit).toMatchObject({ status: 'failed', error: { class: 'fatal', code: 'input_invalid' } });
    expect(nameless).toMatchObject({ status: 'failed', error: { class: 'expression' } });
    expect((await service.take()).input).toEqual({
      all: [
        { output: 'A' },
        { error: { class: 'fatal', code: 'input_invalid', message: misfit?.error?.message, run_id: misfit?.runId } },
        { error: { class: 'expression', message: nameless?.error?.message, run_id: nameless?.runId } },
      ],
    });
    expect(nameless?.error?.message).toContain('item.name');
    expect(await service.kinds(misfit?.runId ?? '')).toEqual(['run.started', 'cursor.moved', 'run.finished']);
    expect(await service.runs.findStuckRuns()).toEqual([]);
    expect(service.faults).toEqual([]);
  });

  it('collect: what concerns all items fails the step, as ever', async () => {
    const service = await createHarness({
      definitions: [
        child,
        collecting({ definition: 'nowhere' }),
        aDefinition('deep', [
          { id: 'again', kind: 'child', definition: 'deep', for_each: [1], on_item_error: 'collect' },
        ]),
      ],
    });
    const { runId } = await service.start('flow', { docs: ['a'] });
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'fatal', code: 'child_failed', message: 'definition nowhere is not registered' },
      children: [],
    });
    const { runId: other } = await service.start('flow', { docs: 'no list' });
    expect(await service.detail(other)).toMatchObject({ status: 'failed', error: { class: 'expression' } });
    const { runId: root } = await service.start('deep');
    expect((await service.detail(root)).status).toBe('succeeded');
  });

  it('collect: over 1,000 items that fail at once no commit starts more than 100, and all are listed', async () => {
    const { store, started } = await openWatched();
    const docs = Array.from({ length: 1000 }, (_, n) => n);
    const failing = aDefinition('kid', [{ id: 'no', kind: 'fail', code: 'odd', message: 'not ${input.doc}' }]);
    const service = await createOn({ store, definitions: [failing, collecting({ max_parallel: 1000 })] });
    const { runId } = await service.start('flow', { docs });
    await untilItGoesOn(service, runId);
    const { all } = (await service.take()).input as { all: { error: { message: string; code: string } }[] };
    expect(all.map(({ error }) => error.message)).toEqual(docs.map((n) => `not ${n}`));
    expect(Math.max(...started)).toBe(100);
    expect(service.faults).toEqual([]);
  });

  it('collect: an error is listed with at most 2,000 characters of its message, and the limit that was passed', async () => {
    const limited = aDefinition('kid', [task('work', { next: 'end' })], { limits: { run_timeout_ms: 5000 } });
    const service = await createHarness({ definitions: [limited, collecting()] });
    await service.start('flow', { docs: ['a', 'b'] });
    must(await service.fail(await service.take(), 'fatal', { message: 'm'.repeat(2001) }));
    await service.pass(6000);
    const { all } = (await service.take()).input as { all: { error: { message: string } }[] };
    expect(all[0]?.error.message).toBe('m'.repeat(2000));
    expect(all[1]?.error).toMatchObject({ class: 'limit', limit: 'run_timeout_ms' });
  });

  it('collect: an empty list, and children that all end well', async () => {
    const service = await createHarness({ definitions: [kid('done'), collecting()] });
    await service.start('flow', { docs: [] });
    expect((await service.take()).input).toEqual({ all: [] });
    await service.start('flow', { docs: ['a', 'b', 'c'] });
    expect((await service.take()).input).toEqual({ all: [{ output: 'a' }, { output: 'b' }, { output: 'c' }] });
  });

  it('collect: a cancel ends the step and its children', async () => {
    const service = await createHarness({ definitions: [child, collecting()] });
    const { runId } = await service.start('flow', { docs: ['a', 'b', 'c'] });
    must(await service.fail(await service.take(), 'fatal'));
    must(await service.runs.cancelRun({ ...ALL, runId }));
    const { status, children } = await service.detail(runId);
    expect([status, ...children.map((one) => one.status)]).toEqual(['cancelled', 'failed', 'cancelled', 'cancelled']);
    expect(await service.runs.findStuckRuns()).toEqual([]);
  });

  it('the items of for_each are those of the present visit, also where only `error` has changed', async () => {
    const again = aDefinition('again', [
      task('first', { retry: { max_attempts: 1 }, on_error: [{ to: 'index' }], next: 'index' }),
      {
        id: 'index',
        kind: 'child',
        definition: 'kid',
        for_each: ['${error.message}'],
        input: { doc: '${item}' },
        on_error: [{ class: 'fatal', to: 'index' }],
        next: 'end',
      },
    ]);
    const failing = aDefinition('kid', [
      task('work', { retry: { max_attempts: 1 }, input: { doc: '${input.doc}' }, next: 'end' }),
    ]);
    const service = await createHarness({ definitions: [failing, again] });
    await service.start('again');
    must(await service.fail(await service.take(), 'fatal'));
    const first = await service.take();
    expect(first.input).toEqual({ doc: 'it broke' });
    must(await service.fail(first, 'fatal'));
    const { input } = await service.take();
    expect(JSON.stringify(input)).toMatch(/child run .* failed at step work \(class fatal\): it broke/);
  });

  it('a cancelled child fails the step with class cancelled', async () => {
    const service = await createHarness({ definitions: [child, parent()] });
    const { runId } = await service.start('flow', { docs: ['a'] });
    const kid = (await service.detail(runId)).children[0];
    must(await service.runs.cancelRun({ ...ALL, runId: kid?.runId ?? '' }));
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'cancelled', stepId: 'index' },
    });
  });

  it('cancel reaches children and grandchildren, and their leases', async () => {
    const grand = aDefinition('grand', [{ id: 'sub', kind: 'child', definition: 'flow', input: { docs: ['x', 'y'] } }]);
    const service = await createHarness({ definitions: [child, parent(), grand] });
    const { runId } = await service.start('grand');
    const lease = await service.take();
    must(await service.runs.cancelRun({ ...ALL, runId }));
    expect(codeOf(await service.complete(lease))).toBe('run_terminal');
    const all = must(await service.runs.listRuns({ ...ALL, limit: 50 })).items;
    expect(all.length).toBe(4);
    expect(all.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled']);
    expect(await service.runs.findStuckRuns()).toEqual([]);
  });

  it('a definition that starts itself without end fails instead', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [{ id: 'again', kind: 'child', definition: 'flow' }])],
    });
    const { runId } = await service.start('flow');
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'fatal', code: 'child_failed' },
    });
  });
});
