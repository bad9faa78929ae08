import { describe, expect, it } from 'vitest';
import { A_SPAN_ID, A_TRACE_ID, aRequest, attributesOf, aWireSpan, encodeTraces } from '../otlp/request-codec.ts';
import { aContext, decodeBoth } from '../factories.ts';
import { decodeTracesProtobuf } from '../../../src/ingest/otlp/protobuf.ts';

const evaluated = (attributes: Record<string, unknown>) => ({
  events: [
    { name: 'gen_ai.evaluation.result', timeUnixNano: '1700000000500000000', attributes: attributesOf(attributes) },
  ],
});
const batchOf = (attributes: Record<string, unknown>, rest = {}) =>
  decodeBoth([aWireSpan(attributes, rest)], { 'svc.project': 'p' }).protobuf.batch;

describe('event gen_ai.evaluation.result becomes a score', () => {
  it('with name, value, label and explanation, about the span that carries it', () => {
    const { scores, spans } = batchOf(
      {},
      evaluated({
        'gen_ai.evaluation.name': 'relevance',
        'gen_ai.evaluation.score.value': 0.75,
        'gen_ai.evaluation.score.label': 'good',
        'gen_ai.evaluation.explanation': 'it answers',
      }),
    );
    expect(scores).toEqual([
      {
        scoreId: expect.stringMatching(
          /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        ) as string,
        traceId: A_TRACE_ID,
        spanId: A_SPAN_ID,
        scorerId: 'relevance',
        value: 0.75,
        min: 0,
        max: 1,
        label: 'good',
        reason: 'it answers',
        source: 'live',
        timestamp: 1_700_000_000_500_000_000n,
        receivedAt: expect.any(BigInt) as bigint,
        correlation: { project: 'p' },
      },
    ]);
    expect(spans[0]?.events).toHaveLength(1);
  });

  it('with the same id when it is sent again', () => {
    const rest = evaluated({ 'gen_ai.evaluation.name': 'a', 'gen_ai.evaluation.score.value': 1 });
    expect(batchOf({}, rest).scores[0]?.scoreId).toBe(batchOf({}, rest).scores[0]?.scoreId);
  });

  it('on a stretched scale, marked as undeclared, when the value is outside of 0 to 1', () => {
    const score = (value: number) =>
      batchOf({}, evaluated({ 'gen_ai.evaluation.name': 'a', 'gen_ai.evaluation.score.value': value })).scores[0];
    expect(score(4.5)).toMatchObject({ value: 4.5, min: 0, max: 4.5, metadata: { scale: 'undeclared' } });
    expect(score(-2)).toMatchObject({ value: -2, min: -2, max: 1 });
    expect(score(1)).not.toHaveProperty('metadata');
  });

  it('not without a name or a number: the event is kept all the same', () => {
    const { scores, spans } = batchOf({}, evaluated({ 'gen_ai.evaluation.score.label': 'pass' }));
    expect(scores).toEqual([]);
    expect(spans[0]?.events).toHaveLength(1);
  });
});

describe('OpenInference annotations and evaluations', () => {
  it('of a model or of code become scores; under trace. they are about the trace', () => {
    const { scores, feedback } = batchOf({
      'annotations.0.annotation.name': 'toxicity',
      'annotations.0.annotation.score': 0.25,
      'annotations.0.annotation.annotator_kind': 'LLM',
      'annotations.0.annotation.metadata': '{"judge":"m"}',
      'trace.evaluations.1.evaluation.name': 'solved',
      'trace.evaluations.1.evaluation.score': 1,
      'trace.evaluations.1.evaluation.label': 'yes',
    });
    expect(feedback).toEqual([]);
    expect(scores).toMatchObject([
      { scorerId: 'toxicity', value: 0.25, spanId: A_SPAN_ID, metadata: { judge: 'm' } },
      { scorerId: 'solved', value: 1, label: 'yes', traceId: A_TRACE_ID },
    ]);
    expect(scores[1]).not.toHaveProperty('spanId');
  });

  it('of a person become feedback, never a score', () => {
    const { scores, feedback } = batchOf({
      'annotations.0.annotation.name': 'helpful',
      'annotations.0.annotation.score': 4,
      'annotations.0.annotation.annotator_kind': 'HUMAN',
      'annotations.1.annotation.name': 'tone',
      'annotations.1.annotation.label': 'rude',
      'annotations.1.annotation.explanation': 'it shouts',
      'annotations.1.annotation.annotator_kind': 'HUMAN',
    });
    expect(scores).toEqual([]);
    expect(feedback).toMatchObject([
      { kind: 'rating', value: 4, metadata: { name: 'helpful' } },
      { kind: 'tag', value: 'rude', comment: 'it shouts', metadata: { name: 'tone' } },
    ]);
  });
});

describe('judgements that spans carry count as signals of the request as they are made (Limits)', () => {
  const carried = {
    'annotations.0.annotation.name': 'helpful',
    'annotations.0.annotation.score': 1,
    'annotations.1.annotation.name': 'tone',
    'annotations.1.annotation.label': 'rude',
    'annotations.1.annotation.annotator_kind': 'HUMAN',
    'annotations.2.annotation.name': 'without a number',
  };
  const span = aWireSpan(
    carried,
    evaluated({ 'gen_ai.evaluation.name': 'relevance', 'gen_ai.evaluation.score.value': 1 }),
  );
  const decode = (maxSignals: number) => decodeTracesProtobuf(encodeTraces(aRequest([span])), aContext({ maxSignals }));

  it.each([1, 2, 3])('a span and three of them are refused where %s signals are allowed', (maxSignals) => {
    expect(() => decode(maxSignals)).toThrow(`more than ${maxSignals} signals`);
  });

  it('and pass where four are', () => {
    const { spans, scores, feedback } = decode(4).batch;
    expect([spans.length, scores.length, feedback.length]).toEqual([1, 2, 1]);
  });

  it('with a message that says what counted', () => {
    expect(() => decode(3)).toThrow(
      'the request has more than 3 signals, the judgements that its spans carry counted; send smaller batches or raise --max-batch-signals',
    );
  });
});
