import { expect, it } from 'vitest';
import { noChanges } from '../../../../src/store/runs/run-store.ts';
import { onEachEngine } from '../../engines.ts';
import { ALL, aDefinition, must, task } from '../../run-harness.ts';

onEachEngine('sleeps', ({ createHarness }) => {
  it('sleep_ms is never early and survives a restart', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [{ id: 'nap', kind: 'sleep', sleep_ms: 60_000 }, task('then')])],
    });
    const { runId } = await service.start('flow');
    expect((await service.detail(runId)).timers).toEqual([
      { name: 'sleep', dueAt: service.time.now() + 60_000, stepId: 'nap' },
    ]);
    await service.pass(59_000);
    expect((await service.detail(runId)).status).toBe('waiting');
    const again = await service.reopen();
    service.time.advance(999);
    await again.tick();
    expect(must(await again.getRun({ ...ALL, runId })).status).toBe('waiting');
    service.time.advance(1);
    await again.tick();
    expect(must(await again.getRun({ ...ALL, runId }))).toMatchObject({
      status: 'queued',
      cursor: 'then',
      timers: [],
    });
    await again.tick();
    expect(
      must(await again.journal({ ...ALL, runId, after: -1, limit: 100 })).events.filter(
        ({ kind }) => kind === 'run.resumed',
      ).length,
    ).toBe(1);
  });

  it('sleep_until takes a template; beyond the year 2262 it is held as never due', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [{ id: 'nap', kind: 'sleep', sleep_until: '${input.at}' }, task('then')])],
    });
    const soon = await service.start('flow', { at: '2026-03-01T12:00:10.0000001Z' });
    expect((await service.detail(soon.runId)).timers[0]?.dueAt).toBe(service.time.now() + 10_001);
    const never = await service.start('flow', { at: '2400-01-01T00:00:00Z' });
    expect((await service.detail(never.runId)).timers).toEqual([{ name: 'sleep', stepId: 'nap' }]);
    expect(await service.runs.findStuckRuns()).toEqual([]);
    const bad = await service.start('flow', { at: 'tomorrow' });
    expect(await service.detail(bad.runId)).toMatchObject({ status: 'failed', error: { class: 'expression' } });
  });

  it('a timer row that says too early a time is set right, and the timer fires at its own', async () => {
    const service = await createHarness({
      definitions: [aDefinition('nap', [{ id: 'nap', kind: 'sleep', sleep_ms: 5000 }])],
    });
    const { runId } = await service.start('nap');
    const changes = noChanges();
    changes.timersSet.push({ runId, name: 'sleep', dueAt: service.time.now() + 1000 });
    await service.store.commit(changes);
    await service.pass(4000);
    expect(await service.detail(runId)).toMatchObject({ status: 'waiting', timers: [{ dueAt: expect.any(Number) }] });
    await service.pass(1000);
    expect((await service.detail(runId)).status).toBe('succeeded');
  });
});
