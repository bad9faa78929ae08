import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Span } from '../../../../src/model/span.ts';
import { callGroupings } from '../../../../src/store/signals/call-groups.ts';
import { encodeUnit } from '../../../../src/store/sqlite/signals/encode.ts';
import { eraserOf } from '../../../../src/store/sqlite/signals/erase.ts';
import { costReport, summaryReport } from '../../../../src/store/sqlite/signals/read-analytics.ts';
import { migrations, SIGNALS_FILE } from '../../../../src/store/sqlite/signals/schema.ts';
import { statementsOf } from '../../../../src/store/sqlite/signals/statements.ts';
import { unitWriterOf } from '../../../../src/store/sqlite/signals/write-unit.ts';
import { transactionsOf } from '../../../../src/store/sqlite/transaction.ts';
import { aSpan, aUnit, spanIdOf, T0, traceIdOf } from '../../signals/factories.ts';

const HOUR = 3_600_000_000_000n;
/** The beginning of an hour. */
const BASE = (T0 / HOUR) * HOUR;
const LATER = Number((BASE + 1_000_000n * HOUR) / 1_000_000n);

const leave: (() => void)[] = [];
afterEach(() => {
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
    write: (...spans: Span[]) =>
      transactions.run(() => {
        for (const { rows } of encodeUnit(aUnit({ spans }), 0n)) writer.write([rows], nextSpan);
        nextSpan += spans.length;
        writer.finish();
      }),
    erase: (...traces: number[]) => transactions.run(() => eraser.eraseTraces(traces.map(traceIdOf), null)),
    trim: (before: bigint, limit: number) => transactions.run(() => eraser.trim('one', before, limit)),
    /** Adds up all hours that are over and settled, then. */
    addUp: (now = LATER) => {
      while (writer.hours.addUp(now, 1_000));
      transactions.run(() => writer.hours.store());
      writer.hours.stored();
    },
    hours: (): number[] =>
      db
        .prepare<[], number>('SELECT hour FROM hours ORDER BY project, hour')
        .pluck()
        .all()
        .map((hour) => hour - Number(BASE / HOUR)),
    read,
    /** What the same reports say where no hour is added up. */
    readSpans: (from: bigint, to: bigint) => {
      transactions.begin();
      db.exec('DELETE FROM hours');
      const reports = read(from, to);
      transactions.rollback();
      return reports;
    },
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
    file.db.exec('DELETE FROM hours');
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
    expect(file.db.prepare('SELECT by_model IS NULL, by_entity_name IS NULL FROM hours').raw().get()).toEqual([0, 1]);
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
});
