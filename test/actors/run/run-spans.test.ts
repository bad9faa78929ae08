import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, must, task, tasks } from '../run-harness.ts';

onEachEngine('a run is a trace', ({ createHarness }) => {
  it('one root span and one span an attempt, with input, output and the priced total, ids from run and lease', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('one', { input: { n: '${input.n}' }, retry: { backoff_ms: 0 } }), task('two')]),
      ],
    });
    const run = await service.start('flow', { n: 1 }, { correlation: { user_id: 'u', session_id: 's' } });
    const failed = await service.take();
    must(await service.fail(failed, 'retryable'));
    const one = await service.take();
    must(await service.complete(one, { ok: true }, { usage: [{ model: 'm', inputTokens: 10, outputTokens: 10 }] }));
    must(await service.complete(await service.take(), 'end'));
    await service.runs.flushOutbox();
    const byId = new Map(service.spans.map((span) => [span.spanId, span]));
    expect(byId.size).toBe(4);
    expect([...new Set(service.spans.map(({ traceId }) => traceId))]).toEqual([run.traceId]);
    const root = [...byId.values()].find(({ parentSpanId }) => parentSpanId === undefined);
    expect(root).toMatchObject({
      name: 'flow',
      kind: 'workflow_run',
      status: 'ok',
      input: { n: 1 },
      output: 'end',
      correlation: { project: 'p', userId: 'u', sessionId: 's', runId: run.runId },
    });
    expect(byId.get(failed.spanId)).toMatchObject({
      parentSpanId: root?.spanId,
      status: 'error',
      error: { message: 'it broke', type: 'retryable' },
    });
    expect(byId.get(one.spanId)).toMatchObject({
      name: 'one',
      status: 'ok',
      input: { n: 1 },
      output: { ok: true },
      attributes: { 'svc.step.total_cost': 0.02 },
    });
    expect(byId.get(one.spanId)?.usage).toBeUndefined();
    expect(await service.store.readOutbox(0, 100)).toEqual([]);
  });

  it('the root span is unset while the run is open', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    await service.start('flow');
    await service.runs.flushOutbox();
    expect(service.spans).toMatchObject([{ status: 'unset', name: 'flow' }]);
    expect(service.spans[0]?.endTime).toBeUndefined();
  });

  it('the root span of a cancelled run is unset with an end, and says that it was cancelled', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    const { runId } = await service.start('flow');
    service.time.advance(1500);
    must(await service.runs.cancelRun({ ...ALL, runId }));
    await service.runs.flushOutbox();
    const root = service.spans.findLast(({ kind }) => kind === 'workflow_run');
    expect(root).toMatchObject({ status: 'unset', attributes: { 'svc.run.status': 'cancelled' } });
    expect(root).not.toHaveProperty('error');
    expect((root?.endTime ?? 0n) - (root?.startTime ?? 0n)).toBe(1_500_000_000n);
  });

  it('the root span of a child hangs under the span of the step that started it', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('kid', tasks('work')),
        aDefinition('flow', [{ id: 'sub', kind: 'child', definition: 'kid' }]),
      ],
    });
    await service.start('flow');
    must(await service.complete(await service.take(), 1));
    await service.runs.flushOutbox();
    const last = (name: string) => service.spans.findLast((span) => span.name === name);
    expect(last('kid')?.parentSpanId).toBe(last('sub')?.spanId);
    expect(last('sub')?.parentSpanId).toBe(last('flow')?.spanId);
    expect(last('sub')).toMatchObject({ status: 'ok', output: 1 });
  });
});
