import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import { afterEach, describe, expect, it } from 'vitest';
import { createForwarder, type ForwardOptions, probeForwarding } from '../../src/ingest/forward.ts';
import { encodeSpans } from '../../src/ingest/otlp/encode-spans.ts';
import { decodeTracesProtobuf } from '../../src/ingest/otlp/protobuf.ts';
import { createCounters } from '../../src/model/counters.ts';
import type { Json, JsonObject } from '../../src/model/json.ts';
import { type Span, wholeAttributes } from '../../src/model/span.ts';
import { holdTimers } from '../held-timers.ts';

const context = { receivedAt: 77n, defaultProject: 'default', maxSignals: 100_000 };
const decode = (body: Uint8Array): readonly Span[] => decodeTracesProtobuf(body, context).batch.spans;

const aSpan = (n = 1, over: Partial<Span> = {}): Span => ({
  traceId: '1'.repeat(32),
  spanId: n.toString(16).padStart(16, '0'),
  name: `step ${n}`,
  kind: 'generic',
  status: 'ok',
  startTime: 1_700_000_000_123_456_789n,
  endTime: 1_700_000_000_123_456_790n,
  isEvent: false,
  receivedAt: 77n,
  correlation: { project: 'default' },
  attributes: {},
  events: [],
  links: [],
  ...over,
});

describe('a span turned back into OTLP', () => {
  it('has what it shares with others among its attributes', () => {
    const [span] = decode(encodeSpans([aSpan(1, { attributes: { a: 1 }, sharedAttributes: { 'host.name': 'h' } })]));
    expect({ ...wholeAttributes(span ?? aSpan()) }).toMatchObject({ a: 1, 'host.name': 'h' });
  });

  it('is the same span when it is read again', () => {
    const span = aSpan(1, {
      parentSpanId: 'a'.repeat(16),
      kind: 'model_generation',
      status: 'error',
      error: { message: 'boom', type: 'Broken', stack: 'at x' },
      model: 'gpt-4o',
      provider: 'openai',
      entityName: 'planner',
      input: { messages: [{ role: 'user', content: 'hi' }] },
      output: ['a', 1, 2.5, null, true, { deep: [[]] }],
      usage: {
        inputTokens: 10,
        outputTokens: 10,
        totalTokens: 20,
        inputDetails: { cacheRead: 1, cacheWrite: 7, cacheWrite5m: 2, cacheWrite1h: 3, audio: 4, text: 5 },
        outputDetails: { reasoning: 6, audio: 1, text: 2 },
      },
      cost: { totalCost: 0.5, inputCost: 0.2, outputCost: 0.3, currency: 'USD', isEstimated: false },
      correlation: {
        project: 'shop',
        environment: 'prod',
        serviceName: 'api',
        serviceVersion: '1.2',
        sessionId: 's',
        threadId: 't',
        userId: 'u',
        requestId: 'r',
        release: 'rel',
        runId: 'run',
        resourceId: 'res',
        experimentId: 'exp',
        tags: ['a', 'b'],
      },
      scopeName: 'lib',
      events: [{ name: 'first token', time: 1_700_000_000_123_456_789n, attributes: { n: 1, list: ['x', { y: 2 }] } }],
      links: [{ traceId: 'b'.repeat(32), spanId: 'c'.repeat(16), attributes: { why: 'retry' } }],
    });
    const [again] = decode(encodeSpans([span]));
    const { attributes: _ours, inputAttribute: _in, outputAttribute: _out, ...fields } = again ?? aSpan();
    const { attributes: _none, ...expected } = span;
    expect(fields).toMatchObject(expected);
  });

  it('keeps its attributes whole under their own keys, a lifted payload with them, and says nothing twice', () => {
    const attributes: JsonObject = {
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.operation.name': 'chat',
      'user.id': 'u',
      'app.number': 1.5,
      'app.nested': { list: [1, 'two', { three: null }], empty: {} },
      ['__proto__']: 'plain',
    };
    const span = aSpan(1, {
      kind: 'model_generation',
      model: 'gpt-4o',
      usage: { inputTokens: 10 },
      attributes,
      input: 'the question',
      inputAttribute: 'input.value',
      correlation: { project: 'default', userId: 'u' },
    });
    const [again] = decode(encodeSpans([span]));
    expect({ ...wholeAttributes(again ?? aSpan()) }).toEqual({
      ...attributes,
      'input.value': 'the question',
      'svc.project': 'default',
    });
  });

  it('is what the published OTLP schema says', () => {
    // The field numbers of opentelemetry-proto, apart from ours.
    const schema = protobuf.parse(`syntax = "proto3";
      message Any { oneof value { string s = 1; bool b = 2; int64 i = 3; double d = 4; List l = 5; Map m = 6; } }
      message List { repeated Any values = 1; } message Map { repeated KV values = 1; }
      message KV { string key = 1; Any value = 2; }
      message Event { fixed64 time = 1; string name = 2; repeated KV attributes = 3; }
      message Link { bytes trace = 1; bytes span = 2; repeated KV attributes = 4; }
      message Status { string message = 2; int32 code = 3; }
      message Span { bytes trace = 1; bytes span = 2; bytes parent = 4; string name = 5; int32 kind = 6; fixed64 start = 7; fixed64 end = 8;
        repeated KV attributes = 9; repeated Event events = 11; repeated Link links = 13; Status status = 15; }
      message Scope { string name = 1; } message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
      message Resource { repeated KV attributes = 1; } message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopes = 2; }
      message Request { repeated ResourceSpans resources = 1; }`).root;
    const body = encodeSpans([
      aSpan(1, { attributes: { list: [1, [-2, 0.5]], map: { a: true } }, scopeName: 'lib' }),
      aSpan(2, { scopeName: 'lib' }),
      aSpan(3, { correlation: { project: 'other' } }),
    ]);
    const Request = schema.lookupType('Request');
    const read = Request.toObject(Request.decode(body), { longs: String, bytes: String }) as {
      resources: { scopes: { scope?: unknown; spans: Record<string, unknown>[] }[] }[];
    };
    expect(read.resources.map(({ scopes }) => scopes.map(({ spans }) => spans.length))).toEqual([[2], [1]]);
    expect(read.resources[0]?.scopes[0]).toMatchObject({
      scope: { name: 'lib' },
      spans: [
        {
          trace: Buffer.from('1'.repeat(32), 'hex').toString('base64'),
          name: 'step 1',
          start: '1700000000123456789',
          end: '1700000000123456790',
          status: { code: 1 },
          attributes: [
            { key: 'list', value: { l: { values: [{ i: '1' }, { l: { values: [{ i: '-2' }, { d: 0.5 }] } }] } } },
            { key: 'map', value: { m: { values: [{ key: 'a', value: { b: true } }] } } },
          ],
        },
        { name: 'step 2' },
      ],
    });
  });

  it('keeps any attribute value', () => {
    const json = fc
      .jsonValue({ maxDepth: 4, noUnicodeString: false })
      .filter((value) => !JSON.stringify(value).includes('\\u')) as fc.Arbitrary<Json>;
    fc.assert(
      fc.property(json, (value) => {
        const [again] = decode(encodeSpans([aSpan(1, { attributes: { 'app.value': value } })]));
        expect(JSON.stringify(again?.attributes['app.value'])).toBe(JSON.stringify(value));
      }),
    );
  });

  it('makes a valid request of no spans', () => {
    expect(encodeSpans([])).toHaveLength(0);
    expect(decode(encodeSpans([]))).toEqual([]);
  });
});

type Seen = { readonly path: string; readonly headers: IncomingMessage['headers']; readonly spans: readonly Span[] };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A receiver that answers request by request as given, and `200` after that. */
const aReceiver = async (...answers: ((response: ServerResponse, request: IncomingMessage) => void)[]) => {
  const seen: Seen[] = [];
  const waiting: (() => void)[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      seen.push({ path: request.url ?? '', headers: request.headers, spans: decode(Buffer.concat(chunks)) });
      const answer = answers[seen.length - 1];
      if (answer === undefined) response.end();
      else answer(response, request);
      for (const notify of waiting.splice(0)) notify();
    });
  };
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const requests = async (count: number): Promise<void> => {
    while (seen.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, requests };
};

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) => {
    response.writeHead(code, headers).end();
  };

/** A forwarder whose pauses are over at once and written down. */
const aForwarder = (endpoint: string, options: ForwardOptions & { headers?: Record<string, string> } = {}) => {
  const counters = createCounters();
  const pauses: number[] = [];
  const problems: string[] = [];
  const { headers, ...rest } = options;
  const forwarder = createForwarder(
    { endpoint, ...(headers && { headers }) },
    counters,
    { warn: (facts) => problems.push(JSON.stringify(facts)) },
    {
      random: () => 1,
      delay: (ms, signal) => {
        pauses.push(ms);
        return signal.aborted ? Promise.reject(new Error('aborted')) : Promise.resolve();
      },
      ...rest,
    },
  );
  cleanups.push(() => forwarder.close());
  return { ...forwarder, counters, pauses, problems };
};

describe('forwarding sends accepted spans on', () => {
  it('as OTLP/HTTP in protobuf, to /v1/traces, with the configured headers', async () => {
    const { endpoint, seen } = await aReceiver();
    const { forward, close, counters } = aForwarder(`${endpoint}/base/`, { headers: { authorization: 'Bearer k' } });
    forward([aSpan(1), aSpan(2)]);
    await close();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      path: '/base/v1/traces',
      headers: { authorization: 'Bearer k', 'content-type': 'application/x-protobuf' },
    });
    expect(seen[0]?.spans.map((span) => span.name)).toEqual(['step 1', 'step 2']);
    expect(counters.forwardDropped).toBe(0);
  });

  it('does not append the path twice', async () => {
    const { endpoint, seen } = await aReceiver();
    const { forward, close } = aForwarder(`${endpoint}/otel/v1/traces`);
    forward([aSpan()]);
    await close();
    expect(seen[0]?.path).toBe('/otel/v1/traces');
  });

  it('cuts the queue into requests of bounded size, and loses none', async () => {
    const { endpoint, seen } = await aReceiver();
    const { forward, close } = aForwarder(endpoint, { maxSpansPerRequest: 10 });
    forward(Array.from({ length: 95 }, (_, n) => aSpan(n + 1)));
    await close();
    expect(seen.map(({ spans }) => spans.length).toSorted((a, b) => a - b)).toEqual([5, ...Array<number>(9).fill(10)]);
    expect(new Set(seen.flatMap(({ spans }) => spans.map((span) => span.spanId))).size).toBe(95);
  });

  it('never holds ingest up: the call returns before anything is sent', async () => {
    const { endpoint, seen } = await aReceiver();
    const { forward, close } = aForwarder(endpoint);
    expect(forward([aSpan()])).toBeUndefined();
    expect(seen).toEqual([]);
    await close();
    expect(seen).toHaveLength(1);
  });
});

describe('a receiver that misbehaves', () => {
  it.each([429, 500, 502, 503, 504])('is tried again on %d with growing pauses until it accepts', async (code) => {
    const { endpoint, seen } = await aReceiver(status(code), status(code), status(code));
    const { forward, close, counters, pauses } = aForwarder(endpoint);
    forward([aSpan()]);
    await close();
    expect(seen).toHaveLength(4);
    expect(pauses).toEqual([500, 1000, 2000]);
    expect(counters.forwardDropped).toBe(0);
  });

  it('is given the time it asks for in Retry-After, up to a minute', async () => {
    const { endpoint } = await aReceiver(
      status(429, { 'retry-after': '7' }),
      status(503, { 'retry-after': '86400' }),
      status(503, { 'retry-after': 'Wed, 21 Oct 2065 07:28:00 GMT' }),
    );
    const { forward, close, pauses } = aForwarder(endpoint);
    forward([aSpan()]);
    await close();
    expect(pauses).toEqual([7000, 60_000, 2000]);
  });

  it('that resets the connection or hangs is tried again', async () => {
    const deadline = holdTimers((ms) => ms === 9_999);
    const { endpoint, seen, requests } = await aReceiver(
      (_response, request) => request.socket.destroy(),
      () => {},
    );
    const { forward, close, counters } = aForwarder(endpoint, { timeoutMs: 9_999 });
    forward([aSpan()]);
    await requests(2);
    deadline.fire();
    await requests(3);
    await close();
    expect(seen).toHaveLength(3);
    expect(counters.forwardDropped).toBe(0);
  });

  it('is given up after the last try, the spans counted', async () => {
    const { endpoint, seen } = await aReceiver(status(503), status(503), status(503));
    const { forward, close, counters, problems } = aForwarder(endpoint, { maxAttempts: 3 });
    forward([aSpan(1), aSpan(2)]);
    await close();
    expect(seen).toHaveLength(3);
    expect(counters.forwardDropped).toBe(2);
    expect(problems).toEqual(['{"spans":2,"reason":"status 503"}']);
  });

  it.each([400, 401, 404, 413])('is not tried again on %d', async (code) => {
    const { endpoint, seen } = await aReceiver(status(code));
    const { forward, close, counters } = aForwarder(endpoint);
    forward([aSpan()]);
    await close();
    expect(seen).toHaveLength(1);
    expect(counters.forwardDropped).toBe(1);
  });

  it('cannot send the spans elsewhere by a redirect', async () => {
    const other = await aReceiver();
    const { endpoint } = await aReceiver(status(307, { location: `${other.endpoint}/v1/traces` }));
    const { forward, close, counters } = aForwarder(endpoint, { headers: { authorization: 'secret' } });
    forward([aSpan()]);
    await close();
    expect(other.seen).toEqual([]);
    expect(counters.forwardDropped).toBe(1);
  });

  it('that accepts and refuses some spans has those counted, in either encoding', async () => {
    const { endpoint } = await aReceiver(
      (response) => response.setHeader('content-type', 'application/x-protobuf').end(Buffer.from([0x0a, 2, 0x08, 2])),
      (response) =>
        response.setHeader('content-type', 'application/json').end('{"partialSuccess":{"rejectedSpans":"1"}}'),
      (response) => response.setHeader('content-type', 'application/x-protobuf').end(Buffer.from([0x0a, 0xff, 0xff])),
    );
    const { forward, close, counters } = aForwarder(endpoint, { maxSpansPerRequest: 3, concurrency: 1 });
    forward(Array.from({ length: 9 }, (_, n) => aSpan(n + 1)));
    await close();
    expect(counters.forwardDropped).toBe(3);
  });

  it('that accepts with an endless reply has accepted', async () => {
    const { endpoint } = await aReceiver((response) => response.end(Buffer.alloc(1_000_000)));
    const { forward, close, counters } = aForwarder(endpoint);
    forward([aSpan()]);
    await close();
    expect(counters.forwardDropped).toBe(0);
  });

  it('at a metadata address is never reached', async () => {
    const { forward, close, counters, problems } = aForwarder('http://169.254.169.254', {
      headers: { authorization: 's3cret' },
    });
    forward([aSpan()]);
    await close();
    expect(counters.forwardDropped).toBe(1);
    expect(problems.join()).not.toContain('s3cret');
  });
});

describe('the queue is bounded', () => {
  /** A length that no other timer of the process has. */
  const DRAIN_MS = 19_999;
  const stuck = async (options: ForwardOptions) => {
    const receiver = await aReceiver(() => {});
    const bound = holdTimers((ms) => ms === DRAIN_MS);
    const limits = { concurrency: 1, maxSpansPerRequest: 1, drainMs: DRAIN_MS, ...options };
    const forwarder = aForwarder(receiver.endpoint, limits);
    const close = (): Promise<void> => {
      const closed = forwarder.close();
      bound.fire();
      return closed;
    };
    cleanups.push(close);
    forwarder.forward([aSpan(1)]);
    await receiver.requests(1);
    return { ...forwarder, close };
  };

  it('by count: the span that does not fit is dropped and counted, logged once while it lasts', async () => {
    const { forward, counters, problems } = await stuck({ maxQueuedSpans: 3 });
    forward([aSpan(2), aSpan(3), aSpan(4)]);
    expect(counters.forwardDropped).toBe(0);
    forward([aSpan(5)]);
    forward([aSpan(6), aSpan(7)]);
    expect(counters.forwardDropped).toBe(3);
    expect(problems).toHaveLength(1);
  });

  it('by bytes', async () => {
    const { forward, counters } = await stuck({ maxQueuedBytes: 100_000 });
    forward([aSpan(2, { input: 'x'.repeat(90_000) }), aSpan(3, { attributes: { a: ['y'.repeat(90_000)] } })]);
    expect(counters.forwardDropped).toBe(1);
  });

  it('and closing ends within its bound, with everything left counted', async () => {
    const { forward, close, counters } = await stuck({});
    forward([aSpan(2), aSpan(3)]);
    await close();
    expect(counters.forwardDropped).toBe(3);
    forward([aSpan(4)]);
    expect(counters.forwardDropped).toBe(4);
  });

  it('and closing also cuts a pause short', async () => {
    const bound = holdTimers((ms) => ms === DRAIN_MS);
    const receiver = await aReceiver(status(503));
    const counters = createCounters();
    const forwarder = createForwarder({ endpoint: receiver.endpoint }, counters, undefined, {
      drainMs: DRAIN_MS,
      random: () => 1,
    });
    forwarder.forward([aSpan()]);
    await receiver.requests(1);
    const closed = forwarder.close();
    bound.fire();
    await closed;
    expect(counters.forwardDropped).toBe(1);
  });
});

describe('the check posts an OTLP batch with no spans', () => {
  it('and says that the receiver accepts it', async () => {
    const { endpoint, seen } = await aReceiver();
    expect(await probeForwarding({ endpoint, headers: { 'x-key': 'k' } })).toEqual({ ok: true });
    expect(seen).toMatchObject([{ path: '/v1/traces', headers: { 'x-key': 'k' }, spans: [] }]);
  });

  it('or why not, without the path or the headers', async () => {
    const { endpoint } = await aReceiver(status(401));
    expect(await probeForwarding({ endpoint })).toEqual({ ok: false, reason: 'status 401' });
    const unreachable = await probeForwarding({ endpoint: 'http://127.0.0.1:1/secret-path' });
    expect(unreachable).toEqual({ ok: false, reason: 'http://127.0.0.1:1: ECONNREFUSED' });
  });
});
