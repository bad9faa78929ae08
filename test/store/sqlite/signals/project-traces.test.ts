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
  const db = new Database(':memory:');
  for (const { sql } of migrations) db.exec(sql);
  db.exec(SIGNALS_FILE.standing ?? '');
  const transactions = transactionsOf(db);
  const writer = unitWriterOf(db, transactions.unit);
  const eraser = eraserOf(db, writer);
  let nextSpan = 1;
  return {
    write: (...units: Partial<SignalBatch>[]): void =>
      transactions.run(() => {
        for (const batch of units) {
          writer.write(
            [...encodeUnit(aUnit(batch), 0n)].map(({ rows }) => rows),
            nextSpan,
          );
          nextSpan += batch.spans?.length ?? 0;
        }
        writer.finish();
      }),
    erase: (...traces: number[]): void => void transactions.run(() => eraser.eraseTraces(traces.map(traceIdOf), null)),
    traces: () =>
      db
        .prepare('SELECT * FROM traces ORDER BY trace_id')
        .all()
        .map((row) => ({ ...(row as object), trace: undefined, facets: undefined })),
    facets: () =>
      db
        .prepare(
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

const spanOf = ({ trace, span, start, model, user }: Drawn['spans'][number]): Span =>
  aSpan({
    traceId: traceIdOf(trace),
    spanId: spanIdOf(span),
    startTime: T0 + BigInt(start),
    ...(model === null ? {} : { model }),
    correlation: { project: 'one', ...(user === undefined ? {} : { userId: user }) },
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
          ),
          {
            maxLength: 12,
          },
        ),
        (steps) => {
          const file = aFile();
          const spans = new Map<string, Span>();
          const scores = new Map<string, Score>();
          const feedback = new Map<string, Feedback>();
          for (const step of steps) {
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
            expect(file.unusedFacets()).toEqual([]);
          } finally {
            file.close();
            atOnce.close();
          }
        },
      ),
      { numRuns: 60 },
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
});
