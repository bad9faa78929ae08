import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nowUnixNano } from '../../../src/model/time.ts';
import { connectDatabase, type Database } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { signalKey } from '../../../src/store/postgres/signals/keys.ts';
import { findTrace } from '../../../src/store/postgres/signals/read-trace.ts';
import { SIGNALS_SCHEMA } from '../../../src/store/postgres/signals/schema.ts';
import { createSignalWriter } from '../../../src/store/postgres/signals/writer.ts';
import type { JoinedWrites } from '../../../src/store/signals/joined-writes.ts';
import type { TraceDetail } from '../../../src/store/signals/query.ts';
import type { WriteUnit } from '../../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { aFeedback, aLog, aNote, aPoint, aScore, aSpan, aUnit, spanIdOf, T0, traceIdOf } from '../signals/factories.ts';
import { aDrawnTrace, sentOf } from '../signals/trace-oracle.ts';
import { openTemporary } from '../sqlite/temporary-store.ts';
import { withoutLateTotals } from './temporary-stores.ts';

let server: PostgresServer;
let url: string;
const databases: Database[] = [];
beforeAll(async () => {
  server = await startPostgres();
  url = server.create();
});
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()));
  await server.remove();
});

/** A replica's way in. */
const replica = async (): Promise<{ readonly database: Database; readonly writer: JoinedWrites }> => {
  const database = connectDatabase({ url, store: 'signal store', connections: 4 });
  databases.push(database);
  await migrate(database, SIGNALS_SCHEMA);
  return { database, writer: createSignalWriter(database, nowUnixNano, withoutLateTotals) };
};
const count = (table: string): number => Number(server.run(`SELECT count(*) FROM ${table}`, url));
/** Traces of one test, which no other test has. */
let drawn = 0;
const ownTraces = (many: number): string[] => Array.from({ length: many }, () => traceIdOf((drawn += 1)));

describe('writing to PostgreSQL', () => {
  it('a trace is read as the embedded store reads it, whichever of two replicas wrote which part', async () => {
    const [one, other] = [await replica(), await replica()];
    await fc.assert(
      fc.asyncProperty(fc.array(aDrawnTrace, { minLength: 1, maxLength: 4 }), async (traces) => {
        const units = traces.flatMap((trace, place): WriteUnit[] => {
          const [traceId = ''] = ownTraces(1);
          const { spans, scores, feedback } = sentOf(trace, place + 1, 'default');
          const own = <T extends object>(of: readonly T[]): T[] => of.map((signal) => ({ ...signal, traceId }));
          return [
            ...own(spans).map((span) => aUnit({ spans: [span] })),
            aUnit({ scores: own(scores) }),
            aUnit({ feedback: own(feedback) }),
          ];
        });
        const { store, remove } = await openTemporary();
        try {
          for (const unit of units) await store.write(unit);
          await Promise.all(units.map((unit, place) => (place % 2 === 0 ? one : other).writer.write(unit)));
          const ids = new Set(units.flatMap(({ batch }) => batch.spans.map(({ traceId }) => traceId)));
          for (const traceId of ids) {
            const expected = (await store.findTrace(traceId, 'all', true)) as TraceDetail;
            expect(await findTrace(one.database.ask, traceId, 'all', true)).toEqual(expected);
          }
        } finally {
          await remove();
        }
      }),
      { numRuns: 6 },
    );
  });

  it('a span with everything that a span can have comes back', async () => {
    const { database, writer } = await replica();
    const [traceId = ''] = ownTraces(1);
    const span = aSpan({
      traceId,
      parentSpanId: spanIdOf(7),
      input: { text: 'in "quotes" \\ and\nlines', nested: [1, null, true] },
      output: 'out 東京 😀',
      outputAttribute: 'gen_ai.output',
      model: 'm',
      provider: 'p',
      entityName: 'e',
      usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7, inputDetails: { cacheRead: 1 } },
      cost: {
        totalCost: 0.1 + 0.2,
        inputCost: 0.1,
        outputCost: 0.2,
        currency: 'USD',
        isEstimated: true,
        priceBookId: 'b',
      },
      status: 'error',
      error: { message: 'x'.repeat(3_000), type: 'T', stack: 'at a' },
      events: [{ name: 'n', time: T0 + 1n, attributes: { a: 1 } }],
      links: [{ traceId: traceIdOf(9_999), spanId: spanIdOf(9), attributes: {} }],
      attributes: { a: { b: [1.5] } },
      scopeName: 's',
      correlation: { userId: 'u', tags: ['x', 'y'], environment: 'prod', experimentId: 'x1' },
    });
    await writer.write(aUnit({ spans: [span] }));
    const found = await findTrace(database.ask, traceId, ['default'], true);
    const { store, remove } = await openTemporary();
    await store.write(aUnit({ spans: [span] }));
    expect(found).toEqual(await store.findTrace(traceId, 'all', true));
    await remove();
    expect(await findTrace(database.ask, traceId, ['other', 'a\0b'], true)).toBeUndefined();
    expect(await findTrace(database.ask, 'no id', 'all', true)).toBeUndefined();
  });

  it('of units with one key, sent through two replicas at once, one is written', async () => {
    const [one, other] = [await replica(), await replica()];
    for (const [round, traceId] of ownTraces(10).entries()) {
      const unit = aUnit(
        { spans: [aSpan({ traceId })], logs: [aLog({ traceId })] },
        `key ${round} ${'long'.repeat(200)}`,
      );
      const outcomes = await Promise.all([one, other, one, other].map(({ writer }) => writer.write(unit)));
      expect(outcomes.filter((outcome) => outcome === 'written')).toHaveLength(1);
      expect(await other.writer.write(unit)).toBe('duplicate');
      expect((await findTrace(one.database.ask, traceId, 'all', false))?.spans).toHaveLength(1);
      expect(server.run(`SELECT count(*) FROM logs WHERE trace_id = '${traceId}'`, url)).toBe('1');
    }
  });

  it('six writers on the same traces leave totals of all spans', async () => {
    const ids = ownTraces(5);
    const writers = await Promise.all(Array.from({ length: 6 }, replica));
    await Promise.all(
      writers.flatMap(({ writer }, which) =>
        Array.from({ length: 10 }, (_, n) =>
          writer.write(
            aUnit({
              // Each in an order of its own.
              spans: ids.map((_id, place) =>
                aSpan({
                  traceId: ids[(place * (1 + (which % 4)) + n) % ids.length] as string,
                  spanId: spanIdOf(1_000 + place * 100 + which * 10 + n),
                  cost: { totalCost: 0.5, currency: 'USD', isEstimated: false },
                }),
              ),
            }),
          ),
        ),
      ),
    );
    let spans = 0;
    for (const traceId of ids) {
      const found = await findTrace(writers[0]?.database.ask as Database['ask'], traceId, 'all', false);
      spans += found?.spans.length ?? 0;
      expect(found?.trace.spanCount).toBe(found?.spans.length);
      expect(found?.trace.totalCost).toBe((found?.spans.length ?? 0) / 2);
    }
    expect(spans).toBe(6 * 10 * ids.length);
  });

  it('judgements that come before their trace stay, and no empty trace is there meanwhile', async () => {
    const { database, writer } = await replica();
    const [traceId = '', other = ''] = ownTraces(2);
    const before = count('traces');
    await writer.write(aUnit({ scores: [aScore({ scoreId: 'moved', traceId })], feedback: [aFeedback({ traceId })] }));
    expect([count('traces'), await findTrace(database.ask, traceId, 'all', true)]).toEqual([before, undefined]);
    await writer.write(aUnit({ spans: [aSpan({ traceId }), aSpan({ traceId: other })] }));
    expect((await findTrace(database.ask, traceId, 'all', true))?.trace).toMatchObject({
      scores: [{ scorerId: 'answered', mean: 1, count: 1 }],
      feedback: { thumbs: 1 },
    });
    // Sent again for another trace, it leaves the first.
    await writer.write(aUnit({ scores: [aScore({ scoreId: 'moved', traceId: other, value: 0 })] }));
    expect((await findTrace(database.ask, traceId, 'all', true))?.trace.scores).toEqual([]);
    expect((await findTrace(database.ask, other, 'all', true))?.trace.scores).toMatchObject([{ mean: 0, count: 1 }]);
  });

  it('a unit that the database does not take is refused alone, and completely', async () => {
    const { database, writer } = await replica();
    const ids = ownTraces(3);
    const units = ids.map((traceId, place) =>
      aUnit({ logs: [aLog()], metrics: [aPoint()], spans: [aSpan({ traceId, name: place === 1 ? 'a\0b' : 'ab' })] }),
    );
    const logs = count('logs');
    const outcomes = await Promise.allSettled(units.map((unit) => writer.write(unit)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(count('logs')).toBe(logs + 2);
    expect(await findTrace(database.ask, ids[1] as string, 'all', false)).toBeUndefined();
  });

  it('notes and judgements with an id that was there are replaced, the rest is added', async () => {
    const { writer } = await replica();
    const tables = ['logs', 'metric_points', 'scores', 'feedback', 'aspect_notes'];
    const before = tables.map(count);
    const long = 'id'.repeat(3_000);
    for (const text of ['one', 'two'])
      await writer.write(
        aUnit({
          logs: [aLog()],
          metrics: [aPoint()],
          scores: [aScore({ scoreId: long, reason: text }), aScore({ scoreId: long, reason: 'twice in a batch' })],
          feedback: [aFeedback({ feedbackId: long, comment: text })],
          aspectNotes: [aNote({ noteId: long, text })],
        }),
      );
    expect(tables.map((table, place) => count(table) - (before[place] ?? 0))).toEqual([2, 2, 1, 1, 1]);
    expect(server.run(`SELECT text FROM aspect_notes WHERE note_id = '${long}'`, url)).toBe('two');
    expect(server.run(`SELECT reason FROM scores WHERE score_id = '${long}'`, url)).toBe('twice in a batch');
  });

  it('the words of a span are those of its last payloads', async () => {
    const { writer } = await replica();
    const [traceId = ''] = ownTraces(1);
    const found = (word: string): string =>
      server.run(`SELECT count(*) FROM span_words WHERE trace_id = '${traceId}' AND ts @@ '${word}'::tsquery`, url);
    const span = aSpan({ traceId, input: 'User@Example.com', output: { text: 'STRASSE' } });
    await writer.write(aUnit({ spans: [span] }));
    expect(['user', 'example', 'strasse', 'exam', 'exam:*'].map(found)).toEqual(['1', '1', '1', '0', '1']);
    await writer.write(aUnit({ spans: [{ ...span, input: 'other' }] }));
    expect(['user', 'other'].map(found)).toEqual(['0', '1']);
    const { input: _in, output: _out, ...silent } = span;
    await writer.write(aUnit({ spans: [silent] }));
    expect(found('other')).toBe('0');
  });

  it('while the server is away writes are unavailable, and nothing that was acknowledged is lost', async () => {
    const { database, writer } = await replica();
    const ids = ownTraces(40);
    const acknowledged: string[] = [];
    let failed = 0;
    const writing = (async () => {
      for (const traceId of ids)
        await writer.write(aUnit({ spans: [aSpan({ traceId })] }, traceId)).then(
          () => acknowledged.push(traceId),
          (error: unknown) => {
            expect(error).toBeInstanceOf(StoreUnavailable);
            failed += 1;
          },
        );
    })();
    await server.kill('SIGKILL');
    await writing;
    expect(failed).toBeGreaterThan(0);
    await server.start();
    for (const traceId of acknowledged)
      expect((await findTrace(database.ask, traceId, 'all', false))?.trace.spanCount).toBe(1);
    // Sent again with their keys, all are there once.
    for (const traceId of ids) await writer.write(aUnit({ spans: [aSpan({ traceId })] }, traceId));
    for (const traceId of ids) expect((await findTrace(database.ask, traceId, 'all', false))?.trace.spanCount).toBe(1);
  });

  it('the key of a text is the same in the service and in the database', async () => {
    const { database } = await replica();
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme', minLength: 150, maxLength: 600 }),
    );
    await fc.assert(
      fc.asyncProperty(text, async (one) => {
        fc.pre(!one.includes('\0') && one.isWellFormed());
        expect(await database.ask('SELECT signal_key($1::text)', [one])).toEqual([[signalKey(one)]]);
      }),
      { numRuns: 60, examples: [['a'.repeat(512)], ['a'.repeat(513)], ['ü'.repeat(256)], ['ü'.repeat(257)]] },
    );
  });
});
