import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SignalRefusal } from '../../src/ingest/decoded.ts';
import { type GateRules, gateElement } from '../../src/ingest/gate.ts';
import { createQuota } from '../../src/ingest/quota.ts';
import { createSampler } from '../../src/ingest/sample.ts';
import type { SignalBatch } from '../../src/model/signal.ts';
import { aBatch, aFeedback, aLog, aScore, aSpan, spanId, traceId } from './signals.ts';

const everything: GateRules = {
  reach: 'all',
  sample: (batch) => ({ batch, droppedTraces: 0 }),
  admit: () => 'unbounded',
  overQuota: (project) => ({ code: 'over_quota', message: `${project} is over its ceiling` }),
};

const gate = (batch: SignalBatch, rules: Partial<GateRules>, refusals: readonly SignalRefusal[] = []) =>
  gateElement([{ batch, refusals }], 4, { ...everything, ...rules });

const ceiling = (perMinute: number): Pick<GateRules, 'admit'> => {
  const quota = createQuota({ perMinute, projects: {} });
  return { admit: (project) => quota.admit(project, 0) };
};

const spans = (...projects: string[]) =>
  projects.map((project, n) => aSpan({ project, spanId: spanId(n), traceId: traceId(n) }));
const refused = (index: number): SignalRefusal => ({
  batch: 4,
  signal: 'spans',
  index,
  code: 'invalid_id',
  message: 'bad id',
});

describe('the gate', () => {
  it('lets everything pass that nothing speaks against', () => {
    const batch = aBatch({ spans: spans('a', 'b'), logs: [aLog()], scores: [aScore()], feedback: [aFeedback()] });
    const gated = gate(batch, {});
    expect(gated.batch).toEqual(batch);
    expect(gated).toMatchObject({ refusals: [], overQuota: [], sampledOut: 0, unbounded: 5 });
  });

  it('refuses, one by one, signals of projects that the key does not reach', () => {
    const gated = gate(aBatch({ spans: spans('mine', 'theirs', 'mine'), scores: [aScore({ project: 'theirs' })] }), {
      reach: ['mine'],
    });
    expect(gated.batch.spans.map((span) => span.spanId)).toEqual([spanId(0), spanId(2)]);
    expect(gated.batch.scores).toEqual([]);
    expect(gated.refusals).toEqual([
      {
        batch: 4,
        signal: 'spans',
        index: 1,
        code: 'forbidden',
        message: 'this key does not reach project "theirs"; leave the project out or use a key that reaches it',
        field: 'correlation.project',
      },
      expect.objectContaining({ signal: 'scores', index: 0, code: 'forbidden' }),
    ]);
  });

  it('refuses signals beyond the ceiling one by one, by their place in the request, and lets the rest pass', () => {
    const gated = gate(aBatch({ spans: spans('a', 'a', 'b', 'a') }), ceiling(2));
    expect(gated.batch.spans).toHaveLength(3);
    expect(gated.overQuota).toEqual([
      { batch: 4, signal: 'spans', index: 3, code: 'over_quota', message: 'a is over its ceiling' },
    ]);
    expect(gated.admitted).toEqual(
      new Map([
        ['a', 2],
        ['b', 1],
      ]),
    );
    expect(gated.unbounded).toBe(0);
  });

  it('spends no quota on what is out of reach or sampled out', () => {
    const gated = gate(aBatch({ spans: spans('theirs', 'mine', 'mine') }), {
      reach: ['mine'],
      sample: (batch) => ({ batch: { ...batch, spans: batch.spans.slice(1) }, droppedTraces: 1 }),
      ...ceiling(1),
    });
    expect(gated.batch.spans.map((span) => span.spanId)).toEqual([spanId(2)]);
    expect(gated).toMatchObject({ sampledOut: 1, droppedTraces: 1, overQuota: [] });
  });

  it('drops spans of a trace, and logs that name it, and nothing else', () => {
    const sample = createSampler({ default: 0, projects: {} });
    const gated = gate(
      aBatch({
        spans: [aSpan()],
        logs: [aLog({ traceId: traceId(0) }), aLog()],
        scores: [aScore()],
        feedback: [aFeedback()],
      }),
      { sample },
    );
    expect([gated.batch.spans, gated.batch.logs, gated.batch.scores.length, gated.batch.feedback.length]).toEqual([
      [],
      [aLog()],
      1,
      1,
    ]);
    expect(gated).toMatchObject({ sampledOut: 2, droppedTraces: 1, refusals: [] });
  });

  it('takes an element that was decoded in several pieces as one', () => {
    const pieces = [
      { ingestKey: 'k', batch: aBatch({ spans: spans('a', 'a') }), refusals: [refused(1)] },
      { ingestKey: 'k', batch: aBatch({ spans: spans('a', 'a') }), refusals: [] },
    ];
    const gated = gateElement(pieces, 4, { ...everything, ...ceiling(3) });
    expect(gated).toMatchObject({ ingestKey: 'k', overQuota: [{ index: 4 }] });
    expect(gated.batch.spans).toHaveLength(3);
  });

  it('names the place in the request, whichever signals the decoder refused and the ceiling then did', () =>
    fc.assert(
      fc.property(fc.array(fc.constantFrom('refused', 'kept', 'over'), { maxLength: 40 }), (fates) => {
        const places = (fate: string): number[] => fates.flatMap((given, place) => (given === fate ? [place] : []));
        const decoded = fates.flatMap((fate, place) =>
          fate === 'refused' ? [] : [aSpan({ project: fate, spanId: spanId(place) })],
        );
        const gated = gate(
          aBatch({ spans: decoded }),
          { admit: (project) => (project === 'over' ? 'over_quota' : 'admitted') },
          places('refused').toReversed().map(refused),
        );
        expect(gated.overQuota.map(({ index }) => index)).toEqual(places('over'));
        expect(gated.batch.spans.map((span) => span.spanId)).toEqual(places('kept').map(spanId));
      }),
    ));
});
