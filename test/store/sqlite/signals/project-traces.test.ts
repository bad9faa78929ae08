import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Feedback, Score, SignalBatch } from '../../../../src/model/signal.ts';
import type { Span } from '../../../../src/model/span.ts';
import { encodeUnit } from '../../../../src/store/sqlite/signals/encode.ts';
import { eraserOf } from '../../../../src/store/sqlite/signals/erase.ts';
import { migrations, SIGNALS_FILE } from '../../../../src/store/sqlite/signals/schema.ts';
import { unitWriterOf } from '../../../../src/store/sqlite/signals/write-unit.ts';
import { transactionsOf } from '../../../../src/store/sqlite/transaction.ts';
import { aFeedback, aScore, aSpan, aUnit, SECOND, spanIdOf, T0, traceIdOf } from '../../signals/factories.ts';

/** A file of its own, one transaction a call, and what it says of its traces apart from the numbers that rows have. */
const aFile = () => {
  /** What was run since `countStatements`, while it counts. */
  let run: string[] | undefined;
  const db = new Database(':memory:', { verbose: (sql) => run?.push(String(sql)) });
  for (const { sql } of migrations) db.exec(sql);
  db.exec(SIGNALS_FILE.standing ?? '');
  const transactions = transactionsOf(db);
  /** Each look at the clock takes `lookMs`. */
  const clock = { ms: 0, lookMs: 0 };
  const open = () => unitWriterOf(db, transactions.unit, undefined, () => (clock.ms += clock.lookMs));
  let writer = open();
  let eraser = eraserOf(db, writer);
  let nextSpan = 1;
  /** Whether others wait while a unit is written: then its totals may be left to `goOn`. */
  const crowd = { waits: false };
  const goOn = (): void => {
    transactions.run(() => writer.projectAwaited(() => crowd.waits));
    writer.projection.committed();
  };
  return {
    clock,
    crowd,
    /** Brings up some of the totals that an answer waits for. */
    goOn,
    /** The same, and its commit fails. */
    goOnInVain: (): void => {
      try {
        transactions.run(() => {
          writer.projectAwaited(() => crowd.waits);
          throw new Error('in vain');
        });
      } catch {
        writer.abandon();
      }
    },
    giveUp: (): void => writer.projection.giveUpAwaited(),
    awaitedUnits: (): number => writer.projection.committed(),
    awaitedTraces: () => db.prepare('SELECT count(*) FROM awaited_totals').pluck().get(),
    /** How many statements that name `words` were run by `work`. */
    countStatements: (work: () => void, ...words: string[]): number[] => {
      run = [];
      work();
      const found = words.map((word) => run?.filter((sql) => sql.includes(word)).length ?? 0);
      run = undefined;
      return found;
    },
    /** As after a start. */
    reopen: (): void => {
      writer = open();
      eraser = eraserOf(db, writer);
    },
    msUntilLate: (): number | undefined => writer.msUntilLate(),
    settleOne: (): void => transactions.run(() => writer.settleLate()),
    /** Brings up all totals that are late. */
    settle: (): void => {
      while (writer.projection.committed() > 0) goOn();
      for (let slices = 0; writer.msUntilLate() !== undefined; slices++) {
        if (slices > 1000) throw new Error('there is no end of late totals');
        clock.ms += 10_000;
        transactions.run(() => writer.settleLate());
      }
    },
    lateTraces: () =>
      db.prepare('SELECT (SELECT count(*) FROM late_totals) + (SELECT count(*) FROM late_totals_large)').pluck().get(),
    spanCounts: () => db.prepare('SELECT span_count FROM traces ORDER BY trace_id').pluck().all(),
    write: (...units: Partial<SignalBatch>[]): void => {
      transactions.run(() => {
        for (const batch of units) {
          writer.write(
            [...encodeUnit(aUnit(batch), 0n)].map(({ rows }) => rows),
            nextSpan,
          );
          nextSpan += batch.spans?.length ?? 0;
        }
        writer.finish(crowd.waits ? () => true : undefined);
      });
      writer.projection.committed();
    },
    erase: (...traces: number[]): void => void transactions.run(() => eraser.eraseTraces(traces.map(traceIdOf), null)),
    traces: () =>
      db
        .prepare('SELECT * FROM traces ORDER BY trace_id')
        .all()
        .map((row) => ({ ...(row as object), trace: undefined, facets: undefined })),
    facets: (): unknown[][] =>
      db
        .prepare<[], unknown[]>(
          `SELECT t.trace_id, t.start_ns = f.start_ns, v.facet, v.value FROM trace_facets AS f JOIN traces AS t USING (trace)
           JOIN facet_values AS v ON v.id = f.value ORDER BY 1, 3, 4`,
        )
        .raw()
        .all(),
    /** As the row of each trace says. */
    ownFacets: () =>
      db
        .prepare(
          `SELECT t.trace_id, 1, v.facet, v.value FROM traces AS t, json_each('[' || t.facets || ']') AS f
           JOIN facet_values AS v ON v.id = f.value ORDER BY 1, 3, 4`,
        )
        .raw()
        .all(),
    unusedFacets: () =>
      db.prepare('SELECT value FROM facet_values WHERE id NOT IN (SELECT value FROM trace_facets)').pluck().all(),
    /** Of the contexts that a trace keeps. */
    users: (trace: number) =>
      db
        .prepare(
          `SELECT c.user_id FROM trace_contexts AS c JOIN traces AS t USING (trace) WHERE t.trace_id = ? ORDER BY c.user_id`,
        )
        .pluck()
        .all(traceIdOf(trace)),
    /** Of all contexts that traces keep. */
    contexts: () =>
      db
        .prepare(
          'SELECT DISTINCT t.trace_id, c.user_id, c.tags FROM trace_contexts AS c JOIN traces AS t USING (trace) ORDER BY 1, 2, 3',
        )
        .raw()
        .all(),
    means: () =>
      db
        .prepare(
          'SELECT t.trace_id, s.scorer_id, s.mean FROM trace_scores AS s JOIN traces AS t USING (trace) ORDER BY 1, 2',
        )
        .raw()
        .all(),
    close: () => void db.close(),
  };
};

const TRACES = 4;
const someSpan = fc.record({
  trace: fc.nat(TRACES - 1),
  // Past the number of spans up to which traces are read together.
  span: fc.nat(60),
  start: fc.nat(3),
  model: fc.constantFrom('a', 'b', null),
  user: fc.constantFrom('u', 'v', undefined),
  // Past the number of entries up to which a trace whose start moves is not long.
  tags: fc.constantFrom(0, 0, 3, 60),
});
const someScore = fc.record({
  trace: fc.nat(TRACES - 1),
  id: fc.nat(5),
  scorer: fc.constantFrom('q', 'r'),
  version: fc.constantFrom('1', '2', undefined),
  value: fc.constantFrom(0, 0.25, 1),
  at: fc.nat(3),
});
const someFeedback = fc.record({ trace: fc.nat(TRACES - 1), id: fc.nat(3), up: fc.boolean() });
type Drawn = {
  readonly spans: readonly (typeof someSpan extends fc.Arbitrary<infer T> ? T : never)[];
  readonly scores: readonly (typeof someScore extends fc.Arbitrary<infer T> ? T : never)[];
  readonly feedback: readonly (typeof someFeedback extends fc.Arbitrary<infer T> ? T : never)[];
};

const tagsOf = (count: number, prefix = 't'): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

const spanOf = ({ trace, span, start, model, user, tags }: Drawn['spans'][number]): Span =>
  aSpan({
    traceId: traceIdOf(trace),
    spanId: spanIdOf(span),
    startTime: T0 + BigInt(start),
    ...(model === null ? {} : { model }),
    correlation: {
      project: 'one',
      ...(user === undefined ? {} : { userId: user }),
      ...(tags === 0 ? {} : { tags: tagsOf(tags) }),
    },
  });
const scoreOf = ({ trace, id, scorer, version, value, at }: Drawn['scores'][number]): Score =>
  aScore({
    scoreId: `score-${id}`,
    traceId: traceIdOf(trace),
    scorerId: scorer,
    ...(version === undefined ? {} : { scorerVersion: version }),
    value,
    timestamp: T0 + BigInt(at) * SECOND,
    correlation: { project: 'one' },
  });
const feedbackOf = ({ trace, id, up }: Drawn['feedback'][number]): Feedback =>
  aFeedback({
    feedbackId: `feedback-${id}`,
    traceId: traceIdOf(trace),
    value: up ? 'up' : 'down',
    correlation: { project: 'one' },
  });
const batchOf = ({ spans, scores, feedback }: Drawn): Partial<SignalBatch> => ({
  spans: spans.map(spanOf),
  scores: scores.map(scoreOf),
  feedback: feedback.map(feedbackOf),
});

const aBatch = fc.record({
  spans: fc.oneof(fc.array(someSpan, { maxLength: 6 }), fc.array(someSpan, { minLength: 40, maxLength: 80 })),
  scores: fc.array(someScore, { maxLength: 3 }),
  feedback: fc.array(someFeedback, { maxLength: 2 }),
});

describe('SQLite: totals and facets of traces', () => {
  it('are what all spans and judgements give when they come at once, however they came, were sent again or deleted', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            { weight: 5, arbitrary: fc.array(aBatch, { maxLength: 3 }) },
            { weight: 1, arbitrary: fc.nat(TRACES - 1) },
            { weight: 2, arbitrary: fc.constantFrom('goOn', 'goOnInVain', 'giveUp', 'reopen', 'settleOne') },
          ),
          {
            maxLength: 14,
          },
        ),
        fc.constantFrom(0, 400),
        fc.boolean(),
        (steps, lookMs, othersWait) => {
          const file = aFile();
          file.clock.lookMs = lookMs;
          file.crowd.waits = othersWait;
          const spans = new Map<string, Span>();
          const scores = new Map<string, Score>();
          const feedback = new Map<string, Feedback>();
          for (const step of steps) {
            if (typeof step === 'string') {
              file[step]();
              continue;
            }
            if (typeof step === 'number') {
              file.erase(step);
              const isOf = ({ traceId }: { readonly traceId?: string }): boolean => traceId === traceIdOf(step);
              for (const kept of [spans, scores, feedback])
                for (const [key, signal] of kept) if (isOf(signal)) kept.delete(key);
              continue;
            }
            const batches = step.map(batchOf);
            file.write(...batches);
            for (const batch of batches) {
              for (const span of batch.spans ?? []) spans.set(span.traceId + span.spanId, span);
              for (const score of batch.scores ?? []) scores.set(score.scoreId, score);
              for (const given of batch.feedback ?? []) feedback.set(given.feedbackId, given);
            }
          }
          file.clock.lookMs = 0;
          file.settle();
          const atOnce = aFile();
          atOnce.write(
            { scores: [...scores.values()], feedback: [...feedback.values()] },
            { spans: [...spans.values()] },
          );
          try {
            expect(file.traces()).toEqual(atOnce.traces());
            expect(file.facets()).toEqual(atOnce.facets());
            expect(file.facets()).toEqual(file.ownFacets());
            expect(file.means()).toEqual(atOnce.means());
            expect(file.contexts()).toEqual(atOnce.contexts());
            expect(file.unusedFacets()).toEqual([]);
            expect(file.lateTraces()).toBe(0);
            expect(file.awaitedTraces()).toBe(0);
          } finally {
            file.close();
            atOnce.close();
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('are right of more traces than are read together, each with spans and judgements before', () => {
    const count = 700;
    const all = Array.from({ length: count }, (_, n) => n);
    const first = all.map((n) => aSpan({ traceId: traceIdOf(n), spanId: spanIdOf(n) }));
    const second = all.map((n) => aSpan({ traceId: traceIdOf(n), spanId: spanIdOf(count + n), model: `m${n % 3}` }));
    const judged = all.map((n) => aScore({ scoreId: `s${n}`, traceId: traceIdOf(n), value: (n % 5) / 4 }));
    const file = aFile();
    file.write({ spans: first });
    file.write({ scores: judged });
    file.write({ spans: second });
    const atOnce = aFile();
    atOnce.write({ scores: judged, spans: [...first, ...second] });
    expect(file.traces()).toHaveLength(count);
    expect(file.traces()).toEqual(atOnce.traces());
    expect(file.facets()).toEqual(atOnce.facets());
    expect(file.means()).toEqual(atOnce.means());
    file.close();
    atOnce.close();
  });

  it('judgements alone read no span: totals stay as they are stored', () => {
    const file = aFile();
    file.write({ spans: [aSpan({ traceId: traceIdOf(1), spanId: spanIdOf(1) })] });
    const [before] = file.traces();
    file.write(
      { scores: [aScore({ traceId: traceIdOf(1), value: 0.5 })] },
      { feedback: [aFeedback({ traceId: traceIdOf(1) })] },
    );
    expect(file.traces()).toEqual([{ ...before, scores: '[["answered",null,0.5,1]]', feedback: '[["thumbs",1,1]]' }]);
    expect(file.means()).toEqual([[traceIdOf(1), 'answered', 0.5]]);
    file.close();
  });

  const spansOf = (trace: number, from: number, to: number): Span[] =>
    Array.from({ length: to - from }, (_, n) => aSpan({ traceId: traceIdOf(trace), spanId: spanIdOf(from + n) }));

  it('of long traces come with the commit while they take half a second and less, and later where they take more', () => {
    const file = aFile();
    file.write({ spans: [...spansOf(1, 0, 33), ...spansOf(2, 100, 133), ...spansOf(3, 200, 202)] });
    file.write({ spans: spansOf(1, 33, 34) });
    expect(file.msUntilLate()).toBeUndefined();
    file.clock.lookMs = 1_000;
    file.write({ spans: spansOf(1, 34, 35) });
    file.clock.lookMs = 0;
    expect(file.spanCounts()).toEqual([35, 33, 2]);
    file.write({ spans: [...spansOf(1, 35, 36), ...spansOf(2, 133, 135), ...spansOf(3, 202, 203)] });
    expect(file.spanCounts()).toEqual([35, 33, 3]);
    expect(file.lateTraces()).toBe(2);
    expect(file.msUntilLate()).toBeGreaterThan(0);
    file.settle();
    expect(file.spanCounts()).toEqual([36, 35, 3]);
    expect(file.msUntilLate()).toBeUndefined();
    file.write({ spans: spansOf(2, 135, 136) });
    expect(file.spanCounts()).toEqual([36, 36, 3]);
    file.close();
  });

  it('that are late are brought up after the next start, show what is said of their trace, and go with it', () => {
    const file = aFile();
    file.write({ spans: [...spansOf(1, 0, 33), ...spansOf(2, 100, 133)] });
    file.clock.lookMs = 1_000;
    file.write({ spans: spansOf(1, 33, 34) });
    file.write({
      spans: [...spansOf(1, 34, 36), ...spansOf(2, 133, 134)],
      scores: [aScore({ traceId: traceIdOf(1) })],
    });
    expect(file.spanCounts()).toEqual([34, 33]);
    expect(file.means()).toEqual([[traceIdOf(1), 'answered', 1]]);
    file.erase(2);
    expect(file.lateTraces()).toBe(1);
    file.clock.lookMs = 0;
    file.reopen();
    expect(file.msUntilLate()).toBe(0);
    file.settle();
    expect(file.spanCounts()).toEqual([36]);
    expect(file.means()).toEqual([[traceIdOf(1), 'answered', 1]]);
    file.close();
  });

  describe('of traces that stood in the file, while others wait,', () => {
    const count = 300;
    const all = Array.from({ length: count }, (_, n) => n);
    const oneOf = (place: number, traces = all): Partial<SignalBatch> => ({
      spans: traces.flatMap((trace) => spansOf(trace, trace * 10 + place, trace * 10 + place + 1)),
    });
    /** A file whose second span of each trace is stored, and of whose totals none but those of new traces tell of it. */
    const crowded = () => {
      const file = aFile();
      file.write(oneOf(0));
      file.crowd.waits = true;
      file.clock.lookMs = 60;
      file.write(oneOf(1, [...all, count]));
      expect(file.spanCounts()).toEqual([...all.map(() => 1), 1]);
      expect([file.awaitedUnits(), file.awaitedTraces(), file.lateTraces()]).toEqual([1, count, 0]);
      return file;
    };

    it('are not those of new traces, which come whole with the commit', () => {
      const file = crowded();
      const atOnce = aFile();
      atOnce.write(oneOf(1, [count]));
      expect(file.facets().filter(([traceId]) => traceId === traceIdOf(count))).toEqual(atOnce.facets());
      file.close();
      atOnce.close();
    });

    it('come in commits after that of their unit, 128 at least in each', () => {
      const file = crowded();
      file.write(oneOf(2, [count + 1]));
      const known: unknown[] = [];
      for (const units of [1, 1, 0]) {
        file.goOn();
        expect(file.awaitedUnits()).toBe(units);
        known.push(file.spanCounts().filter((spans) => spans === 2).length);
      }
      expect(known).toEqual([128, 256, 300]);
      expect([file.awaitedTraces(), file.lateTraces()]).toEqual([0, 0]);
      file.close();
    });

    it('come at once where nobody waits any more', () => {
      const file = crowded();
      file.crowd.waits = false;
      file.goOn();
      expect(file.spanCounts()).toEqual([...all.map(() => 2), 1]);
      file.close();
    });

    it('come in the order of their units, each as it is by then', () => {
      const file = crowded();
      file.write(oneOf(2, all.slice(0, 10)));
      expect(file.awaitedUnits()).toBe(2);
      for (const units of [2, 2, 1, 0]) {
        file.goOn();
        expect(file.awaitedUnits()).toBe(units);
      }
      expect(file.spanCounts()).toEqual([...all.map((trace) => (trace < 10 ? 3 : 2)), 1]);
      file.close();
    });

    it('come once more after a commit that failed', () => {
      const file = crowded();
      file.goOnInVain();
      // What a rollback has others look for is not this: its answer still waits.
      file.settleOne();
      expect([file.awaitedUnits(), file.awaitedTraces(), file.lateTraces()]).toEqual([1, count, 0]);
      file.crowd.waits = false;
      file.goOn();
      expect(file.spanCounts()).toEqual([...all.map(() => 2), 1]);
      file.close();
    });

    it.each(['reopen', 'giveUp'] as const)('are late when no answer can wait for them: %s', (end) => {
      const file = crowded();
      file[end]();
      expect([file.awaitedUnits(), file.msUntilLate()]).toEqual([0, 0]);
      file.clock.lookMs = 0;
      file.settle();
      expect(file.spanCounts()).toEqual([...all.map(() => 2), 1]);
      expect([file.awaitedTraces(), file.lateTraces()]).toEqual([0, 0]);
      file.close();
    });
  });

  it('that are late take turns, also where one of their traces is added to all the time', () => {
    const file = aFile();
    file.write({ spans: [1, 2, 3].flatMap((trace) => spansOf(trace, trace * 100, trace * 100 + 33)) });
    file.clock.lookMs = 1_000;
    file.write({ spans: spansOf(1, 133, 134) });
    file.write({ spans: [1, 2, 3].flatMap((trace) => spansOf(trace, trace * 100 + 34, trace * 100 + 35)) });
    const counts: unknown[] = [];
    for (let slice = 0; slice < 3; slice++) {
      file.settleOne();
      counts.push(file.spanCounts());
      file.write({ spans: spansOf(1, 140 + slice, 141 + slice) });
    }
    expect(counts).toEqual([
      [35, 33, 33],
      [35, 34, 33],
      [35, 34, 34],
    ]);
    file.clock.lookMs = 0;
    file.settle();
    expect(file.spanCounts()).toEqual([38, 34, 34]);
    file.close();
  });

  const ofUser = (trace: number, span: number, userId: string): Span => {
    const plain = aSpan({ traceId: traceIdOf(trace), spanId: spanIdOf(span) });
    return { ...plain, correlation: { ...plain.correlation, userId } };
  };

  it('of a trace of more than 20,000 spans are late, and are added up over several commits', () => {
    const file = aFile();
    file.write({ spans: spansOf(1, 0, 19_999) }, { spans: spansOf(2, 100_000, 100_002) });
    file.write({ spans: spansOf(1, 19_999, 20_001) });
    expect(file.spanCounts()).toEqual([20_001, 2]);
    file.write({ spans: [...spansOf(1, 20_001, 20_002), ...spansOf(2, 100_002, 100_003)] });
    expect(file.spanCounts()).toEqual([20_001, 3]);
    file.clock.lookMs = 60;
    let slices = 0;
    for (; file.lateTraces() !== 0 && slices < 100; slices++) {
      file.clock.ms += 10_000;
      file.settleOne();
    }
    // A thousand spans each, as the clock leaves room for no more.
    expect(slices).toBe(21);
    expect(file.spanCounts()).toEqual([20_002, 3]);
    file.close();
  });

  it('do not wait for those of a trace of more than 20,000 spans, which takes turns with them', () => {
    const file = aFile();
    file.write(
      { spans: spansOf(1, 0, 20_001) },
      { spans: [2, 3].flatMap((trace) => spansOf(trace, trace * 100_000, trace * 100_000 + 40)) },
    );
    file.clock.lookMs = 1_000;
    file.write({ spans: spansOf(2, 200_040, 200_041) });
    file.write({
      spans: [1, 2, 3].flatMap((trace) => spansOf(trace, trace * 100_000 + 90_000, trace * 100_000 + 90_001)),
    });
    expect(file.lateTraces()).toBe(3);
    file.clock.lookMs = 60;
    const counts: unknown[] = [];
    for (let slice = 0; slice < 3; slice++) {
      file.clock.ms += 10_000;
      file.settleOne();
      counts.push(file.spanCounts());
    }
    expect(counts).toEqual([
      [20_001, 42, 40],
      [20_001, 42, 41],
      [20_001, 42, 41],
    ]);
    file.clock.lookMs = 0;
    file.settle();
    expect(file.spanCounts()).toEqual([20_002, 42, 41]);
    file.close();
  });

  describe('that are being added up when their trace', () => {
    const spans = 2_500;
    /** A file whose first thousand of the spans are added up. */
    const halfWay = () => {
      const file = aFile();
      file.write({ spans: [ofUser(1, 0, 'ann'), ...spansOf(1, 1, spans)] });
      file.clock.lookMs = 1_000;
      file.write({ spans: spansOf(1, spans, spans + 1) });
      file.write({ spans: spansOf(1, spans + 1, spans + 2) });
      expect(file.spanCounts()).toEqual([spans + 1]);
      file.clock.ms += 10_000;
      file.settleOne();
      expect(file.spanCounts()).toEqual([spans + 1]);
      return file;
    };

    it('changes are added up once more', () => {
      const file = halfWay();
      file.write({ spans: [ofUser(1, 0, 'bob'), ...spansOf(1, 90_000, 90_001)] });
      file.settle();
      expect(file.spanCounts()).toEqual([spans + 3]);
      expect(file.users(1)).toEqual([null, 'bob']);
      expect(file.facets()).toEqual(file.ownFacets());
      const atOnce = aFile();
      atOnce.write({ spans: [ofUser(1, 0, 'bob'), ...spansOf(1, 1, spans + 2), ...spansOf(1, 90_000, 90_001)] });
      expect(file.traces()).toEqual(atOnce.traces());
      file.close();
      atOnce.close();
    });

    it('is deleted are gone, and those of a trace that comes with its id are its own', () => {
      const file = halfWay();
      file.erase(1);
      expect(file.lateTraces()).toBe(0);
      file.write({ spans: spansOf(1, 0, 40) });
      file.settle();
      expect(file.spanCounts()).toEqual([40]);
      file.close();
    });
  });

  const tagged = (trace: number, span: number, tags: readonly string[], start = 0n): Span =>
    aSpan({
      traceId: traceIdOf(trace),
      spanId: spanIdOf(span),
      startTime: T0 + start,
      correlation: { tags: [...tags] },
    });

  it('of a trace whose start moves are moved by a few statements, however many tags it has', () => {
    const file = aFile();
    file.write({ spans: [tagged(1, 0, tagsOf(1_000)), tagged(2, 0, tagsOf(1_000))] });
    const counts = (work: () => void) =>
      file.countStatements(work, 'DELETE FROM trace_facets', 'INTO trace_facets', 'DELETE FROM facet_values');
    expect(counts(() => file.write({ spans: [tagged(1, 1, [], -5n)] }))).toEqual([1, 1, 0]);
    // What leaves is looked for, and nothing else.
    expect(counts(() => file.write({ spans: [tagged(1, 0, tagsOf(998), -7n)] }))).toEqual([1, 1, 2]);
    expect(counts(() => file.write({ spans: [tagged(1, 2, [], 5n)] }))).toEqual([0, 0, 0]);
    expect(counts(() => file.erase(2))).toEqual([1, 0, expect.any(Number)]);
    expect(file.facets()).toEqual(file.ownFacets());
    expect(file.facets()).toHaveLength(998 + 3);
    expect(file.unusedFacets()).toEqual([]);
    file.close();
  });

  it('of traces with many tags are late where their start moves, and come with the commit where it stays', () => {
    const file = aFile();
    const all = Array.from({ length: 20 }, (_, trace) => trace);
    const one = (from: number, start: bigint): Partial<SignalBatch> => ({
      spans: all.map((trace) => tagged(trace, from, [], start)),
    });
    file.write({ spans: all.map((trace) => tagged(trace, 0, tagsOf(60))) });
    file.clock.lookMs = 1_000;
    file.write(one(1, 0n));
    expect(file.lateTraces()).toBe(0);
    file.clock.ms += 10_000;
    // The first takes all the time that there is.
    file.write(one(2, -1n));
    expect(file.lateTraces()).toBe(19);
    file.clock.lookMs = 0;
    file.settle();
    expect(file.spanCounts()).toEqual(all.map(() => 3));
    expect(file.facets()).toEqual(file.ownFacets());
    // So may one that is replaced.
    file.clock.lookMs = 1_000;
    file.clock.ms += 10_000;
    file.write(one(2, 1n));
    expect(file.lateTraces()).toBe(19);
    file.clock.lookMs = 0;
    file.settle();
    expect(file.facets()).toEqual(file.ownFacets());
    file.close();
  });

  it('of a trace whose start moves with more than 20,000 tags are late, and others do not wait for them', () => {
    const file = aFile();
    file.write({ spans: [tagged(1, 0, tagsOf(20_100)), ...spansOf(2, 1_000, 1_040)] });
    file.write({ spans: [tagged(1, 1, [], -1n), ...spansOf(2, 1_040, 1_041)] });
    expect(file.spanCounts()).toEqual([1, 41]);
    file.settle();
    expect(file.spanCounts()).toEqual([2, 41]);
    expect(file.facets()).toEqual(file.ownFacets());
    file.close();
  });

  it('of a trace with wide contexts are late by what they hold, and are added up in pieces of half a MiB of them', () => {
    const file = aFile();
    const wide = (span: number): Span => tagged(1, span, tagsOf(30, `${span}${'x'.repeat(2_000)}`));
    const spans = Array.from({ length: 40 }, (_, span) => wide(span));
    file.write({ spans });
    file.clock.lookMs = 1_000;
    file.write({ spans: [wide(40)] });
    // Uses up the time that there is; the next is late.
    file.write({ spans: [wide(41)] });
    expect(file.lateTraces()).toBe(1);
    file.clock.lookMs = 60;
    let slices = 0;
    for (; file.lateTraces() !== 0 && slices < 100; slices++) {
      file.clock.ms += 10_000;
      file.settleOne();
    }
    // Nine contexts of 60,000 characters each.
    expect(slices).toBe(5);
    file.clock.lookMs = 0;
    const atOnce = aFile();
    atOnce.write({ spans: [...spans, wide(40), wide(41)] });
    expect(file.traces()).toEqual(atOnce.traces());
    file.close();
    atOnce.close();
  });

  it('contexts that no span names any more go with the commit, and of late totals with those', () => {
    const file = aFile();
    file.write({ spans: [ofUser(1, 0, 'ann'), ofUser(1, 1, 'cid'), ofUser(2, 0, 'ann'), ...spansOf(2, 1, 40)] });
    file.write({ spans: [ofUser(1, 0, 'bob'), ofUser(2, 0, 'bob')] });
    expect([file.users(1), file.users(2)]).toEqual([
      ['bob', 'cid'],
      [null, 'bob'],
    ]);
    file.clock.lookMs = 1_000;
    file.write({ spans: [ofUser(2, 0, 'dan')] });
    file.write({ spans: [ofUser(2, 0, 'eve')] });
    expect(file.users(2)).toEqual([null, 'dan', 'eve']);
    file.settle();
    expect(file.users(2)).toEqual([null, 'eve']);
    file.close();
  });

  it('of many traces with some spans each are late beyond 4,096 spans that a commit reads, and 4 for each trace', () => {
    const file = aFile();
    const all = Array.from({ length: 600 }, (_, trace) => trace);
    file.write({ spans: all.flatMap((trace) => spansOf(trace, 0, 30)) });
    file.clock.lookMs = 1_000;
    file.write({ spans: all.flatMap((trace) => spansOf(trace, 30, 31)) });
    const few = Math.floor((4_096 + 4 * 600) / 30);
    // The first that has no room takes what there is of the time of long traces.
    expect(file.spanCounts()).toEqual(all.map((trace) => (trace <= few ? 31 : 30)));
    expect(file.lateTraces()).toBe(600 - few - 1);
    file.clock.lookMs = 0;
    file.settle();
    expect(file.spanCounts()).toEqual(all.map(() => 31));
    file.close();
  });

  it('of which more than 32 scores and judgements of feedback are read are late, too; of few the totals know at once', () => {
    const file = aFile();
    const scoresOf = (trace: number, from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) =>
        aScore({ scoreId: `${trace}/${from + n}`, traceId: traceIdOf(trace), value: 1 }),
      );
    const counts = () => file.traces().map((row) => (row as unknown as { scores: string | null }).scores);
    file.write({ spans: [...spansOf(1, 0, 2), ...spansOf(2, 0, 40), ...spansOf(3, 0, 2)] });
    file.write({ scores: [...scoresOf(1, 0, 30), ...scoresOf(2, 0, 30), ...scoresOf(3, 0, 33)] });
    file.clock.lookMs = 1_000;
    // Takes all the time that there is.
    file.write({ spans: spansOf(2, 40, 41) });
    file.write({
      spans: spansOf(2, 41, 42),
      scores: [...scoresOf(1, 30, 31), ...scoresOf(2, 30, 31), ...scoresOf(3, 33, 34)],
      feedback: [aFeedback({ feedbackId: 'of three', traceId: traceIdOf(3) })],
    });
    expect(file.spanCounts()).toEqual([2, 41, 2]);
    expect(counts()).toEqual([31, 31, 33].map((count) => JSON.stringify([['answered', null, 1, count]])));
    expect(file.lateTraces()).toBe(2);
    file.clock.lookMs = 0;
    file.settle();
    expect(file.spanCounts()).toEqual([2, 42, 2]);
    expect(counts()).toEqual([31, 31, 34].map((count) => JSON.stringify([['answered', null, 1, count]])));
    expect(file.facets()).toEqual(file.ownFacets());
    file.close();
  });

  it('of a trace of very many spans of which only something was said wait with the large ones', () => {
    const file = aFile();
    const scores = Array.from({ length: 33 }, (_, n) =>
      aScore({ scoreId: `score ${n}`, traceId: traceIdOf(1), value: 1 }),
    );
    file.write({ spans: spansOf(1, 0, 20_000) }, { spans: spansOf(2, 100_000, 100_040) });
    file.write({ scores });
    file.clock.lookMs = 1_000;
    file.write({ spans: spansOf(2, 100_040, 100_041) });
    file.clock.lookMs = 0;
    file.write({ scores: scores.slice(0, 1), spans: spansOf(2, 100_041, 100_042) });
    file.clock.lookMs = 60;
    file.clock.ms += 10_000;
    file.settleOne();
    expect(file.spanCounts()).toEqual([20_000, 42]);
    expect(file.lateTraces()).toBe(1);
    file.clock.lookMs = 0;
    file.settle();
    expect(file.lateTraces()).toBe(0);
    file.close();
  });
});
