import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import type { Answer } from '../listening-app.ts';
import { aFlow, aTask, type RunsHttp, type RunsServiceOptions, startRunsService } from './service.ts';

// Interface decisions, section 12, "Many steps in one call".

let service: RunsHttp;
const open = async (options: RunsServiceOptions = {}): Promise<RunsHttp> => {
  service = await startRunsService({
    definitions: [
      aFlow('flow', [aTask('one'), aTask('two')]),
      aFlow('once', [aTask('one', { delivery: 'at_most_once' })]),
      aFlow('other', [aTask('one')]),
    ],
    ...options,
  });
  return service;
};
afterEach(() => service.close());

const batch = (body: object, worker = 'w1'): Promise<Answer> =>
  service.post('/steps/batch', { worker_id: worker, ...body });
const KiB = 1024;
const MiB = 1024 * KiB;

describe('`{started, heartbeats, completes, fails: [{lease_id, status, body}], leases, claim_error?}`', () => {
  it('"taken in the order started, heartbeats, completes, fails, claim": a step begins, ends and is followed in one call', async () => {
    await open();
    const { run_id } = await service.start('once');
    const first = await service.offered();
    // Without its `started`, a complete of an at_most_once attempt is refused.
    const { status, body } = await batch({
      completes: [{ lease_id: first.lease_id, output: 1 }],
      heartbeats: [{ lease_id: first.lease_id, details: { at: 1 } }],
      started: [{ lease_id: first.lease_id }],
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      started: [
        {
          lease_id: first.lease_id,
          status: 200,
          body: { run_status: 'running', lease_expires_at: expect.any(String) },
        },
      ],
      heartbeats: [{ lease_id: first.lease_id, status: 200, body: { lease_expires_at: expect.any(String) } }],
      completes: [{ lease_id: first.lease_id, status: 200, body: { run_status: 'succeeded' } }],
      fails: [],
      leases: [],
    });
    expect((await service.run(run_id)).status).toBe('succeeded');

    const flow = await service.start('flow');
    const one = await service.take();
    const next = await batch({ completes: [{ lease_id: one.lease_id }], claim: { max: 1 } });
    expect(next.body.completes[0].body).toEqual({ run_status: 'queued', next_step: 'two' });
    expect(next.body.leases).toEqual([expect.objectContaining({ run_id: flow.run_id, step_id: 'two', visit: 1 })]);
    expect(next.body).not.toHaveProperty('claim_error');
  });

  it('an attempt whose start comes with its report began with its offer; one whose start comes before, at that start', async () => {
    await open();
    const { run_id } = await service.start('flow');
    const one = await service.offered();
    await service.pass(2_000);
    const { body } = await batch({
      started: [{ lease_id: one.lease_id }],
      completes: [{ lease_id: one.lease_id }],
      claim: { max: 1 },
    });
    const [two] = body.leases;
    await service.pass(1_000);
    await batch({ started: [{ lease_id: two.lease_id }] });
    await service.pass(1_000);
    await batch({ completes: [{ lease_id: two.lease_id }] });
    const { attempts, created_at } = await service.run(run_id);
    const after = (instant: string | undefined): number => Date.parse(instant ?? '') - Date.parse(created_at);
    expect(
      attempts.map(({ offered_at, started_at, ended_at }) => [offered_at, started_at, ended_at].map(after)),
    ).toEqual([
      [0, 0, 2_000],
      [2_000, 3_000, 4_000],
    ]);
  });

  it('an attempt whose start comes with the report that it failed began with its offer too', async () => {
    await open();
    const { run_id } = await service.start('other');
    const { lease_id } = await service.offered();
    await service.pass(2_000);
    await batch({ started: [{ lease_id }], fails: [{ lease_id, error: { class: 'fatal', message: 'm' } }] });
    const [attempt] = (await service.run(run_id)).attempts;
    expect(attempt?.started_at).toBe(attempt?.offered_at);
    await service.runs.flushOutbox();
    const span = service.spans.find(({ name }) => name === 'one');
    expect((span?.endTime ?? 0n) - (span?.startTime ?? 0n)).toBe(2_000_000_000n);
  });

  it('counts a refused item as it counts a refused call of its own: by call and reason, and nothing that was taken', async () => {
    await open();
    await service.start('other');
    const lease = await service.take();
    const { lease_id } = lease;
    expect((await service.complete(lease, {}, 'stranger')).status).toBe(409);
    await batch({ completes: [{ lease_id }], heartbeats: [{ lease_id }] }, 'stranger');
    await batch({ heartbeats: [{ lease_id }], completes: [{ lease_id }] });
    await batch({ fails: [{ lease_id, error: { class: 'fatal', message: 'late' } }] });
    const { groups } = service.refusals.list();
    expect(groups.map(({ door, code, count }) => [door, code, count])).toEqual([
      ['/v1/api/steps/:lease/fail', 'already_applied', 1],
      ['/v1/api/steps/:lease/complete', 'fenced', 2],
      ['/v1/api/steps/:lease/heartbeat', 'fenced', 1],
    ]);
  });

  it('lists are answered in the order sent', async () => {
    await open();
    for (let n = 0; n < 20; n += 1) await service.start('other', { n });
    const leases = await service.claim('w1', { max: 20 });
    const ids = leases.map(({ lease_id }) => lease_id).toReversed();
    const { body } = await batch({
      started: ids.map((lease_id) => ({ lease_id })),
      completes: ids.map((lease_id) => ({ lease_id })),
    });
    for (const list of ['started', 'completes']) {
      expect(body[list].map(({ lease_id }: { lease_id: string }) => lease_id)).toEqual(ids);
      expect(new Set(body[list].map(({ status }: { status: number }) => status))).toEqual(new Set([200]));
    }
  });

  it('a call with a worker alone is answered with empty lists', async () => {
    await open();
    expect(await batch({})).toMatchObject({
      status: 200,
      body: { started: [], heartbeats: [], completes: [], fails: [], leases: [] },
    });
  });

  it.each([
    [{ completes: {} }, 'completes'],
    [{ completes: [1] }, 'completes.0'],
    [{ claim: {} }, 'claim.max'],
    [{ claim: { max: 0 } }, 'claim.max'],
    [{ claim: { max: 1001 } }, 'claim.max'],
    [{ claim: { max: 1, wait_ms: -1 } }, 'claim.wait_ms'],
    [{ claims: { max: 1 } }, 'claims'],
  ])('%j is refused as a whole', async (body, field) => {
    await open();
    expect(await batch(body)).toMatchObject({ status: 400, body: { code: 'invalid_parameter', field } });
  });
});

describe('"`status` and `body` those of the single call"', () => {
  const verbs = { started: 'started', heartbeats: 'heartbeat', completes: 'complete', fails: 'fail' } as const;
  const itemsOf = (lease: string): [list: keyof typeof verbs, item: object][] => [
    ['started', { lease_id: crypto.randomUUID() }],
    ['started', { lease_id: lease, worker_id: 'w2' }],
    ['started', { lease_id: lease, what: 1 }],
    ['heartbeats', { lease_id: lease, details: 'x'.repeat(64 * KiB - 2) }],
    ['heartbeats', { lease_id: lease, details: 'x'.repeat(64 * KiB - 1) }],
    ['completes', { lease_id: lease, state_patch: 1 }],
    ['completes', { lease_id: lease, usage: { input_tokens: -1 } }],
    ['completes', { lease_id: lease, output: 'x'.repeat(4 * MiB) }],
    ['fails', { lease_id: lease }],
    ['fails', { lease_id: lease, error: { class: 'timeout', message: 'm' } }],
    ['fails', { lease_id: lease, error: { class: 'fatal', message: 'm' }, retry_after_ms: -1 }],
  ];

  it('each refusal, and "one bad item spoils no other"', async () => {
    await open();
    await service.start('other');
    await service.start('other');
    const [held, good] = (await service.claim('w1', { max: 2 })).map(({ lease_id }) => lease_id) as [string, string];
    await service.must(service.started({ lease_id: held }));
    await service.must(service.started({ lease_id: good }));
    const items = itemsOf(held);
    const single: object[] = [];
    for (const [list, { lease_id, ...body }] of items as [keyof typeof verbs, { lease_id: string }][])
      single.push(await service.post(`/steps/${lease_id}/${verbs[list]}`, { worker_id: 'w1', ...body }));
    const sent = Object.fromEntries(
      Object.keys(verbs).map((list) => [list, items.filter(([of]) => of === list).map(([, item]) => item)]),
    );
    const { status, body } = await batch({ ...sent, completes: [{ lease_id: good }, ...(sent['completes'] ?? [])] });
    expect(status).toBe(200);
    expect(body.completes.shift()).toEqual({ lease_id: good, status: 200, body: { run_status: 'succeeded' } });
    const answers = Object.keys(verbs).flatMap((list) => body[list] as { status: number; body: object }[]);
    expect(answers).toHaveLength(items.length);
    const statuses = answers.map((answer) => answer.status);
    expect(statuses).toEqual(single.map((answer) => (answer as Answer).status));
    expect(new Set(statuses)).toEqual(new Set([200, 400, 404, 409, 413]));
    for (const [index, answer] of answers.entries())
      if (answer.status !== 200 && answer.status !== 413) expect(answer.body).toEqual((single[index] as Answer).body);
    expect(answers.find((answer) => answer.status === 413)?.body).toMatchObject({ code: 'payload_too_large' });
  });

  it.each(['', 'x'.repeat(257)])('a lease id of a length that no path may have', async (lease_id) => {
    await open();
    const { body } = await batch({ started: [{ lease_id }] });
    expect(body.started).toEqual([{ status: 400, body: expect.objectContaining({ code: 'invalid_parameter' }) }]);
  });

  it.each([[{}], [{ lease_id: 7 }], [{ output: 1 }]])('the item %j names no lease', async (item) => {
    await open();
    const { body } = await batch({ completes: [item] });
    expect(body.completes).toEqual([
      {
        status: 400,
        body: { code: 'invalid_parameter', message: expect.stringContaining('lease_id'), field: 'lease_id' },
      },
    ]);
  });

  it('a step that ended twice is told so once', async () => {
    await open();
    await service.start('other');
    const { lease_id } = await service.take();
    const { body } = await batch({ completes: [{ lease_id }, { lease_id }] });
    expect(body.completes).toEqual([
      { lease_id, status: 200, body: { run_status: 'succeeded' } },
      { lease_id, status: 409, body: expect.objectContaining({ code: 'already_applied' }) },
    ]);
  });
});

describe('"at most 1,000 items a call (400) and 16 MiB (413)"', () => {
  const items = (count: number) => Array.from({ length: count }, () => ({ lease_id: 'none' }));

  it('counts the items of all lists', async () => {
    await open();
    const fits = await batch({ started: items(500), completes: items(500) });
    expect(fits.status).toBe(200);
    expect(fits.body.completes).toHaveLength(500);
    expect(await batch({ started: items(500), completes: items(501) })).toMatchObject({
      status: 400,
      body: { code: 'invalid_parameter', message: expect.stringMatching(/at most 1000 items.* 1001/) },
    });
  });

  it('takes 16 MiB and no byte more', async () => {
    await open();
    const empty = JSON.stringify({ worker_id: 'w1', completes: [{ lease_id: 'none', output: '' }] });
    const body = (bytes: number) =>
      JSON.stringify({ worker_id: 'w1', completes: [{ lease_id: 'none', output: 'x'.repeat(bytes - empty.length) }] });
    const most = await service.post('/steps/batch', body(16 * MiB));
    expect(most.status).toBe(200);
    expect(most.body.completes).toEqual([
      { lease_id: 'none', status: 413, body: expect.objectContaining({ code: 'payload_too_large' }) },
    ]);
    expect((await service.post('/steps/batch', body(16 * MiB + 1))).status).toBe(413);
  });

  it('an item is bounded as its own call is', async () => {
    await open();
    await service.start('other');
    const { lease_id } = await service.take();
    // The single call names its lease in the path: here it counts for nothing either.
    const empty = JSON.stringify({ worker_id: 'w1', output: '' });
    const item = (bytes: number) => ({ lease_id, output: 'x'.repeat(bytes - empty.length) });
    const over = await batch({ completes: [item(4 * MiB + 1)] });
    expect(over.body.completes[0]).toMatchObject({ status: 413 });
    expect((await batch({ completes: [item(4 * MiB)] })).body.completes[0]).toMatchObject({ status: 200 });
  });
});

describe('the claim of a batch', () => {
  it('"`claim.wait_ms` is 0 unless given"', async () => {
    await open();
    expect((await batch({ claim: { max: 1 } })).body.leases).toEqual([]);
  });

  it('"all is answered together": what waits for its claim has been taken meanwhile', async () => {
    await open();
    await service.start('other');
    const { lease_id, run_id } = await service.take();
    const answer = batch({ completes: [{ lease_id }], claim: { max: 1, wait_ms: 20_000 } });
    await until(async () => (await service.run(run_id)).status === 'succeeded');
    const next = await service.start('other');
    const { body } = await answer;
    expect(body.completes).toEqual([{ lease_id, status: 200, body: { run_status: 'succeeded' } }]);
    expect(body.leases).toEqual([expect.objectContaining({ run_id: next.run_id })]);
  });

  it('takes steps of the run that it names alone', async () => {
    await open();
    await service.start('other');
    const { run_id } = await service.start('other');
    const { body } = await batch({ claim: { max: 9, run_id } });
    expect(body.leases.map((lease: { run_id: string }) => lease.run_id)).toEqual([run_id]);
  });

  it('"`claim_error` is `{status, body}`", and the items are taken', async () => {
    await open();
    await service.start('other');
    const { lease_id } = await service.take();
    const single = await service.post('/steps/claim', { worker_id: 'w9', max: 1, wait_ms: 0 });
    const { status, body } = await batch({ completes: [{ lease_id, worker_id: 'w1' }], claim: { max: 1 } }, 'w9');
    expect(status).toBe(200);
    expect(body.completes[0].status).toBe(200);
    expect(body.leases).toEqual([]);
    expect(body.claim_error).toEqual({ status: 404, body: single.body });
  });

  it('a caller that hangs up while its offer is committed gives it back', async () => {
    await open();
    const { run_id } = await service.start('other');
    await service.runs.flushOutbox(); // so that the commit which is held is that of the offer
    const release = service.holdCommits();
    const gone = new AbortController();
    const body = { worker_id: 'w1', claim: { max: 1, wait_ms: 20_000 } };
    const held = service.post('/steps/batch', body, { signal: gone.signal });
    await until(() => service.heldCommits() > 0);
    const connected = await service.connections();
    gone.abort();
    await expect(held).rejects.toThrow('aborted');
    await until(async () => (await service.connections()) < connected);
    release();
    expect((await service.claim('w1', { wait_ms: 4000 })).map((lease) => [lease.run_id, lease.attempt])).toEqual([
      [run_id, 2],
    ]);
  });
});
