import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServerAddress } from '../../../src/store/clickhouse/address.ts';
import { connectDatabase, type Database } from '../../../src/store/clickhouse/connection.ts';
import { describeError } from '../../../src/cli/logger.ts';
import { checkServer } from '../../../src/store/clickhouse/migrate.ts';
import { layoutOf } from '../../../src/store/clickhouse/layout.ts';
import { cleanTables } from '../../../src/store/clickhouse/signals/clean.ts';
import { openClickHouseSignalStore } from '../../../src/store/clickhouse/signals/open.ts';
import { createTables, VERSIONED } from '../../../src/store/clickhouse/signals/tables.ts';
import { nowUnixNano } from '../../../src/model/time.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { type ClickHouseServer, startClickHouse } from '../../clickhouse.ts';
import { eventually } from '../../eventually.ts';
import {
  aFeedback,
  aLog,
  aNote,
  aPoint,
  aScore,
  aSpan,
  aUnit,
  inDefault,
  spanIdOf,
  T0,
  traceIdOf,
  traces,
} from '../signals/factories.ts';
import { allPages } from '../signals/opening.ts';

let server: ClickHouseServer;
beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.remove());

/** A store on a database of its own, closed when the test is over. */
const withStore = async (test: (store: SignalStore, address: ServerAddress) => Promise<void>): Promise<void> => {
  const address = server.create();
  const store = await openClickHouseSignalStore({ address, statementMs: 5_000 });
  try {
    await test(store, address);
  } finally {
    await store.close();
  }
};
const withDatabase = async <T>(address: ServerAddress, work: (database: Database) => Promise<T>): Promise<T> => {
  const database = connectDatabase({
    address,
    store: 'signal store',
    connections: 2,
    statementMs: 30_000,
    usesDatabase: true,
  });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
};
const mergeAll = async ({ database }: ServerAddress): Promise<void> => {
  for (const { table } of VERSIONED) await server.run(`OPTIMIZE TABLE ${table} FINAL`, database);
};
const everything = (n: number, name = 'name') =>
  aUnit({
    spans: [
      aSpan({
        traceId: traceIdOf(n),
        spanId: spanIdOf(1),
        name,
        input: `secret word${n}`,
        correlation: { userId: 'ann' },
      }),
    ],
    logs: [aLog({ traceId: traceIdOf(n) })],
    metrics: [aPoint()],
    scores: [aScore({ traceId: traceIdOf(n), scoreId: `score ${n}` })],
    feedback: [aFeedback({ traceId: traceIdOf(n), feedbackId: `feedback ${n}` })],
    aspectNotes: [aNote({ traceId: traceIdOf(n), noteId: `note ${n}` })],
  });
/** What somebody who reads everything sees. */
const seen = async (store: SignalStore): Promise<unknown[]> => [
  await store.listTraces(traces({ order: 'asc' })),
  await store.listTraces(traces({ q: 'secret', userId: 'ann', order: 'asc' })),
  await store.listSpans({ ...inDefault, order: 'asc', payloads: true }),
  await store.listLogs({ ...inDefault, order: 'asc' }),
  await store.listMetricNames(inDefault),
  await store.listScores(inDefault),
  await store.listFeedback(traceIdOf(1), inDefault),
  await store.listAspectNotes(inDefault),
  await store.listRollUps({ ...inDefault, of: 'user' }),
  await store.countFacets({ projects: ['default'], limit: 10, most: 100 }),
  await store.summaryReport({ projects: ['default'], from: 0n, to: T0 * 2n, bookModels: [], groupBy: 'name' }),
];

describe('signals in ClickHouse', () => {
  it('knows the statements, engines and settings of a cluster, of which it is none', async () => {
    const statements = createTables(layoutOf('main'));
    for (const statement of statements) await server.run(`EXPLAIN AST ${statement}`);
    const engines = new Set(statements.flatMap((statement) => /ENGINE = (\w+)/.exec(statement)?.[1] ?? []));
    const listOf = (names: Iterable<string>): string => [...names].map((name) => `'${name}'`).join(', ');
    expect(await server.run(`SELECT count() FROM system.table_engines WHERE name IN (${listOf(engines)})`)).toBe('2');
    const ofTables = ['replicated_deduplication_window', 'fsync_after_insert', 'enable_block_number_column'];
    expect(
      await server.run(`SELECT count() FROM system.replicated_merge_tree_settings WHERE name IN (${listOf(ofTables)})`),
    ).toBe('3');
    const ofRequests = ['insert_quorum', 'insert_quorum_parallel', 'select_sequential_consistency'];
    expect(await server.run(`SELECT count() FROM system.settings WHERE name IN (${listOf(ofRequests)})`)).toBe('3');
  });

  it('merging parts between a write and a read changes no answer', () =>
    withStore(async (store, address) => {
      for (const n of [1, 2, 3]) await store.write(everything(n));
      for (const n of [1, 2]) await store.write(everything(n, 'sent again'));
      await store.deleteTraces([traceIdOf(2)], 'all');
      const before = await seen(store);
      await mergeAll(address);
      expect(await seen(store)).toEqual(before);
      await store.write(everything(2, 'after its deletion'));
      const again = await seen(store);
      await mergeAll(address);
      expect(await seen(store)).toEqual(again);
      expect((await store.findTrace(traceIdOf(2), 'all', false))?.trace.name).toBe('after its deletion');
    }));

  it('the bytes of what was deleted go, and nothing of it is seen meanwhile; what was sent again stays', () =>
    withStore(async (store, address) => {
      for (const n of [1, 2, 3]) await store.write(everything(n));
      expect(await store.deleteTraces([traceIdOf(1), traceIdOf(2)], 'all')).toEqual({ deleted: 2, pending: true });
      await store.write(everything(2, 'sent again'));
      const before = await seen(store);
      await withDatabase(address, async (database) => {
        const later = nowUnixNano() + 3_600_000_000_000n * 2n;
        const spansOf = async (n: number) =>
          Number(
            (await database.ask<[string]>(`SELECT count() FROM spans WHERE trace_id = '${traceIdOf(n)}'`))[0]?.[0],
          );
        expect(await spansOf(1)).toBeGreaterThan(0);
        await cleanTables(database, nowUnixNano());
        expect(await seen(store)).toEqual(before);
        const [[texts] = []] = await database.ask<[string]>(
          `SELECT count() FROM spans WHERE trace_id = '${traceIdOf(1)}' AND input IS NOT NULL`,
        );
        expect(texts).toBe('0');
        await cleanTables(database, later);
        expect(await spansOf(1)).toBe(0);
        expect(await spansOf(2)).toBeGreaterThan(0);
        for (const table of ['traces', 'trace_epochs'])
          expect(await server.run(`SELECT DISTINCT trace_id FROM ${table} ORDER BY trace_id`, address.database)).toBe(
            (table === 'traces' ? [2, 3] : [2]).map(traceIdOf).join('\n'),
          );
      });
      expect(await seen(store)).toEqual(before);
    }));

  it('what is acknowledged was synchronised, files and folder', () =>
    withStore(async (store) => {
      const syncs = async (): Promise<number[]> =>
        (
          await server.run(
            `SELECT value FROM system.events WHERE event IN ('FileSync', 'DirectorySync') ORDER BY event FORMAT TSV`,
          )
        )
          .split('\n')
          .map(Number);
      const before = await syncs();
      await store.write(aUnit({ spans: [aSpan()] }));
      const [folders = 0, files = 0] = await syncs();
      expect(folders).toBeGreaterThan(before[0] ?? 0);
      expect(files).toBeGreaterThan(before[1] ?? 0);
    }));

  it('what was acknowledged is there after the server was killed, and the store goes on without being opened again', () =>
    withStore(async (store) => {
      const acknowledged: number[] = [];
      let isOver = false;
      const writing = (async () => {
        for (let n = 1; !isOver; n += 1)
          await store.write(everything(n)).then(
            () => acknowledged.push(n),
            (error: unknown) => expect(error).toBeInstanceOf(StoreUnavailable),
          );
      })();
      for (const _ of [1, 2, 3]) {
        const before = acknowledged.length;
        await eventually('some writes', () => acknowledged.length > before + 3);
        await server.kill('SIGKILL');
        await expect(store.listTraces(traces())).rejects.toBeInstanceOf(StoreUnavailable);
        await server.start();
        await store.ping();
      }
      isOver = true;
      await writing;
      await store.ping();
      const { items } = await store.listTraces(traces({ limit: 1_000, q: 'secret' }));
      const held = new Map(items.map((trace) => [trace.traceId, trace]));
      for (const n of acknowledged)
        expect(held.get(traceIdOf(n))).toMatchObject({ spanCount: 1, scores: [{ count: 1 }], feedback: { thumbs: 1 } });
      const scores = (await store.listScores({ ...inDefault, limit: 1_000 })).items.map(({ scoreId }) => scoreId);
      expect(scores).toEqual(expect.arrayContaining(acknowledged.map((n) => `score ${n}`)));
      expect(new Set(scores).size).toBe(scores.length);
    }));

  it('a server that says nothing keeps no caller longer than a statement may take and some seconds', () =>
    withStore(async (store) => {
      await store.write(everything(1));
      server.freeze();
      try {
        await expect(store.listTraces(traces())).rejects.toBeInstanceOf(StoreUnavailable);
      } finally {
        server.thaw();
      }
      expect((await store.listTraces(traces())).items).toHaveLength(1);
    }));

  it('pages over records of one moment, whatever numbers follow from the key of their unit, each once and in both orders', () =>
    withStore(async (store) => {
      await store.write(aUnit({ logs: Array.from({ length: 12 }, (_, n) => aLog({ logId: `log ${n}` })) }, 'key'));
      for (const order of ['asc', 'desc'] as const) {
        const ids = await allPages(async (after) =>
          store.listLogs({ ...inDefault, limit: 1, order, ...(after === undefined ? {} : { after }) }),
        );
        expect(ids.map(({ logId }) => logId).toSorted()).toEqual(
          Array.from({ length: 12 }, (_, n) => `log ${n}`).toSorted(),
        );
      }
    }));

  it('pages by numbers that no short decimal text has, each once', () =>
    withStore(async (store) => {
      const costs = [0.1 + 0.2, 1 / 3, 2 / 3, 8.41 / 7, 123_456.789_012_3, 1e-7 / 3, 2 ** 53 / 3, 1e300 / 7];
      await store.write(
        aUnit({
          spans: costs.map((totalCost, n) =>
            aSpan({ traceId: traceIdOf(n + 1), cost: { totalCost, currency: 'USD', isEstimated: false } }),
          ),
        }),
      );
      for (const order of ['asc', 'desc'] as const) {
        const pages = await allPages(async (after) =>
          store.listTraces(traces({ sort: 'cost', order, limit: 1, ...(after === undefined ? {} : { after }) })),
        );
        expect(pages).toEqual((await store.listTraces(traces({ sort: 'cost', order }))).items);
        expect(pages).toHaveLength(costs.length);
      }
    }));

  it('an error of the server is known by its number, and repeats neither a statement nor a value', () =>
    withStore(async (_store, address) =>
      withDatabase(address, async ({ ask }) => {
        const error: unknown = await ask("SELECT toUInt8({p:String}), 'canary of the statement'", {
          p: 'canary',
        }).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: '6' });
        expect(JSON.stringify(describeError(error))).not.toContain('canary');
      }),
    ));

  it('logs of a unit that is sent again under its key, because nobody knows what became of it, are there once', () =>
    withStore(async (store, address) => {
      const unit = aUnit({ logs: [aLog(), aLog()], metrics: [aPoint()] }, 'key');
      await store.write(unit);
      await server.run('TRUNCATE TABLE ingest_keys', address.database);
      expect(await store.write(unit)).toBe('written');
      expect((await store.listLogs({ ...inDefault, order: 'asc' })).items).toHaveLength(2);
      expect((await store.listMetricNames(inDefault)).items).toMatchObject([{ points: 1 }]);
    }));
});

describe('a duty in ClickHouse', () => {
  it('stays with its holder when old claims are removed, and their number stays bounded', () =>
    withStore(async ({ sharing }, address) => {
      if (sharing === undefined) throw new Error('the store is shared with nobody');
      for (let n = 0; n < 300; n += 1) expect(await sharing.holdDuty('d', 'a', 3_600_000)).toBe(true);
      await eventually(
        'the removal of old claims',
        async () => Number(await server.run('SELECT count() FROM duty_claims', address.database)) < 100,
      );
      expect(await sharing.holdDuty('d', 'b', 1_000)).toBe(false);
      expect(await sharing.holdDuty('d', 'a', 1_000)).toBe(true);
    }));
});

describe('the start on ClickHouse', () => {
  it('eight that start at once on an empty server make one store', async () => {
    const address = server.create();
    const stores = await Promise.all(Array.from({ length: 8 }, () => openClickHouseSignalStore({ address })));
    try {
      await Promise.all(stores.map((store, n) => store.write(everything(n + 1))));
      for (const store of stores) expect((await store.listTraces(traces())).items).toHaveLength(8);
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  it('a database of a newer release is refused, and left as it is', async () => {
    const address = server.create();
    await (await openClickHouseSignalStore({ address })).close();
    await server.run(`INSERT INTO schema_version (store, version) VALUES ('signals', 6)`, address.database);
    await expect(openClickHouseSignalStore({ address })).rejects.toThrow(
      /^signal store: the database has schema version 6, and this release knows 5/,
    );
  });

  it('a database of schema version 2 is brought forward, and shows the traces that it holds', async () => {
    const address = server.create();
    const written = await openClickHouseSignalStore({ address });
    await written.write(everything(1));
    const before = await written.listTraces(traces());
    await written.close();
    await server.run(
      'ALTER TABLE traces DROP INDEX facets_index, DROP INDEX trace_ids_index, DROP COLUMN summary',
      address.database,
    );
    await server.run('TRUNCATE TABLE schema_version', address.database);
    await server.run(`INSERT INTO schema_version (store, version) VALUES ('signals', 2)`, address.database);
    const stores = await Promise.all(Array.from({ length: 4 }, () => openClickHouseSignalStore({ address })));
    try {
      for (const store of stores) expect(await store.listTraces(traces())).toEqual(before);
      expect(before.items).toHaveLength(1);
      expect(
        await server.run(
          `SELECT name FROM system.data_skipping_indices WHERE database = '${address.database}' AND table = 'traces' ORDER BY name`,
        ),
      ).toBe('facets_index\ntrace_ids_index');
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  it('a table schema_version of another program is refused', async () => {
    const address = server.create();
    await server.run(`CREATE DATABASE ${address.database}`);
    await server.run('CREATE TABLE schema_version (id String) ENGINE = MergeTree ORDER BY id', address.database);
    await expect(openClickHouseSignalStore({ address })).rejects.toThrow(/of another program/);
  });

  const serverOf = (version: string): Database => ({ ask: async () => [[version]] }) as unknown as Database;
  it.each(['25.8.1.1', '26.1.9.9'])('a server of release %s is refused', async (version) => {
    await expect(checkServer(serverOf(version), 'signal store')).rejects.toThrow(
      `ClickHouse is ${version}, and 26.2 or later is needed`,
    );
  });
  it.each(['26.2.0.1', '27.0.1.1'])('a server of release %s is taken', async (version) => {
    await expect(checkServer(serverOf(version), 'signal store')).resolves.toBe(version);
  });

  it('a user who is not known is refused with the number of the server, and not with what was bound', async () => {
    const address = { ...server.create(), user: 'nobody', password: 'canary' };
    const refused = openClickHouseSignalStore({ address });
    await expect(refused).rejects.toThrow(/^signal store: ClickHouse refuses \(516/);
    await expect(refused).rejects.not.toThrow(/canary/);
  });
});
