import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Ask, connectDatabase, type Database } from '../../../src/store/postgres/connection.ts';
import { commitsOf } from '../../../src/store/postgres/runs/commits.ts';
import { lookupsOf } from '../../../src/store/postgres/runs/lookups.ts';
import { openPostgresRuns } from '../../../src/store/postgres/runs/open.ts';
import { RUNS_SCHEMA } from '../../../src/store/postgres/runs/schema.ts';
import { openRunStatuses } from '../../../src/model/run.ts';
import { noChanges } from '../../../src/store/runs/run-store.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { AT, aRun } from '../runs/factories.ts';
import { takeOver } from './temporary-runs.ts';

const ENDED = 20_000;
const EPOCH = 1;

let server: PostgresServer;
let database: Database;
beforeAll(async () => {
  server = await startPostgres();
  const url = server.create();
  const runs = await openPostgresRuns({ url });
  const store = await takeOver(runs);
  await store.commit({
    ...noChanges(),
    runsInserted: [
      aRun('ended', { status: 'succeeded', endedAt: AT }),
      ...openRunStatuses.map((status, n) => aRun(`open-${n}`, { status, ...(n === 0 ? {} : { queueOrder: n }) })),
    ],
  });
  await store.close();
  await runs.close();
  // Copies of the run that has ended, as the service wrote it.
  const copied = server.run(
    `SELECT string_agg(CASE attname WHEN 'run_id' THEN 'run_id || n' ELSE attname END, ', ' ORDER BY attnum)
     FROM pg_attribute WHERE attrelid = 'run'::regclass AND attnum > 0 AND NOT attisdropped`,
    url,
  );
  server.run(
    `INSERT INTO run SELECT ${copied} FROM run CROSS JOIN generate_series(1, ${ENDED}) AS n WHERE run_id = 'ended'`,
    url,
  );
  server.run('VACUUM (ANALYZE) run', url);
  database = connectDatabase({ url, store: RUNS_SCHEMA.store, connections: 2 });
});
afterAll(async () => {
  await database.close();
  await server.remove();
});

/** Asks as ever, and notes the plan of each statement that reads runs. */
const planning =
  (ask: Ask, plans: string[]): Ask =>
  async (sql, values) => {
    if (/\brun\b/.test(sql)) {
      const plan = (await ask<[string]>(`EXPLAIN ${sql}`, values)).join('\n');
      plans.push(plan);
    }
    return ask(sql, values);
  };

it('who finds runs that are runnable reads the queue, and not the runs that have ended', async () => {
  const plans: string[] = [];
  const [found] = await lookupsOf(
    planning(database.ask, plans),
    0,
  )([{ kind: 'runnable', definitionOwner: '', definitionId: 'flow', after: { order: 1, runId: '' }, limit: 10 }]);
  expect(found).toHaveLength(openRunStatuses.length - 1);
  expect(plans).toHaveLength(1);
  expect(plans[0]).toContain('using run_queue');
});

it('a takeover counts the open runs without reading those that have ended', async () => {
  const plans: string[] = [];
  const resuming: Database = {
    ...database,
    transaction: (work, opening) => database.transaction((ask, opened) => work(planning(ask, plans), opened), opening),
  };
  const { resume } = commitsOf({ database, resuming, of: { shard: 0, epoch: EPOCH }, fenced: () => {} });
  const { openRuns } = await resume(AT, AT);
  expect(openRuns).toEqual(Object.fromEntries(openRunStatuses.map((status) => [status, 1])));
  expect(plans.join('\n')).toContain('run_open');
  expect(plans.filter((plan) => plan.includes('Seq Scan on run'))).toEqual([]);
});
