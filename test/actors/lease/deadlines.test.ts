import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, task, tasks } from '../run-harness.ts';

onEachEngine('leases in time', ({ createHarness }) => {
  const open = (more: object = {}) =>
    createHarness({ definitions: [aDefinition('flow', [task('one', { next: 'end', ...more })])] });

  it('an offer that is not started lapses and goes back to the queue at no cost, in either delivery mode', async () => {
    for (const delivery of ['at_least_once', 'at_most_once']) {
      const service = await open({ delivery });
      const { runId } = await service.start('flow');
      const [lease] = await service.claim();
      await service.pass(4000);
      expect((await service.detail(runId)).status).toBe('running');
      await service.pass(1000);
      expect(await service.detail(runId)).toMatchObject({ status: 'queued', attempts: [{ status: 'lapsed' }] });
      expect(codeOf(await service.runs.started({ ...ALL, leaseId: lease?.leaseId ?? '', workerId: 'w1' }))).toBe(
        'fenced',
      );
      expect((await service.take()).attempt).toBe(2);
    }
  });

  it('a heartbeat extends the lease by its ttl', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const lease = await service.take();
    for (let beat = 0; beat < 5; beat += 1) {
      await service.pass(29_000);
      const { leaseExpiresAt } = must(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
      expect(leaseExpiresAt).toBe(service.time.now() + 30_000);
    }
    expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
  });

  it('a heartbeat before started is taken and extends nothing', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const [lease] = await service.claim();
    await service.pass(3000);
    must(await service.runs.heartbeat({ ...ALL, leaseId: lease?.leaseId ?? '', workerId: 'w1' }));
    await service.pass(2000);
    expect((await service.detail(runId)).attempts[0]?.status).toBe('lapsed');
  });

  it('a lease says when its worker last extended it: not before started, and no deadline or restart counts', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const [{ leaseId } = { leaseId: '' }] = await service.claim();
    const call = { ...ALL, leaseId, workerId: 'w1' };
    const heartbeats = async (runs: typeof service.runs) => {
      const [listed] = must(await runs.listLeases({ ...ALL, limit: 1 })).items;
      const [attempt] = must(await runs.getRun({ ...ALL, runId })).attempts;
      const actor = must(await runs.getActor({ ...ALL, type: 'lease', id: leaseId }));
      return [listed, attempt, actor].map((one) => one?.lastHeartbeatAt);
    };
    must(await service.runs.heartbeat(call));
    expect(await heartbeats(service.runs)).toEqual([undefined, undefined, undefined]);
    must(await service.runs.started(call));
    const started = service.time.now();
    expect(await heartbeats(service.runs)).toEqual([started, started, started]);
    await service.pass(7_000);
    must(await service.runs.heartbeat(call));
    const beat = service.time.now();
    await service.pass(30_000);
    expect((await service.detail(runId)).attempts[0]?.status).toBe('orphaned');
    expect(await heartbeats(service.runs)).toEqual([beat, beat, beat]);
    expect(await heartbeats(await service.reopen())).toEqual([beat, beat, beat]);
  });

  it('any actor at any journal sequence number: a lease as it was after an entry of the journal of its run', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const [{ leaseId } = { leaseId: '' }] = await service.claim();
    must(await service.runs.started({ ...ALL, leaseId, workerId: 'w1' }));
    await service.pass(30_000);
    await service.pass(60_000);
    const next = await service.take();
    const [cancelled] = must(await service.runs.getRun({ ...ALL, runId })).attempts.slice(-1);
    must(await service.runs.cancelRun({ ...ALL, runId }));
    const journal = await service.journal(runId);
    const past = async (id: string) => {
      const seen: string[] = [];
      for (const { seq, kind, at } of journal) {
        const actor = must(await service.runs.getActor({ ...ALL, type: 'lease', id, atSeq: seq }));
        expect([actor.updatedAt, actor.runId]).toEqual([at, runId]);
        const state = `${actor.value as string}${(actor.context as { bodyRan: boolean }).bodyRan ? ', ran' : ''}`;
        if (state !== seen.at(-1)?.split(': ')[1]) seen.push(`${kind}: ${state}`);
      }
      return seen;
    };
    expect(await past(leaseId)).toEqual([
      'run.started: unissued',
      'step.leased: offered',
      'step.started: running, ran',
      'step.orphaned: orphaned, ran',
      'step.requeued: reclaimed, ran',
    ]);
    expect([cancelled?.leaseId, await past(next.leaseId)]).toEqual([
      next.leaseId,
      ['run.started: unissued', 'step.leased: offered', 'step.started: running, ran', 'run.finished: cancelled, ran'],
    ]);
    const beyond = await service.runs.getActor({ ...ALL, type: 'lease', id: leaseId, atSeq: 1000 });
    expect(codeOf(beyond)).toBe('not_found');
  });

  it('an orphan is revived by a heartbeat within the reclaim window', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const lease = await service.take();
    await service.pass(30_000);
    expect((await service.detail(runId)).attempts[0]?.status).toBe('orphaned');
    must(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
    expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
  });

  it('a complete from an orphan is taken within the reclaim window', async () => {
    const service = await open();
    await service.start('flow');
    const lease = await service.take();
    await service.pass(34_000);
    expect(must(await service.complete(lease)).runStatus).toBe('succeeded');
  });

  it('an orphan is requeued after the window under at_least_once, and fails under at_most_once', async () => {
    const service = await open();
    const first = await service.start('flow');
    await service.take();
    await service.pass(35_000);
    expect(await service.detail(first.runId)).toMatchObject({ status: 'queued', attempts: [{ status: 'orphaned' }] });
    expect(await service.kinds(first.runId)).toContain('step.requeued');

    const once = await open({ delivery: 'at_most_once' });
    const second = await once.start('flow');
    await once.take();
    await once.pass(35_000);
    expect(await once.detail(second.runId)).toMatchObject({ status: 'failed', error: { class: 'orphaned' } });
  });

  it('the tenth orphan is the last', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    for (let orphan = 1; orphan <= 9; orphan += 1) {
      await service.take();
      await service.pass(35_000);
      expect((await service.detail(runId)).status).toBe('queued');
    }
    await service.take();
    await service.pass(35_000);
    expect(await service.detail(runId)).toMatchObject({ status: 'failed', error: { class: 'orphaned' } });
  });

  it('timeout_ms runs from started, spends the budget and ends the lease', async () => {
    const service = await open({ timeout_ms: 5000, retry: { max_attempts: 2, backoff_ms: 0 } });
    const { runId } = await service.start('flow');
    const [offered] = await service.claim();
    await service.pass(4000);
    must(await service.runs.started({ ...ALL, leaseId: offered?.leaseId ?? '', workerId: 'w1' }));
    await service.pass(4000);
    expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
    await service.pass(1000);
    expect(await service.detail(runId)).toMatchObject({
      status: 'queued',
      attempts: [{ status: 'failed', error: { class: 'timeout' } }],
    });
    expect(codeOf(await service.runs.heartbeat({ ...ALL, leaseId: offered?.leaseId ?? '', workerId: 'w1' }))).toBe(
      'fenced',
    );
    await service.take();
    await service.pass(5000);
    expect(await service.detail(runId)).toMatchObject({ status: 'failed', error: { class: 'timeout' } });
  });

  it('heartbeats do not postpone the timeout', async () => {
    const service = await open({ timeout_ms: 20_000, retry: { max_attempts: 1 } });
    const { runId } = await service.start('flow');
    const lease = await service.take();
    for (let beat = 0; beat < 19; beat += 1) {
      await service.pass(1000);
      must(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
    }
    await service.pass(1000);
    expect((await service.detail(runId)).status).toBe('failed');
  });

  it('a jump of the wall clock expires no live lease', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const lease = await service.take();
    service.time.jumpWall(10 * 365 * 24 * 3600 * 1000);
    await service.runs.tick();
    expect((await service.detail(runId)).attempts[0]?.status).toBe('running');
    service.time.jumpWall(-20 * 365 * 24 * 3600 * 1000);
    await service.runs.tick();
    expect(must(await service.complete(lease)).runStatus).toBe('succeeded');
    expect((await service.journal(runId)).map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('a clock that is set back stops no timer', async () => {
    const service = await createHarness({
      definitions: [aDefinition('nap', [{ id: 'nap', kind: 'sleep', sleep_ms: 60_000 }, task('then')])],
    });
    service.time.jumpWall(10 * 365 * 24 * 3600 * 1000);
    await service.runs.tick();
    service.time.jumpWall(-10 * 365 * 24 * 3600 * 1000);
    const { runId } = await service.start('nap');
    await service.pass(59_000);
    expect((await service.detail(runId)).status).toBe('waiting');
    await service.pass(1000);
    expect((await service.detail(runId)).status).toBe('queued');
  });

  it('a clock that is set back while the service is down leaves the journal in its order', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    const { runId } = await service.start('flow');
    const [lease] = await service.claim();
    if (lease === undefined) throw new Error('one was expected');
    service.time.advance(4000);
    must(await service.runs.started({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
    service.time.jumpWall(-3600_000);
    const next = await service.reopen();
    must(await next.complete({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' }));
    const entries = await service.journal(runId);
    expect(entries.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(entries.at(-1)?.at).toBe(service.time.now());
  });

  it('gives the details of the last heartbeat to the next attempt', async () => {
    const service = await open();
    await service.start('flow');
    const lease = await service.take();
    must(await service.runs.heartbeat({ ...ALL, leaseId: lease.leaseId, workerId: 'w1', details: { page: 3 } }));
    expect(lease.lastDetails).toBeUndefined();
    await service.pass(35_000);
    expect((await service.take()).lastDetails).toEqual({ page: 3 });
  });

  it('at start every live lease gets at least one full ttl', async () => {
    const service = await open();
    const { runId } = await service.start('flow');
    const lease = await service.take();
    service.time.advance(10 * 60_000);
    const again = await service.reopen();
    const pass = async (ms: number): Promise<void> => {
      service.time.advance(ms);
      await again.tick();
    };
    await pass(29_999);
    expect(must(await again.getRun({ ...ALL, runId })).attempts[0]?.status).toBe('running');
    await pass(1);
    expect(must(await again.getRun({ ...ALL, runId })).attempts[0]?.status).toBe('orphaned');
    expect(must(await again.complete({ ...ALL, leaseId: lease.leaseId, workerId: 'w1' })).runStatus).toBe('succeeded');
  });
});
