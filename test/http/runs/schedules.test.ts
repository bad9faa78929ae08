import { afterEach, describe, expect, it } from 'vitest';
import { aFlow, aTask, type RunsHttp, startRunsService } from './service.ts';

let service: RunsHttp;
const open = async (): Promise<void> => {
  service = await startRunsService({ definitions: [aFlow('flow', [aTask('one')])] });
};
afterEach(() => service.close());

const nightly = { id: 'nightly', definition_id: 'flow', cron: '30 2 * * *', timezone: 'Europe/Berlin' };
const MINUTE = 60_000;

describe('a schedule over HTTP', () => {
  it('is made with its defaults, shown with its next ten times, changed and deleted', async () => {
    await open();
    const made = await service.post('/schedules', { ...nightly, starts_at: '2027-01-01T00:00:00+01:00' });
    expect(made.status).toBe(201);
    const { next_times: times, created_at, updated_at, ...rest } = made.body;
    expect(rest).toEqual({
      id: 'nightly',
      project: 'default',
      definition_id: 'flow',
      input: {},
      correlation: {},
      cron: '30 2 * * *',
      timezone: 'Europe/Berlin',
      overlap: 'skip',
      catch_up: 'last',
      catch_up_window_ms: 3_600_000,
      jitter_ms: 0,
      starts_at: '2026-12-31T23:00:00Z',
      status: 'active',
      firings: [],
      started: 0,
      skipped: 0,
      running: [],
    });
    expect(times).toHaveLength(10);
    expect(times[0]).toBe('2027-01-01T01:30:00Z');
    expect([created_at, updated_at]).toEqual([expect.any(String), created_at]);
    expect(await service.must(service.get('/schedules/nightly'))).toEqual(made.body);
    expect(await service.must(service.get('/actors?type=schedule'))).toMatchObject({
      actors: [{ type: 'schedule', id: 'default:nightly', machine: 'schedule', value: 'active' }],
    });
    expect(await service.must(service.get('/actors?type=definition'))).toHaveProperty('actors');
    expect((await service.post('/schedules', { ...nightly, starts_at: '2026-12-31T23:00:00Z' })).status).toBe(200);
    const other = await service.post('/schedules', nightly);
    expect([other.status, other.body.code, other.body.field]).toEqual([409, 'conflict', 'id']);
    const changed = await service.put('/schedules/nightly', {
      definition_id: 'flow',
      every_ms: 5000,
      overlap: 'allow',
    });
    expect([changed.status, changed.body]).toEqual([
      200,
      expect.objectContaining({ every_ms: 5000, overlap: 'allow', created_at }),
    ]);
    expect(changed.body).not.toHaveProperty('cron');
    expect(await service.must(service.get('/schedules'))).toEqual({
      schedules: [
        {
          id: 'nightly',
          project: 'default',
          definition_id: 'flow',
          every_ms: 5000,
          status: 'active',
          next_at: expect.any(String),
          started: 0,
          skipped: 0,
        },
      ],
    });
    expect((await service.del('/schedules/nightly')).body).toEqual({
      id: 'nightly',
      project: 'default',
      deleted: true,
    });
    expect((await service.get('/schedules/nightly')).status).toBe(404);
  });

  it('fires: its firings say which run each time started, or why none', async () => {
    await open();
    await service.must(service.post('/schedules', { id: 'often', definition_id: 'flow', every_ms: MINUTE }));
    await service.pass(2 * MINUTE);
    const { firings, running, skipped } = await service.must(service.get('/schedules/often'));
    expect([running, skipped]).toEqual([[firings[1].run_id], 1]);
    expect(firings).toEqual([
      { nominal_at: expect.any(String), outcome: 'skipped', reason: 'overlap' },
      { nominal_at: firings[1].fired_at, fired_at: expect.any(String), run_id: expect.any(String), outcome: 'started' },
    ]);
    expect((await service.post('/schedules/often/pause', undefined)).body).toMatchObject({
      status: 'paused',
      paused_at: expect.any(String),
    });
    // "schedules (next and last firings ...)": one that is paused fires at no time, so none is listed.
    expect((await service.get('/schedules/often')).body.next_times).toEqual([]);
    expect((await service.get('/schedules')).body.schedules[0]).not.toHaveProperty('next_at');
    const triggered = await service.post('/schedules/often/trigger', undefined);
    expect(triggered.body.firings[0]).toMatchObject({ trigger_id: expect.any(String), reason: 'overlap' });
    const resumed = (await service.post('/schedules/often/resume', undefined)).body;
    expect([resumed.status, resumed.next_times.length]).toEqual(['active', 10]);
  });

  it.each([
    [{}, 400, 'cron', /needs `cron`/],
    [{ cron: '* * * * *', every_ms: 1000 }, 400, 'every_ms', /not both/],
    [{ every_ms: 999 }, 400, 'every_ms', /999.*1000/],
    [{ cron: '0 0 30 2 *' }, 400, 'cron', /never fires/],
    [{ cron: '0 0 * * *', timezone: 'Nowhere' }, 400, 'timezone', /"Nowhere"/],
    [{ every_ms: 1000, starts_at: 'tomorrow' }, 400, 'starts_at', /./],
    [{ every_ms: 1000, id: 'a b' }, 400, 'id', /./],
    [{ every_ms: 1000, overlap: 'maybe' }, 400, 'overlap', /./],
    [{ every_ms: 1000, nonsense: 1 }, 400, 'nonsense', /./],
    [{ every_ms: 1000, definition_id: 'nobody' }, 404, 'definition_id', /no definition nobody/],
  ] as const)('%j is refused by name', async (body, status, field, message) => {
    await open();
    const answer = await service.post('/schedules', { id: 'a', definition_id: 'flow', ...body });
    expect([answer.status, answer.body.field, answer.body.message]).toEqual([
      status,
      field,
      expect.stringMatching(message),
    ]);
    expect((await service.must(service.get('/schedules'))).schedules).toEqual([]);
  });
});
