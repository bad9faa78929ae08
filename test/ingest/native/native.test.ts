import { describe, expect, it } from 'vitest';
import { parseJsonText } from '../../../src/ingest/json-text.ts';
import { decodeFeedback, decodeNativeBatch, decodeNativeSpan, decodeScore } from '../../../src/ingest/native.ts';
import { recordIdOf } from '../../../src/model/ids.ts';
import { Refusal, type Result } from '../../../src/model/failure.ts';
import { authorKinds, feedbackKinds, metricTypes, scoreSources, severities } from '../../../src/model/signal.ts';
import { spanKinds } from '../../../src/model/span.ts';
import { aContext, RECEIVED_AT } from '../factories.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const decode = (batch: unknown, index = 0, changes = {}) =>
  decodeNativeBatch(parseJsonText(Buffer.from(JSON.stringify(batch))), index, aContext(changes));
const valueOf = <T>(result: Result<T>): T => {
  if (!result.ok) throw new Error(result.failure.message);
  return result.value;
};
const failureOf = (result: Result<unknown>) => (result.ok ? undefined : result.failure);
const refusalOf = (run: () => unknown): Refusal => {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('it was not refused');
};

const aSpan = (changes: object = {}) => ({
  trace_id: TRACE,
  span_id: SPAN,
  start_time: '2026-01-01T00:00:00.5Z',
  ...changes,
});
const span = (changes: object = {}) => valueOf(decodeNativeSpan(aSpan(changes), aContext()));
const spanFailure = (changes: object) => failureOf(decodeNativeSpan(aSpan(changes), aContext()));

describe('batch object', () => {
  it('carries any mix of the six signals, and a key', () => {
    const { ingestKey, batch, refusals } = decode({
      ingest_key: 'k',
      spans: [aSpan()],
      logs: [{ message: 'm' }],
      metrics: [{ name: 'm', type: 'gauge', value: 1 }],
      scores: [{ trace_id: TRACE, scorer_id: 's', value: 1 }],
      feedback: [{ trace_id: TRACE, kind: 'thumbs', value: 'up' }],
      aspect_notes: [{ trace_id: TRACE, aspect: 'tone', text: 'It is polite.' }],
    });
    expect(refusals).toEqual([]);
    expect(ingestKey).toBe('k');
    expect(Object.values(batch).map((list) => list.length)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('with a key gives records without an id the same one each time, and no two of them the same', () => {
    const score = { trace_id: TRACE, scorer_id: 's', value: 1 };
    const records = {
      logs: [{ message: 'm' }, { message: 'm' }],
      scores: [score, score, { ...score, score_id: 'own' }],
      feedback: [{ trace_id: TRACE, kind: 'thumbs', value: 'up' }],
      aspect_notes: [{ trace_id: TRACE, aspect: 'tone', text: 'It is polite.' }],
    };
    const idsOf = (batch: object, receivedAt = RECEIVED_AT): string[] => {
      const { logs, scores, feedback, aspectNotes } = decode(batch, 0, { receivedAt }).batch;
      return [
        ...logs.map(({ logId }) => logId),
        ...scores.map(({ scoreId }) => scoreId),
        ...feedback.map(({ feedbackId }) => feedbackId),
        ...aspectNotes.map(({ noteId }) => noteId),
      ];
    };
    const ids = idsOf({ ingest_key: 'k', ...records });
    expect(idsOf({ ingest_key: 'k', ...records }, RECEIVED_AT + 1n)).toEqual(ids);
    expect(ids[4]).toBe('own');
    const others = [
      ...idsOf({ ingest_key: 'other', ...records }),
      ...idsOf({ ingest_key: 'k', scores: [{ ...score, value: 0 }] }),
      ...idsOf(records),
      ...idsOf(records),
    ];
    const drawn = [...ids, ...others].filter((id) => id !== 'own');
    expect(new Set(drawn).size).toBe(drawn.length);
    for (const id of drawn.slice(0, 6))
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('makes that id of the record as it was sent, also where it keeps what no field claims', () => {
    const sent = { trace_id: TRACE, scorer_id: 's', value: 1, metadata: { a: 1 }, extra: 2 };
    const [score] = decode({ ingest_key: 'k', scores: [sent] }).batch.scores;
    expect(score?.metadata).toEqual({ a: 1, extra: 2 });
    expect(score?.scoreId).toBe(recordIdOf(JSON.stringify(['k', 'scores', 0, sent])));
  });

  it('each bad signal is refused alone, with batch, signal, index, code, message and field', () => {
    const { batch, refusals } = decode(
      { spans: [aSpan(), aSpan({ trace_id: 'x' }), 5], scores: [{ trace_id: TRACE }] },
      3,
    );
    expect(batch.spans).toHaveLength(1);
    expect(refusals).toEqual([
      {
        batch: 3,
        signal: 'spans',
        index: 1,
        code: 'invalid_id',
        field: 'trace_id',
        message: expect.stringContaining('32 lowercase hex') as string,
      },
      { batch: 3, signal: 'spans', index: 2, code: 'invalid_body', message: expect.any(String) as string },
      {
        batch: 3,
        signal: 'scores',
        index: 0,
        code: 'invalid_parameter',
        field: 'scorer_id',
        message: expect.any(String) as string,
      },
    ]);
  });

  it('the request is refused where an element is no batch', () => {
    for (const wrong of [
      5,
      null,
      'x',
      [],
      { spans: {} },
      { spans: 'x' },
      { ingest_key: 5 },
      { ingest_key: 'k'.repeat(513) },
      { span: [] },
      { ['__proto__']: [] },
    ])
      expect(refusalOf(() => decode(wrong, 2)).failure.code).toBe('invalid_body');
    expect(refusalOf(() => decode({ span: [] }, 2)).failure).toMatchObject({
      field: 'span',
      message: expect.stringContaining('batch 2') as string,
    });
  });

  it('a key has 1 to 512 characters: an empty one is refused, none is none', () => {
    expect(() => decode({ ingest_key: '', spans: null })).toThrow('not a string of 1 to 512 characters; leave it out');
    expect(() => decode({ ingest_key: 'k'.repeat(513) })).toThrow('1 to 512');
    expect(decode({ ingest_key: null, spans: null })).not.toHaveProperty('ingestKey');
    expect(decode({ ingest_key: 'k' }).ingestKey).toBe('k');
    expect(decode({ ingest_key: 'k'.repeat(512) }).ingestKey).toHaveLength(512);
  });

  it('10,000 signals of all kinds together are taken, 10,001 are not', () => {
    const logs = (count: number) => Array.from({ length: count }, () => ({ message: 'm' }));
    expect(decode({ logs: logs(9_999), spans: [aSpan()] }).batch.logs).toHaveLength(9_999);
    expect(refusalOf(() => decode({ logs: logs(10_000), spans: [aSpan()] })).failure).toMatchObject({
      code: 'payload_too_large',
      message: expect.stringMatching(/10001.*10000/) as string,
    });
  });
});

describe('span', () => {
  it('reads every field of the Span table', () => {
    const read = span({
      parent_span_id: '00f067aa0ba902b7',
      name: 'n',
      kind: 'tool_call',
      status: 'error',
      end_time: '2026-01-01T01:00:01.000000001+01:00',
      is_root: false,
      received_at: '2020-01-01T00:00:00Z',
      input: { a: [1] },
      output: 'text',
      model: 'm',
      provider: 'p',
      entity_name: 'e',
      usage: {
        input_tokens: 5,
        output_tokens: 0,
        total_tokens: 5,
        input_details: { cache_read: 1, cache_write: 2, cache_write_5m: 3, cache_write_1h: 4, audio: 5, text: 6 },
        output_details: { reasoning: 1, audio: 2, text: 3 },
      },
      cost: {
        total_cost: 0.5,
        input_cost: 0.25,
        output_cost: 0.25,
        currency: 'EUR',
        is_estimated: true,
        price_book_id: 'b',
      },
      error: { message: 'm', type: 't', stack: 's' },
      correlation: {
        project: 'p',
        environment: 'e',
        service_name: 'sn',
        service_version: 'sv',
        session_id: 'si',
        thread_id: 'ti',
        user_id: 'ui',
        request_id: 'ri',
        release: 'r',
        run_id: 'ru',
        resource_id: 're',
        experiment_id: 'ex',
        tags: ['a', 'b'],
      },
      attributes: { 'a.b': { c: 1 } },
      events: [{ name: 'ev', time: '2026-01-01T00:00:00.7Z', attributes: { x: 1 } }],
      links: [{ trace_id: TRACE, span_id: SPAN, attributes: { y: 2 } }],
      scope_name: 'scope',
    });
    expect(read).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      parentSpanId: '00f067aa0ba902b7',
      name: 'n',
      kind: 'tool_call',
      status: 'error',
      startTime: 1_767_225_600_500_000_000n,
      endTime: 1_767_225_601_000_000_001n,
      isEvent: false,
      receivedAt: RECEIVED_AT,
      input: { a: [1] },
      output: 'text',
      model: 'm',
      provider: 'p',
      entityName: 'e',
      usage: {
        inputTokens: 5,
        outputTokens: 0,
        totalTokens: 5,
        inputDetails: { cacheRead: 1, cacheWrite: 2, cacheWrite5m: 3, cacheWrite1h: 4, audio: 5, text: 6 },
        outputDetails: { reasoning: 1, audio: 2, text: 3 },
      },
      cost: { totalCost: 0.5, inputCost: 0.25, outputCost: 0.25, currency: 'EUR', isEstimated: true, priceBookId: 'b' },
      error: { message: 'm', type: 't', stack: 's' },
      correlation: {
        project: 'p',
        environment: 'e',
        serviceName: 'sn',
        serviceVersion: 'sv',
        sessionId: 'si',
        threadId: 'ti',
        userId: 'ui',
        requestId: 'ri',
        release: 'r',
        runId: 'ru',
        resourceId: 're',
        experimentId: 'ex',
        tags: ['a', 'b'],
      },
      attributes: { 'a.b': { c: 1 } },
      events: [{ name: 'ev', time: 1_767_225_600_700_000_000n, attributes: { x: 1 } }],
      links: [{ traceId: TRACE, spanId: SPAN, attributes: { y: 2 } }],
      scopeName: 'scope',
    });
  });

  it('needs trace_id and span_id alone', () => {
    expect(valueOf(decodeNativeSpan({ trace_id: TRACE, span_id: SPAN }, aContext()))).toMatchObject({
      name: '',
      kind: 'generic',
      status: 'unset',
      startTime: RECEIVED_AT,
      correlation: { project: 'the-default' },
    });
    expect(spanFailure({ trace_id: undefined })).toMatchObject({ code: 'invalid_id', field: 'trace_id' });
    expect(spanFailure({ span_id: '' })).toMatchObject({ code: 'invalid_id', field: 'span_id' });
  });

  it('ids are lowercase hex of the right length and not all zero', () => {
    for (const field of ['trace_id', 'span_id', 'parent_span_id']) {
      const length = field === 'trace_id' ? 32 : 16;
      for (const id of [
        '0'.repeat(length),
        'A'.repeat(length),
        'a'.repeat(length - 1),
        'a'.repeat(length + 1),
        'g'.repeat(length),
      ])
        expect(spanFailure({ [field]: id }), `${field} ${id}`).toMatchObject({ code: 'invalid_id', field });
    }
  });

  it('"Unset with an end time is recorded ok"', () => {
    expect(span({ status: 'unset', end_time: '2026-01-01T00:00:01Z' }).status).toBe('ok');
    expect(span({ end_time: '2026-01-01T00:00:01Z' }).status).toBe('ok');
    expect(span({ status: 'unset' }).status).toBe('unset');
    expect(span({ is_event: true })).toMatchObject({
      status: 'ok',
      isEvent: true,
      endTime: 1_767_225_600_500_000_000n,
    });
  });

  it('"An error span always carries a message"', () => {
    expect(span({ status: 'error' }).error).toEqual({ message: 'unspecified error' });
    expect(span({ status: 'error', error: { type: 'T' } }).error).toEqual({ message: 'unspecified error', type: 'T' });
    expect(span({ error: { message: 'm' } }).status).toBe('error');
    expect(span({ end_time: '2026-01-01T00:00:01Z' })).not.toHaveProperty('error');
  });

  it('"a span with none of the three main counts has no usage object"', () => {
    expect(span({ usage: { input_details: { cache_read: 5 } } })).not.toHaveProperty('usage');
    expect(span({ usage: { output_tokens: 0 } }).usage).toEqual({ outputTokens: 0 });
  });

  it('a cost has a currency of three letters, USD by itself, and is no estimate by itself', () => {
    expect(span({ cost: { total_cost: 0 } }).cost).toEqual({ totalCost: 0, currency: 'USD', isEstimated: false });
  });

  it('what no field is named for is kept among the attributes, whose own values come first', () => {
    const { attributes } = span({
      newer: { a: 1 },
      taken: 1,
      attributes: { taken: 2 },
      correlation: { tenant: 't' },
      usage: { input_tokens: 1, input_details: { image: 7 } },
      events: [{ name: 'e', extra: 5 }],
    });
    expect(attributes).toEqual({
      taken: 2,
      newer: { a: 1 },
      'correlation.tenant': 't',
      'usage.input_details.image': 7,
      'events[0].extra': 5,
    });
  });

  it('a wrong value names its field', () => {
    const wrong: [object, string][] = [
      [{ kind: 'nonsense' }, 'kind'],
      [{ status: 'fine' }, 'status'],
      [{ start_time: '2026-02-30T00:00:00Z' }, 'start_time'],
      [{ start_time: 5 }, 'start_time'],
      [{ start_time: '1969-12-31T23:59:59Z' }, 'start_time'],
      [{ end_time: '2262-04-11T23:47:16.854775808Z' }, 'end_time'],
      [{ name: 5 }, 'name'],
      [{ is_event: 'yes' }, 'is_event'],
      [{ usage: 5 }, 'usage'],
      [{ usage: { input_tokens: -1 } }, 'usage.input_tokens'],
      [{ usage: { input_tokens: 1.5 } }, 'usage.input_tokens'],
      [{ usage: { input_details: { cache_read: '5' } } }, 'usage.input_details.cache_read'],
      [{ cost: {} }, 'cost.total_cost'],
      [{ cost: { total_cost: -1 } }, 'cost.total_cost'],
      [{ cost: { total_cost: 1, currency: 'usd' } }, 'cost.currency'],
      [{ error: 'text' }, 'error'],
      [{ correlation: [] }, 'correlation'],
      [{ correlation: { tags: [5] } }, 'correlation.tags'],
      [{ correlation: { user_id: 5 } }, 'correlation.user_id'],
      [{ attributes: [] }, 'attributes'],
      [{ events: {} }, 'events'],
      [{ events: [5] }, 'events[0]'],
      [{ events: [{ time: 'now' }] }, 'events[0].time'],
      [{ links: [{ trace_id: TRACE }] }, 'links[0].span_id'],
    ];
    for (const [changes, field] of wrong)
      expect(spanFailure(changes), field).toMatchObject({ code: 'invalid_parameter', field });
    expect(span({ end_time: '2262-04-11T23:47:16.854775807Z' }).endTime).toBe(9_223_372_036_854_775_807n);
  });

  it('takes every kind of the enum', () => {
    for (const kind of spanKinds) expect(span({ kind }).kind).toBe(kind);
  });

  it('makes text storable whichever parser it came through, and takes __proto__ as a plain key', () => {
    const read = span(
      JSON.parse('{"name":"a\\u0000","input":{"__proto__":{"x":"\\ud800"}},"attributes":{"__proto__":1}}') as object,
    );
    expect(read.name).toBe('a\ufffd');
    expect(JSON.stringify(read.input)).toBe('{"__proto__":{"x":"\ufffd"}}');
    expect(Object.keys(read.attributes)).toEqual(['__proto__']);
    const deep: unknown[] = [];
    let inner = deep;
    for (let i = 0; i < 100_000; i++) inner.push((inner = []));
    expect(spanFailure({ input: deep })).toMatchObject({ field: 'input' });
    expect(spanFailure({ input: Number.POSITIVE_INFINITY })).toMatchObject({ field: 'input' });
  });
});

describe('log', () => {
  const log = (changes: object) => decode({ logs: [{ message: 'm', ...changes }] });
  it('reads its fields', () => {
    expect(
      log({
        log_id: 'l',
        timestamp: '2026-01-01T00:00:00Z',
        severity: 'warn',
        logger: 'lg',
        trace_id: TRACE,
        span_id: SPAN,
        attributes: { a: 1 },
        correlation: { project: 'p' },
        extra: 2,
      }).batch.logs,
    ).toEqual([
      {
        logId: 'l',
        timestamp: 1_767_225_600_000_000_000n,
        receivedAt: RECEIVED_AT,
        severity: 'warn',
        message: 'm',
        logger: 'lg',
        traceId: TRACE,
        spanId: SPAN,
        attributes: { a: 1, extra: 2 },
        correlation: { project: 'p' },
      },
    ]);
  });
  it('an empty id makes the service generate one; severity is info by itself; a structured message becomes its text', () => {
    const [read] = log({ log_id: '', message: { a: 1 } }).batch.logs;
    expect(read).toMatchObject({
      logId: expect.stringMatching(UUID) as string,
      severity: 'info',
      message: '{"a":1}',
      timestamp: RECEIVED_AT,
    });
  });
  it('takes every severity, and refuses others', () => {
    for (const severity of severities) expect(log({ severity }).batch.logs[0]?.severity).toBe(severity);
    expect(log({ severity: 'loud' }).refusals).toMatchObject([{ field: 'severity' }]);
    expect(log({ message: null }).refusals).toMatchObject([{ field: 'message' }]);
    expect(log({ trace_id: 'x' }).refusals).toMatchObject([{ field: 'trace_id', code: 'invalid_id' }]);
  });
});

describe('metric point', () => {
  const metric = (changes: object) => decode({ metrics: [{ name: 'm', type: 'gauge', value: 1, ...changes }] });
  it('counters and gauges have a value, histograms sum, count, bounds and bucket_counts', () => {
    for (const type of metricTypes.filter((name) => name !== 'histogram'))
      expect(metric({ type }).batch.metrics[0]).toMatchObject({ type, value: 1 });
    const histogram = {
      type: 'histogram',
      value: undefined,
      sum: 5,
      count: 3,
      bounds: [1, 2],
      bucket_counts: [1, 1, 1],
    };
    expect(metric(histogram).batch.metrics[0]).toMatchObject({
      sum: 5,
      count: 3,
      bounds: [1, 2],
      bucketCounts: [1, 1, 1],
    });
  });
  it('exemplars link to a run', () => {
    expect(
      metric({
        unit: 'u',
        description: 'd',
        temporality: 'delta',
        exemplars: [{ trace_id: TRACE, span_id: SPAN, value: 2, timestamp: '2026-01-01T00:00:00Z' }],
      }).batch.metrics[0],
    ).toMatchObject({
      unit: 'u',
      description: 'd',
      temporality: 'delta',
      exemplars: [{ traceId: TRACE, spanId: SPAN, value: 2, timestamp: 1_767_225_600_000_000_000n, attributes: {} }],
    });
  });
  it('a wrong value names its field', () => {
    const wrong: [object, string][] = [
      [{ name: '' }, 'name'],
      [{ type: 'summary' }, 'type'],
      [{ type: undefined }, 'type'],
      [{ value: undefined }, 'value'],
      [{ value: '1' }, 'value'],
      [{ temporality: 'x' }, 'temporality'],
      [{ type: 'histogram' }, 'count'],
      [{ type: 'histogram', count: 1, bounds: [2, 1], bucket_counts: [1, 1, 1] }, 'bounds'],
      [{ type: 'histogram', count: 1, bounds: [1], bucket_counts: [1] }, 'bucket_counts'],
      [{ type: 'histogram', count: 1, bounds: [1], bucket_counts: [-1, 2] }, 'bucket_counts'],
      [{ exemplars: [{}] }, 'exemplars[0].value'],
    ];
    for (const [changes, field] of wrong) expect(metric(changes).refusals, field).toMatchObject([{ field }]);
  });
});

describe('score', () => {
  const aScore = (changes: object = {}) => ({ trace_id: TRACE, scorer_id: 's', value: 0.5, ...changes });
  const score = (changes: object = {}) => valueOf(decodeScore(aScore(changes), aContext()));
  const failure = (changes: object) => failureOf(decodeScore(aScore(changes), aContext()));

  it('reads every field of the Score table', () => {
    expect(
      score({
        score_id: 'id',
        span_id: SPAN,
        scorer_version: '2',
        value: 3,
        min: 1,
        max: 5,
        label: 'l',
        reason: 'r',
        source: 'manual',
        score_trace_id: TRACE,
        cost: { total_cost: 1 },
        timestamp: '2026-01-01T00:00:00Z',
        correlation: { project: 'p' },
        experiment_id: 'e',
        metadata: { a: 1 },
        extra: 2,
      }),
    ).toEqual({
      scoreId: 'id',
      traceId: TRACE,
      spanId: SPAN,
      scorerId: 's',
      scorerVersion: '2',
      value: 3,
      min: 1,
      max: 5,
      label: 'l',
      reason: 'r',
      source: 'manual',
      scoreTraceId: TRACE,
      cost: { totalCost: 1, currency: 'USD', isEstimated: false },
      timestamp: 1_767_225_600_000_000_000n,
      receivedAt: RECEIVED_AT,
      correlation: { project: 'p' },
      experimentId: 'e',
      metadata: { a: 1, extra: 2 },
    });
  });
  it('"empty string makes the server generate one"; the scale is 0 to 1 and the source live by itself', () => {
    expect(score({ score_id: '' })).toMatchObject({
      scoreId: expect.stringMatching(UUID) as string,
      min: 0,
      max: 1,
      source: 'live',
    });
    expect(score()).not.toHaveProperty('metadata');
  });
  it('"at least one required": trace_id or span_id', () => {
    expect(score({ trace_id: undefined, span_id: SPAN })).toMatchObject({ spanId: SPAN });
    expect(failure({ trace_id: undefined })).toMatchObject({ code: 'invalid_parameter', field: 'trace_id' });
    expect(failure({ trace_id: '' })).toMatchObject({ field: 'trace_id' });
    expect(failure({ trace_id: '0'.repeat(32) })).toMatchObject({ code: 'invalid_id', field: 'trace_id' });
  });
  it('a value on either end of its scale is taken, and beyond it refused', () => {
    for (const value of [0, 1]) expect(score({ value }).value).toBe(value);
    for (const value of [-0.001, 1.001]) expect(failure({ value })).toMatchObject({ field: 'value' });
    expect(failure({ min: 1, max: 1 })).toMatchObject({ field: 'min' });
  });
  it('a wrong value names its field', () => {
    for (const [changes, field] of [
      [{ scorer_id: '' }, 'scorer_id'],
      [{ value: undefined }, 'value'],
      [{ value: Number.NaN }, 'value'],
      [{ source: 'x' }, 'source'],
      [{ metadata: [] }, 'metadata'],
      [{ score_trace_id: 'x' }, 'score_trace_id'],
    ] as const)
      expect(failure(changes), field).toMatchObject({ field });
    for (const source of scoreSources) expect(score({ source }).source).toBe(source);
  });
});

describe('feedback', () => {
  const aFeedback = (changes: object = {}) => ({ trace_id: TRACE, kind: 'thumbs', value: 'up', ...changes });
  const feedback = (changes: object = {}) => valueOf(decodeFeedback(aFeedback(changes), aContext()));
  const failure = (changes: object) => failureOf(decodeFeedback(aFeedback(changes), aContext()));

  it('reads every field of the Feedback table', () => {
    expect(
      feedback({
        feedback_id: 'f',
        span_id: SPAN,
        comment: 'c',
        author_kind: 'expert',
        author_id: 'a',
        metadata: { m: 1 },
        timestamp: '2026-01-01T00:00:00Z',
        correlation: { project: 'p' },
        extra: 2,
      }),
    ).toEqual({
      feedbackId: 'f',
      traceId: TRACE,
      spanId: SPAN,
      kind: 'thumbs',
      value: 'up',
      comment: 'c',
      authorKind: 'expert',
      authorId: 'a',
      metadata: { m: 1, extra: 2 },
      timestamp: 1_767_225_600_000_000_000n,
      receivedAt: RECEIVED_AT,
      correlation: { project: 'p' },
    });
    expect(feedback({ feedback_id: '' }).feedbackId).toMatch(UUID);
  });
  it('thumbs: up or down', () => {
    expect(feedback({ value: 'down' }).value).toBe('down');
    for (const value of ['sideways', 1, true, undefined]) expect(failure({ value })).toMatchObject({ field: 'value' });
  });
  it('rating: a number on the scale that the producer declares', () => {
    const rating = (value: unknown, metadata = {}) => ({ kind: 'rating', value, metadata });
    expect(feedback(rating(7)).value).toBe(7);
    expect(feedback(rating(5, { scale_min: 1, scale_max: 5 })).value).toBe(5);
    expect(failure(rating(6, { scale_min: 1, scale_max: 5 }))).toMatchObject({ field: 'value' });
    expect(failure(rating(0, { scale_min: 1 }))).toMatchObject({ field: 'value' });
    expect(failure(rating(1, { scale_min: 1, scale_max: 1 }))).toMatchObject({ field: 'metadata.scale_min' });
    expect(failure(rating('5'))).toMatchObject({ field: 'value' });
  });
  it('correction, tag, comment: text', () => {
    for (const kind of feedbackKinds.slice(2)) {
      expect(feedback({ kind, value: 'text' }).value).toBe('text');
      expect(failure({ kind, value: 5 })).toMatchObject({ field: 'value' });
      expect(failure({ kind, value: '' })).toMatchObject({ field: 'value' });
    }
  });
  it('is about a run or a span, by a known kind of author', () => {
    expect(failure({ trace_id: undefined })).toMatchObject({ field: 'trace_id' });
    expect(feedback({ trace_id: undefined, span_id: SPAN }).spanId).toBe(SPAN);
    for (const kind of authorKinds) expect(feedback({ author_kind: kind }).authorKind).toBe(kind);
    expect(failure({ author_kind: 'cat' })).toMatchObject({ field: 'author_kind' });
    expect(failure({ kind: 'applause' })).toMatchObject({ field: 'kind' });
  });
});

describe('aspect note', () => {
  const note = (changes: object) =>
    decode({ aspect_notes: [{ trace_id: TRACE, aspect: 'tone', text: 'It is polite.', ...changes }] });
  it('reads its fields', () => {
    expect(
      note({
        note_id: 'n',
        span_id: SPAN,
        model: 'm',
        timestamp: '2026-01-01T00:00:00Z',
        correlation: { project: 'p' },
      }).batch.aspectNotes,
    ).toEqual([
      {
        noteId: 'n',
        traceId: TRACE,
        spanId: SPAN,
        aspect: 'tone',
        text: 'It is polite.',
        model: 'm',
        timestamp: 1_767_225_600_000_000_000n,
        receivedAt: RECEIVED_AT,
        correlation: { project: 'p' },
      },
    ]);
    expect(note({ note_id: '' }).batch.aspectNotes[0]?.noteId).toMatch(UUID);
  });
  it('needs trace_id, aspect and text, and has no place for what it does not know', () => {
    for (const [changes, field] of [
      [{ trace_id: undefined }, 'trace_id'],
      [{ aspect: '' }, 'aspect'],
      [{ text: undefined }, 'text'],
      [{ mood: 'x' }, 'mood'],
    ] as const)
      expect(note(changes).refusals, field).toMatchObject([{ signal: 'aspect_notes', field }]);
  });
});
