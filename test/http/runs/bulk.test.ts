import { afterEach, describe, expect, it } from 'vitest';
import openapi from '../../../src/model/generated/openapi.json' with { type: 'json' };
import { aFlow, aTask, type RunsHttp, startRunsService } from './service.ts';

let service: RunsHttp;
const open = async (): Promise<void> => {
  service = await startRunsService({ definitions: [aFlow('flow', [aTask('one')])] });
};
afterEach(() => service.close());

describe('an action on many runs over HTTP', () => {
  it('is counted, begun, looked at and stopped', async () => {
    await open();
    const run = await service.start('flow', {}, { correlation: { session_id: 's', user_id: 'u' } });
    await service.start('flow');
    const filter = { definition_id: 'flow', session_id: 's', correlation: { user_id: 'u' }, from: '-1d' };
    const dry = await service.post('/runs/bulk', { action: 'cancel', filter, dry_run: true });
    expect([dry.status, dry.body]).toEqual([200, { count: 1, sample: [run.run_id] }]);
    const none = await service.post('/runs/bulk', { action: 'cancel', filter: { status: 'failed' } });
    expect([none.status, none.body]).toEqual([200, { count: 0, sample: [] }]);
    const begun = await service.post('/runs/bulk', { action: 'cancel', filter, reason: 'r' });
    expect([begun.status, begun.body]).toEqual([202, { bulk_id: expect.any(String), count: 1, sample: [run.run_id] }]);
    await service.runs.tick();
    expect((await service.run(run.run_id)).status).toBe('cancelled');
    const path = `/runs/bulk/${begun.body.bulk_id}`;
    const done = await service.must(service.get(path));
    expect(done).toEqual({
      bulk_id: begun.body.bulk_id,
      action: 'cancel',
      status: 'done',
      count: 1,
      done: 1,
      refused: 0,
      started_at: expect.any(String),
      ended_at: expect.any(String),
    });
    expect((await service.del(path)).body).toEqual(done);
    expect((await service.get('/runs/bulk/nobody')).status).toBe(404);
  });

  it('is sent again under its idempotency key', async () => {
    await open();
    const run = await service.start('flow');
    // A time before now means another one each time it is read.
    const call = { action: 'cancel', filter: { status: 'queued', from: '-1d' }, idempotency_key: 'k' };
    const begun = await service.post('/runs/bulk', call);
    expect(begun.status).toBe(202);
    await service.runs.tick();
    expect((await service.run(run.run_id)).status).toBe('cancelled');
    for (const more of [{}, { dry_run: true }, { dry_run: false }]) {
      const again = await service.post('/runs/bulk', { ...call, ...more });
      expect([again.status, again.body]).toEqual([200, begun.body]);
    }
    for (const more of [{ action: 'pause' }, { reason: 'r' }, { filter: { status: 'queued' } }]) {
      const other = await service.post('/runs/bulk', { ...call, ...more });
      expect([other.status, other.body.code, other.body.field]).toEqual([409, 'conflict', 'idempotency_key']);
    }
  });

  it('restarts runs that failed', async () => {
    await open();
    const run = await service.start('flow');
    const lease = await service.take();
    await service.must(service.fail(lease, 'fatal'));
    const filter = { definition_id: 'flow', status: 'failed' };
    const begun = await service.post('/runs/bulk', { action: 'restart', filter });
    expect([begun.status, begun.body]).toEqual([202, { bulk_id: expect.any(String), count: 1, sample: [run.run_id] }]);
    await service.runs.tick();
    expect(await service.must(service.get(`/runs/bulk/${begun.body.bulk_id}`))).toMatchObject({ done: 1, refused: 0 });
    const { runs } = await service.must(service.get(`/runs?restarted_from=${run.run_id}`));
    expect(runs).toMatchObject([{ status: 'queued', cursor: 'one' }]);
    const ofIt = { action: 'cancel', filter: { restarted_from: run.run_id } };
    const cancelled = await service.post('/runs/bulk', ofIt);
    expect([cancelled.status, cancelled.body]).toMatchObject([202, { count: 1, sample: [runs[0].run_id] }]);
    const ofNone = { ...ofIt, filter: { restarted_from: runs[0].run_id } };
    expect((await service.post('/runs/bulk', ofNone)).body).toEqual({ count: 0, sample: [] });
  });

  // Decisions, 13: "`filter` has the members of the run list".
  it('takes every filter of the list of runs', () => {
    const named = openapi.paths['/v1/api/runs'].get.parameters.map((given): string =>
      'name' in given ? given.name : given.$ref.slice(given.$ref.lastIndexOf('/') + 1),
    );
    const { correlation, ...filter } = openapi.components.schemas.RunFilter.properties;
    const taken = [...Object.keys(filter), ...Object.keys(correlation.properties).map((name) => `correlation.${name}`)];
    expect(taken.toSorted()).toEqual(named.filter((name) => name !== 'limit' && name !== 'cursor').toSorted());
  });

  it.each([
    [{ action: 'cancel', filter: {} }, 'filter'],
    [{ action: 'cancel' }, 'filter'],
    [{ action: 'cancel', filter: { nonsense: 1 } }, 'nonsense'],
    [{ action: 'cancel', filter: { status: 'unknown' } }, 'status'],
    [{ action: 'cancel', filter: { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' } }, 'from'],
    [{ action: 'erase', filter: { status: 'failed' } }, 'action'],
    [{ action: 'cancel', filter: { status: 'failed' }, event: 'e' }, 'event'],
    [{ action: 'signal', filter: { status: 'waiting' } }, 'event'],
    [{ action: 'signal', filter: { status: 'waiting' }, event: 'e', reason: 'r' }, 'reason'],
    [{ action: 'restart', filter: { status: 'failed' }, reason: 'r' }, 'reason'],
    [{ action: 'restart', filter: { status: 'failed' }, event: 'e' }, 'event'],
    [{ action: 'cancel', filter: { status: 'failed' }, idempotency_key: '' }, 'idempotency_key'],
    [{ action: 'cancel', filter: { status: 'failed' }, idempotency_key: 'k'.repeat(257) }, 'idempotency_key'],
  ])('%j is refused by name', async (body, field) => {
    await open();
    const answer = await service.post('/runs/bulk', body);
    expect([answer.status, answer.body.field?.split('.').at(-1)]).toEqual([400, field]);
  });
});
