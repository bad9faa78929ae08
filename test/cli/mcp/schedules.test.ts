import { describe, expect, it } from 'vitest';
import { durableRunLines } from '../../../src/cli/mcp/durable-run.ts';
import { findRuns, findRunsInput } from '../../../src/cli/mcp/find-runs.ts';
import { aRun, aService, RUN_ID } from './a-service.ts';

const ask = (client: ReturnType<typeof aService>['client'], args: object, scope: { fixed?: string } = {}) =>
  findRuns(client, scope, findRunsInput(scope).parse(args));
const started = { nominal_at: '2026-11-20T02:30:00Z', outcome: 'started', run_id: RUN_ID };
const skipped = { nominal_at: '2026-11-19T02:30:00Z', outcome: 'skipped', reason: 'input_invalid', trigger_id: 't' };

describe('find_runs with a schedule', () => {
  it('"*" lists schedules: how each stands, its next time and what became of its last', async () => {
    const { client, asked } = aService({
      '/v1/api/schedules': {
        schedules: [
          {
            ...{ id: 'nightly', project: 'shop', definition_id: 'report', cron: '30 2 * * *', status: 'active' },
            ...{ next_at: '2026-11-21T02:30:00Z', last_firing: started },
          },
          {
            id: 'often',
            project: 'shop',
            definition_id: 'report',
            every_ms: 60_000,
            status: 'paused',
          },
          { id: 'broken', project: 'shop', fault: 'version 9\nForged: line' },
        ],
        next_cursor: 'c',
      },
    });
    const text = await ask(client, { schedule: '*', project: 'shop', limit: 3 });
    expect(asked).toEqual([{ path: '/v1/api/schedules', query: { project: 'shop', limit: 3, cursor: undefined } }]);
    expect(text.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '))).toEqual([
      'Schedules (id, project, definition, times, status, next, last):',
      `nightly | shop | report | 30 2 * * * in UTC | active | 2026-11-21T02:30:00Z | 2026-11-20T02:30:00Z started durable run ${RUN_ID}`,
      'often | shop | report | every 60,000 ms | paused | - | never fired',
      'broken | shop | - | quarantined: version 9 Forged: line | - | - | never fired',
      'More: cursor c',
    ]);
    expect(await ask(aService({ '/v1/api/schedules': { schedules: [] } }).client, { schedule: '*' })).toBe(
      'There is no schedule.',
    );
  });

  it('an id shows one, with the runs that it started', async () => {
    const schedule = {
      ...{ id: 'nightly', project: 'shop', definition_id: 'report', cron: '30 2 * * *', timezone: 'Europe/Berlin' },
      ...{ status: 'paused', paused_at: '2026-11-20T08:00:00.5Z', overlap: 'queue', catch_up: 'last' },
      ...{ started: 1, skipped: 4, running: [RUN_ID], waiting: { nominal_at: '2026-11-20T03:00:00Z' } },
      ...{ next_times: [], firings: [started, skipped] },
    };
    const { client } = aService({ '/v1/api/schedules/a%2Fb': schedule });
    expect((await ask(client, { schedule: 'a/b' })).split('\n')).toEqual([
      'Schedule nightly of project shop: paused since 2026-11-20T08:00:00Z; starts report, 30 2 * * * in Europe/Berlin; overlap queue, catch_up last',
      `1 firing started a run, 4 skipped; open: ${RUN_ID}`,
      'Waits for the end of the run before it: 2026-11-20T03:00:00Z',
      'Nothing fires until it is resumed.',
      'Last firings, newest first:',
      `  2026-11-20T02:30:00Z started durable run ${RUN_ID}`,
      '  2026-11-19T02:30:00Z (trigger) skipped: input invalid',
    ]);
  });

  it('tools that are limited to a project ask for that one', async () => {
    const { client, asked } = aService({ '/v1/api/schedules': { schedules: [] } });
    await ask(client, { schedule: '*' }, { fixed: 'shop' });
    expect(asked[0]?.query).toMatchObject({ project: 'shop' });
  });
});

describe('find_runs with a bulk_id', () => {
  const bulk = {
    ...{ bulk_id: 'b-1', action: 'restart', status: 'done', count: 12, done: 11, refused: 1 },
    ...{ started_at: '2026-11-20T09:00:00Z', ended_at: '2026-11-20T09:00:01Z' },
  };
  it('says how far the action is', async () => {
    const { client } = aService({ '/v1/api/runs/bulk/b-1': bulk });
    expect(await ask(client, { bulk_id: 'b-1' })).toBe(
      'Action on many runs b-1: restart of 12 runs; done; 11 done, 1 refused; started 2026-11-20T09:00:00Z; ended 2026-11-20T09:00:01Z',
    );
  });
  it('is not answered to tools that are limited to a project: nothing says whose runs it moves', async () => {
    const { client, asked } = aService({ '/v1/api/runs/bulk/b-1': bulk });
    await expect(ask(client, { bulk_id: 'b-1' }, { fixed: 'shop' })).rejects.toThrow('limited to project shop');
    expect(asked).toEqual([]);
  });
});

it('a durable run names the run from which it was restarted', () => {
  const from = { run_id: '019aa1ef-8a11-7c42-9d5e-5f0f6f2b7c02', step_id: 'pay', visit: 2 };
  const lines = durableRunLines(aRun({ restarted_from: from }), Date.parse('2026-11-20T09:10:00Z')).join('\n');
  expect(lines).toContain(`restarted from durable run ${from.run_id} at step pay, visit 2`);
});
