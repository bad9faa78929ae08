import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openDataFile } from '../../../../src/store/sqlite/connection.ts';
import { encodeUnit } from '../../../../src/store/sqlite/signals/encode.ts';
import { openSqliteSignalStore } from '../../../../src/store/sqlite/signals/open.ts';
import { SIGNALS_FILE } from '../../../../src/store/sqlite/signals/schema.ts';
import { unitWriterOf } from '../../../../src/store/sqlite/signals/write-unit.ts';
import { transactionsOf } from '../../../../src/store/sqlite/transaction.ts';
import { temporaryFolder } from '../../../daemon.ts';
import {
  aFeedback,
  aLog,
  aNote,
  aPoint,
  aScore,
  aSpan,
  aUnit,
  spanIdOf,
  traceIdOf,
  traces,
} from '../../signals/factories.ts';

const ofRun = (runId: string, n: number) => {
  const span = aSpan({ spanId: spanIdOf(n) });
  return { ...span, correlation: { ...span.correlation, runId } };
};

describe('SQLite: the contexts of a trace', () => {
  it('are those that its spans name: one that a replaced span alone had named goes, and one that others share stays', async () => {
    const folder = temporaryFolder();
    const path = join(folder.path, 'svc.db');
    const store = await openSqliteSignalStore({ path });
    await store.write(aUnit({ spans: [ofRun('shared', 1), ofRun('shared', 2), ofRun('gone', 3)] }));
    await store.write(aUnit({ spans: [ofRun('new', 2), ofRun('new', 3)] }));
    const db = new Database(path, { readonly: true });
    expect(db.prepare('SELECT run_id FROM trace_contexts ORDER BY run_id').pluck().all()).toEqual(['new', 'shared']);
    db.close();
    await store.close();
    folder.remove();
  });

  it('stand once each, however many there are, and whether they come in one unit, in pieces of a large one or later', async () => {
    const folder = temporaryFolder();
    const path = join(folder.path, 'svc.db');
    const store = await openSqliteSignalStore({ path });
    const runs = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => ofRun(`run ${(from + n) % 1500}`, from + n));
    await store.write(aUnit({ spans: runs(0, 10) }));
    await Promise.all([store.write(aUnit({ spans: runs(10, 20) })), store.write(aUnit({ spans: runs(20, 40) }))]);
    await store.write(aUnit({ spans: runs(40, 2000) }));
    await store.write(aUnit({ spans: [ofRun('run 7', 2000), ofRun('another', 2001)] }));
    const db = new Database(path, { readonly: true });
    expect(db.prepare('SELECT count(*), count(DISTINCT run_id), max(context) FROM trace_contexts').raw().all()).toEqual(
      [[1501, 1501, 1500]],
    );
    const named = db
      .prepare('SELECT s.span_id, c.run_id FROM spans s JOIN trace_contexts c USING (trace, context) ORDER BY s.span')
      .raw()
      .all();
    expect(named).toEqual([
      ...Array.from({ length: 2000 }, (_, n) => [spanIdOf(n), `run ${n % 1500}`]),
      [spanIdOf(2000), 'run 7'],
      [spanIdOf(2001), 'another'],
    ]);
    db.close();
    await store.close();
    folder.remove();
  });

  it('that one trace has in several pieces of a unit are looked for among as many as in one', async () => {
    const folder = temporaryFolder();
    const path = join(folder.path, 'svc.db');
    const store = await openSqliteSignalStore({ path });
    const spans = Array.from({ length: 4_000 }, (_, n) => ofRun(`run ${n}`, n));
    await store.write(aUnit({ spans }));
    await store.write(aUnit({ spans: spans.map((span) => ({ ...span, name: 'changed' })) }));
    const db = new Database(path, { readonly: true });
    expect(db.prepare('SELECT count(*), max(context) FROM trace_contexts').raw().all()).toEqual([[4_000, 3_999]]);
    db.close();
    await store.close();
    folder.remove();
  });

  it('are looked for among the newest 16,384 of all traces of a unit: an older one is kept a second time, and totals know it', async () => {
    const folder = temporaryFolder();
    const path = join(folder.path, 'svc.db');
    const store = await openSqliteSignalStore({ path });
    const count = 8_193;
    const spansOf = (spanId: string, runOf: (trace: number) => string) =>
      Array.from({ length: count }, (_, trace) => ({
        ...aSpan({ traceId: traceIdOf(trace), spanId }),
        correlation: { project: 'one', runId: runOf(trace) },
      }));
    for (const [n, run] of ['a', 'b', 'c'].entries())
      await store.write(aUnit({ spans: spansOf(spanIdOf(n), () => run) }));
    // Two of each are read.
    await store.write(aUnit({ spans: spansOf(spanIdOf(3), (trace) => (trace === 7 ? 'a' : 'b')) }));
    const db = new Database(path, { readonly: true });
    const runsOf = (trace: number) =>
      db
        .prepare(
          'SELECT c.run_id FROM trace_contexts AS c JOIN traces AS t USING (trace) WHERE t.trace_id = ? ORDER BY c.context',
        )
        .pluck()
        .all(traceIdOf(trace));
    expect([runsOf(6), runsOf(7)]).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c', 'a'],
    ]);
    expect(db.prepare('SELECT DISTINCT span_count, run_id FROM traces').raw().all()).toEqual([[4, 'a']]);
    db.close();
    await store.close();
    folder.remove();
  });
});

describe('SQLite: the contexts of a trace that has very many', () => {
  /** A trace with as many contexts as spans, each of about `characters`, and how a span more changes them. */
  const aTrace = (count: number, characters: number) => {
    const folder = temporaryFolder();
    const read: string[] = [];
    const { db } = openDataFile(join(folder.path, 'svc.db'), 2, SIGNALS_FILE);
    const clock = { ms: 0, lookMs: 0 };
    const prepare = db.prepare.bind(db);
    db.prepare = ((sql: string) => {
      const statement = prepare(sql);
      const iterate = statement.iterate.bind(statement);
      if (sql.includes('trace_contexts'))
        statement.iterate = function* (...args: unknown[]) {
          for (const row of iterate(...args)) {
            read.push(sql);
            yield row;
          }
        } as typeof statement.iterate;
      return statement;
    }) as typeof db.prepare;
    const writer = unitWriterOf(db, transactionsOf(db).unit, undefined, () => (clock.ms += clock.lookMs));
    let next = 1;
    const write = (runs: readonly string[], from: number): void => {
      const spans = runs.map((run, n) => ofRun(run, from + n));
      writer.write(
        [...encodeUnit(aUnit({ spans }), 0n)].map(({ rows }) => rows),
        next,
      );
      writer.finish();
      next += spans.length;
    };
    const runOf = (n: number): string => `run ${n} ${'x'.repeat(characters)}`;
    write(
      Array.from({ length: count }, (_, n) => runOf(n)),
      0,
    );
    return {
      clock,
      /** @returns how many contexts are read for a span of this run, and how many are kept then */
      add: (run: number, span: number): unknown[] => {
        read.length = 0;
        write([runOf(run)], span);
        return [read.length, db.prepare('SELECT count(*) FROM trace_contexts').pluck().get()];
      },
      settle: (): unknown => {
        while (writer.msUntilLate() !== undefined) {
          clock.ms += 10_000;
          writer.settleLate();
        }
        return db.prepare('SELECT span_count, run_id FROM traces').raw().get();
      },
      close: () => {
        db.close();
        folder.remove();
      },
    };
  };

  it('are read sixteen at once, and the rest where one is not among them', () => {
    const trace = aTrace(100, 0);
    expect(trace.add(99, 200)).toEqual([16, 100]);
    expect(trace.add(84, 201)).toEqual([16, 100]);
    expect(trace.add(83, 202)).toEqual([100, 100]);
    expect(trace.add(0, 203)).toEqual([100, 100]);
    expect(trace.add(100, 204)).toEqual([100, 101]);
    expect(trace.settle()).toEqual([105, 'run 0 ']);
    trace.close();
  });

  it('are read up to 4 MiB, and one that is not among those is kept a second time', () => {
    const trace = aTrace(300, 40_000);
    // A hundred and four and what fills the last of the room, and 1 KiB for the trace.
    const most = Math.ceil((4 * 1024 * 1024 + 1024) / 40_008);
    const [read, kept] = trace.add(299 - most + 2, 400);
    expect([read, kept]).toEqual([most, 300]);
    expect(trace.add(0, 401)).toEqual([most, 301]);
    expect(trace.add(0, 402)).toEqual([16, 301]);
    expect(trace.settle()).toEqual([303, expect.stringMatching(/^run 0 /)]);
    trace.close();
  });

  it('are not read beyond sixteen where long traces took all of their time', () => {
    const trace = aTrace(100, 0);
    trace.clock.lookMs = 10_000;
    expect(trace.add(0, 200)).toEqual([100, 100]);
    trace.clock.lookMs = 0;
    expect(trace.add(0, 201)).toEqual([16, 101]);
    expect(trace.add(0, 202)).toEqual([16, 101]);
    expect(trace.settle()).toEqual([103, 'run 0 ']);
    trace.close();
  });

  it('are not read at all where even few of them are too much', () => {
    const trace = aTrace(40, 400_000);
    expect(trace.add(39, 200)).toEqual([11, 41]);
    expect(trace.settle()).toEqual([41, expect.stringMatching(/^run 0 /)]);
    trace.close();
  });
});

describe('SQLite: a value of a facet', () => {
  it('that a trace lets go of stays when another trace brings it in the same transaction', async () => {
    const folder = temporaryFolder();
    const store = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
    const named = (n: number, userId: string) =>
      aSpan({ traceId: traceIdOf(n), spanId: spanIdOf(1), correlation: { userId } });
    await store.write(aUnit({ spans: [named(1, 'ann')] }));
    await store.write(aUnit({ spans: [named(2, 'ann'), named(1, 'bob')] }));
    const found = async (userId: string): Promise<string[]> =>
      (await store.listTraces(traces({ userId }))).items.map(({ traceId }) => traceId);
    expect([await found('ann'), await found('bob')]).toEqual([[traceIdOf(2)], [traceIdOf(1)]]);
    await store.close();
    folder.remove();
  });
});

describe('the row of a trace', () => {
  it('is written when its totals change, and left alone when the same spans come again', () => {
    const folder = temporaryFolder();
    const { db } = openDataFile(join(folder.path, 'svc.db'), 2, SIGNALS_FILE);
    const writer = unitWriterOf(db, transactionsOf(db).unit);
    db.exec(
      'CREATE TABLE updates (trace INTEGER); CREATE TRIGGER seen AFTER UPDATE ON traces BEGIN INSERT INTO updates VALUES (new.trace); END',
    );
    let next = 1;
    const write = (...spans: readonly ReturnType<typeof aSpan>[]): unknown => {
      for (const { rows } of encodeUnit(aUnit({ spans: [...spans] }), 0n)) writer.write([rows], next);
      writer.finish();
      next += spans.length;
      return db.prepare('SELECT count(*) FROM updates').pluck().get();
    };
    const span = aSpan({ input: 'text' });
    const longer = { ...span, endTime: span.startTime + 7n };
    expect(write(span)).toBe(0);
    expect(write(span)).toBe(0);
    expect(write(longer)).toBe(1);
    expect(write(longer)).toBe(1);
    expect(write(longer, { ...longer, spanId: spanIdOf(0) })).toBe(2);
    expect(db.prepare('SELECT span_count, duration_ns FROM traces').raw().get()).toEqual([2, 7]);
    db.close();
    folder.remove();
  });
});

describe('a span that comes again', () => {
  it('as it was is left in its place unless it has text, and says when it came last; its trace is what it was', async () => {
    const folder = temporaryFolder();
    const path = join(folder.path, 'svc.db');
    const store = await openSqliteSignalStore({ path });
    const quiet = aSpan({ spanId: spanIdOf(1), attributes: { at: 'desk' } });
    const spoken = aSpan({ spanId: spanIdOf(2), input: 'spoken words' });
    const later = quiet.receivedAt + 5n;
    await store.write(aUnit({ spans: [quiet, spoken] }));
    await store.write(aUnit({ spans: [quiet, spoken].map((span) => ({ ...span, receivedAt: later })) }));
    const spans = (): unknown[] => {
      const db = new Database(path, { readonly: true });
      const rows = db.prepare('SELECT span, received_ns FROM spans ORDER BY span_id').safeIntegers().raw().all();
      db.close();
      return rows;
    };
    expect(spans()).toEqual([
      [1n, later],
      [4n, later],
    ]);
    await store.write(aUnit({ spans: [{ ...quiet, attributes: { at: 'door' } }] }));
    expect(spans()).toEqual([
      [5n, quiet.receivedAt],
      [4n, later],
    ]);
    await store.write(aUnit({ spans: [{ ...quiet, name: 'other', attributes: { at: 'door' } }] }));
    const stored = await Promise.all([1, 2].map((n) => store.findSpan(quiet.traceId, spanIdOf(n), 'all')));
    expect(stored.map((span) => [span?.name, span?.attributes])).toEqual([
      ['other', { at: 'door' }],
      ['work', {}],
    ]);
    await store.close();
    folder.remove();
  });

  it('and has text, moves the position up to which past hours are known: the next start keeps them', () => {
    const folder = temporaryFolder();
    const { db } = openDataFile(join(folder.path, 'svc.db'), 2, SIGNALS_FILE);
    const { unit } = transactionsOf(db);
    const writer = unitWriterOf(db, unit);
    const span = aSpan({ input: 'spoken words' });
    for (const first of [1, 2]) {
      for (const { rows } of encodeUnit(aUnit({ spans: [span] }), 0n)) writer.write([rows], first);
      writer.finish();
    }
    expect(db.prepare('SELECT span, erasure FROM past_hours_position').raw().get()).toEqual([2, 1]);
    db.close();
    folder.remove();
  });

  it('and is followed in its unit by a new one, counts once in the totals', async () => {
    const folder = temporaryFolder();
    const store = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
    const span = aSpan({ spanId: spanIdOf(1) });
    await store.write(aUnit({ spans: [span] }));
    await store.write(aUnit({ spans: [span, aSpan({ spanId: spanIdOf(2), status: 'error' })] }));
    await Promise.all([
      store.write(aUnit({ spans: [span] })),
      store.write(aUnit({ spans: [{ ...span, endTime: span.startTime + 9_000_000_000n }] })),
      store.write(aUnit({ spans: [{ ...span, endTime: span.startTime + 9_000_000_000n }] })),
    ]);
    const [stored] = (await store.listTraces(traces())).items;
    expect(stored).toMatchObject({ spanCount: 2, errorCount: 1, durationNs: 9_000_000_000n });
    await store.close();
    folder.remove();
  });
});

describe('the rows of a unit', () => {
  it('are left as they are: on a full disk they are written a second time', () => {
    const folder = temporaryFolder();
    const { db } = openDataFile(join(folder.path, 'svc.db'), 2, SIGNALS_FILE);
    const transactions = transactionsOf(db);
    const writer = unitWriterOf(db, transactions.unit);
    const correlation = { project: 'payments' };
    const traceId = traceIdOf(1);
    const unit = aUnit({
      spans: [1, 2, 3].map((n) => aSpan({ traceId, spanId: spanIdOf(n), correlation, input: `text ${n}` })),
      logs: [aLog({ traceId, correlation })],
      metrics: [aPoint({ correlation })],
      scores: [aScore({ traceId, correlation })],
      feedback: [aFeedback({ traceId, correlation })],
      aspectNotes: [aNote({ traceId, correlation })],
    });
    const pieces = [...encodeUnit(unit, 0n)].map(({ rows }) => rows);
    const asGiven = structuredClone(pieces);
    const write = (how: () => void): void =>
      transactions.run(() => {
        writer.write(pieces, 41);
        writer.finish();
        how();
      });
    const full = Object.assign(new Error('full'), { code: 'SQLITE_FULL' });
    expect(() =>
      write(() => {
        throw full;
      }),
    ).toThrow(full);
    writer.abandon();
    expect(pieces).toEqual(asGiven);
    write(() => {});
    const pluck = (sql: string): unknown[] => db.prepare(sql).pluck().all();
    expect(pluck('SELECT name FROM projects')).toEqual(['payments']);
    expect(pluck('SELECT span FROM spans ORDER BY span')).toEqual([41, 42, 43]);
    const [project] = pluck('SELECT project FROM projects');
    for (const table of ['logs', 'metric_points', 'scores', 'feedback', 'aspect_notes'])
      expect(pluck(`SELECT project FROM ${table}`)).toEqual([project]);
    db.close();
    folder.remove();
  });
});
