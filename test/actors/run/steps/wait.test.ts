import { expect, it } from 'vitest';
import type { RunStore } from '../../../../src/store/runs/run-store.ts';
import { publish, waiting } from '../../event/approvals.ts';
import { onEachEngine } from '../../engines.ts';
import { ALL, aDefinition, codeOf, createHarness as createOn, must } from '../../run-harness.ts';

onEachEngine('waits', ({ createHarness, open }) => {
  it('waits until an event with its name and expanded key arrives, which becomes its output', async () => {
    const service = await createHarness({ definitions: [waiting()] });
    const { runId } = await service.start('flow', { id: 7 });
    expect(await service.detail(runId)).toMatchObject({
      status: 'waiting',
      waits: [{ event: 'approval', key: 'ticket/7', stepId: 'ask' }],
    });
    expect(must(await publish(service, 'ticket/8'))).toEqual({ outcome: 'parked' });
    expect(must(await publish(service, 'ticket/7'))).toEqual({ outcome: 'delivered', runId });
    const lease = await service.take();
    expect(lease.input).toEqual({ got: { ok: true }, name: 'approval' });
    expect((await service.detail(runId)).waits).toEqual([]);
    expect(await service.kinds(runId)).toEqual(
      expect.arrayContaining(['run.waiting', 'event.delivered', 'run.resumed']),
    );
  });

  it('a wait that was cancelled or timed out takes no event, whatever memory held of it', async () => {
    const service = await createHarness({ definitions: [waiting({ timeout_ms: 5000 })] });
    const cancelled = await service.start('flow', { id: 1 });
    const late = await service.start('flow', { id: 1 });
    must(await service.runs.cancelRun({ ...ALL, runId: cancelled.runId }));
    await service.pass(6000);
    expect((await service.detail(late.runId)).waits).toEqual([]);
    const { runId } = await service.start('flow', { id: 1 });
    expect(must(await publish(service, 'ticket/1'))).toEqual({ outcome: 'delivered', runId });
  });

  it('a signal delivers to the open wait of that run, whatever its key', async () => {
    const service = await createHarness({ definitions: [waiting()] });
    await service.start('flow', { id: 1 });
    const { runId } = await service.start('flow', { id: 1 });
    const signal = (event: string) => service.runs.signalRun({ ...ALL, runId, event, payload: 5 });
    expect(codeOf(await signal('other'))).toBe('conflict');
    expect(must(await signal('approval'))).toEqual({ outcome: 'delivered', runId });
    expect(codeOf(await signal('approval'))).toBe('conflict');
    must(await service.runs.cancelRun({ ...ALL, runId }));
    expect(codeOf(await signal('approval'))).toBe('run_terminal');
    expect(codeOf(await service.runs.signalRun({ ...ALL, runId: 'nope', event: 'approval', payload: 1 }))).toBe(
      'not_found',
    );
  });

  it('keeps its deadline when the timer of the wait before it, read as due, comes late', async () => {
    const store = await open();
    let late: Awaited<ReturnType<RunStore['dueTimers']>> | undefined;
    const slow: RunStore = {
      ...store,
      dueTimers: async (...asked) => {
        const read = late ?? (await store.dueTimers(...asked));
        late = undefined;
        return read;
      },
    };
    const wait = (id: string) => ({ id, kind: 'wait_event', event: 'approval', key: id, timeout_ms: 5000 });
    const service = await createOn({ store: slow, definitions: [aDefinition('flow', [wait('a'), wait('b')])] });
    const { runId } = await service.start('flow');
    service.time.advance(5000);
    late = await store.dueTimers(service.time.now(), 10, service.time.now());
    expect(late).toMatchObject([{ runId, name: 'wait' }]);
    // Meanwhile the event comes, and the next wait opens with a deadline of the same name.
    must(await publish(service, 'a'));
    await service.runs.tick();
    expect(await service.detail(runId)).toMatchObject({
      cursor: 'b',
      timers: [{ name: 'wait', stepId: 'b', dueAt: service.time.now() + 5000 }],
    });
    await service.pass(5000);
    expect(await service.detail(runId)).toMatchObject({ status: 'failed', error: { class: 'timeout', stepId: 'b' } });
  });

  it('at its deadline a wait fails with class timeout, and on_error decides', async () => {
    const service = await createHarness({
      definitions: [waiting({ timeout_ms: 5000, on_error: [{ class: 'timeout', to: 'then' }] })],
    });
    const { runId } = await service.start('flow', { id: 1 });
    expect((await service.detail(runId)).timers).toMatchObject([{ name: 'wait', dueAt: service.time.now() + 5000 }]);
    await service.pass(4000);
    expect((await service.detail(runId)).status).toBe('waiting');
    await service.pass(1000);
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'then', timers: [], waits: [] });
    expect(must(await publish(service, 'ticket/1')).outcome).toBe('parked');
  });

  it('on_timeout continue goes on with no output', async () => {
    const service = await createHarness({ definitions: [waiting({ timeout_ms: 5000, on_timeout: 'continue' })] });
    await service.start('flow', { id: 1 });
    await service.pass(5000);
    expect((await service.take()).input).toEqual({});
  });
});
