import { describe, expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { encodeSnapshot } from '../../../src/machines/persisted.ts';
import { noChanges } from '../../../src/store/runs/run-store.ts';
import { aDefinition, must, settled, tasks } from '../run-harness.ts';
import { runsBesideTraces } from './traces.ts';

const spends = (tokens: number) => ({ usage: [{ model: 'm', inputTokens: tokens, record: true }] }) as const;
const usd = (cost: number) => ({ totalCost: cost, currency: 'USD' });
const child = (definition: string, more: object = {}) => ({ id: 'sub', kind: 'child', definition, ...more });

onEachEngine('what a run and its descendants spend', ({ createHarness }) => {
  it('stands beside its own, for a run that has children, and for none other', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('work', 'more')),
        aDefinition('branch', [...tasks('think'), child('leaf')]),
        aDefinition('flow', [...tasks('plan'), child('branch'), ...tasks('report')]),
      ],
    });
    const { runId } = await service.start('flow');
    const before = await service.detail(runId);
    expect([before.treeUsage, before.treeCost]).toEqual([undefined, undefined]);
    must(await service.complete(await service.take(), 1, spends(100)));
    // Its child has begun, and has spent nothing yet.
    expect(await service.detail(runId)).toMatchObject({
      usage: { totalTokens: 100, cost: 0.1 },
      treeUsage: { totalTokens: 100, cost: 0.1 },
      treeCost: usd(0.1),
    });
    must(await service.complete(await service.take(), 1, spends(200)));
    must(await service.complete(await service.take(), 1, spends(400)));
    const root = await service.detail(runId);
    const branch = await service.detail(root.children[0]?.runId ?? '');
    const leaf = await service.detail(branch.children[0]?.runId ?? '');
    expect([root, branch, leaf].map((run) => [run.usage.totalTokens, run.treeUsage?.totalTokens])).toEqual([
      [100, 700],
      [200, 600],
      [400, undefined],
    ]);
    expect([root, branch, leaf].map((run) => [run.cost?.totalCost, run.treeCost?.totalCost])).toEqual([
      [0.1, 0.7],
      [0.2, 0.6],
      [0.4, undefined],
    ]);
    must(await service.complete(await service.take(), 1, spends(800)));
    must(await service.complete(await service.take(), 1, spends(1600)));
    expect(await service.detail(runId)).toMatchObject({
      status: 'succeeded',
      usage: { totalTokens: 1700 },
      treeUsage: { totalTokens: 3100 },
      treeCost: usd(3.1),
    });
    const listed = must(await service.runs.listRuns({ reach: 'all', limit: 10 })).items;
    expect(listed.find((run) => run.runId === runId)?.treeCost).toMatchObject(usd(3.1));
  });

  it('counts a failed attempt of a child at once, and usage without a price as tokens alone', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', [{ id: 'work', kind: 'task', retry: { backoff_ms: 0 } }]),
        aDefinition('flow', [child('leaf')]),
      ],
    });
    const { runId } = await service.start('flow');
    const lease = await service.take();
    must(
      await service.runs.fail({
        reach: 'all',
        leaseId: lease.leaseId,
        workerId: 'w1',
        error: { class: 'retryable', message: 'x' },
        usage: [{ model: 'unknown', inputTokens: 5 }],
      }),
    );
    const run = await service.detail(runId);
    expect(run.treeUsage).toEqual({ inputTokens: 5, outputTokens: 0, totalTokens: 5 });
    expect(run).not.toHaveProperty('treeCost');
  });

  it('ends the run at max_cost_usd, with every descendant that is open, in the commit that reached it', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('work', 'more')),
        aDefinition('branch', [child('leaf')]),
        aDefinition('flow', [...tasks('plan'), child('branch', { for_each: '${input.items}' })], {
          limits: { max_cost_usd: 1 },
        }),
      ],
    });
    const { runId } = await service.start('flow', { items: [1, 2, 3] });
    must(await service.complete(await service.take(), 1, spends(300)));
    const [first, second, third] = [await service.take(), await service.take(), await service.take()];
    must(await service.complete(first, 1, spends(699)));
    expect(await service.detail(runId)).toMatchObject({ status: 'waiting', treeCost: usd(0.999) });
    expect(must(await service.complete(second, 1, spends(1)))).toEqual({ runStatus: 'cancelled' });
    const root = await service.detail(runId);
    expect(root).toMatchObject({
      status: 'failed',
      error: {
        class: 'limit',
        limit: 'max_cost_usd',
        message: 'the run and its descendants cost 1 USD, its limit max_cost_usd is 1',
        stepId: 'sub',
      },
      cost: usd(0.3),
      treeCost: usd(1),
    });
    for (const { runId: branchId } of root.children) {
      const branch = await service.detail(branchId);
      expect(branch.status).toBe('cancelled');
      expect((await service.detail(branch.children[0]?.runId ?? '')).status).toBe('cancelled');
    }
    expect(await service.complete(third, 1, spends(1))).toMatchObject({ ok: false });
    expect(await service.detail(runId)).toMatchObject({ treeCost: usd(1) });
  });

  it("a child's own limit holds as well, and bounds the runs below it", async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('work', 'more')),
        aDefinition('branch', [child('leaf')], { limits: { max_cost_usd: 0.5 } }),
        aDefinition('flow', [child('branch', { on_error: [{ class: 'fatal', to: 'after' }] }), ...tasks('after')], {
          limits: { max_cost_usd: 1 },
        }),
      ],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 1, spends(500)));
    const root = await service.detail(runId);
    expect(root).toMatchObject({ status: 'queued', cursor: 'after', treeCost: usd(0.5) });
    expect(await service.detail(root.children[0]?.runId ?? '')).toMatchObject({
      status: 'failed',
      error: { limit: 'max_cost_usd' },
    });
  });

  it('is the same after a stop at any moment: what was answered was counted in the same commit', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('work', 'more')),
        aDefinition('flow', [child('leaf')], { limits: { max_cost_usd: 0.3 } }),
      ],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 1, spends(100)));
    const again = await service.reopen();
    expect(must(await again.getRun({ reach: 'all', runId })).treeCost).toMatchObject(usd(0.1));
    const aborted = new AbortController();
    const [lease] = must(await again.claim({ reach: 'all', workerId: 'w1', max: 1, waitMs: 0 }, aborted.signal));
    const held = { reach: 'all', leaseId: lease?.leaseId ?? '', workerId: 'w1' } as const;
    must(await again.started(held));
    must(await again.complete({ ...held, usage: [{ model: 'm', inputTokens: 200 }] }));
    expect(must(await again.getRun({ reach: 'all', runId }))).toMatchObject({
      status: 'failed',
      error: { limit: 'max_cost_usd' },
      treeCost: usd(0.3),
    });
  });

  it('is counted with runs that have ended, where a child of theirs is cancelled in a later commit', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('work')),
        aDefinition('branch', [child('leaf', { for_each: '${input.leaves}', max_parallel: 1000 })]),
        aDefinition('flow', [child('branch', { for_each: '${input.branches}', input: { leaves: '${input.leaves}' } })]),
      ],
    });
    // One commit cancels a thousand.
    const { runId } = await service.start('flow', { branches: [1, 2], leaves: Array.from({ length: 550 }, () => 0) });
    await settled(service.runs);
    const last = async (): Promise<string> => {
      const branch = await service.detail((await service.detail(runId)).children.at(-1)?.runId ?? '');
      return branch.children.length < 550 ? settled(service.runs).then(last) : (branch.children.at(-1)?.runId ?? '');
    };
    const held = { reach: 'all', workerId: 'w1' } as const;
    const leaf = await last();
    const [lease] = must(
      await service.runs.claim({ ...held, max: 1, waitMs: 0, runId: leaf }, new AbortController().signal),
    );
    const leaseId = lease?.leaseId ?? '';
    must(await service.runs.started({ ...held, leaseId }));
    const [cancelled, completed] = await Promise.all([
      service.runs.cancelRun({ reach: 'all', runId }),
      service.runs.complete({ ...held, leaseId, ...spends(100) }),
    ]);
    expect(must(cancelled).status).toBe('cancelled');
    expect(must(completed)).toEqual({ runStatus: 'succeeded' });
    expect(await service.detail(runId)).toMatchObject({ status: 'cancelled', treeCost: usd(0.1) });
  });

  it('is counted with a run in quarantine, and with those above it', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('work', 'more')),
        aDefinition('branch', [child('leaf')]),
        aDefinition('flow', [child('branch')]),
      ],
    });
    const { runId } = await service.start('flow');
    const lease = await service.take();
    const branchId = (await service.detail(runId)).children[0]?.runId ?? '';
    const stored = (await service.store.findRun(branchId))?.stored.record;
    if (stored === undefined) throw new Error('no run');
    const snapshot = encodeSnapshot(99, { value: 'created', context: {} });
    const after = { ...stored, snapshot, version: stored.version + 1 };
    await service.store.commit({ ...noChanges(), runsUpdated: [{ before: stored, after }] });
    const again = await service.reopen();
    const held = { reach: 'all', workerId: 'w1', leaseId: lease.leaseId } as const;
    // The call that meets it first is refused; from then on it stands in nobody's way.
    expect(await again.complete({ ...held, ...spends(100) })).toMatchObject({ ok: false });
    await settled(again);
    must(await again.complete({ ...held, ...spends(100) }));
    expect((await again.counts()).quarantined).toBe(1);
    expect(must(await again.getRun({ reach: 'all', runId })).treeCost).toMatchObject(usd(0.1));
    const branch = await service.store.findRun(branchId);
    expect(branch?.stored.record.descendants).toMatchObject({ totalTokens: 100, cost: 0.1 });
  });
});

describe("the numbers of a tree are its trace's", () => {
  const beside = runsBesideTraces();

  it('over three generations, a limit and a cancel', async () => {
    const service = await beside.open([
      aDefinition('leaf', tasks('work', 'more')),
      aDefinition('flow', [...tasks('plan'), child('leaf', { for_each: '${input.items}' })]),
    ]);
    const { runId, traceId } = await service.start('flow', { items: [1, 2, 3] });
    const usage = (n: number) => ({
      usage: [
        { model: 'gpt-4o-mini', inputTokens: 137 * n + 1, outputTokens: 11 * n, record: true },
        { model: 'gpt-4o', inputTokens: n, record: true },
      ],
    });
    for (let n = 0; n < 5; n += 1) must(await service.complete(await service.take(), 1, usage(n)));
    const check = async () => {
      const { trace } = await service.trace(traceId);
      const run = await service.detail(runId);
      expect(run.treeCost?.totalCost).toBe(trace.totalCost);
      expect(run.treeUsage).toMatchObject({
        inputTokens: trace.inputTokens,
        outputTokens: trace.outputTokens,
        totalTokens: trace.totalTokens,
      });
    };
    await check();
    must(await service.runs.cancelRun({ reach: 'all', runId }));
    await check();
  });
});
