import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, task, tasks } from '../run-harness.ts';

onEachEngine('the four refusals', ({ createHarness }) => {
  const open = () => createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'))] });

  it('answers already_applied to a complete, a fail or a heartbeat after its own complete, even when the run has ended', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    await service.start('flow');
    const lease = await service.take();
    must(await service.complete(lease));
    expect(codeOf(await service.complete(lease))).toBe('already_applied');
    expect(codeOf(await service.fail(lease, 'fatal'))).toBe('already_applied');
    expect(codeOf(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }))).toBe(
      'already_applied',
    );
  });

  it('answers run_terminal to a heartbeat, a complete and a started after a cancel', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const lease = await service.take();
    must(await service.runs.cancelRun({ ...ALL, runId, reason: 'enough' }));
    expect(codeOf(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }))).toBe(
      'run_terminal',
    );
    expect(codeOf(await service.complete(lease))).toBe('run_terminal');
    expect(codeOf(await service.runs.started({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }))).toBe('run_terminal');
    expect((await service.detail(runId)).attempts[0]).toMatchObject({ status: 'cancelled' });
  });

  it('answers fenced to another worker, and to a lease that was reclaimed', async () => {
    const service = await open();
    await service.start('flow');
    const lease = await service.take();
    expect(codeOf(await service.complete(lease, 1, {}, 'w2'))).toBe('fenced');
    await service.pass(36_000);
    expect(codeOf(await service.complete(lease))).toBe('fenced');
  });

  it('answers not_started to a complete or fail of an at_most_once attempt that never declared its body', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [task('one', { delivery: 'at_most_once' })])],
    });
    await service.start('flow');
    const [lease] = await service.claim();
    if (lease === undefined) throw new Error('no lease');
    expect(codeOf(await service.complete(lease))).toBe('not_started');
    expect(codeOf(await service.fail(lease, 'retryable'))).toBe('not_started');
    expect(must(await service.fail(lease, 'unservable')).runStatus).toBe('queued');
  });

  it('takes a complete from an offered at_least_once lease', async () => {
    const service = await open();
    await service.start('flow');
    const [lease] = await service.claim();
    if (lease === undefined) throw new Error('no lease');
    expect(must(await service.complete(lease)).nextStep).toBe('two');
  });

  it('answers 200 to a started that is repeated', async () => {
    const service = await open();
    await service.start('flow');
    const lease = await service.take();
    expect(must(await service.runs.started({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' })).runStatus).toBe(
      'running',
    );
  });

  it('answers not_found to a lease that never was, and forbidden outside the reach of the key', async () => {
    const service = await open();
    await service.start('flow');
    const lease = await service.take();
    expect(codeOf(await service.runs.heartbeat({ ...ALL, leaseId: 'nope', workerId: 'w1' }))).toBe('not_found');
    const foreign = { reach: ['other'], leaseId: lease.leaseId, workerId: 'w1' } as const;
    expect(codeOf(await service.runs.complete(foreign))).toBe('forbidden');
  });
});
