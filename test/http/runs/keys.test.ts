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
