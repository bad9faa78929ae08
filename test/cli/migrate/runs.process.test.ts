import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { components } from '../../../src/model/generated/openapi.ts';
import { heldTables } from '../../../src/store/runs/moving.ts';
import { connectDatabase } from '../../../src/store/postgres/connection.ts';
import { openPostgresRuns } from '../../../src/store/postgres/runs/open.ts';
import { openSqliteRunStore } from '../../../src/store/sqlite/runs/open.ts';
import { attemptsFault, call, journalFault, readApi, readTree, treesIn } from '../../crash/runs-verify.ts';
import { type Daemon, startDaemon } from '../../daemon.ts';
import { eventually } from '../../eventually.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { servicesOfTests } from '../../services.ts';
import { everyRow, fillEveryKind } from '../../store/runs/every-row.ts';

const services = servicesOfTests();
const { agent, folder } = services;
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

const PROGRAM = join(import.meta.dirname, '../../../bin/svc.mjs');
/** @param isOver ends it with SIGKILL once it says so */
const svcMigrate = async (from: string, to: string, isOver?: () => boolean) => {
  const child = spawn(process.execPath, [PROGRAM, 'migrate', '--runs', '--from', from, '--to', to], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const killing = isOver && setInterval(() => isOver() && child.kill('SIGKILL'), 1);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearInterval(killing);
  return { code, signal, out, err };
};

let places = 0;
const aFile = (): string => join(folder, `runs-${(places += 1)}.db`);

/** All rows of a file or a database that nobody has open. */
const contentOf = async (place: string): Promise<Record<string, string[]>> => {
  if (!place.startsWith('postgres')) {
    const store = await openSqliteRunStore({ path: place, moves: true });
    try {
      return await everyRow(store.moving, { limit: 7, maxBytes: 1e9 });
    } finally {
      await store.close();
    }
  }
  const runs = await openPostgresRuns({ url: place, moves: true });
  try {
    return await everyRow(runs.moving({ shard: 0, epoch: 0 }), { limit: 7, maxBytes: 1_000 });
  } finally {
    await runs.close();
  }
};
/** Does something while nothing can be written to the journal of a database. */
const standingAtJournal = async <T>(url: string, work: () => Promise<T>): Promise<T> => {
  await (await openPostgresRuns({ url })).close();
  // However long the move takes to come there.
  const database = connectDatabase({ url, store: 'test', connections: 1, idleInTransactionMs: 600_000 });
  try {
    return await database.transaction(async (ask) => {
      await ask('LOCK TABLE journal IN SHARE MODE');
      return work();
    });
  } finally {
    await database.close();
  }
};
const sourceWith = async (runs: number): Promise<string> => {
  const path = aFile();
  const store = await openSqliteRunStore({ path });
  await fillEveryKind(store, runs);
  await store.close();
  return path;
};

describe('svc migrate --runs', () => {
  it('moves every row from a file to PostgreSQL and back into a file, byte by byte', async () => {
    const [first, database, last] = [await sourceWith(1_200), server.create(), aFile()];
    const rows = await contentOf(first);
    expect(await svcMigrate(first, database)).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('Both sides agree. The runs go on in postgres://svc@127.0.0.1'),
    });
    expect(await contentOf(database)).toEqual(rows);
    expect(await svcMigrate(database, last)).toMatchObject({ code: 0, err: '' });
    expect(await contentOf(last)).toEqual(rows);
    for (const { kind } of heldTables) expect(rows[kind]?.length, kind).toBeGreaterThan(0);
  });

  it('goes on where it was after SIGKILL, in both directions, and no service starts on a part', async () => {
    const file = await sourceWith(6_000);
    const rows = await contentOf(file);
    let from = file;
    for (const to of [server.create(), aFile()]) {
      const killed = to.startsWith('postgres')
        ? await standingAtJournal(to, () =>
            svcMigrate(from, to, () => Number(server.run('SELECT count(*) FROM run', to)) > 0),
          )
        : await svcMigrate(from, to, () => existsSync(to));
      expect(killed).toMatchObject({ signal: 'SIGKILL' });
      if (to.startsWith('postgres'))
        await expect(startDaemon(join(folder, 'on-a-part'), [], { SVCD_RUNS_URL: to })).rejects.toThrow(
          /the move of runs from .* has not come to its end/,
        );
      expect(await svcMigrate(from, to)).toMatchObject({ code: 0, err: '' });
      expect(await contentOf(to)).toEqual(rows);
      expect(await svcMigrate(from, to)).toMatchObject({ code: 0, out: expect.stringContaining('did all of it') });
      from = to;
    }
  });

  it('refuses what is not empty, what a service has, and what holds no runs', async () => {
    const [file, database] = [await sourceWith(0), server.create()];
    const daemon = await services.start({ SVCD_RUNS_URL: database });
    expect(await svcMigrate(file, database)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^svc: postgres:.*: a service serves it; stop all of its services first\n$/),
    });
    await daemon.stop();
    const own = join(folder, 'home-1');
    const onFile = await startDaemon(own);
    expect(await svcMigrate(join(own, 'svc-runs.db'), database)).toMatchObject({
      code: 1,
      err: expect.stringContaining('in use by another process'),
    });
    await onFile.stop();
    for (const [from, to, problem] of [
      [join(own, 'svc.db'), database, 'holds signals, not durable runs'],
      [file, aFile(), 'a file of runs is moved by copying it'],
      [file, 'clickhouse+http://127.0.0.1:1/svc', 'not in ClickHouse'],
    ] as const)
      expect(await svcMigrate(from, to)).toMatchObject({ code: 2, err: expect.stringContaining(problem) });
    expect(await svcMigrate(file, database)).toMatchObject({ code: 0 });
    expect(await svcMigrate(await sourceWith(0), database)).toMatchObject({
      code: 1,
      err: expect.stringContaining('the target is not empty: it holds 2 definitions, 2 workers, 2 runs'),
    });
  });

  it('runs go on where they were, each step once, from a file into PostgreSQL and into another file', async () => {
    const definitions = [
      { id: 'kid', version: 1, steps: [{ id: 'work', kind: 'task' }] },
      {
        ...{ id: 'flow', version: 1, concurrency: { key: 'desk', limit: 1 } },
        steps: [
          { id: 'one', kind: 'task' },
          { id: 'charge', kind: 'task', delivery: 'at_most_once' },
        ],
      },
      {
        ...{ id: 'rest', version: 1 },
        steps: [
          { id: 'nap', kind: 'sleep', sleep_ms: 3_000 },
          { id: 'work', kind: 'task' },
        ],
      },
      {
        ...{ id: 'ask', version: 1 },
        steps: [
          { id: 'wait', kind: 'wait_event', event: 'go', key: '${input.n}', accept_parked: true },
          { id: 'sub', kind: 'child', definition: 'kid', for_each: [1, 2], input: { doc: '${item}' } },
        ],
      },
      { id: 'tick', version: 1, steps: [{ id: 'work', kind: 'task' }] },
    ];
    const TICK_MS = 1_000;
    const ledger: string[] = [];
    const on = ({ url }: Daemon) => {
      const post = async (path: string, body: object, expected: readonly number[]) => {
        const answer = await call(agent, 'POST', `${url}/v1/api${path}`, body);
        expect(expected, `${path} answered ${answer.status} ${JSON.stringify(answer.body)}`).toContain(answer.status);
        return answer.body;
      };
      const worker = { worker_id: 'w' };
      return {
        post,
        register: () => post('/workers/register', { ...worker, definitions }, [200]),
        startRun: async (definition_id: string, input: object = {}): Promise<string> =>
          (
            await post(
              '/runs',
              { definition_id, input, idempotency_key: `${definition_id} ${JSON.stringify(input)}` },
              [200, 201],
            )
          )['run_id'] as string,
        claim: async (): Promise<components['schemas']['Lease'][]> =>
          (await post('/steps/claim', { ...worker, max: 10, wait_ms: 500 }, [200]))['leases'] as never,
        report: async (lease: string, verb: string) =>
          post(`/steps/${lease}/${verb}`, verb === 'complete' ? { ...worker, output: {} } : worker, [200]),
        begin: async function (lease: components['schemas']['Lease']) {
          await this.report(lease.lease_id, 'started');
          ledger.push(`${lease.run_id} ${lease.step_id}`);
        },
        publish: (key: string) => post('/events', { event: 'go', key, payload: {}, event_id: key }, [200, 201, 202]),
        runs: async (definition: string) =>
          (
            await readApi<{ runs: { run_id: string; status: string }[] }>(
              agent,
              url,
              `/runs?limit=1000&definition_id=${definition}`,
            )
          ).runs,
        schedule: () => readApi<components['schemas']['Schedule']>(agent, url, '/schedules/tick'),
      };
    };
    type Leases = components['schemas']['Lease'][];
    /** Claims until a step is offered; whatever else is offered meanwhile is done. */
    const claimStep = (service: ReturnType<typeof on>, step: string): Promise<Leases[number]> =>
      eventually(`a lease of ${step}`, async () => {
        const leases = await service.claim();
        const found = leases.find(({ step_id }) => step_id === step);
        for (const lease of leases) {
          await service.begin(lease);
          if (lease !== found) await service.report(lease.lease_id, 'complete');
        }
        return found;
      });

    const [home, database, elsewhere] = [join(folder, 'life'), server.create(), join(folder, 'elsewhere')];
    const first = await startDaemon(home);
    services.undo(() => first.stop());
    let service = on(first);
    await service.register();
    const flows = await Promise.all([1, 2, 3].map((n) => service.startRun('flow', { n })));
    const asks = await Promise.all(['parked', 'early', 'late'].map((n) => service.startRun('ask', { n })));
    const others = [await service.startRun('rest'), ...asks];
    await service.publish('parked-for-nobody');
    await service.post(
      '/schedules',
      { id: 'tick', definition_id: 'tick', every_ms: TICK_MS, overlap: 'allow', catch_up: 'all' },
      [200, 201],
    );
    const open = await claimStep(service, 'one');
    await first.stop();

    const runsFile = join(home, 'svc-runs.db');
    expect(await svcMigrate(runsFile, database)).toMatchObject({ code: 0, err: '' });
    await expect(startDaemon(home)).rejects.toThrow(/its runs were moved to postgres:/);
    const second = await services.start({ SVCD_RUNS_URL: database });
    service = on(second);
    // The worker goes on with what it had begun.
    await service.report(open.lease_id, 'heartbeat');
    await service.report(open.lease_id, 'complete');
    expect(await service.startRun('flow', { n: 1 })).toBe(flows[0]);
    await service.publish('early');
    const charge = await claimStep(service, 'charge');
    await second.stop();

    expect(await svcMigrate(database, join(elsewhere, 'svc-runs.db'))).toMatchObject({ code: 0, err: '' });
    await expect(startDaemon(home, [], { SVCD_RUNS_URL: database })).rejects.toThrow(/its runs were moved to \//);
    const third = await startDaemon(elsewhere);
    services.undo(() => third.stop());
    service = on(third);
    await service.report(charge.lease_id, 'complete');
    for (const key of ['parked', 'late']) await service.publish(key);
    await service.post('/schedules/tick/pause', {}, [200]);
    await eventually('all runs to end', async () => {
      for (const lease of await service.claim()) {
        await service.begin(lease);
        await service.report(lease.lease_id, 'complete');
      }
      const runs = (await Promise.all(definitions.map(({ id }) => service.runs(id)))).flat();
      return runs.every(({ status }) => status === 'succeeded');
    });

    const { started, skipped, firings } = await service.schedule();
    const ticks = await service.runs('tick');
    const times = firings.map(({ nominal_at }) => Date.parse(nominal_at)).toSorted((a, b) => a - b);
    expect(skipped).toBe(0);
    expect(ticks).toHaveLength(started);
    for (const [at, time] of times.entries()) if (at > 0) expect(time - (times[at - 1] ?? 0)).toBe(TICK_MS);
    expect(await service.runs('flow')).toHaveLength(flows.length);
    expect(await service.runs('kid')).toHaveLength(asks.length * 2);
    for (const runId of [...flows, ...others, ...ticks.map(({ run_id }) => run_id)])
      for (const { run, journal } of treesIn(await readTree(agent, third.url, runId)))
        expect([runId, run.status, journalFault(journal), attemptsFault(run.attempts)]).toEqual([
          runId,
          'succeeded',
          undefined,
          undefined,
        ]);
    expect(ledger).toHaveLength(new Set(ledger).size);
    expect(ledger).toHaveLength(flows.length * 2 + 1 + asks.length * 2 + started);
  });
});
