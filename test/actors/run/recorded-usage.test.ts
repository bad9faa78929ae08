import { describe, expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { aDefinition, codeOf, must, task, tasks } from '../run-harness.ts';
import { runsBesideTraces } from './traces.ts';

const small = { model: 'gpt-4o-mini', inputTokens: 220, outputTokens: 31 } as const;

onEachEngine('usage that no span holds', ({ createHarness }) => {
  it('an entry with `record` becomes a priced model span below the span of its step; one without becomes none', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    await service.start('flow', {}, { correlation: { user_id: 'u' } });
    const lease = await service.take();
    const usage = [
      { model: 'm', inputTokens: 10, outputTokens: 5, inputDetails: { cacheRead: 4 }, record: true },
      { model: 'm', inputTokens: 100 },
      { model: 'other', totalTokens: 7, cost: 0.25, record: true },
      { cost: 1, record: true },
    ];
    service.time.advance(2000);
    must(await service.complete(lease, 1, { usage }));
    await service.runs.flushOutbox();
    const spans = service.spans.filter(({ kind }) => kind === 'model_generation');
    expect(spans).toHaveLength(3);
    expect(spans[0]).toMatchObject({
      traceId: lease.traceId,
      parentSpanId: lease.spanId,
      name: 'm',
      model: 'm',
      status: 'ok',
      usage: { inputTokens: 10, outputTokens: 5, inputDetails: { cacheRead: 4 } },
      cost: { totalCost: 0.015, isEstimated: true },
      correlation: { userId: 'u' },
      attributes: { 'svc.usage.reported': true, 'svc.step.id': 'one' },
    });
    expect((spans[0]?.endTime ?? 0n) - (spans[0]?.startTime ?? 0n)).toBe(2_000_000_000n);
    expect(spans[1]).toMatchObject({
      model: 'other',
      usage: { totalTokens: 7 },
      cost: { totalCost: 0.25, isEstimated: false },
    });
    expect(spans[2]).toMatchObject({ name: 'one', cost: { totalCost: 1 } });
    expect(spans[2]).not.toHaveProperty('usage');
    expect(spans[2]).not.toHaveProperty('model');
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(3);
  });

  it('usage of a failed attempt is recorded too, each attempt by itself', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [task('one', { retry: { backoff_ms: 0 } })])],
    });
    await service.start('flow');
    const usage = [{ model: 'm', inputTokens: 10, record: true }];
    const first = await service.take();
    must(
      await service.runs.fail({
        reach: 'all',
        leaseId: first.leaseId,
        workerId: 'w1',
        error: { class: 'retryable', message: 'x' },
        usage: [{ model: 'm', inputTokens: 10, record: true }],
      }),
    );
    const second = await service.take();
    must(await service.complete(second, 1, { usage }));
    await service.runs.flushOutbox();
    expect(service.spans.filter(({ model }) => model === 'm').map(({ parentSpanId }) => parentSpanId)).toEqual([
      first.spanId,
      second.spanId,
    ]);
  });

  it('is recorded once: over an answer that was lost, and over a stop between the commit and the sending', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    await service.start('flow');
    const lease = await service.take();
    const usage = [{ model: 'm', inputTokens: 10, record: true }];
    must(await service.complete(lease, 1, { usage }));
    expect(codeOf(await service.complete(lease, 1, { usage }))).toBe('already_applied');
    const rows = await service.store.readOutbox(0, 100);
    expect(rows.filter(({ span }) => span.includes('model_generation'))).toHaveLength(1);
    const again = await service.reopen();
    await again.flushOutbox();
    expect(service.spans.filter(({ model }) => model === 'm')).toHaveLength(1);
    expect(await service.store.readOutbox(0, 100)).toEqual([]);
  });
});

describe("a run's numbers are its trace's", () => {
  const beside = runsBesideTraces();

  it.each([
    ['one price, kept as it is', [[{ ...small, record: true }]]],
    [
      'prices that add up unevenly',
      [
        [{ model: 'x', inputTokens: 1, cost: 0.1, record: true }],
        [{ model: 'x', inputTokens: 1, cost: 0.2, record: true }],
      ],
    ],
    [
      'many entries of one attempt',
      [Array.from({ length: 30 }, (_, n) => ({ ...small, inputTokens: 7 * n + 1, record: true }))],
    ],
    ['a model without a price', [[{ model: 'nobody-knows', totalTokens: 9, record: true }]]],
  ])('%s', async (_what, reports) => {
    const service = await beside.open([
      aDefinition(
        'flow',
        reports.map((_, n) => task(`s${n}`)),
      ),
    ]);
    const { runId, traceId } = await service.start('flow');
    for (const usage of reports) must(await service.complete(await service.take(), 1, { usage }));
    const { trace } = await service.trace(traceId);
    const run = await service.detail(runId);
    expect(run.cost?.totalCost).toBe(trace.totalCost);
    expect(run.usage.totalTokens).toBe(trace.totalTokens);
    expect(run.usage.totalTokens).toBeGreaterThan(0);
  });

  it('a sum of money is shown without what adding doubles leaves in the last places', async () => {
    const service = await beside.open([aDefinition('flow', tasks('one'))]);
    const { runId, traceId } = await service.start('flow');
    const usage = [0.1, 0.2].map((cost) => ({ model: 'x', inputTokens: 1, cost, record: true }));
    must(await service.complete(await service.take(), 1, { usage }));
    expect((await service.trace(traceId)).trace.totalCost).toBe(0.3);
    const run = await service.detail(runId);
    expect(run.cost?.totalCost).toBe(0.3);
    expect(run.attempts[0]?.cost?.totalCost).toBe(0.3);
  });

  it('a price that brings more digits than a sum keeps stays as it is while it is alone', async () => {
    const service = await beside.open([aDefinition('flow', tasks('one'))]);
    const { runId, traceId } = await service.start('flow');
    const usage = [{ model: 'x', inputTokens: 1, cost: 0.1234567890123456, record: true }];
    must(await service.complete(await service.take(), 1, { usage }));
    expect((await service.trace(traceId)).trace.totalCost).toBe(0.1234567890123456);
    expect((await service.detail(runId)).cost?.totalCost).toBe(0.1234567890123456);
  });
});

describe('a cancelled run, in the trace store', () => {
  const beside = runsBesideTraces();

  it('is a trace that neither succeeded nor failed, and in no rate', async () => {
    const service = await beside.open([aDefinition('flow', tasks('one'))]);
    const cancelled = await service.start('flow');
    must(await service.runs.cancelRun({ reach: 'all', runId: cancelled.runId }));
    await service.start('flow');
    must(await service.complete(await service.take()));
    expect((await service.trace(cancelled.traceId)).trace).toMatchObject({ status: 'unset', isCancelled: true });
    const window = { projects: ['p'], from: 0n, to: 10n ** 19n / 2n, bookModels: [] };
    expect(await service.traces().summaryReport({ ...window, groupBy: 'name' })).toMatchObject({
      traceCount: 2,
      errorCount: 0,
      cancelledCount: 1,
    });
  });
});
