import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { request, Agent } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { spanId, traceId } from '../../ingest/signals.ts';
import { type Door, type DoorOptions, openDoor } from './ingest-door.ts';
import {
  otlpJson,
  otlpLogs,
  otlpMetrics,
  otlpProtobuf,
  otlpSpans,
  readStatus,
  readTraceResponse,
} from './otlp-bodies.ts';

let door: Door | undefined;
const agent = new Agent({ pipelining: 1 });
afterEach(async () => {
  await door?.close();
  door = undefined;
});

const open = async (options?: DoorOptions): Promise<Door> => {
  door = await openDoor(options);
  return door;
};

type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are probed field by field
  readonly json: any;
};

const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';
const NDJSON = 'application/x-ndjson';

const post = async (
  at: Door,
  path: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = { 'content-type': JSON_TYPE },
): Promise<Answer> => {
  const answer = await request(at.url + path, { method: 'POST', body, headers, dispatcher: agent });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const isJson = String(answer.headers['content-type'] ?? '').startsWith(JSON_TYPE);
  return {
    status: answer.statusCode,
    headers: answer.headers,
    bytes,
    json: isJson ? JSON.parse(bytes.toString()) : undefined,
  };
};

const nativeSpan = (n: number, given: object = {}): object => ({
  trace_id: traceId(n),
  span_id: spanId(n),
  name: 'a span',
  start_time: '2026-11-20T12:00:00Z',
  end_time: '2026-11-20T12:00:01Z',
  ...given,
});
const nativeSpans = (count: number, given: object = {}): object[] =>
  Array.from({ length: count }, (_, n) => nativeSpan(n, given));
const lines = (...batches: unknown[]): string => batches.map((batch) => JSON.stringify(batch)).join('\n');

describe('POST /v1/traces', () => {
  it('takes JSON and answers JSON, after the write', async () => {
    const at = await open();
    const answer = await post(at, '/v1/traces', otlpJson(otlpSpans(3)));
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ partialSuccess: { rejectedSpans: 0, errorMessage: '' } });
    expect(at.store.spans().map((span) => span.spanId)).toEqual([0, 1, 2].map(spanId));
  });

  it('takes protobuf when the content type contains protobuf, and answers in protobuf: empty when all is well', async () => {
    const at = await open();
    for (const type of [PROTOBUF, 'application/protobuf; charset=utf-8', 'application/vnd.google.Protobuf']) {
      const answer = await post(at, '/v1/traces', otlpProtobuf(otlpSpans(2)), { 'content-type': type });
      expect([answer.status, answer.headers['content-type'], answer.bytes.length]).toEqual([200, PROTOBUF, 0]);
    }
    expect(at.store.signals()).toBe(6);
  });

  it('answers a protobuf request in JSON when Accept names JSON, and not for */*', async () => {
    const at = await open();
    const body = otlpProtobuf(otlpSpans(1));
    const json = await post(at, '/v1/traces', body, { 'content-type': PROTOBUF, accept: 'application/json' });
    expect(json.json).toEqual({ partialSuccess: { rejectedSpans: 0, errorMessage: '' } });
    const any = await post(at, '/v1/traces', body, { 'content-type': PROTOBUF, accept: '*/*' });
    expect(any.headers['content-type']).toBe(PROTOBUF);
  });

  it('assumes application/json with no content-type', async () => {
    const at = await open();
    const answer = await post(at, '/v1/traces', otlpJson(otlpSpans(1)), {});
    expect([answer.status, at.store.signals()]).toEqual([200, 1]);
  });

  it('skips a span with missing, wrong-length or all-zero ids, counts it rejected, and writes the rest', async () => {
    const at = await open();
    const spans = [
      { traceId: '0'.repeat(32) },
      { spanId: '0'.repeat(16) },
      { traceId: 'abcd' },
      { traceId: '' },
      { traceId: traceId(1), spanId: spanId(1) },
    ];
    const json = await post(at, '/v1/traces', otlpJson(spans));
    expect(json.json.partialSuccess.rejectedSpans).toBe(4);
    expect(json.json.partialSuccess.errorMessage).toMatch(/trace_id/);
    const protobuf = await post(at, '/v1/traces', otlpProtobuf(spans), { 'content-type': PROTOBUF });
    expect(readTraceResponse(protobuf.bytes)).toMatchObject({ partialSuccess: { rejectedSpans: 4 } });
    expect([at.store.signals(), at.counters.signalsRejected, at.counters.signalsAccepted]).toEqual([2, 8, 2]);
  });

  it('names the commonest reasons in errorMessage, each once, however many spans it refused', async () => {
    const at = await open();
    const answer = await post(at, '/v1/traces', otlpJson(otlpSpans(500, { traceId: '0'.repeat(32) })));
    expect(answer.json.partialSuccess.rejectedSpans).toBe(500);
    expect(answer.json.partialSuccess.errorMessage).toContain('(500 times)');
    expect(answer.json.partialSuccess.errorMessage.length).toBeLessThan(2000);
  });

  it('stores doubtful times as sent, and warns about them once, with nothing rejected, in JSON and in protobuf', async () => {
    const at = await open();
    const spans = [
      ...otlpSpans(3, { startTimeUnixNano: '1763629200123', endTimeUnixNano: '1763629201957' }),
      { traceId: traceId(7), startTimeUnixNano: '1763629201957000000', endTimeUnixNano: '1763629200123000000' },
      { traceId: traceId(8) },
    ];
    const warning =
      'stored as sent, but 3 signals have times in milliseconds where nanoseconds belong; 1 signal ends before it starts: correct the sender';
    const json = await post(at, '/v1/traces', otlpJson(spans));
    expect([json.status, json.json]).toEqual([200, { partialSuccess: { rejectedSpans: 0, errorMessage: warning } }]);
    const protobuf = await post(at, '/v1/traces', otlpProtobuf(spans), { 'content-type': PROTOBUF });
    expect(readTraceResponse(protobuf.bytes)).toEqual({ partialSuccess: { errorMessage: warning } });
    expect(at.store.spans().map(({ startTime, endTime }) => [startTime, endTime])).toContainEqual([
      1_763_629_200_123n,
      1_763_629_201_957n,
    ]);
    expect([at.store.signals(), at.counters.timesInMilliseconds, at.counters.endsBeforeStart]).toEqual([10, 6, 2]);
  });

  it('says both why spans were refused and what is doubtful about those that were stored', async () => {
    const at = await open();
    const spans = [{ traceId: '0'.repeat(32) }, { traceId: traceId(1), startTimeUnixNano: '1763629200' }];
    const { json } = await post(at, '/v1/traces', otlpJson(spans));
    expect(json.partialSuccess.rejectedSpans).toBe(1);
    expect(json.partialSuccess.errorMessage).toMatch(
      /^trace_id .*; stored as sent, but 1 signal has a time in seconds/,
    );
  });

  it('warns about logs and metrics alike, and not about what was not written', async () => {
    const at = await open({ quota: { perMinute: 1, projects: {} } });
    const log = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ timeUnixNano: '1763629200123456' }] }] }] };
    const taken = await post(at, '/v1/logs', JSON.stringify(log));
    expect(taken.json.partialSuccess.errorMessage).toContain('1 signal has a time in microseconds');
    const refused = await post(at, '/v1/logs', JSON.stringify(log));
    expect(refused.status).toBe(429);
    expect(refused.json.partialSuccess.errorMessage).not.toContain('microseconds');
    expect(at.counters.timesInMicroseconds).toBe(1);
  });

  it('counts doubtful times of the native door, whose answer has no place for a warning', async () => {
    const at = await open();
    const span = nativeSpan(1, { start_time: '1970-01-01T00:29:23.629Z', end_time: '1970-01-01T00:29:23.630Z' });
    const answer = await post(at, '/v1/ingest', JSON.stringify({ spans: [span] }));
    expect(answer.json).toEqual({ accepted: 1, rejected: 0, duplicate: 0, errors: [] });
    expect(at.counters.timesInMilliseconds).toBe(1);
  });

  it('refuses what it cannot read as a whole, in JSON to JSON clients and as a google.rpc.Status to protobuf clients', async () => {
    const at = await open();
    const json = await post(at, '/v1/traces', '{"resourceSpans": [');
    expect([json.status, json.json.code]).toEqual([400, 'invalid_body']);
    const protobuf = await post(at, '/v1/traces', Buffer.from('not protobuf at all'), { 'content-type': PROTOBUF });
    expect([protobuf.status, protobuf.headers['content-type']]).toEqual([400, PROTOBUF]);
    expect(readStatus(protobuf.bytes).reason).toBe('invalid_body');
    const asked = await post(at, '/v1/traces', Buffer.from('not protobuf'), {
      'content-type': PROTOBUF,
      accept: JSON_TYPE,
    });
    expect(asked.json.code).toBe('invalid_body');
    expect(at.store.units).toEqual([]);
  });

  it('is POST /api/public/otel/v1/traces as well', async () => {
    const at = await open();
    const path = '/api/public/otel/v1/traces';
    expect((await post(at, path, otlpJson(otlpSpans(1)))).json).toEqual({
      partialSuccess: { rejectedSpans: 0, errorMessage: '' },
    });
    const protobuf = await post(at, path, otlpProtobuf(otlpSpans(1)), { 'content-type': PROTOBUF });
    expect(protobuf.headers['content-type']).toBe(PROTOBUF);
    expect(at.store.signals()).toBe(2);
  });
});

describe('POST /v1/logs and /v1/metrics', () => {
  it('take JSON and answer with rejectedLogRecords and rejectedDataPoints', async () => {
    const at = await open();
    expect((await post(at, '/v1/logs', otlpLogs(2))).json).toEqual({
      partialSuccess: { rejectedLogRecords: 0, errorMessage: '' },
    });
    expect((await post(at, '/v1/metrics', otlpMetrics(3))).json).toEqual({
      partialSuccess: { rejectedDataPoints: 0, errorMessage: '' },
    });
    expect(at.store.units.map(({ batch }) => [batch.logs.length, batch.metrics.length])).toEqual([
      [2, 0],
      [0, 3],
    ]);
  });

  it.each(['/v1/logs', '/v1/metrics'])('%s refuses protobuf as "body is not valid JSON"', async (path) => {
    const at = await open();
    const answer = await post(at, path, otlpProtobuf(otlpSpans(1)), { 'content-type': PROTOBUF });
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({
      code: 'invalid_body',
      message: expect.stringMatching(/^body is not valid JSON: .*_PROTOCOL=http\/json.*--otlp-protobuf all$/) as string,
    });
  });
});

describe('POST /v1/ingest', () => {
  it('takes one batch of any mix of the six signals', async () => {
    const at = await open();
    const answer = await post(
      at,
      '/v1/ingest',
      JSON.stringify({
        spans: [nativeSpan(0)],
        logs: [{ timestamp: '2026-11-20T12:00:00Z', severity: 'info', message: 'hello' }],
        metrics: [{ name: 'depth', type: 'gauge', timestamp: '2026-11-20T12:00:00Z', value: 1 }],
        scores: [{ trace_id: traceId(0), scorer_id: 'answered', value: 1, min: 0, max: 1 }],
        feedback: [{ trace_id: traceId(0), kind: 'thumbs', value: 'up' }],
        aspect_notes: [{ trace_id: traceId(0), aspect: 'tone', text: 'friendly' }],
      }),
    );
    expect(answer.json).toEqual({ accepted: 6, rejected: 0, duplicate: 0, errors: [] });
    expect(at.store.units).toHaveLength(1);
  });

  it('takes an array of batches: each keyed element is a unit of its own, those without a key are one', async () => {
    const at = await open();
    const answer = await post(
      at,
      '/v1/ingest',
      JSON.stringify([
        { spans: [nativeSpan(0)] },
        { ingest_key: 'a', spans: [nativeSpan(1)] },
        { spans: [nativeSpan(2)] },
        { ingest_key: 'b', spans: [nativeSpan(3), nativeSpan(4)] },
      ]),
    );
    expect(answer.json).toMatchObject({ accepted: 5, duplicate: 0 });
    expect(at.store.units.map(({ ingestKey, batch }) => [ingestKey, batch.spans.length])).toEqual([
      ['a', 1],
      ['b', 2],
      [undefined, 2],
    ]);
  });

  it.each([NDJSON, 'application/jsonl', 'Application/X-NDJSON; charset=utf-8'])(
    'takes a stream of batches as %s',
    async (type) => {
      const at = await open();
      const body = `${JSON.stringify({ spans: [nativeSpan(0)] })}\r\n\n  \n${lines({ ingest_key: 'k', spans: [nativeSpan(1)] }, { spans: [nativeSpan(2)] })}`;
      const answer = await post(at, '/v1/ingest', body, { 'content-type': type });
      expect(answer.json).toEqual({ accepted: 3, rejected: 0, duplicate: 0, errors: [] });
      expect(at.store.units.map(({ ingestKey, batch }) => [ingestKey, batch.spans.length])).toEqual([
        ['k', 1],
        [undefined, 2],
      ]);
    },
  );

  it('answers an empty stream and empty batches with zeros', async () => {
    const at = await open();
    const zeros = { accepted: 0, rejected: 0, duplicate: 0, errors: [] };
    expect((await post(at, '/v1/ingest', '', { 'content-type': NDJSON })).json).toEqual(zeros);
    expect((await post(at, '/v1/ingest', '[]')).json).toEqual(zeros);
    expect((await post(at, '/v1/ingest', '[{},{"ingest_key":"k","spans":[]}]')).json).toEqual(zeros);
  });

  it('names batch, signal, index, code and field of each refused signal, and writes the rest', async () => {
    const at = await open();
    const answer = await post(
      at,
      '/v1/ingest',
      lines(
        { spans: [nativeSpan(0)] },
        { spans: [nativeSpan(1), nativeSpan(2, { trace_id: '0'.repeat(32) })] },
        { scores: [{ scorer_id: 's', value: 1 }] },
      ),
      { 'content-type': NDJSON },
    );
    expect(answer.json).toMatchObject({ accepted: 2, rejected: 2, duplicate: 0 });
    expect(answer.json.errors).toEqual([
      expect.objectContaining({ batch: 1, signal: 'spans', index: 1, code: 'invalid_id', field: 'trace_id' }),
      expect.objectContaining({ batch: 2, signal: 'scores', index: 0 }),
    ]);
    expect(answer.json.errors).toHaveLength(answer.json.rejected);
  });

  it.each([
    ['an object', '{"spans": [', JSON_TYPE],
    ['an array', `[${JSON.stringify({ ingest_key: 'k', spans: nativeSpans(2) })}, 7]`, JSON_TYPE],
    [
      'its last line',
      `${lines({ ingest_key: 'k', spans: nativeSpans(2) }, { spans: nativeSpans(2) })}\n{"spans": [`,
      NDJSON,
    ],
    ['a line that is no batch', `${lines({ spans: nativeSpans(2) })}\n"text"\n`, NDJSON],
    ['no body', '', JSON_TYPE],
  ])('refuses the whole request, with nothing stored, when %s cannot be read', async (_, body, type) => {
    const at = await open();
    const answer = await post(at, '/v1/ingest', body, { 'content-type': type });
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_body']);
    expect(at.store.units).toEqual([]);
    expect(at.counters).toMatchObject({ signalsAccepted: 0, signalsRejected: 0, ingestRequests: 1 });
  });

  it('refuses other content types by name', async () => {
    const at = await open();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'application/json5']) {
      const answer = await post(at, '/v1/ingest', '{}', { 'content-type': type });
      expect([answer.status, answer.json]).toEqual([
        415,
        {
          code: 'unsupported_media_type',
          message: `content-type "${type}" is not supported; use application/json, application/x-ndjson or application/jsonl`,
        },
      ]);
    }
  });

  it('counts a resend duplicate and does not write it twice', async () => {
    const at = await open();
    const body = JSON.stringify([{ ingest_key: 'k', spans: nativeSpans(3) }, { spans: [nativeSpan(9)] }]);
    expect((await post(at, '/v1/ingest', body)).json).toEqual({ accepted: 4, rejected: 0, duplicate: 0, errors: [] });
    expect((await post(at, '/v1/ingest', body)).json).toEqual({ accepted: 1, rejected: 0, duplicate: 1, errors: [] });
    expect(at.counters).toMatchObject({ signalsAccepted: 5, batchesDuplicate: 1, ingestRequests: 2 });
  });

  it('writes a key once when fifty clients send it at the same time', async () => {
    const at = await open();
    const body = JSON.stringify({ ingest_key: 'k', spans: nativeSpans(7) });
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(at, '/v1/ingest', body)));
    const total = (field: string): number => answers.reduce((sum, { json }) => sum + json[field], 0);
    expect([total('accepted'), total('duplicate'), total('rejected'), at.store.signals()]).toEqual([7, 49, 0, 7]);
  });

  it('keeps __proto__ and its kind as plain keys', async () => {
    const at = await open();
    const span = `{"trace_id":"${traceId(0)}","span_id":"${spanId(0)}","name":"n","start_time":"2026-11-20T12:00:00Z","attributes":{"__proto__":"p","constructor":"c"}}`;
    expect((await post(at, '/v1/ingest', `{"spans":[${span}]}`)).json).toMatchObject({ accepted: 1 });
    const attributes = at.store.spans()[0]?.attributes ?? {};
    expect(Object.entries(attributes)).toEqual([
      ['__proto__', 'p'],
      ['constructor', 'c'],
    ]);
    expect(({} as Record<string, unknown>)['p']).toBeUndefined();
  });
});

const everyDoor = [
  ['/v1/traces', JSON_TYPE, (count: number) => otlpJson(otlpSpans(count))],
  ['/v1/traces', PROTOBUF, (count: number) => otlpProtobuf(otlpSpans(count))],
  ['/v1/logs', JSON_TYPE, (count: number) => otlpLogs(count)],
  ['/v1/metrics', JSON_TYPE, (count: number) => otlpMetrics(count)],
  ['/v1/ingest', JSON_TYPE, (count: number) => JSON.stringify({ spans: nativeSpans(count) })],
  ['/v1/ingest', NDJSON, (count: number) => lines(...nativeSpans(count).map((span) => ({ spans: [span] })))],
] as const;

const failureOf = (answer: Answer): { code: unknown; message: string } => {
  if (answer.json !== undefined) return answer.json;
  const { reason, message } = readStatus(answer.bytes);
  return { code: reason, message };
};

describe.each(everyDoor)('%s as %s', (path, type, bodyOf) => {
  it('takes exactly 10,000 signals and refuses 10,001 with 413 and both numbers, with nothing stored', async () => {
    const at = await open();
    expect((await post(at, path, bodyOf(10_000), { 'content-type': type })).status).toBe(200);
    expect(at.store.signals()).toBe(10_000);
    const refused = await post(at, path, bodyOf(10_001), { 'content-type': type });
    expect([refused.status, failureOf(refused).code]).toEqual([413, 'payload_too_large']);
    expect(failureOf(refused).message).toContain('10000 signals (--max-batch-signals)');
    expect(failureOf(refused).message).toContain('33554432 bytes (32 MiB) as received (--max-body-bytes)');
    expect(at.store.signals()).toBe(10_000);
  });

  it('takes a body of exactly the bound and refuses one byte more, with a content length and without', async () => {
    const body = Buffer.from(bodyOf(2));
    const exact = await open({ limits: { maxBodyBytes: body.length } });
    expect((await post(exact, path, body, { 'content-type': type })).status).toBe(200);
    await exact.close();
    const at = await open({ limits: { maxBodyBytes: body.length - 1 } });
    const announced = await post(at, path, body, { 'content-type': type });
    expect([announced.status, failureOf(announced).code]).toEqual([413, 'payload_too_large']);
    expect(failureOf(announced).message).toBe(
      `body of ${body.length} bytes is too large: a request holds at most 10000 signals (--max-batch-signals) and ${body.length - 1} bytes as received (--max-body-bytes); send smaller batches`,
    );
    const chunked = await request(at.url + path, {
      method: 'POST',
      headers: { 'content-type': type },
      body: Readable.from(
        (async function* () {
          yield body.subarray(0, 10);
          yield body.subarray(10);
        })(),
      ),
    });
    expect(chunked.statusCode).toBe(413);
    await chunked.body.dump();
    expect(at.store.units).toEqual([]);
  });

  it('takes gzip, measured as received', async () => {
    const body = Buffer.from(bodyOf(500));
    const packed = gzipSync(body);
    const at = await open({ limits: { maxBodyBytes: packed.length } });
    const answer = await post(at, path, packed, { 'content-type': type, 'content-encoding': 'gzip' });
    expect([answer.status, at.store.signals()]).toEqual([200, 500]);
  });

  it('refuses other encodings by name, with 415', async () => {
    const at = await open();
    const answer = await post(at, path, Buffer.from(bodyOf(1)), { 'content-type': type, 'content-encoding': 'br' });
    expect([answer.status, failureOf(answer)]).toEqual([
      415,
      {
        code: 'unsupported_content_encoding',
        message: 'content-encoding "br" is not supported; use gzip or send the body uncompressed',
      },
    ]);
  });

  it('refuses damaged gzip with 400, and a bomb with 413', async () => {
    const at = await open({ limits: { maxBodyBytes: 100_000, maxInflatedBytes: 400_000 } });
    const headers = { 'content-type': type, 'content-encoding': 'gzip' };
    const damaged = await post(at, path, gzipSync(Buffer.from(bodyOf(1))).subarray(0, -5), headers);
    expect([damaged.status, failureOf(damaged).code]).toEqual([400, 'invalid_body']);
    const bomb = await post(at, path, gzipSync(Buffer.alloc(50_000_000, 0x20)), headers);
    expect([bomb.status, failureOf(bomb).message]).toEqual([
      413,
      'body inflates to more than 400000 bytes (--max-inflated-bytes): a request holds at most 10000 signals (--max-batch-signals) and 100000 bytes as received (--max-body-bytes); send smaller batches',
    ]);
  });

  it('refuses beyond-ceiling signals one by one, and 429 with Retry-After to the next minute when that is all of them', async () => {
    const at = await open({ quota: { perMinute: 3, projects: {} }, now: () => Date.parse('2026-11-20T12:00:47.500Z') });
    expect((await post(at, path, bodyOf(2), { 'content-type': type })).status).toBe(200);
    const part = await post(at, path, bodyOf(2), { 'content-type': type });
    expect([part.status, at.store.signals()]).toEqual([200, 3]);
    const whole = await post(at, path, bodyOf(2), { 'content-type': type });
    expect([whole.status, whole.headers['retry-after'], failureOf(whole).code]).toEqual([429, '13', 'over_quota']);
    expect([at.store.signals(), at.counters.signalsOverQuota, at.counters.signalsRejected]).toEqual([3, 3, 3]);
    expect([at.counters.signalsAccepted, at.counters.signalsUnbounded]).toEqual([3, 0]);
  });

  it('answers 503 store_unavailable with Retry-After when the store fails, gives the quota back, and works again after', async () => {
    const at = await open({ quota: { perMinute: 2, projects: {} }, now: () => Date.parse('2026-11-20T12:00:00Z') });
    at.store.failWhen(() => true);
    const failed = await post(at, path, bodyOf(2), { 'content-type': type });
    expect([failed.status, failureOf(failed).code]).toEqual([503, 'store_unavailable']);
    expect(Number(failed.headers['retry-after'])).toBeGreaterThan(0);
    expect(failureOf(failed).message).not.toContain('disk');
    expect(at.logLines.join('\n')).toContain('disk I/O error of the test');
    at.store.failWhen();
    const retried = await post(at, path, bodyOf(2), { 'content-type': type });
    expect([retried.status, at.store.signals(), at.counters.requestErrors]).toEqual([200, 2, 1]);
  });

  it('drops what the sampling policy drops without calling it refused', async () => {
    const at = await open({ sampling: { default: 0, projects: {} } });
    const answer = await post(at, path, bodyOf(2), { 'content-type': type });
    expect(answer.status).toBe(200);
    const spans = path === '/v1/traces' || path === '/v1/ingest';
    expect(at.store.signals()).toBe(spans ? 0 : 2);
    expect([at.counters.signalsRejected, at.counters.tracesSampledOut]).toEqual([0, spans ? 2 : 0]);
    if (path === '/v1/ingest')
      expect(answer.json).toEqual({ accepted: 0, rejected: 0, duplicate: 0, sampled_out: 2, errors: [] });
  });

  it('stores nothing of a body whose connection is cut, and holds nothing for it', async () => {
    const at = await open();
    const body = Buffer.from(bodyOf(50));
    const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`,
    );
    socket.write(body.subarray(0, body.length - 1));
    while (at.heldBytes() === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    while (at.heldBytes() > 0) await new Promise((resolve) => setImmediate(resolve));
    await at.pipeline.drain();
    expect([at.store.units, at.counters.signalsAccepted]).toEqual([[], 0]);
  });
});

describe('over quota, the usual answer stands beside the code', () => {
  const quota = { perMinute: 0, projects: {} };
  const now = () => Date.parse('2026-11-20T12:00:30Z');

  it('on native ingest', async () => {
    const at = await open({ quota, now });
    const answer = await post(at, '/v1/ingest', JSON.stringify({ spans: nativeSpans(2) }));
    expect(answer.json).toMatchObject({ code: 'over_quota', accepted: 0, rejected: 2, duplicate: 0 });
    expect(answer.json.message).toContain('project "default" is over its ceiling of 0 signals a minute');
    expect(answer.json.errors).toEqual([
      expect.objectContaining({ batch: 0, signal: 'spans', index: 0, code: 'over_quota' }),
      expect.objectContaining({ batch: 0, signal: 'spans', index: 1, code: 'over_quota' }),
    ]);
  });

  it('a keyed resend is known as a duplicate before the ceiling; a new key is refused by it', async () => {
    const at = await open({ quota: { perMinute: 2, projects: {} }, now });
    const send = (key: string) => post(at, '/v1/ingest', JSON.stringify({ ingest_key: key, spans: nativeSpans(2) }));
    expect((await send('first')).json).toMatchObject({ accepted: 2 });
    const again = await send('first');
    expect([again.status, again.json]).toEqual([200, { accepted: 0, rejected: 0, duplicate: 1, errors: [] }]);
    expect((await send('second')).json).toMatchObject({ code: 'over_quota', rejected: 2, duplicate: 0 });
    expect(at.counters.signalsOverQuota).toBe(2);
  });

  it('on OTLP', async () => {
    const at = await open({ quota, now });
    const answer = await post(at, '/v1/traces', otlpJson(otlpSpans(2)));
    expect(answer.json).toMatchObject({ code: 'over_quota', partialSuccess: { rejectedSpans: 2 } });
  });
});

describe('idempotency and quota', () => {
  it('spends no quota on duplicates', async () => {
    const at = await open({ quota: { perMinute: 5, projects: {} }, now: () => 0 });
    const keyed = JSON.stringify({ ingest_key: 'k', spans: nativeSpans(2) });
    for (let n = 0; n < 4; n += 1) await post(at, '/v1/ingest', keyed);
    expect((await post(at, '/v1/ingest', JSON.stringify({ spans: nativeSpans(3) }))).json).toMatchObject({
      accepted: 3,
      rejected: 0,
    });
    expect(at.counters.batchesDuplicate).toBe(3);
  });

  it('calls a resend duplicate although the ceiling would refuse a part of it now', async () => {
    const at = await open({ quota: { perMinute: 5, projects: {} }, now: () => 0 });
    const keyed = JSON.stringify({ ingest_key: 'k', spans: nativeSpans(4) });
    await post(at, '/v1/ingest', keyed);
    expect((await post(at, '/v1/ingest', keyed)).json).toEqual({ accepted: 0, rejected: 0, duplicate: 1, errors: [] });
    expect(at.counters).toMatchObject({ signalsOverQuota: 0, signalsRejected: 0 });
  });

  it('writes nothing without a key when a keyed element failed, so that the same request may be sent again', async () => {
    const at = await open();
    at.store.failWhen(({ ingestKey }) => ingestKey === 'b');
    const body = JSON.stringify([
      { logs: [{ timestamp: '2026-11-20T12:00:00Z', message: 'once' }] },
      { ingest_key: 'a', spans: [nativeSpan(1)] },
      { ingest_key: 'b', spans: [nativeSpan(2)] },
    ]);
    expect((await post(at, '/v1/ingest', body)).status).toBe(503);
    at.store.failWhen();
    expect((await post(at, '/v1/ingest', body)).json).toEqual({ accepted: 2, rejected: 0, duplicate: 1, errors: [] });
    expect(at.store.units.flatMap(({ batch }) => batch.logs)).toHaveLength(1);
  });
});

describe('projects', () => {
  const keys = {
    topLevel: { ingest: ['top-level-key-0001'] },
    projects: { billing: { ingest: ['billing-key-000001'] } },
  };
  const withKey = (key: string, type = JSON_TYPE) => ({ 'content-type': type, authorization: `Bearer ${key}` });

  it('are those of the signals, else that of the key, else the default', async () => {
    const at = await open({ keys });
    const body = JSON.stringify({ spans: [nativeSpan(0), nativeSpan(1, { correlation: { project: 'billing' } })] });
    await post(at, '/v1/ingest', body, withKey('top-level-key-0001'));
    await post(at, '/v1/ingest', body, withKey('billing-key-000001'));
    expect(at.store.spans().map((span) => span.correlation.project)).toEqual([
      'default',
      'billing',
      'billing',
      'billing',
    ]);
  });

  it('that a key does not reach are refused signal by signal, never stored', async () => {
    const at = await open({ keys });
    const native = JSON.stringify({ spans: [nativeSpan(0), nativeSpan(1, { correlation: { project: 'other' } })] });
    expect((await post(at, '/v1/ingest', native, withKey('billing-key-000001'))).json).toMatchObject({
      accepted: 1,
      rejected: 1,
      errors: [{ batch: 0, signal: 'spans', index: 1, code: 'forbidden', field: 'correlation.project' }],
    });
    const spans = [{ spanId: spanId(5), attributes: { 'svc.project': 'other' } }, { spanId: spanId(6) }];
    const otlp = await post(at, '/v1/traces', otlpProtobuf(spans), withKey('billing-key-000001', PROTOBUF));
    expect(readTraceResponse(otlp.bytes)).toMatchObject({ partialSuccess: { rejectedSpans: 1 } });
    expect(new Set(at.store.spans().map((span) => span.correlation.project))).toEqual(new Set(['billing']));
  });

  it('keep their batch keys apart: one tenant cannot make the batch of another look like a resend', async () => {
    const at = await open({
      keys: {
        topLevel: {},
        projects: { billing: { ingest: ['billing-key-000001'] }, support: { ingest: ['support-key-000001'] } },
      },
    });
    const send = (key: string) =>
      post(at, '/v1/ingest', JSON.stringify({ ingest_key: 'nightly', spans: [nativeSpan(0)] }), withKey(key));
    expect((await send('billing-key-000001')).json).toMatchObject({ accepted: 1, duplicate: 0 });
    expect((await send('support-key-000001')).json).toMatchObject({ accepted: 1, duplicate: 0 });
    expect((await send('support-key-000001')).json).toMatchObject({ accepted: 0, duplicate: 1 });
  });

  it('without a ceiling are counted unbounded, not refused', async () => {
    const at = await open({ quota: { projects: { billing: 10 } } });
    const body = JSON.stringify({ spans: [nativeSpan(0), nativeSpan(1, { correlation: { project: 'billing' } })] });
    await post(at, '/v1/ingest', body);
    expect(at.counters).toMatchObject({ signalsAccepted: 2, signalsUnbounded: 1, signalsOverQuota: 0 });
  });
});

describe('what the pipeline does on the way', () => {
  it('redacts before it stores, and prices what it stores', async () => {
    const at = await open();
    const span = nativeSpan(0, {
      kind: 'model_generation',
      model: 'gpt-4o-mini',
      usage: { input_tokens: 1_000_000, output_tokens: 0 },
      input: { password: 'canary-1', nested: [{ Authorization: 'canary-2' }] },
      attributes: { 'api-key': 'canary-3' },
    });
    await post(at, '/v1/ingest', JSON.stringify({ spans: [span] }));
    const [stored] = at.store.spans();
    expect(stored?.cost).toMatchObject({ currency: 'USD', isEstimated: true, priceBookId: 'builtin' });
    expect(
      JSON.stringify(at.store.units, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toContain('canary');
  });

  it('forwards the spans that were written, and no others', async () => {
    const forwarded: string[] = [];
    const at = await open({ forward: (spans) => void forwarded.push(...spans.map((span) => span.spanId)) });
    await post(at, '/v1/ingest', JSON.stringify({ ingest_key: 'k', spans: nativeSpans(2) }));
    await post(at, '/v1/ingest', JSON.stringify({ ingest_key: 'k', spans: nativeSpans(2) }));
    at.store.failWhen(() => true);
    await post(at, '/v1/ingest', JSON.stringify({ spans: [nativeSpan(7)] }));
    expect(forwarded).toEqual([spanId(0), spanId(1)]);
  });

  it('answers after the commit, and drains when everything let in is committed', async () => {
    const at = await open();
    const letGo = at.store.hold();
    const seen: string[] = [];
    const answer = post(at, '/v1/ingest', JSON.stringify({ spans: nativeSpans(2) })).then(() => seen.push('answered'));
    while (at.store.waiting() === 0) await new Promise((resolve) => setImmediate(resolve));
    const drained = at.pipeline.drain().then(() => seen.push(`drained with ${at.store.signals()} signals`));
    seen.push('committing');
    letGo();
    await Promise.all([answer, drained]);
    expect(seen[0]).toBe('committing');
    expect(seen).toContain('drained with 2 signals');
  });
});
