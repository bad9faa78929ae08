import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSampler } from '../../src/ingest/sample.ts';
import { emptyBatch } from '../../src/model/signal.ts';
import type { Feedback, LogRecord, MetricPoint, Score, SignalBatch } from '../../src/model/signal.ts';
import type { Span } from '../../src/model/span.ts';

const aSpan = (traceId: string, project = 'default', name = 'step'): Span => ({
  traceId,
  spanId: '2'.repeat(16),
  name,
  kind: 'generic',
  status: 'ok',
  startTime: 1n,
  isEvent: false,
  receivedAt: 3n,
  correlation: { project },
  attributes: {},
  events: [],
  links: [],
});

const aLog = (traceId: string | undefined, project = 'default'): LogRecord => ({
  logId: 'l',
  timestamp: 1n,
  receivedAt: 1n,
  severity: 'info',
  message: 'm',
  attributes: {},
  correlation: { project },
  ...(traceId !== undefined && { traceId }),
});

const batchOf = (spans: readonly Span[], logs: readonly LogRecord[] = []): SignalBatch => ({
  ...emptyBatch,
  spans,
  logs,
});

/** A trace id whose low 56 bits are the given number. */
const traceWith = (low56: bigint): string => `${'a'.repeat(18)}${low56.toString(16).padStart(14, '0')}`;
const ALL = 2n ** 56n;

const keeps = (fraction: number, traceId: string): boolean =>
  createSampler({ default: fraction, projects: {} })(batchOf([aSpan(traceId)])).batch.spans.length === 1;

describe('sampling keeps a trace when the low 56 bits of its id, as a fraction of 2^56, are below the fraction', () => {
  it.each([
    [0.5, ALL / 2n - 1n, true],
    [0.5, ALL / 2n, false],
    [0.25, ALL / 4n - 1n, true],
    [0.25, ALL / 4n, false],
    // 0.1 is not a double; the double nearest to it, times 2^56, is 7205759403792794 exactly.
    [0.1, 7205759403792793n, true],
    [0.1, 7205759403792794n, false],
    [2 ** -56, 0n, true],
    [2 ** -56, 1n, false],
    [2 ** -60, 0n, true],
    [2 ** -60, 1n, false],
  ])('%d: %d is kept: %s', (fraction, low, kept) => {
    expect(keeps(fraction, traceWith(low))).toBe(kept);
  });

  it('reads the low 56 bits alone', () => {
    expect(keeps(0.5, `${'f'.repeat(18)}${'0'.repeat(14)}`)).toBe(true);
    expect(keeps(0.5, `${'0'.repeat(18)}${'f'.repeat(14)}`)).toBe(false);
  });

  it.each([0n, 1n, ALL / 2n, ALL - 1n])('is exact at 0.0 and at 1.0 for %d', (low) => {
    expect(keeps(0, traceWith(low))).toBe(false);
    expect(keeps(1, traceWith(low))).toBe(true);
    // Exactness does not come from switching sampling off: another project samples.
    const sampler = createSampler({ default: 1, projects: { other: 0 } });
    expect(sampler(batchOf([aSpan(traceWith(low)), aSpan(traceWith(low), 'other')])).batch.spans).toHaveLength(1);
  });

  it.each([-0.1, 1.1, Number.NaN])('refuses the fraction %d, naming it', (fraction) => {
    expect(() => createSampler({ default: fraction, projects: {} })).toThrow(String(fraction));
    expect(() => createSampler({ default: 1, projects: { p: fraction } })).toThrow(RangeError);
  });
});

describe('what follows the trace', () => {
  const kept = traceWith(0n);
  const dropped = traceWith(ALL - 1n);
  const sampler = () => createSampler({ default: 0.5, projects: {} });

  it('drops spans, and logs that name the trace, and keeps the rest', () => {
    const score = { scoreId: 's', traceId: dropped, correlation: { project: 'default' } } as Score;
    const feedback = { feedbackId: 'f', traceId: dropped, correlation: { project: 'default' } } as Feedback;
    const metric = { name: 'm', correlation: { project: 'default' } } as MetricPoint;
    const batch: SignalBatch = {
      ...batchOf([aSpan(kept), aSpan(dropped)], [aLog(kept), aLog(dropped), aLog(undefined)]),
      scores: [score],
      feedback: [feedback],
      metrics: [metric],
    };
    const { batch: after, droppedTraces } = sampler()(batch);
    expect(after.spans.map((span) => span.traceId)).toEqual([kept]);
    expect(after.logs.map((log) => log.traceId)).toEqual([kept, undefined]);
    expect([after.scores, after.feedback, after.metrics]).toEqual([[score], [feedback], [metric]]);
    expect(droppedTraces).toBe(1);
  });

  it('hands back the same batch when nothing is dropped', () => {
    const batch = batchOf([aSpan(kept)], [aLog(undefined)]);
    expect(sampler()(batch).batch).toBe(batch);
  });

  it("uses the fraction of the signal's own project", () => {
    const byProject = createSampler({ default: 1, projects: { quiet: 0 } });
    const { batch } = byProject(
      batchOf([aSpan(kept), aSpan(kept, 'quiet')], [aLog(kept, 'quiet'), aLog(undefined, 'quiet')]),
    );
    expect(batch.spans.map((span) => span.correlation.project)).toEqual(['default']);
    expect(batch.logs.map((log) => log.traceId)).toEqual([undefined]);
  });

  it('takes a project named __proto__ for a project', () => {
    const byProject = createSampler({ default: 1, projects: { a: 0 } });
    expect(byProject(batchOf([aSpan(kept, '__proto__'), aSpan(kept, 'toString')])).batch.spans).toHaveLength(2);
  });
});

describe('traces the sampling policy dropped', () => {
  it('counts a trace once, not its spans or logs, also over batches', () => {
    const sampler = createSampler({ default: 0, projects: {} });
    const [one, two] = [traceWith(1n), traceWith(2n)];
    expect(sampler(batchOf([aSpan(one), aSpan(one), aSpan(two)], [aLog(one)])).droppedTraces).toBe(2);
    expect(sampler(batchOf([aSpan(one)], [aLog(traceWith(3n))])).droppedTraces).toBe(1);
  });

  it('forgets old traces rather than grow: after 20,000 others, a trace counts again', () => {
    const sampler = createSampler({ default: 0, projects: {} });
    sampler(batchOf([aSpan(traceWith(0n))]));
    for (let n = 1n; n <= 20_000n; n += 1n) sampler(batchOf([aSpan(traceWith(n))]));
    expect(sampler(batchOf([aSpan(traceWith(0n))])).droppedTraces).toBe(1);
    expect(sampler(batchOf([aSpan(traceWith(20_000n))])).droppedTraces).toBe(0);
  });
});

describe('any batch', () => {
  const traceId = fc.bigInt({ min: 0n, max: ALL - 1n }).map(traceWith);
  const fraction = fc.double({ min: 0, max: 1, noNaN: true });

  it('keeps a trace whole or drops it whole, in any order and any cut into batches', () => {
    fc.assert(
      fc.property(fc.array(traceId, { maxLength: 20 }), fraction, fc.nat(), (ids, keep, cut) => {
        const spans = [...ids, ...ids].map((id) => aSpan(id));
        const policy = { default: keep, projects: {} };
        const whole = createSampler(policy)(batchOf(spans)).batch.spans.map((span) => span.traceId);
        const at = cut % (spans.length + 1);
        const sampler = createSampler(policy);
        const parts = [spans.slice(at), spans.slice(0, at)].flatMap((part) => sampler(batchOf(part)).batch.spans);
        expect(parts.map((span) => span.traceId).toSorted()).toEqual(whole.toSorted());
        for (const id of ids) expect(whole.filter((kept) => kept === id).length % 2).toBe(0);
      }),
    );
  });

  it('agrees with exact arithmetic', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: ALL - 1n }), fc.nat({ max: 2 ** 30 }), (low, numerator) => {
        // A fraction of 2^30 is an exact double, so both sides are exact: low / 2^56 < numerator / 2^30.
        expect(keeps(numerator / 2 ** 30, traceWith(low))).toBe(low < BigInt(numerator) * 2n ** 26n);
      }),
    );
  });

  it('keeps with a greater fraction what a smaller one keeps', () => {
    fc.assert(
      fc.property(traceId, fraction, fraction, (id, a, b) => {
        expect(!keeps(Math.min(a, b), id) || keeps(Math.max(a, b), id)).toBe(true);
      }),
    );
  });
});
