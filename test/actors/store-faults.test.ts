import { describe, expect, it } from 'vitest';
import { ALL, aDefinition, codeOf, createHarness as createOn, must, settled, tasks } from './run-harness.ts';
import { createFaultyStore } from './store-faults.ts';

const flow = aDefinition('flow', tasks('one', 'two'));

describe('a store that fails', () => {
  it('before the commit of a complete: store_unavailable, and the same call succeeds later', async () => {
    const faulty = createFaultyStore();
    const service = await createOn({ store: faulty.store, definitions: [flow] });
    const { runId } = await service.start('flow');
    const lease = await service.take();
    faulty.failNext('before');
    const refused = await service.complete(lease, 1);
    expect(refused).toMatchObject({ ok: false, failure: { code: 'store_unavailable', retryAfterSeconds: 1 } });
    expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
    expect(must(await service.complete(lease, 1)).nextStep).toBe('two');
    expect((await service.journal(runId)).map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('after the commit of a complete: the outcome was unknown, the repeat reads already_applied', async () => {
    const faulty = createFaultyStore();
    const service = await createOn({ store: faulty.store, definitions: [flow] });
    const { runId } = await service.start('flow');
    const lease = await service.take();
    faulty.failNext('after');
    expect(codeOf(await service.complete(lease, 1))).toBe('store_unavailable');
    expect(codeOf(await service.complete(lease, 1))).toBe('already_applied');
    expect(await service.detail(runId)).toMatchObject({ cursor: 'two', status: 'queued' });
    expect((await service.take()).stepId).toBe('two');
  });

  it('before the commit of an offer: the claim learns it, and the step is offered again', async () => {
    const faulty = createFaultyStore();
    const service = await createOn({ store: faulty.store, definitions: [flow] });
    await service.start('flow');
    faulty.failNext('before');
    expect(codeOf(await service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 1000 }))).toBe(
      'store_unavailable',
    );
    expect((await service.take()).stepId).toBe('one');
  });

  it('after the commit of an offer: the lost offer lapses, and no run is stuck', async () => {
    const faulty = createFaultyStore();
    const service = await createOn({ store: faulty.store, definitions: [flow] });
    const { runId } = await service.start('flow');
    faulty.failNext('after');
    expect(codeOf(await service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 1000 }))).toBe(
      'store_unavailable',
    );
    expect(await service.claim()).toEqual([]);
    await service.pass(31_000);
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', attempts: [{ status: 'lapsed' }] });
    expect((await service.take()).attempt).toBe(2);
  });

  it('while a claim waits: the claim goes on waiting', async () => {
    const faulty = createFaultyStore();
    const service = await createOn({ store: faulty.store, definitions: [flow] });
    const claimed = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 60_000 });
    await settled(service.runs);
    faulty.failNext('before');
    expect(codeOf(await service.runs.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: {} }))).toBe(
      'store_unavailable',
    );
    // The offer was part of the failed commit: its claim cannot know, and must ask again.
    expect(codeOf(await claimed)).toBe('store_unavailable');
    const again = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 60_000 });
    await settled(service.runs);
    faulty.failNext('before');
    expect(codeOf(await service.runs.publishEvent({ ...ALL, project: 'p', event: 'e', key: '', payload: 1 }))).toBe(
      'store_unavailable',
    );
    await service.start('flow');
    expect(must(await again).length).toBe(1);
  });

  it.each(['before', 'after'] as const)('%s the commit of a timer: it fires once', async (fault) => {
    const faulty = createFaultyStore();
    const service = await createOn({
      store: faulty.store,
      definitions: [aDefinition('flow', [{ id: 'nap', kind: 'sleep', sleep_ms: 1000 }, ...tasks('then')])],
    });
    const { runId } = await service.start('flow');
    faulty.failNext(fault);
    await service.pass(3000);
    expect((await service.kinds(runId)).filter((kind) => kind === 'run.resumed').length).toBe(1);
    expect(await service.detail(runId)).toMatchObject({ status: 'queued', cursor: 'then' });
  });

  it.each(['before', 'after'] as const)(
    '%s the commit that deletes outbox rows: spans are sent again, never lost',
    async (fault) => {
      const faulty = createFaultyStore();
      const service = await createOn({ store: faulty.store, definitions: [flow] });
      await service.start('flow');
      faulty.failNext(fault);
      await expect(service.runs.flushOutbox()).rejects.toThrow('the disk said');
      await service.runs.flushOutbox();
      expect(new Set(service.spans.map(({ spanId }) => spanId)).size).toBe(1);
      expect(await service.store.readOutbox(0, 10)).toEqual([]);
    },
  );
});

describe('a process that dies', () => {
  it('after any commit: the next one goes on from there, with the same answers', async () => {
    const service = await createOn({ definitions: [flow] });
    const { runId } = await service.start('flow', { n: 1 });
    const one = must(await (await service.reopen()).claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 100 }))[0];
    if (one === undefined) throw new Error('no lease');
    const held = { ...ALL, leaseId: one.leaseId, workerId: 'w1' };
    must(await (await service.reopen()).started(held));
    must(await (await service.reopen()).heartbeat(held));
    expect(must(await (await service.reopen()).complete({ ...held, output: 'a' })).nextStep).toBe('two');
    expect(codeOf(await (await service.reopen()).complete({ ...held, output: 'a' }))).toBe('already_applied');
    const last = await service.reopen();
    const two = must(await last.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 100 }))[0];
    expect(two).toMatchObject({ runId, stepId: 'two', steps: { one: { output: 'a' } } });
    must(await last.complete({ ...ALL, leaseId: two?.leaseId ?? '', workerId: 'w1' }));
    expect(must(await last.getRun({ ...ALL, runId })).status).toBe('succeeded');
    expect((await service.journal(runId)).map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    await last.flushOutbox();
    expect(new Set(service.spans.map(({ spanId }) => spanId)).size).toBe(3);
  });
});
