import { request } from 'node:http';
import { setTimeout as later } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  aDaemon,
  countersOf,
  ingest,
  type Json,
  nativeSpan,
  newSpanId,
  newTraceId,
  newWord,
  otlpSpan,
  otlpTraces,
} from './client.ts';

// "OTLP ingest", "Native ingest", "Limits" and "Errors" of the interface specification. The bounds are small here, so that
// both sides of each can be sent.

const MAX_BODY = 20_000;
const MAX_SIGNALS = 12;
const service = await aDaemon(['--max-body-bytes', `${MAX_BODY}`, '--max-batch-signals', `${MAX_SIGNALS}`]);
const isStored = async (traceId: string): Promise<boolean> =>
  (await service.get(`/v1/api/traces/${traceId}`)).status === 200;

const NDJSON = { 'content-type': 'application/x-ndjson' };
const lines = (...batches: unknown[]): string => batches.map((batch) => `${JSON.stringify(batch)}\n`).join('');

/** One protobuf field with a length. */
const field = (number: number, ...parts: (Uint8Array | string)[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const length: number[] = [];
  for (let rest = body.length; ; rest >>>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), body]);
};
const fixed64 = (number: number, value: bigint): Buffer => {
  const bytes = Buffer.alloc(9);
  bytes[0] = (number << 3) | 1;
  bytes.writeBigUInt64LE(value, 1);
  return bytes;
};
const protobufTraces = (
  spans: readonly { traceId: string; spanId: string; start: bigint }[],
): Uint8Array<ArrayBuffer> =>
  new Uint8Array(
    field(
      1,
      field(
        2,
        ...spans.map(({ traceId, spanId, start }) =>
          field(
            2,
            field(1, Buffer.from(traceId, 'hex')),
            field(2, Buffer.from(spanId, 'hex')),
            field(5, 'over protobuf'),
            fixed64(7, start),
            fixed64(8, start + 1n),
          ),
        ),
      ),
    ),
  );
const PROTOBUF = { 'content-type': 'application/x-protobuf' };

describe('"OTLP ingest"', () => {
  it('answers "object `partialSuccess` with `rejectedSpans` (integer) and `errorMessage` (string)"', async () => {
    const sent = await service.post('/v1/traces', otlpTraces([otlpSpan()]));
    expect(sent.json).toEqual({ partialSuccess: { rejectedSpans: 0, errorMessage: '' } });
    expect((await service.post('/v1/logs', { resourceLogs: [] })).json).toEqual({
      partialSuccess: { rejectedLogRecords: 0, errorMessage: '' },
    });
    expect((await service.post('/v1/metrics', {})).json).toEqual({
      partialSuccess: { rejectedDataPoints: 0, errorMessage: '' },
    });
  });
  it('"protobuf when the content-type contains protobuf, else JSON"', async () => {
    for (const type of ['application/x-protobuf', 'application/protobuf', 'application/x-protobuf; charset=x']) {
      const span = { traceId: newTraceId(), spanId: newSpanId(), start: 1_763_629_200_123_456_789n };
      const sent = await service.post('/v1/traces', protobufTraces([span]), { 'content-type': type });
      expect(sent.status).toBe(200);
      const { spans } = (await service.get(`/v1/api/traces/${span.traceId}`)).json;
      expect(spans[0]).toMatchObject({
        span_id: span.spanId,
        name: 'over protobuf',
        start_time: '2025-11-20T09:00:00.123456789Z',
        end_time: '2025-11-20T09:00:00.123456790Z',
      });
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'something/else']) {
      const span = otlpSpan();
      const sent = await service.post('/v1/traces', JSON.stringify(otlpTraces([span])), { 'content-type': type });
      expect([type, sent.status, await isStored(span.traceId)]).toEqual([type, 200, true]);
    }
  });
  it('"OTLP answers use the request\'s encoding (protobuf in, protobuf out) unless `Accept` names JSON"', async () => {
    const body = protobufTraces([
      { traceId: newTraceId(), spanId: newSpanId(), start: BigInt(Date.now()) * 1_000_000n },
    ]);
    const binary = await service.post('/v1/traces', body, PROTOBUF);
    expect(binary.headers.get('content-type')).toBe('application/x-protobuf');
    const json = await service.post('/v1/traces', body, { ...PROTOBUF, accept: 'application/json' });
    expect(json.json).toEqual({ partialSuccess: { rejectedSpans: 0, errorMessage: '' } });
  });
  it('"With no content-type, `application/json` is assumed"', async () => {
    const span = otlpSpan();
    const body = Buffer.from(JSON.stringify(otlpTraces([span])));
    const status = await new Promise((resolve, reject) => {
      const sent = request(`${service.url}/v1/traces`, { method: 'POST', headers: { 'content-length': body.length } });
      sent
        .on('response', (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end(body);
    });
    expect([status, await isStored(span.traceId)]).toEqual([200, true]);
  });
  it('"A protobuf body on logs or metrics is refused as `body is not valid JSON`"', async () => {
    for (const path of ['/v1/logs', '/v1/metrics']) {
      const { status, json } = await service.post(path, protobufTraces([]), {
        ...PROTOBUF,
        accept: 'application/json',
      });
      expect([status, json.code, json.message]).toEqual([
        400,
        'invalid_body',
        expect.stringContaining('body is not valid JSON'),
      ]);
    }
  });
  it('refuses what is no export request as a whole, in JSON, and stores nothing', async () => {
    for (const body of ['', '{', 'null', '[]', '"x"', '{"resourceSpans": 5}', '{"resourceSpans": [{]}'])
      for (const path of ['/v1/traces', '/v1/logs', '/v1/metrics']) {
        if (path !== '/v1/traces' && body.includes('resourceSpans": 5')) continue;
        const { status, json } = await service.post(path, body);
        expect([body, path, status, json?.code]).toEqual([body, path, 400, 'invalid_body']);
      }
  });
  it('"`POST /api/public/otel/v1/traces` is `POST /v1/traces`"', async () => {
    const span = otlpSpan();
    expect((await service.post('/api/public/otel/v1/traces', otlpTraces([span]))).status).toBe(200);
    expect(await isStored(span.traceId)).toBe(true);
  });
  it('unknown fields of a newer protocol are no reason to refuse', async () => {
    const span = otlpSpan({}, { flags: 257, somethingNew: { a: [1] } });
    const sent = await service.post('/v1/traces', { ...otlpTraces([span]), alsoNew: true });
    expect(sent.json.partialSuccess.rejectedSpans).toBe(0);
  });
});

describe('"Request `content-encoding` may be `gzip`, `identity` or absent"', () => {
  it('takes gzip and identity on every door', async () => {
    for (const encoding of ['gzip', 'identity', 'GZIP']) {
      const pack = (body: object): Uint8Array<ArrayBuffer> => {
        const text = JSON.stringify(body);
        return new Uint8Array(encoding === 'identity' ? Buffer.from(text) : gzipSync(text));
      };
      const headers = { 'content-encoding': encoding };
      const span = otlpSpan();
      const native = nativeSpan();
      expect((await service.post('/v1/traces', pack(otlpTraces([span])), headers)).status).toBe(200);
      expect((await service.post('/v1/logs', pack({ resourceLogs: [] }), headers)).status).toBe(200);
      expect((await service.post('/v1/metrics', pack({ resourceMetrics: [] }), headers)).status).toBe(200);
      expect((await service.post('/v1/ingest', pack({ spans: [native] }), headers)).status).toBe(200);
      expect([await isStored(span.traceId), await isStored(native.trace_id)]).toEqual([true, true]);
    }
  });
  it('"refused by name: `content-encoding "<x>" is not supported; use gzip or send the body uncompressed`"', async () => {
    for (const encoding of ['br', 'deflate', 'zstd', 'nonsense'])
      for (const path of ['/v1/traces', '/v1/logs', '/v1/metrics', '/v1/ingest']) {
        const { status, json } = await service.post(path, '{}', { 'content-encoding': encoding });
        expect([status, json]).toEqual([
          415,
          {
            code: 'unsupported_content_encoding',
            message: `content-encoding "${encoding}" is not supported; use gzip or send the body uncompressed`,
          },
        ]);
      }
  });
  it('refuses a body that says gzip and is not, or that ends half way', async () => {
    const whole = gzipSync(JSON.stringify(otlpTraces([otlpSpan()])));
    for (const body of [Buffer.from('{}'), whole.subarray(0, whole.length - 12)]) {
      const { status, json } = await service.post('/v1/traces', new Uint8Array(body), { 'content-encoding': 'gzip' });
      expect([status, json.code]).toEqual([400, 'invalid_body']);
    }
  });
});

describe('"batch over 10,000 signals or body over 32 MiB": "413 with code `payload_too_large`, message naming both numbers"', () => {
  const padded = (bytes: number): string => {
    const text = JSON.stringify({ spans: [] });
    return text.slice(0, -1) + ' '.repeat(bytes - text.length) + text.slice(-1);
  };
  const refuses = (answer: Json): void => {
    expect([answer.status, answer.json.code]).toEqual([413, 'payload_too_large']);
    expect(answer.json.message).toContain(`${MAX_BODY}`);
    expect(answer.json.message).toContain(`${MAX_SIGNALS}`);
  };
  it('takes a body of exactly the bound, refuses one byte more, on every door', async () => {
    for (const path of ['/v1/ingest', '/v1/traces', '/v1/logs', '/v1/metrics']) {
      expect((await service.post(path, padded(MAX_BODY))).status).toBe(200);
      refuses(await service.post(path, padded(MAX_BODY + 1)));
    }
  });
  it('"measured on the bytes received (so gzip buys room)", to four times the bound', async () => {
    const gzip = { 'content-encoding': 'gzip' };
    expect((await service.post('/v1/ingest', new Uint8Array(gzipSync(padded(MAX_BODY * 4))), gzip)).status).toBe(200);
    refuses(await service.post('/v1/ingest', new Uint8Array(gzipSync(padded(MAX_BODY * 4 + 1))), gzip));
  });
  it('refuses a body without a length while it arrives', async () => {
    const status = await new Promise((resolve, reject) => {
      const sent = request(`${service.url}/v1/ingest`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson', 'transfer-encoding': 'chunked' },
      });
      sent.on('response', (answer) => resolve(answer.resume().statusCode)).on('error', reject);
      sent.write(`${' '.repeat(MAX_BODY)}\n`);
      sent.write('x'.repeat(10));
      // never ended: the answer does not wait for the rest
    });
    expect(status).toBe(413);
  });
  it('counts spans on traces: the bound is taken, one more refuses the whole request', async () => {
    const some = (count: number) => Array.from({ length: count }, () => otlpSpan({}, { attributes: [] }));
    const taken = some(MAX_SIGNALS);
    expect((await service.post('/v1/traces', otlpTraces(taken))).status).toBe(200);
    const refused = some(MAX_SIGNALS + 1);
    refuses(await service.post('/v1/traces', otlpTraces(refused)));
    expect(await isStored(refused[0]?.traceId ?? '')).toBe(false);
    const binary = some(MAX_SIGNALS + 1).map(({ traceId, spanId }) => ({ traceId, spanId, start: 1n }));
    expect((await service.post('/v1/traces', protobufTraces(binary.slice(1)), PROTOBUF)).status).toBe(200);
    refuses(await service.post('/v1/traces', protobufTraces(binary), { ...PROTOBUF, accept: 'application/json' }));
  });
  it('counts records on logs and data points on metrics', async () => {
    const logs = (count: number) => ({
      resourceLogs: [
        { scopeLogs: [{ logRecords: Array.from({ length: count }, () => ({ body: { stringValue: 'l' } })) }] },
      ],
    });
    const points = (count: number) => ({
      resourceMetrics: [
        {
          scopeMetrics: [
            {
              metrics: [
                {
                  name: 'n',
                  gauge: { dataPoints: Array.from({ length: count }, () => ({ asInt: 1, timeUnixNano: '5' })) },
                },
              ],
            },
          ],
        },
      ],
    });
    expect((await service.post('/v1/logs', logs(MAX_SIGNALS))).status).toBe(200);
    refuses(await service.post('/v1/logs', logs(MAX_SIGNALS + 1)));
    expect((await service.post('/v1/metrics', points(MAX_SIGNALS))).status).toBe(200);
    refuses(await service.post('/v1/metrics', points(MAX_SIGNALS + 1)));
  });
  it('counts "everything in the request on native ingest, across all lines of a stream"', async () => {
    const trace = newTraceId();
    const mixed = (spans: number) => ({
      spans: Array.from({ length: spans }, () => nativeSpan({ trace_id: trace, span_id: newSpanId() })),
      logs: [{ message: 'l' }],
      metrics: [{ name: 'm', type: 'gauge', value: 1 }],
      scores: [{ trace_id: trace, scorer_id: 's', value: 1 }],
      feedback: [{ trace_id: trace, kind: 'thumbs', value: 'up' }],
      aspect_notes: [{ trace_id: trace, aspect: 'a', text: 't' }],
    });
    refuses(await service.post('/v1/ingest', [mixed(1), mixed(2)]));
    refuses(await service.post('/v1/ingest', lines(mixed(1), mixed(1), { logs: [{ message: 'one more' }] }), NDJSON));
    expect(await isStored(trace)).toBe(false);
    expect((await service.post('/v1/ingest', lines(mixed(1), mixed(1)), NDJSON)).json).toEqual({
      accepted: 12,
      rejected: 0,
      duplicate: 0,
      errors: [],
    });
  });
});

describe('"Native ingest"', () => {
  it('"any mix of the six signals" reads back as it was sent', async () => {
    const project = newWord('p');
    const traceId = newTraceId();
    const spanId = newSpanId();
    const correlation = {
      project,
      environment: 'e',
      service_name: 'sn',
      service_version: 'sv',
      session_id: 'se',
      thread_id: 'th',
      user_id: 'us',
      request_id: 're',
      release: 'rl',
      run_id: 'ru',
      resource_id: 'rs',
      experiment_id: 'ex',
      tags: ['a', 'b'],
    };
    const time = '2026-03-01T10:00:00.000000001Z';
    const span = {
      trace_id: traceId,
      span_id: spanId,
      parent_span_id: newSpanId(),
      name: 'call',
      kind: 'provider_tool_call',
      status: 'error',
      start_time: time,
      end_time: '2026-03-01T10:00:01Z',
      is_event: true,
      input: { q: [1, null, 'é😀', { deep: true }] },
      output: 'text',
      model: 'm',
      provider: 'p',
      entity_name: 'agent',
      usage: {
        input_tokens: 3,
        output_tokens: 2,
        total_tokens: 5,
        input_details: { text: 1 },
        output_details: { audio: 1 },
      },
      cost: { total_cost: 0.5, currency: 'USD', is_estimated: false },
      error: { message: 'no', type: 'E', stack: 's' },
      attributes: { 'k.v': 1 },
      events: [{ name: 'ev', time, attributes: { a: 1 } }],
      links: [{ trace_id: newTraceId(), span_id: newSpanId(), attributes: { b: 2 } }],
      scope_name: 'scope',
      correlation,
    };
    const log = {
      log_id: newWord(),
      timestamp: time,
      severity: 'fatal',
      message: 'm',
      logger: 'l',
      trace_id: traceId,
      span_id: spanId,
      attributes: { a: 'b' },
      correlation,
    };
    const metric = {
      name: 'latency',
      type: 'histogram',
      unit: 'ms',
      description: 'd',
      timestamp: time,
      sum: 2.5,
      count: 2,
      bounds: [1],
      bucket_counts: [1, 1],
      temporality: 'delta',
      attributes: { a: 'b' },
      correlation,
      exemplars: [{ trace_id: traceId, span_id: spanId, value: 1.5, timestamp: time, attributes: {} }],
    };
    const score = {
      score_id: newWord(),
      trace_id: traceId,
      span_id: spanId,
      scorer_id: 'sc',
      scorer_version: '2',
      value: 3,
      min: 1,
      max: 5,
      label: 'fine',
      reason: 'why',
      source: 'manual',
      score_trace_id: newTraceId(),
      cost: { total_cost: 0.25, currency: 'USD', is_estimated: true },
      timestamp: time,
      correlation,
      experiment_id: 'x1',
    };
    const feedback = {
      feedback_id: newWord(),
      trace_id: traceId,
      span_id: spanId,
      kind: 'rating',
      value: 4,
      comment: 'c',
      author_kind: 'expert',
      author_id: 'Ann@x',
      metadata: { scale_min: 1, scale_max: 5 },
      timestamp: time,
      correlation,
    };
    const note = {
      note_id: newWord(),
      trace_id: traceId,
      span_id: spanId,
      aspect: 'tone',
      text: 'It was calm.',
      model: 'm',
      timestamp: time,
      correlation,
    };
    expect(
      await ingest(service, {
        spans: [span],
        logs: [log],
        metrics: [metric],
        scores: [score],
        feedback: [feedback],
        aspect_notes: [note],
      }),
    ).toEqual({ accepted: 6, rejected: 0, duplicate: 0, errors: [] });
    const { json } = await service.get(`/v1/api/traces/${traceId}?include=all`);
    expect(json.spans[0]).toMatchObject({ ...span, is_root: false });
    expect(json.logs[0]).toMatchObject(log);
    expect(json.scores[0]).toMatchObject(score);
    expect(json.feedback[0]).toMatchObject(feedback);
    const read = async (path: string): Promise<Json> => (await service.get(`/v1/api/${path}project=${project}`)).json;
    expect((await read('metrics/latency/points?')).points[0]).toMatchObject(metric);
    expect((await read('aspect_notes?')).aspect_notes[0]).toMatchObject(note);
    expect((await read('logs?')).logs[0]).toMatchObject(log);
    expect((await read('scores?')).scores[0]).toMatchObject(score);
    for (const row of [json.spans[0], json.logs[0], json.scores[0], json.feedback[0]])
      expect(Date.parse(row.received_at)).toBeGreaterThan(Date.now() - 60_000);
  });
  it('"one batch object, or an array of batch objects"', async () => {
    const [one, two, three] = [nativeSpan(), nativeSpan(), nativeSpan()];
    expect((await ingest(service, { spans: [one] })).accepted).toBe(1);
    expect((await ingest(service, [{ spans: [two] }, {}, { spans: [three] }])).accepted).toBe(2);
    expect(await ingest(service, [])).toEqual({ accepted: 0, rejected: 0, duplicate: 0, errors: [] });
  });
  it('"`application/x-ndjson` or `application/jsonl`": "one batch per line"', async () => {
    for (const type of ['application/x-ndjson', 'application/jsonl', 'application/x-ndjson; charset=utf-8']) {
      const spans = [nativeSpan(), nativeSpan()];
      const body = `${lines({ spans: [spans[0]] })}\n\r\n${JSON.stringify({ spans: [spans[1]] })}`;
      expect((await service.post('/v1/ingest', body, { 'content-type': type })).json.accepted).toBe(2);
    }
  });
  it('other content types are refused by name', async () => {
    const { status, json } = await service.post('/v1/ingest', '{}', { 'content-type': 'application/xml' });
    expect([status, json.code]).toEqual([415, 'unsupported_media_type']);
    expect(json.message).toContain('application/xml');
  });
  it('"The whole request is refused with nothing stored if any line cannot be read"', async () => {
    const good = nativeSpan();
    for (const bad of ['{"spans": [', 'nonsense', '5', '[]', '{"spans": 5}']) {
      const { status, json } = await service.post('/v1/ingest', `${lines({ spans: [good] })}${bad}\n`, NDJSON);
      expect([bad, status, json.code]).toEqual([bad, 400, 'invalid_body']);
      expect(json.message).toMatch(/line 2|batch 1/);
      expect(await isStored(good.trace_id)).toBe(false);
    }
  });
  it('"read as it arrives": a bad line is refused before the sender has ended', async () => {
    const answer = new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`${service.url}/v1/ingest`, { method: 'POST', headers: NDJSON });
      sent.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
      sent.write(lines({ spans: [nativeSpan()] }));
      sent.write('this is no batch\n');
      sent.write(lines({ spans: [nativeSpan()] }));
    });
    expect(await answer).toBe(400); // of a body that never ends
  });
  it('takes a line that arrives in pieces, a character in two', async () => {
    const span = nativeSpan({ output: 'é😀' });
    const bytes = Buffer.from(lines({ spans: [span] }));
    const status = await new Promise((resolve, reject) => {
      const sent = request(`${service.url}/v1/ingest`, { method: 'POST', headers: NDJSON });
      sent.on('response', (answer) => resolve(answer.resume().statusCode)).on('error', reject);
      void (async () => {
        for (let at = 0; at < bytes.length; at += 7) {
          sent.write(bytes.subarray(at, at + 7));
          await later(0);
        }
        sent.end();
      })();
    });
    expect(status).toBe(200);
    expect((await service.get(`/v1/api/traces/${span.trace_id}`)).json.spans[0].output).toBe('é😀');
  });
  it('"an `errors` array naming the index and the reason of each refused signal"; "One bad signal never fails its batch"', async () => {
    const good = nativeSpan();
    const { status, json } = await service.post('/v1/ingest', [
      { spans: [good] },
      {
        spans: [nativeSpan(), nativeSpan({ trace_id: '0'.repeat(32) }), nativeSpan({ span_id: 'xyz' }), 'no object'],
        scores: [{ scorer_id: 's', value: 1 }],
        feedback: [{ trace_id: good.trace_id, kind: 'thumbs', value: 'sideways' }],
        logs: [{ severity: 'loud', message: 'x' }],
        metrics: [{ name: 'm', type: 'summary', value: 1 }],
        aspect_notes: [{ trace_id: good.trace_id, aspect: 'a' }],
      },
    ]);
    expect(status).toBe(200);
    expect(json).toMatchObject({ accepted: 2, rejected: 8, duplicate: 0 });
    expect(json.errors.map((error: Json) => [error.batch, error.signal, error.index])).toEqual([
      [1, 'spans', 1],
      [1, 'spans', 2],
      [1, 'spans', 3],
      [1, 'logs', 0],
      [1, 'metrics', 0],
      [1, 'scores', 0],
      [1, 'feedback', 0],
      [1, 'aspect_notes', 0],
    ]);
    for (const error of json.errors)
      expect(error).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    expect(json.errors[0]).toMatchObject({ code: 'invalid_id', field: 'trace_id' });
  });
  it('"The all-zero id … is refused wherever it appears"', async () => {
    const traceId = newTraceId();
    const zero32 = '0'.repeat(32);
    const zero16 = '0'.repeat(16);
    const { json } = await service.post('/v1/ingest', {
      spans: [
        nativeSpan({ span_id: zero16 }),
        nativeSpan({ parent_span_id: zero16 }),
        nativeSpan({ links: [{ trace_id: zero32, span_id: newSpanId() }] }),
      ],
      logs: [
        { message: 'x', trace_id: zero32 },
        { message: 'x', trace_id: traceId, span_id: zero16 },
      ],
      scores: [
        { trace_id: zero32, scorer_id: 's', value: 1 },
        { trace_id: traceId, score_trace_id: zero32, scorer_id: 's', value: 1 },
      ],
      feedback: [{ span_id: zero16, kind: 'comment', value: 'x' }],
      aspect_notes: [{ trace_id: zero32, aspect: 'a', text: 't' }],
    });
    expect(json).toMatchObject({ accepted: 0, rejected: 9 });
    expect(json.errors.map(({ code }: { code: string }) => code)).toEqual(Array<string>(9).fill('invalid_id'));
    for (const path of [
      `traces/${zero32}`,
      `traces/${traceId}/spans/${zero16}`,
      `feedback?trace_id=${zero32}`,
      `scores?trace_id=${zero32}`,
    ])
      expect((await service.get(`/v1/api/${path}`)).json).toMatchObject({
        code: expect.stringMatching(/^invalid_(id|parameter)$/),
      });
  });
  it('a signal of a project that no query could name is refused, and one at the bound is found', async () => {
    const named = (project: string) => nativeSpan({ correlation: { project } });
    const longest = 'é'.repeat(256);
    const { json } = await service.post('/v1/ingest', { spans: [named('*'), named(`${longest}x`), named(longest)] });
    expect(json).toMatchObject({ accepted: 1, rejected: 2 });
    expect(json.errors.map((error: Json) => [error.index, error.code, error.field])).toEqual([
      [0, 'invalid_parameter', 'correlation.project'],
      [1, 'invalid_parameter', 'correlation.project'],
    ]);
    expect((await service.get(`/v1/api/traces?project=${encodeURIComponent(longest)}`)).json.traces).toHaveLength(1);
    const sent = await service.post('/v1/traces', otlpTraces([otlpSpan()], { 'svc.project': '*' }));
    expect(sent.json.partialSuccess.rejectedSpans).toBe(1);
    const score = { trace_id: newTraceId(), scorer_id: 's', value: 1, correlation: { project: '*' } };
    expect((await service.post('/v1/api/scores', score)).status).toBe(400);
  });
  it('"a resend is counted duplicate and not written twice"', async () => {
    const batch = { ingest_key: newWord(), spans: [nativeSpan()], scores: [] as object[] };
    expect(await ingest(service, batch)).toMatchObject({ accepted: 1, duplicate: 0 });
    expect(await ingest(service, batch)).toEqual({ accepted: 0, rejected: 0, duplicate: 1, errors: [] });
    // The key decides, not the content; another key or none is written.
    expect(await ingest(service, { ...batch, spans: [nativeSpan()] })).toMatchObject({ accepted: 0, duplicate: 1 });
    expect(await ingest(service, { ...batch, ingest_key: newWord() })).toMatchObject({ accepted: 1, duplicate: 0 });
    expect(await ingest(service, { spans: batch.spans })).toMatchObject({ accepted: 1, duplicate: 0 });
  });
  it('"a keyed element is stored in its own transaction, unkeyed elements together"', async () => {
    const [keyed, other] = [newWord(), newWord()];
    const body = [
      { ingest_key: keyed, spans: [nativeSpan()] },
      { spans: [nativeSpan()] },
      { ingest_key: keyed, spans: [nativeSpan()] },
      { ingest_key: other, spans: [nativeSpan()] },
    ];
    expect(await ingest(service, body)).toMatchObject({ accepted: 3, duplicate: 1 });
    expect(await ingest(service, body)).toMatchObject({ accepted: 1, duplicate: 3 });
  });
  it('of requests with one key that arrive together, one is written', async () => {
    const ingest_key = newWord();
    const sent = await Promise.all(
      Array.from({ length: 8 }, () => ingest(service, { ingest_key, spans: [nativeSpan()] })),
    );
    expect(sent.map(({ accepted }) => accepted).toSorted((one, other) => one - other)).toEqual([
      0, 0, 0, 0, 0, 0, 0, 1,
    ]);
    expect(sent.reduce((sum, { duplicate }) => sum + duplicate, 0)).toBe(7);
  });
  it('a batch whose signals are all refused does not use up its key', async () => {
    const ingest_key = newWord();
    const { json } = await service.post('/v1/ingest', { ingest_key, spans: [nativeSpan({ span_id: 'x' })] });
    expect(json).toMatchObject({ accepted: 0, rejected: 1, duplicate: 0 });
    expect(await ingest(service, { ingest_key, spans: [nativeSpan()] })).toMatchObject({ accepted: 1, duplicate: 0 });
  });
  it('a key that is no string refuses the request, as it cannot be honoured', async () => {
    const { status, json } = await service.post('/v1/ingest', { ingest_key: 5, spans: [nativeSpan()] });
    expect([status, json.code]).toEqual([400, 'invalid_body']);
  });
  it('"JSON nesting is bounded at 128"', async () => {
    // The payload stands inside batch, array and span.
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const body = (depth: number): string =>
      JSON.stringify({ spans: [nativeSpan({ input: 'HERE' })] }).replace('"HERE"', nested(depth));
    expect((await service.post('/v1/ingest', body(125))).status).toBe(200);
    const refused = await service.post('/v1/ingest', body(126));
    expect([refused.status, refused.json.code]).toEqual([400, 'invalid_body']);
    expect(refused.json.message).toContain('128');
    expect((await service.post('/v1/ingest', '['.repeat(19_000))).status).toBe(400);
  });
  it('"invalid UTF-8 is refused, lone surrogates and NUL become U+FFFD"', async () => {
    const span = nativeSpan({ output: 'HERE' });
    const text = JSON.stringify({ spans: [span] });
    const invalid = Buffer.concat([
      Buffer.from(text.slice(0, -20)),
      Buffer.from([0xc3, 0x28]),
      Buffer.from(text.slice(-20)),
    ]);
    expect((await service.post('/v1/ingest', new Uint8Array(invalid))).status).toBe(400);
    expect((await service.post('/v1/ingest', text.replace('HERE', 'a\\ud800b\\u0000c'))).json.accepted).toBe(1);
    expect((await service.get(`/v1/api/traces/${span.trace_id}`)).json.spans[0].output).toBe('a\uFFFDb\uFFFDc');
  });
  it('"`__proto__` and its kind are plain keys"', async () => {
    const span = nativeSpan({ attributes: 'HERE' });
    const body = JSON.stringify({ spans: [span] }).replace('"HERE"', '{"__proto__":{"x":1},"constructor":2}');
    expect((await service.post('/v1/ingest', body)).json.accepted).toBe(1);
    const { text } = await service.get(`/v1/api/traces/${span.trace_id}`);
    expect(text).toContain('"__proto__":{"x":1}');
    expect(text).toContain('"constructor":2');
  });
  it('"A span seen again (same trace and span id) replaces the older row"', async () => {
    const span = nativeSpan({ output: 'first', end_time: undefined, status: 'unset' });
    await ingest(service, { spans: [span] });
    await ingest(service, { spans: [{ ...span, output: 'second', end_time: new Date().toISOString(), status: 'ok' }] });
    const { json } = await service.get(`/v1/api/traces/${span.trace_id}`);
    expect(json.spans).toHaveLength(1);
    expect(json.spans[0]).toMatchObject({ output: 'second', status: 'ok' });
    expect(
      (await service.get('/v1/api/traces?q=first')).json.traces.map((trace: Json) => trace.trace_id),
    ).not.toContain(span.trace_id);
  });
});

describe('"a bounded pipeline; when it is full the door answers 429 with `Retry-After`"', () => {
  it('also to a body that would not fit beside what is held, and serves on when there is room again', async () => {
    const full = await aDaemon(['--max-inflight-bytes', '50000']);
    const body = JSON.stringify({ spans: [nativeSpan({ output: 'x'.repeat(30_000) })] });
    const hold = request(`${full.url}/v1/ingest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': body.length },
    });
    const held = new Promise((resolve, reject) => {
      hold.on('response', (answer) => resolve(answer.resume().statusCode)).on('error', reject);
    });
    hold.write(body.slice(0, -1));
    const refused = await (async () => {
      for (;;) {
        const answer = await full.post('/v1/ingest', body);
        if (answer.status !== 200) return answer;
      }
    })();
    expect([refused.status, refused.json.code]).toEqual([429, 'overloaded']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await full.get('/v1/api/traces')).status).toBe(200);
    hold.end(body.slice(-1));
    expect(await held).toBe(200);
    expect((await full.post('/v1/ingest', body)).status).toBe(200);
  });
});

describe('"Metrics (all counters except the last, which is a gauge)"', () => {
  const moved = async (act: () => Promise<unknown>): Promise<Record<string, number>> => {
    const before = await countersOf(service);
    await act();
    const after = await countersOf(service);
    return Object.fromEntries(
      Object.entries(after)
        .map(([name, value]) => [name, value - (before[name] ?? 0)] as const)
        .filter(([name, value]) => value !== 0 && name !== 'svc_uptime_seconds'),
    );
  };
  it('lists every name of the specification, counters as counters, uptime as a gauge', async () => {
    const { text, headers } = await service.get('/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    for (const name of [
      'svc_signals_accepted_total',
      'svc_signals_rejected_total',
      'svc_batches_duplicate_total',
      'svc_traces_sampled_out_total',
      'svc_signals_over_quota_total',
      'svc_signals_unbounded_total',
      'svc_ingest_requests_total',
      'svc_query_requests_total',
      'svc_request_errors_total',
      'svc_audit_write_failures_total',
    ])
      expect(text).toMatch(new RegExp(`# TYPE ${name} counter\n${name} \\d+\n`));
    expect(text).toMatch(/# TYPE svc_uptime_seconds gauge\nsvc_uptime_seconds \d+/);
  });
  it('signals written, and stored for a project that no ceiling covers', async () => {
    expect(
      await moved(() => ingest(service, { spans: [nativeSpan(), nativeSpan()], logs: [{ message: 'x' }] })),
    ).toEqual({
      svc_signals_accepted_total: 3,
      svc_signals_unbounded_total: 3,
      svc_ingest_requests_total: 1,
    });
  });
  it('signals refused with a reason returned', async () => {
    expect(
      await moved(() => service.post('/v1/ingest', { spans: [nativeSpan({ trace_id: 'x' }), nativeSpan()] })),
    ).toMatchObject({ svc_signals_rejected_total: 1, svc_signals_accepted_total: 1 });
    expect(await moved(() => service.post('/v1/traces', otlpTraces([otlpSpan({}, { spanId: '' })])))).toMatchObject({
      svc_signals_rejected_total: 1,
    });
  });
  it('batches recognised as resends', async () => {
    const batch = { ingest_key: newWord(), spans: [nativeSpan()] };
    await ingest(service, batch);
    expect(await moved(() => ingest(service, batch))).toEqual({
      svc_batches_duplicate_total: 1,
      svc_ingest_requests_total: 1,
    });
  });
  it('queries; "4xx never counted" as errors', async () => {
    expect(await moved(() => service.get('/v1/api/traces'))).toEqual({ svc_query_requests_total: 1 });
    expect(await moved(() => service.get('/v1/api/traces?limit=0'))).not.toHaveProperty('svc_request_errors_total');
    expect(await moved(() => service.post('/v1/ingest', '{'))).toEqual({ svc_ingest_requests_total: 1 });
  });
  it('health is neither ingest nor query', async () => {
    expect(
      await moved(async () => {
        await service.get('/healthz');
        await service.get('/readyz');
        await service.get('/');
      }),
    ).toEqual({});
  });
});
