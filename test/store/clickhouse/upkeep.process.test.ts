import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodePayload } from '../../../src/ingest/decode.ts';
import type { ServerAddress } from '../../../src/store/clickhouse/address.ts';
import { connectDatabase, type Database } from '../../../src/store/clickhouse/connection.ts';
import { cleanTables } from '../../../src/store/clickhouse/signals/clean.ts';
import { eraseTraces, trimSlice } from '../../../src/store/clickhouse/signals/erase.ts';
import { openClickHouseSignalStore } from '../../../src/store/clickhouse/signals/open.ts';
import { repairTotals } from '../../../src/store/clickhouse/signals/repair.ts';
import { withoutLateTotals } from '../../../src/store/clickhouse/signals/totals.ts';
import { sharingOver } from '../../../src/store/clickhouse/signals/sharing.ts';
import { createVersions } from '../../../src/store/clickhouse/signals/versions.ts';
import { prepareSpan, writeGroup } from '../../../src/store/clickhouse/signals/write-group.ts';
import { nowUnixNano } from '../../../src/model/time.ts';
import type { SignalStore, WriteUnit } from '../../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { type ClickHouseServer, startClickHouse } from '../../clickhouse.ts';
import { eventually } from '../../eventually.ts';
import { aFeedback, aScore, aSpan, aUnit, spanIdOf, T0, traceIdOf, traces } from '../signals/factories.ts';

let server: ClickHouseServer;
beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.remove());

type Opened = { readonly store: SignalStore; readonly address: ServerAddress; readonly database: Database };
/** A store, and a way past it to its database. */
const withStore = async (test: (opened: Opened) => Promise<void>, statementMs = 30_000): Promise<void> => {
  const address = server.create();
  const store = await openClickHouseSignalStore({ address });
  const database = connectDatabase({
    ...{ address, store: 'signal store', connections: 2, statementMs },
    ...{ usesDatabase: true, isAbandoned: true },
  });
  try {
    await test({ store, address, database });
  } finally {
    await Promise.all([store.close(), database.close()]);
  }
};

const CRASH = new Error('the service ends here');
/** The same database for a service that ends before it inserts into this table. */
const endingBefore = (database: Database, table: string): Database => ({
  ...database,
  insert: (into, rows) =>
    into.table === table && rows.length > 0 ? Promise.reject(CRASH) : database.insert(into, rows),
});
/** The same for one that ends before it says that rows are gone from this table. */
const endingBeforeRemoval = (database: Database, table: string): Database => ({
  ...database,
  run: (sql, ...more) => (sql.startsWith(`INSERT INTO ${table} `) ? Promise.reject(CRASH) : database.run(sql, ...more)),
});
const versions = createVersions(nowUnixNano);
const write = (database: Database, unit: WriteUnit) =>
  writeGroup(
    database,
    [{ unit, spans: unit.batch.spans.map(prepareSpan) }],
    versions,
    nowUnixNano(),
    withoutLateTotals,
  );
const repair = (database: Database): Promise<number> =>
  repairTotals(database, versions, nowUnixNano(), withoutLateTotals);

const judged = (n: number, of: { readonly trace?: number; readonly value?: number } = {}) =>
  aUnit({
    spans: [aSpan({ traceId: traceIdOf(n), spanId: spanIdOf(n) })],
    scores: [aScore({ traceId: traceIdOf(of.trace ?? n), scoreId: `score ${n}`, value: of.value ?? 1 })],
    feedback: [aFeedback({ traceId: traceIdOf(n), feedbackId: `feedback ${n}` })],
  });
/** What the list shows of each trace. */
const listed = async (store: SignalStore): Promise<Record<string, unknown>> =>
  Object.fromEntries(
    (await store.listTraces(traces({ limit: 100 }))).items.map(({ traceId, spanCount, scores, feedback }) => [
      traceId,
      { spanCount, scores: scores.map(({ count }) => count), feedback },
    ]),
  );
const whole = { spanCount: 1, scores: [1], feedback: { thumbs: 1 } };

describe('totals that a crash left behind', () => {
  it('of spans and judgements that were stored are repaired, and nothing else is touched', () =>
    withStore(async ({ store, database }) => {
      await store.write(judged(1));
      await expect(write(endingBefore(database, 'traces'), judged(2))).rejects.toBe(CRASH);
      expect(await listed(store)).toEqual({ [traceIdOf(1)]: whole });
      expect(await repair(database)).toBe(1);
      expect(await listed(store)).toEqual({ [traceIdOf(1)]: whole, [traceIdOf(2)]: whole });
      expect(await repair(database)).toBe(0);
      await expect(
        write(
          endingBefore(database, 'traces'),
          aUnit({ spans: [aSpan({ traceId: traceIdOf(1), spanId: spanIdOf(9) })] }),
        ),
      ).rejects.toBe(CRASH);
      expect(await repair(database)).toBe(1);
      expect(await listed(store)).toEqual({ [traceIdOf(1)]: { ...whole, spanCount: 2 }, [traceIdOf(2)]: whole });
    }));

  it('of a delete: before it began the trace stays complete, and after it the trace is gone', () =>
    withStore(async ({ store, database }) => {
      for (const n of [1, 2]) await store.write(judged(n));
      await expect(eraseTraces(endingBeforeRemoval(database, 'scores'), [traceIdOf(1)], 'all', versions)).rejects.toBe(
        CRASH,
      );
      await expect(eraseTraces(endingBefore(database, 'traces'), [traceIdOf(2)], 'all', versions)).rejects.toBe(CRASH);
      expect(await repair(database)).toBe(2);
      expect(await listed(store)).toEqual({ [traceIdOf(1)]: whole });
      expect(await repair(database)).toBe(0);
    }));

  it('of a judgement that went to another trace leave none behind', () =>
    withStore(async ({ store, database }) => {
      for (const n of [1, 2]) await store.write(judged(n));
      const { scores } = judged(1, { trace: 2 }).batch;
      await expect(write(endingBefore(database, 'traces'), aUnit({ scores }))).rejects.toBe(CRASH);
      expect(await repair(database)).toBe(2);
      expect(await listed(store)).toEqual({
        [traceIdOf(1)]: { ...whole, scores: [] },
        [traceIdOf(2)]: { ...whole, scores: [2] },
      });
    }));

  it('are repaired by one of the services, from time to time, and none of it is of a trace that nothing was sent of', async () => {
    const address = server.create();
    const first = await openClickHouseSignalStore({ address, everyMs: 50 });
    const second = await openClickHouseSignalStore({ address, everyMs: 50 });
    try {
      const { scores } = judged(7).batch;
      await first.write(aUnit({ scores }));
      await first.write(judged(1));
      await server.run('TRUNCATE TABLE traces', address.database);
      await eventually('the repair', async () => (await second.listTraces(traces())).items.length === 1);
      expect(await listed(second)).toEqual({ [traceIdOf(1)]: whole });
    } finally {
      await Promise.all([first.close(), second.close()]);
    }
  });
});

describe('a delete', () => {
  it('prevails over totals that a service with a fast clock has written', () =>
    withStore(async ({ store, address }) => {
      const ahead = nowUnixNano() + 3_600_000_000_000n;
      await server.run(`INSERT INTO trace_epochs VALUES ('default', '${traceIdOf(1)}', ${ahead})`, address.database);
      await store.write(judged(1));
      expect(await listed(store)).toEqual({ [traceIdOf(1)]: whole });
      await store.deleteTraces([traceIdOf(1)], 'all');
      expect(await listed(store)).toEqual({});
      await store.write(judged(1));
      expect(await listed(store)).toEqual({ [traceIdOf(1)]: whole });
      expect(await store.trim('default', ahead, 100)).toBeGreaterThan(0);
      expect(await listed(store)).toEqual({});
      expect(await store.trim('default', ahead, 100)).toBe(0);
    }));
});

describe('retention', () => {
  it('leaves a score that is sent again with a new time before it is removed', () =>
    withStore(async ({ store, database }) => {
      const score = { traceId: traceIdOf(1), scoreId: 'score' };
      await store.write(aUnit({ scores: [aScore({ ...score, timestamp: T0 })] }));
      await store.write(aUnit({ scores: [aScore({ traceId: traceIdOf(1), scoreId: 'old', timestamp: T0 })] }));
      let isSent = false;
      const sentAgainMeanwhile: Database = {
        ...database,
        run: async (sql, ...more) => {
          if (!isSent && sql.startsWith('INSERT INTO scores ')) {
            isSent = true;
            await store.write(aUnit({ scores: [aScore({ ...score, timestamp: T0 + 10n })] }));
          }
          return database.run(sql, ...more);
        },
      };
      await trimSlice(sentAgainMeanwhile, 'default', T0 + 5n, 100, versions);
      expect(isSent).toBe(true);
      const left = await store.listScores({ projects: ['default'], limit: 10 });
      expect(left.items.map(({ scoreId, timestamp }) => [scoreId, timestamp])).toEqual([['score', T0 + 10n]]);
    }));
});

describe('a batch with a key', () => {
  it('whose write ended before the key was stored is there once when it is sent again', () =>
    withStore(async ({ database }) => {
      const about = { trace_id: traceIdOf(1) };
      const body = Buffer.from(
        JSON.stringify({
          ingest_key: 'key',
          logs: [{ message: 'm', timestamp: '2026-01-01T00:00:00Z' }],
          scores: [{ ...about, scorer_id: 's', value: 1 }],
          feedback: [{ ...about, kind: 'thumbs', value: 'up' }],
          aspect_notes: [{ ...about, aspect: 'tone', text: 'It is polite.' }],
        }),
      );
      const received = (): WriteUnit => {
        const context = { receivedAt: nowUnixNano(), defaultProject: 'default', maxSignals: 100 };
        const [{ ingestKey, batch } = expect.fail('no batch')] = decodePayload({ kind: 'native', body }, context);
        return ingestKey === undefined ? expect.fail('no key') : { ingestKey, batch };
      };
      await expect(write(endingBefore(database, 'ingest_keys'), received())).rejects.toBe(CRASH);
      expect(await write(database, received())).toEqual(['written']);
      for (const table of ['logs', 'scores', 'feedback', 'aspect_notes'])
        expect(await database.ask(`SELECT '${table}', count() FROM ${table} FINAL`)).toEqual([[table, '1']]);
    }));
});

describe('a ceiling', () => {
  it('counts a claim once whose answer was lost, and which came again', () =>
    withStore(async ({ database }) => {
      const again: Database = {
        ...database,
        insert: async (...inserted) => {
          await database.insert(...inserted);
          await database.insert(...inserted);
        },
      };
      expect(await sharingOver(again, versions).reserveSignals('p', 1, 40, 100)).toBe(40);
      expect(await sharingOver(database, versions).reserveSignals('p', 1, 100, 100)).toBe(60);
    }));
});

describe('bytes of what was deleted', () => {
  it('wait where the server removes none of one table; the others go, and no second removal is begun', () =>
    withStore(async ({ store, address, database }) => {
      await server.run(`SYSTEM STOP MERGES ${address.database}.spans`, address.database);
      await store.write(judged(1));
      await store.deleteTraces([traceIdOf(1)], 'all');
      const count = async (sql: string): Promise<number> => Number(await server.run(sql, address.database));
      const inTable = (table: string) => count(`SELECT count() FROM ${table} WHERE is_deleted = 0`);
      await expect(cleanTables(database, nowUnixNano())).rejects.toThrow(AggregateError);
      expect([await inTable('spans'), await inTable('scores')]).toEqual([1, 0]);
      await cleanTables(database, nowUnixNano());
      expect(
        await count(`SELECT count() FROM system.mutations WHERE database = '${address.database}' AND table = 'spans'`),
      ).toBe(1);
      await server.run(`SYSTEM START MERGES ${address.database}.spans`, address.database);
      await eventually('the bytes to go', async () => (await inTable('spans')) === 0);
    }, 10_000));
});

describe('a store that is closed', () => {
  it('gives its duties back, so that another service need not wait for their end', async () => {
    const address = server.create();
    const store = await openClickHouseSignalStore({ address, everyMs: 20 });
    await eventually(
      'both duties to be held',
      async () => (await server.run('SELECT uniqExact(duty) FROM duty_claims', address.database)) === '2',
    );
    await store.close();
    const other = await openClickHouseSignalStore({ address });
    try {
      for (const duty of ['totals', 'cleaning']) expect(await other.sharing?.holdDuty(duty, 'other', 1_000)).toBe(true);
    } finally {
      await other.close();
    }
  });

  it('waits for no work in the background', async () => {
    const address = server.create();
    const database = connectDatabase({
      ...{ address, store: 'signal store', connections: 1, statementMs: 3_600_000 },
      ...{ usesDatabase: false, isAbandoned: true },
    });
    const asked = database.ask(
      'SELECT sleepEachRow(1) FROM numbers(3600) SETTINGS function_sleep_max_microseconds_per_block = 0',
    );
    const refused = asked.catch((error: unknown) => error);
    await eventually(
      'the statement to be under way',
      async () =>
        Number(await server.run("SELECT count() FROM system.processes WHERE query LIKE 'SELECT sleepEachRow%'")) === 1,
    );
    await database.close();
    expect(await refused).toBeInstanceOf(StoreUnavailable);
  });
});
