import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, must, settled, task, tasks } from '../run-harness.ts';

onEachEngine('claims', ({ createHarness }) => {
  const open = () =>
    createHarness({ definitions: [aDefinition('flow', tasks('one', 'two')), aDefinition('other', tasks('one'))] });

  it('a claim that waits is answered by the commit that makes a step runnable', async () => {
    const service = await open();
    const claimed = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 20_000 });
    await settled(service.runs);
    const { runId } = await service.start('flow');
    const [lease] = must(await claimed);
    expect(lease?.runId).toBe(runId);
    const next = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 20_000 });
    await settled(service.runs);
    expect(must(await service.complete(lease as never)).nextStep).toBe('two');
    expect(must(await next)[0]).toMatchObject({ runId, stepId: 'two' });
  });

  it('answers empty when its time is over, at once when the caller goes away, and at once when the service stops', async () => {
    const service = await open();
    const timed = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 5000 });
    await settled(service.runs);
    service.time.advance(5000);
    expect(must(await timed)).toEqual([]);
    const gone = new AbortController();
    const left = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 5000 }, gone.signal);
    await settled(service.runs);
    gone.abort();
    expect(must(await left)).toEqual([]);
    const held = service.runs.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 5000 });
    await settled(service.runs);
    const closed = service.runs.close();
    expect(must(await held)).toEqual([]);
    await closed;
  });

  it('offers no more than max, and older steps first', async () => {
    const service = await open();
    const ids = [];
    for (let n = 0; n < 4; n += 1) {
      ids.push((await service.start('flow')).runId);
      service.time.advance(10);
    }
    expect((await service.claim('w1', 3)).map(({ runId }) => runId)).toEqual(ids.slice(0, 3));
    expect((await service.claim('w1', 3)).map(({ runId }) => runId)).toEqual(ids.slice(3));
  });

  it('a started run goes before a new one of the same age', async () => {
    const service = await open();
    const begun = await service.start('flow');
    const lease = await service.take();
    const fresh = await service.start('flow');
    must(await service.complete(lease));
    expect((await service.claim('w1', 2)).map(({ runId }) => runId)).toEqual([begun.runId, fresh.runId]);
  });

  it('an offer that went back keeps its age', async () => {
    const service = await open();
    const old = await service.start('flow');
    const [lease] = await service.claim();
    service.time.advance(1000);
    const young = await service.start('flow');
    // Given back later than the young one came: counted from then, it would be the younger of the two.
    service.time.advance(1000);
    await service.runs.giveBack([lease?.leaseId ?? '']);
    expect((await service.claim('w1', 2)).map(({ runId }) => runId)).toEqual([old.runId, young.runId]);
  });

  it('a claim may be limited to one run', async () => {
    const service = await open();
    await service.start('flow');
    const { runId } = await service.start('flow');
    const claimed = must(await service.runs.claim({ ...ALL, workerId: 'w1', max: 5, waitMs: 1000, runId }));
    expect(claimed.map((lease) => lease.runId)).toEqual([runId]);
    const next = service.runs.claim({ ...ALL, workerId: 'w1', max: 5, waitMs: 60_000, runId });
    await settled(service.runs);
    must(await service.complete(claimed[0] as never));
    expect(must(await next)[0]).toMatchObject({ runId, stepId: 'two' });
  });

  it('offers only definitions that the worker registered, and only its project', async () => {
    const service = await open();
    must(
      await service.runs.registerWorker({
        ...ALL,
        workerId: 'w2',
        definitions: [aDefinition('other', tasks('one'))],
        project: 'q',
      }),
    );
    await service.start('flow');
    await service.start('other');
    expect(await service.claim('w2')).toEqual([]);
    const { runId } = must(await service.runs.startRun({ ...ALL, project: 'q', definitionId: 'other', input: {} })).run;
    expect((await service.claim('w2', 5)).map((lease) => lease.runId)).toEqual([runId]);
  });

  it('a long queue that a worker may not have does not hide what it may have', async () => {
    const service = await open();
    must(
      await service.runs.registerWorker({
        ...ALL,
        workerId: 'w2',
        definitions: [aDefinition('flow', tasks('one', 'two'))],
        project: 'q',
      }),
    );
    for (let n = 0; n < 25; n += 1) await Promise.all(Array.from({ length: 100 }, () => service.start('flow')));
    service.time.advance(1);
    const { runId } = must(await service.runs.startRun({ ...ALL, project: 'q', definitionId: 'flow', input: {} })).run;
    const again = await service.reopen();
    const claimed = must(await again.claim({ ...ALL, workerId: 'w2', max: 5, waitMs: 1000 }));
    expect(claimed.map((lease) => lease.runId)).toEqual([runId]);
  });

  it('more runnable runs than memory holds are all offered once, in order', async () => {
    const service = await open();
    const ids: string[] = [];
    for (let n = 0; n < 30; n += 1) {
      service.time.advance(1);
      ids.push(
        ...(await Promise.all(Array.from({ length: 100 }, () => service.start('flow')))).map(({ runId }) => runId),
      );
    }
    const again = await service.reopen();
    const claimed: string[] = [];
    for (let n = 0; n < 300; n += 1)
      claimed.push(
        ...must(await again.claim({ ...ALL, workerId: 'w1', max: 10, waitMs: 1000 })).map(({ runId }) => runId),
      );
    expect(new Set(claimed).size).toBe(3000);
    expect(claimed).toEqual(ids);
  });

  it.each([
    ['that one look begins at once', 2600, 1],
    ['of moments that the slices of the queue do not end with', 130, 20],
  ])('runs %s are all offered once, whether or not memory has met them', async (_, atOnce, moments) => {
    const service = await open();
    const started = new Set<string>();
    const startAll = async (): Promise<void> => {
      for (let n = 0; n < moments; n += 1) {
        service.time.advance(1);
        for (const { runId } of await Promise.all(Array.from({ length: atOnce }, () => service.start('flow'))))
          started.add(runId);
      }
    };
    const claimAll = async (runs: typeof service.runs): Promise<string[]> => {
      const claimed: string[] = [];
      for (;;) {
        const leases = must(await runs.claim({ ...ALL, workerId: 'w1', max: 50, waitMs: 0 }));
        if (leases.length === 0) return claimed;
        claimed.push(...leases.map(({ runId }) => runId));
      }
    };
    await startAll();
    const first = await claimAll(service.runs);
    expect([first.length, new Set(first)]).toEqual([started.size, started]);
    started.clear();
    await startAll();
    const again = await claimAll(await service.reopen());
    expect([again.length, new Set(again)]).toEqual([started.size, started]);
  });
});

onEachEngine('unservable', ({ createHarness }) => {
  it('requeues for another worker, spends nothing, and is not offered to that worker again for five minutes', async () => {
    const definition = aDefinition('flow', [task('one', { next: 'end', retry: { max_attempts: 1 } })]);
    const service = await createHarness({ definitions: [definition] });
    must(await service.runs.registerWorker({ ...ALL, workerId: 'w2', definitions: [definition] }));
    const { runId } = await service.start('flow');
    const [lease] = await service.claim('w1');
    if (lease === undefined) throw new Error('no lease');
    expect(must(await service.fail(lease, 'unservable'))).toMatchObject({ runStatus: 'queued', willRetry: true });
    expect(await service.claim('w1')).toEqual([]);
    expect((await service.claim('w2')).length).toBe(1);
    await service.pass(5000);
    expect((await service.detail(runId)).attempts.map(({ status }) => status)).toEqual(['unservable', 'lapsed']);
    await service.pass(5 * 60_000 - 6000);
    expect(await service.claim('w1')).toEqual([]);
    await service.pass(1000);
    expect((await service.claim('w1')).length).toBe(1);
  });
});
