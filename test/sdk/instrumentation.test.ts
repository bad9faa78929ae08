import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSampler } from '../../src/ingest/sample.ts';
import { emptyBatch } from '../../src/model/signal.ts';
import {
  createInstrumentation,
  type InstrumentationOptions,
  parseTraceparent,
} from '../../sdk/typescript/src/index.ts';
import { isSampled } from '../../sdk/typescript/src/recorder.ts';
import { readSettings } from '../../sdk/typescript/src/settings.ts';
import { type FakeService, refusal, startFakeService } from '../../sdk/conformance/opposite/scripted.ts';

let service: FakeService;
beforeEach(async () => {
  service = await startFakeService();
});
afterEach(() => service.stop());

const quick = { attempts: 3, baseMs: 1, maxMs: 2 };
const create = (options: InstrumentationOptions = {}) =>
  createInstrumentation({ endpoint: service.url, delayMs: 1, retry: quick, ...options });
const sent = (signal: string) =>
  service.callsTo('ingest').flatMap((call) => (call.body[signal] ?? []) as Record<string, unknown>[]);

describe('a span', () => {
  it('is sent with what it was given, in the shape of the native door', async () => {
    const svc = create({ project: 'p', environment: 'test', serviceName: 's', serviceVersion: '1' });
    const result = await svc.span(
      'call',
      {
        kind: 'model_generation',
        model: 'm',
        provider: 'x',
        entityName: 'agent',
        input: { q: 1 },
        attributes: { a: 1 },
        correlation: { user_id: 'u' },
      },
      (span) => {
        span.setOutput('answer');
        span.setUsage({ input_tokens: 3 });
        span.setAttribute('b', 2);
        span.addEvent('first token', { n: 1 });
        return 42;
      },
    );
    expect(result).toBe(42);
    await svc.close();
    expect(sent('spans')).toEqual([
      {
        trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        span_id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
        name: 'call',
        kind: 'model_generation',
        status: 'ok',
        start_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as string,
        end_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as string,
        input: { q: 1 },
        output: 'answer',
        model: 'm',
        provider: 'x',
        entity_name: 'agent',
        usage: { input_tokens: 3 },
        attributes: { a: 1, b: 2 },
        events: [{ name: 'first token', time: expect.any(String) as string, attributes: { n: 1 } }],
        correlation: { project: 'p', environment: 'test', service_name: 's', service_version: '1', user_id: 'u' },
      },
    ]);
    expect(svc.counters()).toMatchObject({ sent: 1, dropped: 0, refused: 0, failed: 0 });
  });

  it('records the error of its function and lets it go on', async () => {
    const svc = create();
    const error = new RangeError('too far');
    await expect(svc.span('call', {}, () => Promise.reject(error))).rejects.toBe(error);
    await svc.close();
    expect(sent('spans')[0]).toMatchObject({ status: 'error', error: { message: 'too far', type: 'RangeError' } });
  });

  it('nests under the span around it, also across awaits, and hands its trace on', async () => {
    const svc = create();
    expect(svc.traceparent()).toBeUndefined();
    await svc.span('outer', { correlation: { session_id: 's' } }, async (outer) => {
      await Promise.resolve();
      expect(svc.traceparent()).toBe(outer.traceparent);
      svc.log('warn', 'inside', { attributes: { n: 1 } });
      await svc.span('inner', {}, () => {});
    });
    await svc.span('elsewhere', { traceparent: '00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01' }, () => {});
    await svc.span('malformed', { traceparent: 'nonsense' }, () => {});
    await svc.close();
    const [inner, outer, elsewhere, malformed] = sent('spans');
    expect(inner).toMatchObject({
      trace_id: outer?.['trace_id'],
      parent_span_id: outer?.['span_id'],
      correlation: { session_id: 's' },
    });
    expect(outer).not.toHaveProperty('parent_span_id');
    expect(elsewhere).toMatchObject({
      trace_id: '5b8efff798038103d269b633813fc60c',
      parent_span_id: 'eee19b7ec3c1b174',
    });
    expect(malformed).not.toHaveProperty('parent_span_id');
    expect(sent('logs')[0]).toMatchObject({
      severity: 'warn',
      message: 'inside',
      trace_id: outer?.['trace_id'],
      span_id: outer?.['span_id'],
    });
  });

  it('is written down when it ends: what changes later does not show, and it ends once', async () => {
    const svc = create({ delayMs: 10_000 });
    const input = { q: 1 };
    const span = svc.startSpan('call', { input });
    span.end();
    input.q = 2;
    span.setOutput('late');
    span.end();
    await svc.close();
    expect(sent('spans')).toEqual([expect.objectContaining({ input: { q: 1 } })]);
    expect(sent('spans')[0]).not.toHaveProperty('output');
  });
});

describe('traceparent', () => {
  it.each([
    ['00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01', true],
    ['cc-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01-more', true],
    ['00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01-more', false],
    ['ff-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01', false],
    ['00-00000000000000000000000000000000-eee19b7ec3c1b174-01', false],
    ['00-5b8efff798038103d269b633813fc60c-0000000000000000-01', false],
    ['00-5B8EFFF798038103d269b633813fc60c-eee19b7ec3c1b174-01', false],
    ['', false],
  ])('%s is usable: %s', (header, usable) => {
    expect(parseTraceparent(header) !== undefined).toBe(usable);
  });
});

describe('scores and feedback', () => {
  it('carry the scale, the source and the trace around the call', async () => {
    const svc = create();
    await svc.span('run', {}, () => {
      svc.score({ scorerId: 'tone', value: 4, min: 1, max: 5, reason: 'kind' });
      svc.feedback({ kind: 'thumbs', value: 'up', authorKind: 'end_user' });
      svc.feedback({ kind: 'rating', value: 3, scaleMin: 1, scaleMax: 5, metadata: { form: 'a' } });
    });
    svc.score({ scorerId: 'tone', value: 0, min: 0, max: 1, spanId: 'eee19b7ec3c1b174', source: 'manual' });
    await svc.close();
    const [trace] = sent('spans');
    expect(sent('scores')).toEqual([
      expect.objectContaining({
        score_id: '',
        scorer_id: 'tone',
        value: 4,
        min: 1,
        max: 5,
        source: 'live',
        trace_id: trace?.['trace_id'],
      }),
      expect.objectContaining({ value: 0, min: 0, max: 1, source: 'manual', span_id: 'eee19b7ec3c1b174' }),
    ]);
    expect(sent('feedback')).toEqual([
      expect.objectContaining({ kind: 'thumbs', value: 'up', author_kind: 'end_user' }),
      expect.objectContaining({ kind: 'rating', value: 3, metadata: { form: 'a', scale_min: 1, scale_max: 5 } }),
    ]);
  });

  it('need a scale at the call site, and are counted, not thrown, when they have none or belong to nothing', async () => {
    const svc = create();
    // @ts-expect-error a score without its scale does not compile
    svc.score({ scorerId: 'tone', value: 1, traceId: 't' });
    svc.score({ scorerId: 'tone', value: 1, min: 0, max: 1 });
    svc.score({ scorerId: 'tone', value: 1, min: 1, max: 0, traceId: 't' });
    svc.feedback({ kind: 'thumbs', value: 'up' });
    await svc.close();
    expect(svc.counters().invalid).toBe(4);
    expect(service.callsTo('ingest')).toEqual([]);
  });
});

describe('delivery', () => {
  it('is retried on 429 and on a 5xx that says later, under the same key, so that nothing is stored twice', async () => {
    service.answer('ingest', refusal(429, 'overloaded', { 'retry-after': '0' }), 'hang up');
    const svc = create();
    svc.startSpan('a').end();
    await svc.close();
    const keys = service.callsTo('ingest').map((call) => call.body['ingest_key']);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(svc.counters()).toMatchObject({ sent: 1, failed: 0 });
  });

  it.each([400, 401, 413])('is never retried on %d', async (status) => {
    service.answer('ingest', refusal(status, 'no'));
    const svc = create();
    svc.startSpan('a').end();
    await svc.close();
    expect(service.callsTo('ingest')).toHaveLength(1);
    expect(svc.counters()).toMatchObject({ sent: 0, refused: 1, failed: 0 });
  });

  it('counts what it gives up, and what the service refuses one by one', async () => {
    service.answer('ingest', ...Array.from({ length: 3 }, () => refusal(503, 'store_unavailable')));
    const svc = create();
    svc.startSpan('a').end();
    await svc.flush();
    expect(svc.counters()).toMatchObject({ failed: 1, sent: 0 });
    service.answer('ingest', { status: 200, body: { accepted: 1, rejected: 1, duplicate: 0, errors: [{}] } });
    svc.startSpan('b').end();
    svc.startSpan('c').end();
    await svc.close();
    expect(svc.counters()).toMatchObject({ failed: 1, sent: 1, refused: 1 });
  });

  it('drops the oldest when the queue is full, and counts it', async () => {
    const svc = create({ maxQueued: 3, batchSize: 100, delayMs: 60_000 });
    for (const name of ['a', 'b', 'c', 'd', 'e']) svc.startSpan(name).end();
    expect(svc.counters().dropped).toBe(2);
    await svc.close();
    expect(sent('spans').map((span) => span['name'])).toEqual(['c', 'd', 'e']);
  });

  it('bounds the queue by its size too', async () => {
    const svc = create({ maxQueuedBytes: 3000, delayMs: 60_000 });
    for (const name of ['a', 'b', 'c']) svc.startSpan(name, { input: 'x'.repeat(1000) }).end();
    svc.startSpan('larger than the queue', { input: 'x'.repeat(4000) }).end();
    expect(svc.counters().dropped).toBe(2);
    await svc.close();
    expect(sent('spans').map((span) => span['name'])).toEqual(['b', 'c']);
  });

  it('counts the size of the queue in bytes, not in characters', async () => {
    const svc = create({ maxQueuedBytes: 4000, delayMs: 60_000 });
    // Three bytes each, as UTF-8.
    for (const name of ['a', 'b']) svc.startSpan(name, { input: '\u20ac'.repeat(1000) }).end();
    expect(svc.counters().dropped).toBe(1);
    svc.startSpan('larger than the queue', { input: '\u20ac'.repeat(1400) }).end();
    expect(svc.counters().dropped).toBe(2);
    await svc.close();
    expect(sent('spans').map(({ name, input }) => [name, input])).toEqual([['b', '\u20ac'.repeat(1000)]]);
  });

  it('records a bigint as an integer', async () => {
    const svc = create({ delayMs: 60_000 });
    svc.startSpan('call', { input: { order: 17n } }).end();
    expect(svc.counters().dropped).toBe(0);
    await svc.close();
    expect(sent('spans').map(({ input }) => input)).toEqual([{ order: 17 }]);
  });

  it('travels in batches', async () => {
    const svc = create({ batchSize: 2, delayMs: 60_000 });
    for (const name of ['a', 'b', 'c', 'd', 'e']) svc.startSpan(name).end();
    await svc.close();
    expect(service.callsTo('ingest').map((call) => (call.body['spans'] as unknown[]).length)).toEqual([2, 2, 1]);
  });

  it('never holds up nor throws into the code it watches, with no service there at all', async () => {
    await service.stop();
    const svc = create({ retry: { attempts: 100, baseMs: 1000, maxMs: 1000 } });
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    const result = await svc.span('call', { input: circular }, (span) => {
      span.setAttribute('big', 5n);
      svc.log('info', 'x', { attributes: circular });
      return 'fine';
    });
    expect(result).toBe('fine');
    svc.startSpan('kept').end();
    expect(await svc.flush(20)).toBe(false);
    await svc.close(20);
    expect(svc.counters().dropped).toBe(2);
    svc.startSpan('after the close').end();
  });

  it('does nothing with SVC_ENABLED=false, and its objects are still valid', async () => {
    const svc = create({ enabled: false });
    const traceId = await svc.span('call', {}, (span) => {
      svc.score({ scorerId: 's', value: 1, min: 0, max: 1 });
      svc.log('info', 'x');
      svc.metric({ name: 'm', type: 'gauge', value: 1 });
      span.setUsage({ input_tokens: 1 });
      expect(parseTraceparent(span.traceparent)).toEqual({ traceId: span.traceId, spanId: span.spanId });
      return span.traceId;
    });
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(await svc.flush()).toBe(true);
    await svc.close();
    expect(service.calls).toEqual([]);
  });
});

describe('sampling', () => {
  it('keeps the same traces as the service, whatever the fraction', () => {
    for (const fraction of [0, 0.001, 0.25, 0.5, 0.7, 0.999, 1]) {
      const sample = createSampler({ default: fraction, projects: {} });
      for (const low of [
        '00000000000000',
        '3fffffffffffff',
        '40000000000000',
        '7fffffffffffff',
        '80000000000000',
        'b3333333333333',
        'ffffffffffffff',
      ]) {
        const traceId = `5b8efff79803810301${low}`;
        const log = {
          logId: 'l',
          timestamp: 0n,
          receivedAt: 0n,
          severity: 'info',
          message: '',
          traceId,
          attributes: {},
          correlation: { project: 'p' },
        } as const;
        const kept = sample({ ...emptyBatch, logs: [log] }).batch.logs.length === 1;
        expect([fraction, low, isSampled(traceId, fraction)]).toEqual([fraction, low, kept]);
      }
    }
  });

  it('leaves whole traces out, logs included, and sends scores all the same', async () => {
    const svc = create({ sample: 0 });
    await svc.span('call', {}, () => {
      svc.log('info', 'of the trace');
      svc.score({ scorerId: 's', value: 1, min: 0, max: 1 });
    });
    svc.log('info', 'of no trace');
    await svc.close();
    expect(sent('spans')).toEqual([]);
    expect(sent('logs').map((log) => log['message'])).toEqual(['of no trace']);
    expect(sent('scores')).toHaveLength(1);
  });
});

describe('settings', () => {
  const env = {
    SVC_ENDPOINT: 'http://e:1',
    SVC_API_KEY: 'k',
    SVC_PROJECT: 'p',
    SVC_ENVIRONMENT: 'prod',
    SVC_SERVICE_NAME: 'n',
    SVC_SERVICE_VERSION: '2',
    SVC_SAMPLE: '0.5',
    SVC_ENABLED: 'false',
  };

  it('come from the environment', () => {
    expect(readSettings({}, env)).toEqual({
      endpoint: 'http://e:1',
      apiKey: 'k',
      project: 'p',
      environment: 'prod',
      serviceName: 'n',
      serviceVersion: '2',
      sample: 0.5,
      enabled: false,
      problems: [],
    });
  });

  it('of code win over the environment', () => {
    expect(readSettings({ endpoint: 'http://c:2', project: 'q', sample: 1, enabled: true }, env)).toMatchObject({
      endpoint: 'http://c:2',
      project: 'q',
      sample: 1,
      enabled: true,
      environment: 'prod',
    });
  });

  it('have defaults, and an empty variable counts as absent', () => {
    expect(readSettings({}, { SVC_ENDPOINT: '', SVC_SAMPLE: '' })).toMatchObject({
      endpoint: 'http://127.0.0.1:4317',
      apiKey: undefined,
      sample: 1,
      enabled: true,
    });
  });

  it.each([
    [{ SVC_SAMPLE: '1.1' }, 'sample 1.1 is not between 0 and 1; 1 is used'],
    [{ SVC_SAMPLE: 'half' }, 'sample half is not between 0 and 1; 1 is used'],
    [{ SVC_ENDPOINT: 'ftp://x' }, 'endpoint "ftp://x" is not an http or https URL; http://127.0.0.1:4317 is used'],
  ])('that cannot be used fall back and are named: %j', (broken, problem) => {
    expect(readSettings({}, broken).problems).toEqual([problem]);
  });
});

describe('metrics and aspect notes', () => {
  const bounds = [10, 100];

  it('a histogram is sent with its buckets, counted, since the point before it', async () => {
    const svc = create();
    svc.metric({
      name: 'h',
      type: 'histogram',
      unit: 'ms',
      sum: 151,
      bounds,
      bucketCounts: [1, 0, 1],
      attributes: { a: 1 },
    });
    await svc.close();
    expect(sent('metrics')).toEqual([
      {
        name: 'h',
        type: 'histogram',
        unit: 'ms',
        sum: 151,
        count: 2,
        bounds,
        bucket_counts: [1, 0, 1],
        temporality: 'delta',
        attributes: { a: 1 },
        timestamp: expect.any(String) as string,
        correlation: {},
      },
    ]);
  });

  it('a gauge has no temporality, and a counter counts since the point before it', async () => {
    const svc = create();
    svc.metric({ name: 'g', type: 'gauge', value: 1 });
    svc.metric({ name: 'c', type: 'counter', value: 2, description: 'what it counts' });
    await svc.close();
    const [gauge, counter] = sent('metrics');
    expect(gauge).not.toHaveProperty('temporality');
    expect(counter).toMatchObject({ value: 2, temporality: 'delta', description: 'what it counts' });
  });

  it('an exemplar names the span around the call, or the one that it was given', async () => {
    const svc = create();
    const given = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
    const ids = await svc.span('s', {}, (span) => {
      svc.metric({ name: 'g', type: 'gauge', value: 1, exemplars: [{ value: 1 }, { value: 2, ...given }] });
      return { trace_id: span.traceId, span_id: span.spanId };
    });
    await svc.close();
    expect(sent('metrics')[0]?.['exemplars']).toMatchObject([
      { value: 1, ...ids },
      { value: 2, trace_id: given.traceId, span_id: given.spanId },
    ]);
  });

  it('numbers that are none are counted as invalid, and nothing is sent', async () => {
    const svc = create();
    const histogram = { name: 'h', type: 'histogram', sum: 1, bounds, bucketCounts: [1, 0, 0] } as const;
    const bad = [
      { ...histogram, bucketCounts: [1, 0] },
      { ...histogram, bucketCounts: [1, 0, 0, 0] },
      { ...histogram, bucketCounts: [1, -1, 0] },
      { ...histogram, bucketCounts: [0.5, 0.5, 0] },
      { ...histogram, bounds: [100, 10] },
      { ...histogram, bounds: [10, 10] },
      { ...histogram, sum: Number.NaN },
      { ...histogram, count: 2 },
      { name: 'g', type: 'gauge', value: Number.POSITIVE_INFINITY } as const,
    ];
    for (const each of bad) svc.metric(each);
    svc.metric({ ...histogram, count: 1 });
    await svc.close();
    expect(sent('metrics')).toHaveLength(1);
    expect(svc.counters().invalid).toBe(bad.length);
  });

  it('an aspect note belongs to the trace around the call, or the one named; without one it is invalid', async () => {
    const svc = create();
    const traceId = await svc.span('s', {}, (span) => {
      svc.aspectNote({ aspect: 'tone', text: 'It is friendly.', model: 'm' });
      return span.traceId;
    });
    svc.aspectNote({ aspect: 'tone', text: 'It is short.', traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) });
    svc.aspectNote({ aspect: 'tone', text: 'About nothing.' });
    svc.aspectNote({ aspect: 'tone', text: 'A span alone is no trace.', spanId: 'b'.repeat(16) });
    await svc.close();
    expect(sent('aspect_notes')).toMatchObject([
      { trace_id: traceId, aspect: 'tone', text: 'It is friendly.', model: 'm' },
      { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), text: 'It is short.' },
    ]);
    expect(svc.counters().invalid).toBe(2);
  });
});
