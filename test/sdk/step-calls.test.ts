import { describe, expect, it } from 'vitest';
import { ConnectionError, ServiceError } from '../../sdk/typescript/src/errors.ts';
import type { HttpRequest } from '../../sdk/typescript/src/transport.ts';
import { createStepCalls, type StepCall } from '../../sdk/typescript/src/step-calls.ts';
import type { Lease } from '../../sdk/typescript/src/generated/wire.ts';
import { aLease } from '../../sdk/conformance/opposite/scripted.ts';

type Item = { readonly lease_id: string; readonly worker_id?: string };
type Sent = {
  readonly path: string;
  readonly body: { readonly [list: string]: unknown };
  readonly timeoutMs: number | undefined;
  readonly answer: (answer: object) => void;
  readonly fail: (error: Error) => void;
};

/** Calls that the test answers one by one, as they were sent. */
const aHost = (over: { claims?: boolean; runId?: string } = {}) => {
  const sent: Sent[] = [];
  const leases: Lease[] = [];
  const host = { claims: over.claims ?? true };
  const calls = createStepCalls({
    http: {
      call: <T>({ path, body, timeoutMs }: HttpRequest): Promise<T> =>
        new Promise((resolve, reject) => {
          const answer = (value: object): void => resolve(value as T);
          sent.push({ path, body: JSON.parse(body as string) as Sent['body'], timeoutMs, answer, fail: reject });
        }),
    },
    workerId: 'w',
    runId: over.runId,
    claims: () => host.claims,
    onLeases: (more) => leases.push(...more),
  });
  const make = (verb: StepCall['verb'], leaseId: string, more: Partial<StepCall> = {}) =>
    calls.make({
      ...{ verb, leaseId, body: '{"worker_id":"w"}', freesSlot: verb === 'complete' || verb === 'fail' },
      ...more,
    });
  return { make, sent, leases, host };
};
/** What is ready has been sent. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

const listNames = ['started', 'heartbeats', 'completes', 'fails'] as const;
/** A good answer to each item; `over` says otherwise of some leases. */
const taken = (
  { body }: Sent,
  over: Readonly<Record<string, { status: number; body: object }>> = {},
  leases: Lease[] = [],
) => ({
  ...Object.fromEntries(
    listNames.map((list) => [
      list,
      ((body[list] ?? []) as Item[]).map(({ lease_id }) => ({
        lease_id,
        status: 200,
        body: { run_status: 'queued', next_step: lease_id },
        ...over[lease_id],
      })),
    ]),
  ),
  leases,
});
const only = (sent: readonly Sent[]): Sent => {
  const [one, ...more] = sent;
  if (one === undefined || more.length > 0) throw new Error(`${sent.length} calls were sent`);
  return one;
};

describe('calls on leases', () => {
  it('that come together travel together, each list in its order, and each gets its own answer', async () => {
    const { make, sent } = aHost();
    const answers = [
      make('complete', 'b', { body: '{"worker_id":"w","output":[1]}' }),
      make('started', 'a'),
      make('complete', 'a'),
      make('heartbeat', 'c', { body: '{"worker_id":"w","details":{"at":1}}' }),
      make('fail', 'd', { body: '{"worker_id":"w","error":{"class":"fatal","message":"m"}}' }),
    ];
    await turn();
    const one = only(sent);
    expect(one.path).toBe('/v1/api/steps/batch');
    expect(one.body).toEqual({
      worker_id: 'w',
      started: [{ lease_id: 'a', worker_id: 'w' }],
      heartbeats: [{ lease_id: 'c', worker_id: 'w', details: { at: 1 } }],
      completes: [
        { lease_id: 'b', worker_id: 'w', output: [1] },
        { lease_id: 'a', worker_id: 'w' },
      ],
      fails: [{ lease_id: 'd', worker_id: 'w', error: { class: 'fatal', message: 'm' } }],
      claim: { max: 3, wait_ms: 0 },
    });
    one.answer(taken(one));
    expect((await Promise.all(answers)).map(({ next_step }) => next_step)).toEqual(['b', 'a', 'a', 'c', 'd']);
  });

  it('a refusal is that of its item alone', async () => {
    const { make, sent } = aHost();
    const answers = Promise.allSettled([make('complete', 'a'), make('complete', 'b')]);
    await turn();
    const refused = { status: 409, body: { code: 'fenced', message: 'gone' } };
    only(sent).answer(taken(only(sent), { a: refused }));
    const [a, b] = await answers;
    expect(a).toMatchObject({ status: 'rejected', reason: { status: 409, code: 'fenced', message: 'gone' } });
    expect(a.status === 'rejected' && a.reason).toBeInstanceOf(ServiceError);
    expect(b.status).toBe('fulfilled');
  });

  it('without an answer, none has one', async () => {
    const { make, sent } = aHost();
    const answers = Promise.allSettled([make('complete', 'a'), make('heartbeat', 'b')]);
    await turn();
    only(sent).fail(new ConnectionError('gone'));
    expect((await answers).map((one) => one.status === 'rejected' && one.reason)).toEqual([
      expect.any(ConnectionError),
      expect.any(ConnectionError),
    ]);
  });

  it('an answer that lacks an item says nothing of it', async () => {
    const { make, sent } = aHost();
    const answer = make('complete', 'a');
    await turn();
    only(sent).answer({ started: [], heartbeats: [], completes: [], fails: [], leases: [] });
    await expect(answer).rejects.toBeInstanceOf(ConnectionError);
  });

  it('two batches are under way at once; what comes meanwhile gathers for the next', async () => {
    const { make, sent } = aHost();
    for (const lease of ['a', 'b']) {
      void make('complete', lease);
      await turn();
    }
    for (const lease of ['c', 'd']) {
      void make('complete', lease);
      await turn();
    }
    expect(sent).toHaveLength(2);
    sent[0]?.answer(taken(sent[0]));
    await turn();
    expect(sent[2]?.body['completes']).toEqual([
      { lease_id: 'c', worker_id: 'w' },
      { lease_id: 'd', worker_id: 'w' },
    ]);
  });

  it('a batch has 1,000 items and about a mebibyte at most', async () => {
    const { make, sent } = aHost();
    for (let n = 0; n < 1001; n += 1) void make('complete', `l${n}`);
    await turn();
    expect(sent.map(({ body }) => (body['completes'] as Item[]).length)).toEqual([1000, 1]);

    const large = aHost();
    const body = JSON.stringify({ worker_id: 'w', output: 'x'.repeat(250 * 1024) });
    for (let n = 0; n < 5; n += 1) void large.make('complete', `l${n}`, { body });
    await turn();
    expect(large.sent.map((one) => (one.body['completes'] as Item[]).length)).toEqual([4, 1]);
  });

  it('a large report goes by itself', async () => {
    const { make, sent } = aHost();
    const large = JSON.stringify({ worker_id: 'w', output: 'x'.repeat(256 * 1024) });
    void make('complete', 'a', { body: large });
    void make('complete', 'b', { body: large.slice(0, 256 * 1024 - 2) + '"}' });
    await turn();
    expect(sent.map(({ path }) => path)).toEqual(['/v1/api/steps/a/complete', '/v1/api/steps/batch']);
  });

  it('a large report waits for the answer to the declaration of its lease, where that still stands in line', async () => {
    const { make, sent } = aHost();
    const started = make('started', 'a');
    const report = make('complete', 'a', { body: `{"worker_id":"w","output":"${'x'.repeat(300_000)}"}` });
    await turn();
    const batch = only(sent);
    expect(Object.keys(batch.body)).toEqual(['worker_id', 'started']);
    batch.answer(taken(batch));
    await started;
    await turn();
    expect(sent[1]?.path).toBe('/v1/api/steps/a/complete');
    sent[1]?.answer({});
    await report;
  });

  it('a service without batches gets the declaration of a lease before its report', async () => {
    const { make, sent } = aHost();
    const calls = [make('started', 'a'), make('complete', 'a')];
    await turn();
    only(sent).fail(new ServiceError({ status: 404, code: 'not_found', message: 'no such route' }));
    await turn();
    expect(sent.slice(1).map(({ path }) => path)).toEqual(['/v1/api/steps/a/started']);
    sent[1]?.answer({});
    await turn();
    expect(sent[2]?.path).toBe('/v1/api/steps/a/complete');
    sent[2]?.answer({});
    await Promise.all(calls);
  });

  it('the shortest time among its items is that of the batch', async () => {
    const { make, sent } = aHost();
    void make('complete', 'a');
    void make('heartbeat', 'b', { timeoutMs: 900 });
    await turn();
    expect(only(sent).timeoutMs).toBe(900);
  });

  it('a call that is broken off leaves the queue, or its answer to nobody', async () => {
    const { make, sent } = aHost();
    const queued = new AbortController();
    const gone = make('heartbeat', 'a', { signal: queued.signal });
    queued.abort();
    await expect(gone).rejects.toBeInstanceOf(ConnectionError);
    await turn();
    expect(sent).toEqual([]);
    const under = new AbortController();
    const cut = make('heartbeat', 'a', { signal: under.signal });
    const kept = make('complete', 'b');
    await turn();
    under.abort();
    await expect(cut).rejects.toBeInstanceOf(ConnectionError);
    only(sent).answer(taken(only(sent)));
    await expect(kept).resolves.toMatchObject({ next_step: 'b' });
    await expect(make('heartbeat', 'a', { signal: under.signal })).rejects.toBeInstanceOf(ConnectionError);
  });
});

describe('the claim that goes with reports', () => {
  it('asks for as many steps as reports free slots, of the one run where there is one', async () => {
    const { make, sent, leases } = aHost({ runId: 'r' });
    void make('started', 'a');
    void make('complete', 'b');
    void make('fail', 'c');
    await turn();
    const one = only(sent);
    expect(one.body['claim']).toEqual({ max: 2, wait_ms: 0, run_id: 'r' });
    one.answer(taken(one, {}, [aLease({ lease_id: 'next' })]));
    await turn();
    expect(leases.map(({ lease_id }) => lease_id)).toEqual(['next']);
  });

  it('is not made without a report, nor by a worker that takes no more', async () => {
    const { make, sent, host } = aHost();
    void make('heartbeat', 'a');
    await turn();
    host.claims = false;
    void make('complete', 'b');
    await turn();
    expect(sent.map(({ body }) => body['claim'])).toEqual([undefined, undefined]);
  });
});

describe('a service that does not know the batch', () => {
  it('gets each call by itself, from then on at once', async () => {
    const { make, sent } = aHost();
    const first = Promise.all([make('started', 'a/b'), make('heartbeat', 'c')]);
    await turn();
    only(sent).fail(new ServiceError({ status: 404, code: 'not_found', message: 'nothing here' }));
    await turn();
    expect(sent.slice(1).map(({ path }) => path)).toEqual(['/v1/api/steps/a%2Fb/started', '/v1/api/steps/c/heartbeat']);
    for (const one of sent.slice(1)) one.answer({ run_status: 'running' });
    await first;
    void make('complete', 'd');
    await turn();
    expect(sent.slice(3).map(({ path }) => path)).toEqual(['/v1/api/steps/d/complete']);
  });
});
