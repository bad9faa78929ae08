import { afterEach, describe, expect, it } from 'vitest';
import { aFlow, aTask, type RunsHttp, startRunsService } from './service.ts';

// Interface decisions, section 13, "Start", over HTTP.

let service: RunsHttp;
const open = async (): Promise<void> => {
  service = await startRunsService({ definitions: [aFlow('flow', [aTask('one')])] });
};
afterEach(() => service.close());

const start = (more: object) => service.post('/runs', { definition_id: 'flow', input: {}, ...more });

describe('start_at (RFC 3339, or +10m-like from now)', () => {
  it('names a time or a time from now; the run is `scheduled` until then, a timer', async () => {
    await open();
    const inAnHour = service.now() + 3_600_000;
    const text = new Date(inAnHour).toISOString();
    for (const [given, due] of [
      [text, inAnHour],
      [text.replace('T', 't').replace('Z', 'z'), inAnHour],
      ['2261-12-31T23:59:59+14:00', Date.parse('2261-12-31T23:59:59+14:00')],
      ['+1s', service.now() + 1000],
      ['+10m', service.now() + 600_000],
      ['+2h', service.now() + 7_200_000],
      ['+3d', service.now() + 259_200_000],
      ['+1w', service.now() + 604_800_000],
      ['+3650d', service.now() + 3650 * 86_400_000],
    ] as const) {
      const { status, body } = await start({ start_at: given });
      expect([status, body.status, Date.parse(body.start_at)], given).toEqual([201, 'scheduled', due]);
      const { timers } = await service.run(body.run_id);
      expect(timers).toEqual([{ name: 'start_at', due_at: body.start_at }]);
    }
  });

  it('past means at once; a fraction of a millisecond ahead does not', async () => {
    await open();
    const now = new Date(service.now()).toISOString();
    for (const given of ['1969-07-20T20:17:40Z', now, '+0s'])
      expect((await start({ start_at: given })).body.status, given).toBe('queued');
    expect((await start({ start_at: now.replace('Z', '000001Z') })).body.status).toBe('scheduled');
  });

  it.each([
    '2262-04-11T23:47:16.854775808Z',
    '9999-12-31T23:59:59Z',
    '2027-02-30T00:00:00Z',
    '2027-01-01T00:00:00',
    '2027-01-01',
    '+3651d',
    '+522w',
    '+999999999w',
    '+10',
    '+1.5h',
    '+1y',
    '+-1m',
    '-10m',
    '10m',
    'tomorrow',
    '',
    1_800_000_000,
    null,
  ])('refuses %j, naming the field', async (given) => {
    await open();
    const { status, body } = await start({ start_at: given });
    expect([status, body.code, body.field]).toEqual([400, 'invalid_parameter', 'start_at']);
    expect((await service.get('/runs')).body.runs).toEqual([]);
  });
});

describe('priority (−100 to 100, default 0)', () => {
  it('takes both ends, and is shown with the run', async () => {
    await open();
    for (const priority of [-100, -1, 0, 100]) {
      const { status, body } = await start({ priority });
      expect([status, body.priority]).toEqual([201, priority]);
      expect((await service.run(body.run_id)).priority).toBe(priority);
    }
    expect((await start({})).body.priority).toBe(0);
    const { runs } = (await service.get('/runs')).body;
    expect(runs.map((run: { priority: number }) => run.priority).toSorted((a: number, b: number) => a - b)).toEqual([
      -100, -1, 0, 0, 100,
    ]);
  });

  it.each([-101, 101, 1.5, '5', null])('refuses %j, naming the field', async (priority) => {
    await open();
    const { status, body } = await start({ priority });
    expect([status, body.code, body.field]).toEqual([400, 'invalid_parameter', 'priority']);
  });
});
