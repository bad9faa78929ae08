import { afterEach, describe, expect, it } from 'vitest';
import { aTask, type RunsHttp, startRunsService } from './service.ts';

// Interface decisions, section 13, "Keys in a definition", over HTTP.

let service: RunsHttp;
const open = async (limited: object): Promise<void> => {
  service = await startRunsService({ definitions: [{ id: 'flow', version: 1, steps: [aTask('one')], ...limited }] });
};
afterEach(() => service.close());
const start = () => service.post('/runs', { definition_id: 'flow', input: { customer: 'ada' } });
const concurrency = { key: '${input.customer}', limit: 1 };

describe('a run that waits for a key', () => {
  it('is queued, and says for which key, its position, who holds it, and the actor of the key', async () => {
    await open({ concurrency });
    const holder = (await start()).body.run_id;
    await start();
    const { body } = await start();
    expect([body.status, body.queued_reason]).toEqual(['queued', 'concurrency_key']);
    const run = await service.run(body.run_id);
    expect(run.waiting_for).toMatchObject({ key: 'ada', position: 2, holders: [holder] });
    expect(run.waiting_for).not.toHaveProperty('next_at');
    expect(await service.run(holder)).not.toHaveProperty('waiting_for');
    const { actors } = await service.must(service.get('/actors?type=limit'));
    expect(actors).toMatchObject([{ type: 'limit', id: run.waiting_for?.limit_id, value: 'full', status: 'active' }]);
    const { context } = await service.must(service.get(`/actors/limit/${run.waiting_for?.limit_id}`));
    expect(context).toMatchObject({
      definitionId: 'flow',
      key: 'ada',
      used: 1,
      waiting: 2,
      holders: [{ runId: holder }],
    });
  });

  it('says when a rate next has room', async () => {
    await open({ rate: { key: 'all', limit: 1, per_ms: 60_000 } });
    await start();
    const { body } = await start();
    expect(body.queued_reason).toBe('rate');
    const { waiting_for: waiting } = await service.run(body.run_id);
    expect(waiting).toMatchObject({ key: 'all', position: 1, holders: [] });
    expect(Date.parse(waiting?.next_at ?? '')).toBe(service.now() + 60_001);
  });

  it('is refused with 409 limit_reached, which names the key, where its definition says so', async () => {
    await open({ concurrency: { ...concurrency, on_limit: 'reject' } });
    expect((await start()).status).toBe(201);
    const { status, body } = await start();
    expect([status, body.code]).toEqual([409, 'limit_reached']);
    expect(body.message).toContain('"ada"');
  });
});

describe('keys in use', () => {
  it('are listed by id, and each shows who holds it and who waits, since when', async () => {
    await open({ concurrency });
    const holder = (await start()).body.run_id;
    const first = (await start()).body.run_id;
    const urgent = (await service.post('/runs', { definition_id: 'flow', input: { customer: 'ada' }, priority: 5 }))
      .body.run_id;
    await service.must(service.post('/runs', { definition_id: 'flow', input: { customer: 'bob' } }));
    const { limits } = await service.must(service.get('/limits'));
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
    const ada = {
      limit_id: expect.any(String),
      kind: 'concurrency',
      project: 'default',
      definition_id: 'flow',
      definition_version: 1,
      key: 'ada',
      limit: 1,
      used: 1,
      waiting: 2,
      moved_at: at,
    };
    expect(limits).toHaveLength(2);
    expect(limits).toContainEqual(ada);
    expect(limits).toContainEqual({ ...ada, key: 'bob', waiting: 0 });
    const waited = await service.must(service.get('/limits?waiting=true'));
    expect(waited.limits).toEqual([ada]);
    const page = await service.must(service.get('/limits?limit=1'));
    const rest = await service.must(service.get(`/limits?limit=1&cursor=${page.next_cursor}`));
    expect([...page.limits, ...rest.limits]).toEqual(limits);
    expect(await service.must(service.get(`/limits/${waited.limits[0].limit_id}`))).toEqual({
      ...ada,
      holders: [{ run_id: holder, priority: 0, since: at }],
      line: [
        { run_id: urgent, priority: 5, since: at },
        { run_id: first, priority: 0, since: at },
      ],
    });
    expect((await service.get('/limits/nobody')).status).toBe(404);
    expect((await service.get('/limits?waiting=maybe')).status).toBe(400);
  });

  it('of a rate say how many starts count now, and when there is room', async () => {
    await open({ rate: { key: 'all', limit: 1, per_ms: 60_000 } });
    await start();
    const read = async () => (await service.must(service.get('/limits'))).limits[0];
    const full = await read();
    expect(full).toMatchObject({ kind: 'rate', key: 'all', limit: 1, per_ms: 60_000, used: 1, waiting: 0 });
    expect(Date.parse(full?.next_at ?? '')).toBe(service.now() + 60_001);
  });

  it('count the runs that wait for them, beside what other runs wait for', async () => {
    await open({ concurrency });
    await start();
    await start();
    await start();
    const counts = async (query = '') => {
      const { waiting } = await service.must(service.get(`/runs/waiting${query}`));
      return Object.fromEntries(
        waiting.map((one: { waiting_on: string; count: number }) => [one.waiting_on, one.count]),
      );
    };
    expect(await counts()).toEqual({ event: 0, timer: 0, backoff: 0, children: 0, orphan: 0, key: 2 });
    expect((await counts('?definition_id=other'))['key']).toBe(0);
    expect((await counts('?definition_id=flow&status=queued'))['key']).toBe(2);
    expect((await service.must(service.get('/runs?waiting_on=key'))).runs).toHaveLength(2);
    expect((await service.get('/runs/waiting?status=asleep')).status).toBe(400);
  });
});
