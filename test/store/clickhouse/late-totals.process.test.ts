import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SignalBatch } from '../../../src/model/signal.ts';
import { nowUnixNano } from '../../../src/model/time.ts';
import { connectDatabase, type Database } from '../../../src/store/clickhouse/connection.ts';
import { migrate } from '../../../src/store/clickhouse/migrate.ts';
import { eraseTraces } from '../../../src/store/clickhouse/signals/erase.ts';
import { bringUpLateTotals, type LateTotals } from '../../../src/store/clickhouse/signals/late-totals.ts';
import { findTrace } from '../../../src/store/clickhouse/signals/read-trace.ts';
import { repairTotals } from '../../../src/store/clickhouse/signals/repair.ts';
import { SIGNALS_SCHEMA } from '../../../src/store/clickhouse/signals/schema.ts';
import { type LongTraces, withoutLateTotals } from '../../../src/store/clickhouse/signals/totals.ts';
import { createVersions } from '../../../src/store/clickhouse/signals/versions.ts';
import { prepareSpan, writeGroup } from '../../../src/store/clickhouse/signals/write-group.ts';
import { type ClickHouseServer, startClickHouse } from '../../clickhouse.ts';
import { eventually } from '../../eventually.ts';
import { aScore, aUnit, traceIdOf } from '../signals/factories.ts';
import { openTemporary } from '../sqlite/temporary-store.ts';
import { aDrawnBatch, batchOf, spansOf } from '../signals/late-batches.ts';

let server: ClickHouseServer;
let database: Database;
beforeAll(async () => {
  server = await startClickHouse();
  const address = server.create();
  await server.run(`CREATE DATABASE ${address.database}`);
  database = connectDatabase({
    address,
    store: 'signal store',
    connections: 8,
    statementMs: 30_000,
    usesDatabase: true,
  });
  await migrate(database, SIGNALS_SCHEMA);
});
afterAll(async () => {
  await database.close();
  await server.remove();
});
const versions = createVersions(nowUnixNano);
const started: LateTotals[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((late) => late.stop()));
});
/** As in a service whose time for long traces is used up. */
const bringUp = (of: Database = database): LongTraces => {
  const late = bringUpLateTotals(of, versions);
  started.push(late);
  return { ...late.long, later: (key) => late.long.later(key, 20_001, 0) };
};
/** Notes traces, and brings none of them up. */
const noting = (noted: string[]): LongTraces => ({
  ...withoutLateTotals,
  later: ([, traceId], counted, added) => {
    noted.push(`${traceId} ${counted} + ${added}`);
    return true;
  },
});

let drawn = 0;
const ownTrace = (): string => traceIdOf((drawn += 1));
const write = async (long: LongTraces, ...batches: Partial<SignalBatch>[]): Promise<void> => {
  for (const batch of batches) {
    const unit = aUnit(batch);
    await writeGroup(database, [{ unit, spans: unit.batch.spans.map(prepareSpan) }], versions, nowUnixNano(), long);
  }
};
const spanCount = async (traceId: string): Promise<number | undefined> => {
  const [row] = await database.ask<[string]>('SELECT span_count FROM traces FINAL WHERE trace_id = {traceId:String}', {
    traceId,
  });
  return row === undefined ? undefined : Number(row[0]);
};
const reaches = (traceId: string, count: number): Promise<true> =>
  eventually(`a trace of ${count} spans`, async () => (await spanCount(traceId)) === count);

describe('late totals in ClickHouse', () => {
  it('are those of traces of more than 32 spans that find no time left; others come with their spans', async () => {
    const [long, short] = [ownTrace(), ownTrace()];
    const noted: string[] = [];
    await write(noting(noted), { spans: [...spansOf(long, 0, 33), ...spansOf(short, 0, 31)] });
    await write(noting(noted), { spans: [...spansOf(long, 33, 34), ...spansOf(short, 31, 32)] });
    await write(noting(noted), { spans: spansOf(short, 32, 33) });
    expect(noted).toEqual([`${long} 33 + 1`]);
    expect([await spanCount(long), await spanCount(short)]).toEqual([33, 33]);
    await write(withoutLateTotals, { spans: spansOf(long, 34, 35) });
    expect(await spanCount(long)).toBe(35);
  });

  it('are those of many traces with some spans each, beyond 4,096 spans that are read with them and 4 for each trace', async () => {
    const ids = Array.from({ length: 200 }, ownTrace);
    const noted: string[] = [];
    await write(noting(noted), { spans: ids.flatMap((id) => spansOf(id, 0, 30)) });
    await write(noting(noted), { spans: ids.flatMap((id) => spansOf(id, 30, 31)) });
    expect(noted).toHaveLength(200 - Math.floor((4_096 + 4 * 200) / 30));
    const late = bringUpLateTotals(database, versions);
    started.push(late);
    for (const [n, id] of ids.entries())
      if (noted.includes(`${id} 30 + 1`)) late.long.later([`default`, id], n % 2 === 0 ? 30 : 20_000, 1);
    for (const id of ids) await reaches(id, 31);
  });

  it('are those of which more than 32 scores are read, too', async () => {
    const traceId = ownTrace();
    const noted: string[] = [];
    const scores = Array.from({ length: 32 }, (_, n) => aScore({ scoreId: `${traceId}/${n}`, traceId, value: 1 }));
    await write(noting(noted), { spans: spansOf(traceId, 0, 1) }, { scores });
    expect(noted).toEqual([]);
    await write(noting(noted), { scores: scores.slice(0, 1) });
    expect(noted).toEqual([`${traceId} 33 + 1`]);
    await write(withoutLateTotals, { scores: scores.slice(0, 1) });
    expect((await findTrace(database.ask, traceId, 'all', false))?.trace.scores).toMatchObject([{ count: 32 }]);
  });

  it('of more than 20,000 spans are always late, are added up in pieces, and are right', async () => {
    const large = ownTrace();
    const late = bringUpLateTotals(database, versions);
    started.push(late);
    await write(late.long, { spans: spansOf(large, 0, 10_000) }, { spans: spansOf(large, 10_000, 20_001) });
    await reaches(large, 20_001);
    const noted: string[] = [];
    await write(noting(noted), { spans: spansOf(large, 20_001, 20_002) });
    expect(noted).toEqual([`${large} 20001 + 1`]);
    await write(late.long, { spans: spansOf(large, 20_002, 20_003) });
    await reaches(large, 20_003);
  });

  it('that a crash left behind are found by the repair', async () => {
    const traceId = ownTrace();
    await write(noting([]), { spans: spansOf(traceId, 0, 40) });
    await write(noting([]), { spans: spansOf(traceId, 40, 41) });
    expect(await spanCount(traceId)).toBe(40);
    await repairTotals(database, versions, nowUnixNano(), withoutLateTotals);
    expect(await spanCount(traceId)).toBe(41);
    expect(await repairTotals(database, versions, nowUnixNano(), withoutLateTotals)).toBe(0);
  });

  it('of a trace that is deleted meanwhile stay gone', async () => {
    const traceId = ownTrace();
    await write(withoutLateTotals, { spans: spansOf(traceId, 0, 40) });
    let isErased = false;
    const erasing: Database = {
      ...database,
      ask: async (sql, params) => {
        const rows = await database.ask(sql, params);
        if (sql.includes('ORDER BY s.span_id') && !isErased) {
          isErased = true;
          await eraseTraces(database, [traceId], 'all', versions);
        }
        return rows as never;
      },
    };
    const late = bringUp(erasing);
    await write(late, { spans: spansOf(traceId, 40, 41) });
    await eventually('the delete', () => isErased);
    await Promise.all(started.splice(0).map((one) => one.stop()));
    expect(await spanCount(traceId)).toBeUndefined();
  });

  it('end as those of all spans, whichever of two services wrote a batch, and whichever added it up', async () => {
    const step = fc.tuple(aDrawnBatch, fc.constantFrom('one', 'other', 'at once'));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (steps) => {
        const ids = [ownTrace(), ownTrace(), ownTrace()];
        const services = { one: bringUp(), other: bringUp(), 'at once': withoutLateTotals };
        const { store, remove } = await openTemporary();
        try {
          for (const [drawn, who] of steps) {
            const batch = batchOf(drawn, ids);
            await write(services[who], batch);
            await store.write(aUnit(batch));
          }
          for (const id of ids) {
            const expected = await store.findTrace(id, 'all', false);
            await eventually('the totals of all spans', async () =>
              isDeepStrictEqual(await findTrace(database.ask, id, 'all', false), expected),
            );
            expect(await findTrace(database.ask, id, 'all', false)).toEqual(expected);
          }
        } finally {
          await remove();
          await Promise.all(started.splice(0).map((late) => late.stop()));
        }
      }),
      { numRuns: 5 },
    );
  });
});
