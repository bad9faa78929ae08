import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Score, SignalBatch } from '../../../../src/model/signal.ts';
import type { Span } from '../../../../src/model/span.ts';
import { callGroupings } from '../../../../src/store/signals/call-groups.ts';
import { encodeUnit } from '../../../../src/store/sqlite/signals/encode.ts';
import { eraserOf } from '../../../../src/store/sqlite/signals/erase.ts';
import { costReport, summaryReport } from '../../../../src/store/sqlite/signals/read-analytics.ts';
import { countFacets } from '../../../../src/store/sqlite/signals/read-facets.ts';
import { migrations, SIGNALS_FILE } from '../../../../src/store/sqlite/signals/schema.ts';
import { statementsOf } from '../../../../src/store/sqlite/signals/statements.ts';
import { unitWriterOf } from '../../../../src/store/sqlite/signals/write-unit.ts';
import { transactionsOf } from '../../../../src/store/sqlite/transaction.ts';
import { aScore, aSpan, aUnit, spanIdOf, T0, traceIdOf } from '../../signals/factories.ts';

const HOUR = 3_600_000_000_000n;
/** The beginning of an hour. */
const BASE = (T0 / HOUR) * HOUR;
const LATER = Number((BASE + 1_000_000n * HOUR) / 1_000_000n);

const leave: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const step of leave.splice(0).toReversed()) step();
});

/** A writer on a file of its own, and what reports say of it. */
const aFile = (settledMs = 0) => {
  const db = new Database(':memory:');
  leave.push(() => void db.close());
  for (const { sql } of migrations) db.exec(sql);
  db.exec(SIGNALS_FILE.standing ?? '');
  const transactions = transactionsOf(db);
  const writer = unitWriterOf(db, transactions.unit, settledMs);
  const eraser = eraserOf(db, writer);
  const statements = statementsOf(db);
  let nextSpan = 1;
  const writeBatch = (batch: Partial<SignalBatch>): void =>
    transactions.run(() => {
      for (const { rows } of encodeUnit(aUnit(batch), 0n)) writer.write([rows], nextSpan);
      nextSpan += batch.spans?.length ?? 0;
      writer.finish();
    });
  const facetsOf = (from: bigint, to: bigint) =>
    [1, 9, 20, 1_000].flatMap((most) => [
      countFacets(statements, { projects: 'all', limit: 2, most, from, to }),
      countFacets(statements, { projects: ['one'], limit: 100, most, to }),
      countFacets(statements, { projects: ['one', 'two'], limit: 3, most, from }),
      countFacets(statements, { projects: ['two', 'three'], limit: 1, most }),
    ]);
  /** What the same reads say where no hour is added up. */
  const withoutHours = <T>(readAgain: () => T): T => {
    transactions.begin();
    db.exec('DELETE FROM past_hours');
    const answers = readAgain();
    transactions.rollback();
    return answers;
  };
  const read = (from: bigint, to: bigint) => {
    const window = { projects: 'all', from, to, bookModels: ['a'] } as const;
    return [
      summaryReport(statements, window),
      ...callGroupings.flatMap((groupBy) => [
        summaryReport(statements, { ...window, groupBy }),
        costReport(statements, { ...window, groupBy }),
        ...[1_800, 3_600, 7_200].map((bucketSeconds) => costReport(statements, { ...window, groupBy, bucketSeconds })),
      ]),
    ];
  };
  return {
    db,
    writer,
    /** Another start on the same file. */
    reopen: () => void unitWriterOf(db, transactions.unit, settledMs),
    write: (...spans: Span[]) => writeBatch({ spans }),
    judge: (...scores: Score[]) => writeBatch({ scores }),
    erase: (...traces: number[]) => transactions.run(() => eraser.eraseTraces(traces.map(traceIdOf), null)),
    trim: (before: bigint, limit: number) => transactions.run(() => eraser.trim('one', before, limit)),
    /** Adds up all hours that are over and settled, then. */
    addUp: (now = LATER) => {
      for (let hasMore = true; hasMore; ) {
        hasMore = writer.hours.addUp(now, 1_000);
        transactions.run(() => writer.hours.store());
        writer.hours.stored();
      }
    },
    hours: (): number[] =>
      db
        .prepare<[], number>('SELECT hour FROM past_hours ORDER BY project, hour')
        .pluck()
        .all()
        .map((hour) => hour - Number(BASE / HOUR)),
    read,
    statements,
    readSpans: (from: bigint, to: bigint) => withoutHours(() => read(from, to)),
    facetsOf,
    readFacets: (from: bigint, to: bigint) => withoutHours(() => facetsOf(from, to)),
  };
};

const moment = fc
  .tuple(fc.integer({ min: -1, max: 4 }), fc.constantFrom(-1n, 0n, 1n, HOUR / 2n, HOUR - 1n))
  .map(([hour, rest]) => BASE + BigInt(hour) * HOUR + rest);
const aDrawnSpan = fc
  .record({
    trace: fc.integer({ min: 1, max: 5 }),
    span: fc.integer({ min: 1, max: 3 }),
    project: fc.constantFrom('one', 'two'),
    start: moment,
    ms: fc.option(fc.integer({ min: -1, max: 3 })),
    model: fc.constantFrom(undefined, 'a', 'b', 'x/a'),
    entity: fc.constantFrom(undefined, '', 'e'),
    cost: fc.constantFrom(undefined, 0.1, 0.2, 1e-7),
    tokens: fc.constantFrom(undefined, 0, 7),
    failed: fc.boolean(),
    kind: fc.constantFrom('generic', 'model_generation'),
  } as const)
  .map(({ trace, span, project, start, ms, model, entity, cost, tokens, failed, kind }): Span => {
    const { endTime: _, ...rest } = aSpan({ traceId: traceIdOf(trace), spanId: spanIdOf(span), kind });
    return {
      ...rest,
      startTime: start,
      correlation: { project },
      ...(ms === null ? {} : { endTime: start + BigInt(ms) * 1_000_000n }),
      ...(model === undefined ? {} : { model, provider: `of ${model}` }),
      ...(entity === undefined ? {} : { entityName: entity }),
      ...(cost === undefined ? {} : { cost: { totalCost: cost, currency: 'USD', isEstimated: true } }),
      ...(tokens === undefined ? {} : { usage: { inputTokens: tokens, outputTokens: tokens } }),
      ...(failed ? { status: 'error', error: { message: 'no' } } : {}),
    };
  });
type File = ReturnType<typeof aFile>;
const aStep: fc.Arbitrary<(file: File) => void> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .array(aDrawnSpan, { minLength: 1, maxLength: 6 })
      .map((spans) => (file: File) => file.write(...spans)),
  },
  { weight: 3, arbitrary: fc.constant((file: File) => file.addUp()) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 }).map((trace) => (file: File) => void file.erase(trace)) },
  {
    weight: 1,
    arbitrary: fc.tuple(moment, fc.integer({ min: 1, max: 3 })).map(
      ([before, limit]) =>
        (file: File) =>
          void file.trim(before, limit),
    ),
  },
);

describe('what hours add up to', () => {
  it('is what their spans say, to the last digit, whatever is written, replaced, erased and trimmed meanwhile', () => {
    let added = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(aStep, moment, moment), { minLength: 1, maxLength: 14 }), (steps) => {
        const file = aFile();
        for (const [step, from, to] of steps) {
          step(file);
          added += file.hours().length;
          expect(file.read(from, to)).toEqual(file.readSpans(from, to));
          expect(file.read(BASE - 2n * HOUR, BASE + 9n * HOUR)).toEqual(
            file.readSpans(BASE - 2n * HOUR, BASE + 9n * HOUR),
          );
        }
        file.db.close();
      }),
      { numRuns: 80 },
    );
    expect(added).toBeGreaterThan(50);
  }, 120_000);

  const call = (trace: number, start: bigint): Span =>
    aSpan({
      traceId: traceIdOf(trace),
      kind: 'model_generation',
      model: 'a',
      startTime: start,
      endTime: start + 1_000_000n,
      cost: { totalCost: 0.5, currency: 'USD', isEstimated: true },
    });

  it('stands from the hour on that is over and unchanged for the time, until something of the hour changes', () => {
    const file = aFile(60_000);
    const now = Date.now();
    const start = (BigInt(now) * 1_000_000n) / HOUR - 3n;
    file.write(call(1, start * HOUR), call(2, (start + 2n) * HOUR));
    file.addUp(now + 59_000);
    expect(file.hours()).toEqual([]);
    file.addUp(now + 61_000);
    const first = Number(start - BASE / HOUR);
    expect(file.hours()).toEqual([first, first + 2]);
    file.write(call(3, start * HOUR + 1n));
    expect(file.hours()).toEqual([first + 2]);
    file.erase(2);
    expect(file.hours()).toEqual([]);
    file.addUp(now + 200_000);
    expect(file.hours()).toEqual([first]);
  });

  it('is not made of the hour that goes on', () => {
    const file = aFile();
    file.write(call(1, BASE));
    file.addUp(Number((BASE + HOUR) / 1_000_000n) - 1);
    expect(file.hours()).toEqual([]);
    file.addUp(Number((BASE + HOUR) / 1_000_000n));
    expect(file.hours()).toEqual([0]);
  });

  it('is made anew of all that a change had taken away, at a restart too', () => {
    const file = aFile();
    file.write(call(1, BASE), call(2, BASE + HOUR));
    file.addUp();
    file.db.exec('DELETE FROM past_hours');
    const again = unitWriterOf(file.db, transactionsOf(file.db).unit, 0);
    while (again.hours.addUp(LATER, 1_000));
    expect(again.hours.hasRows()).toBe(true);
    transactionsOf(file.db).run(() => again.hours.store());
    expect(file.hours()).toEqual([0, 1]);
  });

  it('leaves out groups where there are too many of them, and the reports stay as they are', () => {
    const file = aFile();
    const spans = Array.from({ length: 600 }, (_, n) => ({
      ...call(1, BASE + BigInt(n)),
      spanId: spanIdOf(n + 1),
      entityName: `e${n}`,
    }));
    file.write(...spans);
    file.addUp();
    expect(file.db.prepare('SELECT by_model IS NULL, by_entity_name IS NULL FROM past_hours').raw().get()).toEqual([
      0, 1,
    ]);
    expect(file.read(BASE, BASE + HOUR)).toEqual(file.readSpans(BASE, BASE + HOUR));
  });

  it('is read in pieces, also where an hour has many spans', () => {
    const file = aFile();
    const spans = Array.from({ length: 9_000 }, (_, n) => ({
      ...call(1 + (n % 10), BASE + BigInt(n) * 1_000n),
      spanId: spanIdOf(n + 1),
    }));
    file.write(...spans);
    file.addUp();
    expect(file.hours()).toEqual([0]);
    expect(file.read(BASE, BASE + HOUR)).toEqual(file.readSpans(BASE, BASE + HOUR));
  });

  const aFacetedSpan = fc
    .record({
      trace: fc.integer({ min: 1, max: 60 }),
      span: fc.integer({ min: 1, max: 2 }),
      project: fc.constantFrom('one', 'one', 'two'),
      start: fc
        .tuple(fc.integer({ min: 0, max: 2 }), fc.constantFrom(0n, 1n, HOUR / 2n, HOUR - 1n))
        .map(([hour, rest]) => BASE + BigInt(hour) * HOUR + rest),
      user: fc.constantFrom(undefined, 'u', 'v', 'w', 'x', 'y'),
      tags: fc.subarray(['s', 't']),
      model: fc.constantFrom(undefined, 'a', 'b'),
      failed: fc.boolean(),
    } as const)
    .map(({ trace, span, project, start, user, tags, model, failed }) =>
      aSpan({
        traceId: traceIdOf(trace),
        spanId: spanIdOf(span),
        startTime: start,
        endTime: start,
        status: failed ? 'error' : 'ok',
        ...(model === undefined ? {} : { model, kind: 'model_generation' }),
        correlation: { project, tags, ...(user === undefined ? {} : { userId: user }) },
      }),
    );

  it('counts facets as their traces say, of the newest as of all, whatever changes', () => {
    let dense = 0;
    fc.assert(
      fc.property(
        fc.array(aFacetedSpan, { minLength: 40, maxLength: 90 }),
        fc.array(
          fc.oneof(
            aFacetedSpan.map((span) => (file: File) => file.write(span)),
            fc.integer({ min: 1, max: 60 }).map((trace) => (file: File) => void file.erase(trace)),
            fc
              .integer({ min: 1, max: 60 })
              .map(
                (trace) => (file: File) =>
                  file.judge(aScore({ traceId: traceIdOf(trace), correlation: { project: 'one' } })),
              ),
          ),
          { maxLength: 5 },
        ),
        fc.array(fc.tuple(moment, moment), { minLength: 1, maxLength: 3 }),
        (spans, steps, windows) => {
          const file = aFile();
          file.write(...spans);
          const compare = (): void => {
            for (const [from, to] of windows) expect(file.facetsOf(from, to)).toEqual(file.readFacets(from, to));
          };
          for (const step of steps) {
            file.addUp();
            compare();
            dense += file.db.prepare<[], number>('SELECT count(*) FROM past_hours WHERE traces > 9').pluck().get() ?? 0;
            step(file);
            compare();
          }
          file.db.close();
        },
      ),
      { numRuns: 60 },
    );
    expect(dense).toBeGreaterThan(100);
  }, 120_000);

  it('is read of the spans where a sum has no number', () => {
    const file = aFile();
    const dear = (trace: number) => ({
      ...call(trace, BASE),
      cost: { totalCost: 1.7e308, currency: 'USD', isEstimated: true },
    });
    file.write(dear(1), dear(2));
    file.addUp();
    expect(file.hours()).toEqual([0]);
    expect(file.read(BASE, BASE + HOUR)).toEqual(file.readSpans(BASE, BASE + HOUR));
  });

  it('counts tokens beyond the largest integer of the file', () => {
    const file = aFile();
    const tokens = Number.MAX_SAFE_INTEGER;
    const spans = Array.from({ length: 2_200 }, (_, n) => ({
      ...call(1 + (n % 2), BASE + BigInt(n)),
      spanId: spanIdOf(n + 1),
      usage: { inputTokens: tokens, outputTokens: tokens },
    }));
    file.write(...spans);
    const read = () => [
      costReport(file.statements, {
        projects: 'all',
        from: BASE,
        to: BASE + HOUR,
        bookModels: ['a'],
        groupBy: 'model',
      }),
      costReport(file.statements, { projects: 'all', from: BASE, to: BASE + HOUR, bookModels: ['a'], groupBy: 'name' }),
    ];
    const before = read();
    expect(before.map(({ groups }) => Math.round((groups[0]?.inputTokens ?? 0) / tokens))).toEqual([2_200, 2_200]);
    file.addUp();
    expect(file.hours()).toEqual([0]);
    expect(read()).toEqual(before);
  });

  it('is made also after the clock was set back, and the next look is within an hour', () => {
    const file = aFile(60_000);
    const now = Date.now();
    vi.useFakeTimers({ now: now + 365 * 86_400_000, toFake: ['Date'] });
    file.write(call(1, BASE), call(2, BigInt(Date.now()) * 1_000_000n));
    vi.setSystemTime(now);
    file.addUp(now);
    expect(file.hours()).toEqual([0]);
    expect(file.writer.hours.nextAt(now)).toBeLessThanOrEqual(now + 3_600_000);
  });

  it('does not gather in memory while no row can be stored', () => {
    const file = aFile();
    file.write(call(1, BASE));
    expect(file.writer.hours.addUp(LATER, 1_000)).toBe(false);
    file.write(call(2, BASE + HOUR));
    expect(file.writer.hours.addUp(LATER, 1_000)).toBe(true);
    file.writer.hours.store();
    expect(file.hours()).toEqual([0]);
    file.writer.hours.stored();
    file.addUp();
    expect(file.hours()).toEqual([0, 1]);
  });

  it.each([
    ['writes a span', "UPDATE copied SET span = span + 7, span_id = 'later'; INSERT INTO spans SELECT * FROM copied"],
    ['erases one', 'DELETE FROM spans; INSERT INTO pending_erasures (span) VALUES (1)'],
  ])('is forgotten where a build that does not know of it %s', (_, sql) => {
    const file = aFile();
    file.write(call(1, BASE));
    file.addUp();
    file.reopen();
    expect(file.hours()).toEqual([0]);
    file.db.exec(`CREATE TEMP TABLE copied AS SELECT * FROM spans; ${sql}`);
    file.reopen();
    expect(file.hours()).toEqual([]);
  });
});
