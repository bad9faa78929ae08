import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { SignalBatch } from '../../../src/model/signal.ts';
import { nowUnixNano } from '../../../src/model/time.ts';
import { type Ask, connectDatabase, type Database } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { eraseTraces } from '../../../src/store/postgres/signals/erase.ts';
import { bringUpLateTotals, type LateTotals } from '../../../src/store/postgres/signals/late-totals.ts';
import { findTrace } from '../../../src/store/postgres/signals/read-trace.ts';
import { SIGNALS_SCHEMA } from '../../../src/store/postgres/signals/schema.ts';
import type { LongTraces } from '../../../src/store/postgres/signals/totals.ts';
import { createSignalWriter } from '../../../src/store/postgres/signals/writer.ts';
import type { JoinedWrites } from '../../../src/store/signals/joined-writes.ts';
import type { TraceDetail } from '../../../src/store/signals/query.ts';
import { eventually } from '../../eventually.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { aFeedback, aScore, aUnit, traceIdOf } from '../signals/factories.ts';
import { openTemporary } from '../sqlite/temporary-store.ts';
import { withoutLateTotals } from './temporary-stores.ts';
import { aDrawnBatch, batchOf, spansOf } from '../signals/late-batches.ts';

let server: PostgresServer;
let url: string;
let database: Database;
beforeAll(async () => {
  server = await startPostgres();
  url = server.create();
  database = connectDatabase({ url, store: 'signal store', connections: 8 });
  await migrate(database, SIGNALS_SCHEMA);
});
afterAll(async () => {
  await database.close();
  await server.remove();
});
const started: LateTotals[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((late) => late.stop()));
});

/** Brings up what is late, as a service does. */
const bringUp = (of: Database = database): LateTotals => {
  const late = bringUpLateTotals(of);
  started.push(late);
  return late;
};
/** Of a service that has no time for long traces. */
const writer = (long: Partial<LongTraces> = {}, wake: LateTotals['wake'] = () => {}): JoinedWrites =>
  createSignalWriter(database, nowUnixNano, { ...withoutLateTotals, ...long, wake });
const noTime: LongTraces['allowance'] = { isLeft: () => false, begin: () => () => {} };

let drawn = 0;
const ownTrace = (): string => traceIdOf((drawn += 1));
const write = async (to: JoinedWrites, ...batches: Partial<SignalBatch>[]): Promise<void> => {
  for (const batch of batches) await to.write(aUnit(batch));
};
const totalsOf = (traceId: string): string =>
  server.run(`SELECT span_count FROM traces WHERE replace(trace_id::text, '-', '') = '${traceId}'`, url);
const lateTraces = (): number => Number(server.run('SELECT count(*) FROM late_totals', url));
const nothingIsLate = (): Promise<true> => eventually('no totals to be late', () => lateTraces() === 0);

describe('late totals in PostgreSQL', () => {
  it('are those of traces of more than 32 spans that find no time left; others come with their transaction', async () => {
    const [long, short] = [ownTrace(), ownTrace()];
    const busy = writer({ allowance: noTime });
    await write(busy, { spans: [...spansOf(long, 0, 33), ...spansOf(short, 0, 31)] });
    await write(busy, { spans: [...spansOf(long, 33, 34), ...spansOf(short, 31, 32)] });
    expect([totalsOf(long), totalsOf(short), lateTraces()]).toEqual(['33', '32', 1]);
    await write(busy, { spans: spansOf(short, 32, 33) }, { spans: spansOf(short, 33, 34) });
    expect([totalsOf(short), lateTraces()]).toEqual(['33', 2]);
    bringUp();
    await nothingIsLate();
    expect([totalsOf(long), totalsOf(short)]).toEqual(['34', '34']);
    await write(writer(), { spans: spansOf(long, 34, 35) });
    expect([totalsOf(long), lateTraces()]).toEqual(['35', 0]);
  });

  it('are those of more than 20,000 spans, whatever time is left, and of those that would overtake others', async () => {
    const [large, long] = [ownTrace(), ownTrace()];
    await write(writer(), { spans: spansOf(large, 0, 10_000) }, { spans: spansOf(large, 10_000, 20_000) });
    await write(writer(), { spans: [...spansOf(large, 20_000, 20_001), ...spansOf(long, 0, 40)] });
    expect([totalsOf(large), lateTraces()]).toEqual(['20001', 0]);
    await write(writer(), { spans: spansOf(large, 20_001, 20_002) });
    await write(writer({ mayWait: (isLarge) => !isLarge }), { spans: spansOf(long, 40, 41) });
    expect([totalsOf(large), totalsOf(long), lateTraces()]).toEqual(['20001', '40', 2]);
    expect(server.run('SELECT size FROM late_totals ORDER BY 1', url)).toBe('41\n20002');
    bringUp();
    await nothingIsLate();
    expect([totalsOf(large), totalsOf(long)]).toEqual(['20002', '41']);
  });

  it('are those of many traces with some spans each, beyond 4,096 spans that a transaction reads and 4 for each trace', async () => {
    const ids = Array.from({ length: 600 }, ownTrace);
    await write(writer(), { spans: ids.flatMap((id) => spansOf(id, 0, 30)) });
    await write(writer({ allowance: noTime }), { spans: ids.flatMap((id) => spansOf(id, 30, 31)) });
    expect(lateTraces()).toBe(600 - Math.floor((4_096 + 4 * 600) / 30));
    bringUp();
    await nothingIsLate();
    for (const id of [ids[0], ids[599]]) expect(totalsOf(id ?? '')).toBe('31');
  });

  it('are those of traces that are found by many values, as all of those are written anew', async () => {
    const tagged = (from: number, tags: number, traceId: string) =>
      spansOf(traceId, from, from + 1).map((span) => ({
        ...span,
        correlation: { ...span.correlation, tags: Array.from({ length: tags }, (_, at) => `],[${from} ${at}`) },
      }));
    const [many, some, large] = [ownTrace(), ownTrace(), ownTrace()];
    await write(writer(), { spans: [...tagged(0, 60, many), ...tagged(0, 20, some), ...tagged(0, 21_000, large)] });
    await write(writer({ allowance: noTime }), {
      spans: [...spansOf(many, 1, 2), ...spansOf(some, 1, 2)],
    });
    expect([totalsOf(many), totalsOf(some), lateTraces()]).toEqual(['1', '2', 1]);
    await write(writer(), { spans: spansOf(large, 1, 2) });
    expect([totalsOf(large), lateTraces()]).toEqual(['1', 2]);
    bringUp();
    await nothingIsLate();
    expect([totalsOf(many), totalsOf(large)]).toEqual(['2', '2']);
  });

  it('show what is said of their trace at once, and go with it', async () => {
    const [judged, gone] = [ownTrace(), ownTrace()];
    const busy = writer({ allowance: noTime });
    await write(busy, { spans: [...spansOf(judged, 0, 40), ...spansOf(gone, 0, 40)] });
    await write(busy, {
      spans: [...spansOf(judged, 40, 41), ...spansOf(gone, 40, 41)],
      scores: [aScore({ scoreId: `of ${judged}`, traceId: judged, value: 0.5 })],
      feedback: [aFeedback({ feedbackId: `of ${judged}`, traceId: judged })],
    });
    const shown = (await findTrace(database.ask, judged, 'all', false)) as TraceDetail;
    expect(shown.trace).toMatchObject({ spanCount: 40, scores: [{ scorerId: 'answered', mean: 0.5 }] });
    expect(
      server.run(
        `SELECT facet FROM trace_facets WHERE facet IN (18, 19) AND replace(trace_id::text, '-', '') = '${judged}' ORDER BY 1`,
        url,
      ),
    ).toBe('18\n19');
    await database.transaction((ask) => eraseTraces(ask, [gone], 'all'));
    expect(lateTraces()).toBe(1);
    bringUp();
    await nothingIsLate();
    expect([totalsOf(judged), totalsOf(gone)]).toEqual(['41', '']);
  });

  it('end as those of all spans, whichever of two services wrote a batch, and whichever added it up', async () => {
    const step = fc.tuple(aDrawnBatch, fc.boolean());
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        const ids = [ownTrace(), ownTrace(), ownTrace()];
        const [one, other] = [bringUp(), bringUp()];
        const { store, remove } = await openTemporary();
        try {
          const busy = writer({ allowance: noTime }, one.wake);
          const idle = writer({}, other.wake);
          for (const [drawn, isBusy] of steps) {
            const batch = batchOf(drawn, ids);
            await write(isBusy ? busy : idle, batch);
            await store.write(aUnit(batch));
          }
          await nothingIsLate();
          for (const id of ids) {
            const expected = await store.findTrace(id, 'all', false);
            const found = await findTrace(database.ask, id, 'all', false);
            expect(found).toEqual(expected);
          }
        } finally {
          await remove();
          await Promise.all(started.splice(0).map((late) => late.stop()));
        }
      }),
      { numRuns: 8 },
    );
  });

  it('are those of which more than 32 scores and judgements of feedback are read, too', async () => {
    const [much, little] = [ownTrace(), ownTrace()];
    const scoresOf = (traceId: string, from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => aScore({ scoreId: `${traceId}/${from + n}`, traceId, value: 1 }));
    const countOf = (traceId: string): string =>
      server.run(
        `SELECT scores::jsonb -> 0 -> 3 FROM traces WHERE replace(trace_id::text, '-', '') = '${traceId}'`,
        url,
      );
    await write(writer(), { spans: [...spansOf(much, 0, 2), ...spansOf(little, 0, 2)] });
    await write(writer(), { scores: [...scoresOf(much, 0, 33), ...scoresOf(little, 0, 30)] });
    const busy = writer({ allowance: noTime });
    await write(busy, { scores: [...scoresOf(much, 33, 34), ...scoresOf(little, 30, 31)] });
    expect([countOf(much), countOf(little), lateTraces()]).toEqual(['33', '31', 1]);
    bringUp();
    await nothingIsLate();
    expect([countOf(much), totalsOf(much)]).toEqual(['34', '2']);
    await write(writer(), { scores: scoresOf(much, 34, 35) });
    expect([countOf(much), lateTraces()]).toEqual(['35', 0]);
  });

  it('are as large as what their totals count, and what was added since: then they take turns with the large ones', async () => {
    const traceId = ownTrace();
    const busy = writer({ allowance: noTime });
    await write(busy, { spans: spansOf(traceId, 0, 40) }, { spans: spansOf(traceId, 40, 10_000) });
    expect(server.run('SELECT counted, added, size FROM late_totals', url)).toBe('40|9960|10000');
    await write(busy, { spans: spansOf(traceId, 10_000, 20_000) }, { spans: spansOf(traceId, 20_000, 20_001) });
    expect(server.run('SELECT size FROM late_totals', url)).toBe('20001');
    let pieces = 0;
    const ask: Ask = (sql, values) => {
      if (sql.includes('ORDER BY s.span_id')) pieces += 1;
      return database.ask(sql, values);
    };
    bringUp({ ...database, ask });
    await nothingIsLate();
    expect(totalsOf(traceId)).toBe('20001');
    expect(pieces).toBeGreaterThan(10);
  });

  it('that cannot be brought up are tried again in a minute, by themselves, and keep no others waiting', async () => {
    const [bad, good] = [ownTrace(), ownTrace()];
    for (const id of [bad, good])
      await write(writer({ allowance: noTime }), { spans: spansOf(id, 0, 40) }, { spans: spansOf(id, 40, 41) });
    let failures = 0;
    const transaction: Database['transaction'] = (work, opening) =>
      database.transaction((within, opened) => {
        const failing: Ask = async (sql, values) => {
          const rows = await within(sql, values);
          if (sql.includes('JOIN spans') && rows.some((row) => row[1] === bad)) {
            failures += 1;
            throw new Error('its totals cannot be written');
          }
          return rows as never;
        };
        return work(failing, opened);
      }, opening);
    const late = bringUp({ ...database, transaction });
    await eventually('a failure', () => failures > 0);
    await eventually('the other trace', () => {
      // As if a minute had passed.
      server.run(
        `UPDATE late_totals SET turn = clock_timestamp() - interval '1 s' WHERE turn > clock_timestamp()`,
        url,
      );
      late.wake([41]);
      return totalsOf(good) === '41';
    });
    expect([totalsOf(bad), lateTraces()]).toEqual(['40', 1]);
    await Promise.all(started.splice(0).map((one) => one.stop()));
    server.run('UPDATE late_totals SET turn = clock_timestamp()', url);
    bringUp();
    await nothingIsLate();
    expect(totalsOf(bad)).toBe('41');
  });

  it('of a trace that somebody deleted without them are forgotten', async () => {
    const [gone, kept] = [ownTrace(), ownTrace()];
    for (const id of [gone, kept])
      await write(writer({ allowance: noTime }), { spans: spansOf(id, 0, 40) }, { spans: spansOf(id, 40, 41) });
    const ofGone = `replace(trace_id::text, '-', '') = '${gone}'`;
    server.run(`DELETE FROM spans WHERE ${ofGone}; DELETE FROM traces WHERE ${ofGone}`, url);
    bringUp();
    await nothingIsLate();
    expect([totalsOf(gone), totalsOf(kept)]).toEqual(['', '41']);
  });

  describe('that are being added up when their trace', () => {
    /** Brings up one late trace, and does something when its spans are read and its totals not yet written. */
    const meanwhile = async (work: (traceId: string) => Promise<void>): Promise<string> => {
      const traceId = ownTrace();
      await write(
        writer({ allowance: noTime }),
        { spans: spansOf(traceId, 0, 40) },
        { spans: spansOf(traceId, 40, 41) },
      );
      expect(lateTraces()).toBe(1);
      // As if it had very many spans: others are added up while their row is locked.
      server.run('UPDATE late_totals SET counted = 20001', url);
      let isDone = false;
      let isOver = false;
      const ask: Ask = async (sql, values) => {
        const rows = await database.ask(sql, values);
        if (sql.includes('ORDER BY s.span_id') && !isDone) {
          isDone = true;
          await work(traceId);
          isOver = true;
        }
        return rows as never;
      };
      bringUp({ ...database, ask });
      await eventually('that to be done', () => isOver);
      await nothingIsLate();
      return traceId;
    };

    it('changes are added up once more', async () => {
      const traceId = await meanwhile((id) => write(writer({ allowance: noTime }), { spans: spansOf(id, 41, 43) }));
      expect(totalsOf(traceId)).toBe('43');
    });

    it('is brought up with another transaction stay as those left them', async () => {
      const traceId = await meanwhile((id) => write(writer(), { spans: spansOf(id, 41, 43) }));
      await Promise.all(started.splice(0).map((late) => late.stop()));
      expect(totalsOf(traceId)).toBe('43');
    });

    it('is deleted and comes again are those of the new one', async () => {
      const traceId = await meanwhile(async (id) => {
        await database.transaction((within) => eraseTraces(within, [id], 'all'));
        const busy = writer({ allowance: noTime });
        await write(busy, { spans: spansOf(id, 500, 533) }, { spans: spansOf(id, 533, 534) });
        // A note that nobody settles for now.
        server.run(`UPDATE late_totals SET turn = clock_timestamp() + interval '1 h'`, url);
        setTimeout(() => server.run('UPDATE late_totals SET turn = clock_timestamp()', url), 1_000);
      });
      expect(totalsOf(traceId)).toBe('34');
    });

    it('is deleted are gone', async () => {
      const traceId = await meanwhile(async (id) => {
        await database.transaction((within) => eraseTraces(within, [id], 'all'));
      });
      await Promise.all(started.splice(0).map((late) => late.stop()));
      expect(totalsOf(traceId)).toBe('');
    });
  });
});
