import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { nowUnixNano } from '../../../src/model/time.ts';
import { type Ask, connectDatabase, type Database } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { eraseTraces, trimSlice } from '../../../src/store/postgres/signals/erase.ts';
import { findTrace } from '../../../src/store/postgres/signals/read-trace.ts';
import { SIGNALS_SCHEMA } from '../../../src/store/postgres/signals/schema.ts';
import { prepareSpan, writeGroup } from '../../../src/store/postgres/signals/write-group.ts';
import { createSignalWriter } from '../../../src/store/postgres/signals/writer.ts';
import type { JoinedWrites } from '../../../src/store/signals/joined-writes.ts';
import type { ProjectReach } from '../../../src/model/scope.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { eventually } from '../../eventually.ts';
import { aFeedback, aLog, aNote, aPoint, aScore, aSpan, aUnit, spanIdOf, T0, traceIdOf } from '../signals/factories.ts';
import { withoutLateTotals } from './temporary-stores.ts';

let server: PostgresServer;
let url: string;
let database: Database;
let writer: JoinedWrites;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());
beforeEach(async () => {
  url = server.create();
  database = connectDatabase({ url, store: 'signal store', connections: 4 });
  await migrate(database, SIGNALS_SCHEMA);
  writer = createSignalWriter(database, nowUnixNano, withoutLateTotals);
  return () => database.close();
});

const erase = (ids: readonly string[], reach: ProjectReach = 'all'): Promise<number> =>
  database.transaction((ask) => eraseTraces(ask, ids, reach));
const trim = (project: string, before: bigint, limit: number): Promise<number> =>
  database.transaction((ask) => trimSlice(ask, project, before, limit));

const tables = [
  ...['traces', 'trace_facets', 'trace_scores', 'spans', 'span_payloads', 'span_words'],
  ...['logs', 'scores', 'feedback', 'aspect_notes'],
];
/** Rows of each table: none, some or more, where facets are several a trace. */
const held = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    await Promise.all(
      tables.map(async (table): Promise<[string, number]> => {
        const counted = table === 'trace_facets' ? 'count(DISTINCT (project, trace_id))' : 'count(*)';
        const [[rows] = [0n]] = await database.ask<[bigint]>(`SELECT ${counted} FROM ${table}`);
        return [table, Number(rows)];
      }),
    ),
  );
const all = (rows: number): Record<string, number> => Object.fromEntries(tables.map((table) => [table, rows]));
const everything = (traceId: string, project = 'default') => {
  const correlation = { project };
  return aUnit({
    spans: [aSpan({ traceId, spanId: spanIdOf(1), input: 'secret', correlation })],
    logs: [aLog({ traceId, correlation })],
    scores: [aScore({ traceId, correlation })],
    feedback: [aFeedback({ traceId, correlation })],
    aspectNotes: [aNote({ traceId, correlation })],
  });
};

describe('deleting from PostgreSQL', () => {
  it('removes all rows of a trace, and nothing else; it may be written again', async () => {
    await writer.write(everything(traceIdOf(1)));
    await writer.write(everything(traceIdOf(2)));
    expect(await held()).toEqual(all(2));
    expect(await erase([traceIdOf(1), traceIdOf(9), 'no id', 'a\0b'])).toBe(1);
    expect(await held()).toEqual(all(1));
    expect(await findTrace(database.ask, traceIdOf(1), 'all', true)).toBeUndefined();
    expect(await erase([traceIdOf(1)])).toBe(0);
    await writer.write(everything(traceIdOf(1)));
    expect(await held()).toEqual(all(2));
  });

  it('happens in the projects in reach', async () => {
    await writer.write(everything(traceIdOf(1), 'a'));
    await writer.write(everything(traceIdOf(1), 'b'));
    expect(await erase([traceIdOf(1)], ['c', 'a\0b'])).toBe(0);
    expect(await erase([traceIdOf(1)], ['a'])).toBe(1);
    expect(await held()).toEqual(all(1));
    expect((await findTrace(database.ask, traceIdOf(1), 'all', false))?.trace.project).toBe('b');
  });

  it('takes judgements along that name only a span of the trace', async () => {
    const { traceId: _score, ...score } = aScore({ spanId: spanIdOf(1) });
    const { traceId: _feedback, ...feedback } = aFeedback({ spanId: spanIdOf(1) });
    await writer.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1), spanId: spanIdOf(1) })] }));
    await writer.write(aUnit({ scores: [score], feedback: [feedback] }));
    expect(await held()).toMatchObject({ scores: 1, feedback: 1 });
    expect(await erase([traceIdOf(1)])).toBe(1);
    expect(await held()).toMatchObject({ scores: 0, feedback: 0 });
  });

  it('finds signals of a trace that has no span', async () => {
    await writer.write(aUnit({ logs: [aLog({ traceId: traceIdOf(1) })] }));
    expect(await erase([traceIdOf(1)])).toBe(1);
    expect(await held()).toEqual(all(0));
  });

  it('takes a unit that is committed meanwhile completely, or leaves it', async () => {
    await writer.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1), spanId: spanIdOf(1) })] }));
    const { batch } = everything(traceIdOf(1));
    const { traceId: _traceId, ...ofSpan } = aScore({ scoreId: 'of the span', spanId: spanIdOf(2) });
    const unit = aUnit({
      ...batch,
      spans: [aSpan({ traceId: traceIdOf(1), spanId: spanIdOf(2), input: 'secret' })],
      scores: [...batch.scores, ofSpan],
    });
    let erased: Promise<number> | undefined;
    await database.transaction(async (ask) => {
      await writeGroup(
        ask,
        [{ unit, spans: unit.batch.spans.map(prepareSpan) }],
        new Map(),
        nowUnixNano(),
        withoutLateTotals,
      );
      erased = erase([traceIdOf(1)]);
      await eventually('the delete to wait for the trace', async () => {
        const waiting = await database.ask('SELECT 1 FROM pg_locks WHERE NOT granted');
        return waiting.length > 0;
      });
    });
    expect(await erased).toBe(1);
    expect(await held()).toEqual(all(0));
  });

  it('keeps a score that is sent again, and that a delete takes before the writer has locked it', async () => {
    const unit = aUnit({ scores: [aScore({ traceId: traceIdOf(1) })] });
    await writer.write(unit);
    let erased: number | undefined;
    await database.transaction((ask) => {
      const deletedBeforeTheLock: Ask = async (sql, values) => {
        if (sql.includes('FOR UPDATE OF r')) erased ??= await erase([traceIdOf(1)]);
        return ask(sql, values);
      };
      return writeGroup(deletedBeforeTheLock, [{ unit, spans: [] }], new Map(), nowUnixNano(), withoutLateTotals);
    });
    expect(erased).toBe(1);
    expect(await held()).toMatchObject({ scores: 1 });
  });

  it('beside writers and trims leaves no row of a trace without the others', async () => {
    const other = connectDatabase({ url, store: 'signal store', connections: 2 });
    const ids = Array.from({ length: 6 }, (_, n) => traceIdOf(n + 1));
    let isOver = false;
    const writing = (async () => {
      const second = createSignalWriter(other, nowUnixNano, withoutLateTotals);
      for (let n = 0; n < 25; n += 1)
        await Promise.all(
          [writer, second].map((through, which) =>
            through.write(
              aUnit({
                spans: [0, 1].map((more) =>
                  aSpan({
                    traceId: ids[(n + more) % ids.length] as string,
                    spanId: spanIdOf(2 * n + which + 1),
                    startTime: T0 + BigInt(n % 7),
                    input: 'kept',
                  }),
                ),
              }),
            ),
          ),
        );
    })().finally(() => {
      isOver = true;
    });
    for (let n = 0; !isOver; n += 1) {
      await erase([ids[n % ids.length] as string]);
      await trim('default', T0 + 2n, 2);
    }
    await writing;
    await other.close();
    const counts = await database.ask<[string, bigint, number | null]>(
      `SELECT s.trace_id::text, count(*), (SELECT t.span_count FROM traces AS t WHERE t.project = s.project AND t.trace_id = s.trace_id)
       FROM spans AS s GROUP BY s.project, s.trace_id`,
    );
    for (const [traceId, spans, total] of counts) expect([traceId, total]).toEqual([traceId, Number(spans)]);
    const rows = await held();
    expect(rows).toMatchObject({ traces: counts.length, trace_facets: counts.length });
    expect([rows['span_payloads'], rows['span_words']]).toEqual([rows['spans'], rows['spans']]);
  });
});

describe('trimming PostgreSQL', () => {
  it('goes by the start of a trace, which goes completely or stays, in one project', async () => {
    await writer.write(
      aUnit({
        spans: [
          aSpan({ traceId: traceIdOf(1), startTime: T0 }),
          aSpan({ traceId: traceIdOf(1), startTime: T0 + 10n }),
          aSpan({ traceId: traceIdOf(2), startTime: T0 + 5n }),
          aSpan({ traceId: traceIdOf(3), startTime: T0, correlation: { project: 'other' } }),
        ],
        logs: [aLog({ timestamp: T0 }), aLog({ timestamp: T0 + 5n })],
        metrics: [aPoint({ timestamp: T0 })],
        scores: [aScore({ timestamp: T0, traceId: traceIdOf(2) })],
      }),
    );
    expect((await findTrace(database.ask, traceIdOf(2), 'all', false))?.trace.scores).toHaveLength(1);
    expect(await trim('default', T0 + 5n, 100)).toBe(4);
    expect(await trim('default', T0 + 5n, 100)).toBe(0);
    expect(await trim('unheard', T0 + 5n, 100)).toBe(0);
    expect(await held()).toMatchObject({ traces: 2, spans: 2, logs: 1, scores: 0, trace_scores: 0 });
    // A trace whose score went has it in no total.
    expect((await findTrace(database.ask, traceIdOf(2), 'all', false))?.trace.scores).toEqual([]);
  });

  it('takes the oldest first, up to the limit', async () => {
    await writer.write(
      aUnit({ spans: [3, 1, 2].map((n) => aSpan({ traceId: traceIdOf(n), startTime: T0 + BigInt(n) })) }),
    );
    expect(await trim('default', T0 + 10n, 2)).toBe(2);
    expect(await findTrace(database.ask, traceIdOf(3), 'all', false)).toBeDefined();
    expect(await held()).toMatchObject({ traces: 1, spans: 1 });
  });

  it('passes over a trace that another transaction holds, and takes it later', async () => {
    await writer.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1) })] }));
    await database.transaction(async (ask) => {
      await ask('SELECT 1 FROM traces FOR UPDATE');
      expect(await trim('default', T0 + 1n, 10)).toBe(0);
    });
    expect(await trim('default', T0 + 1n, 10)).toBe(1);
    expect(await held()).toEqual(all(0));
  });
});
