import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { spanId, traceId } from '../../ingest/signals.ts';
import { type Door, type DoorOptions, openDoor } from './ingest-door.ts';
import { otlpProtobuf, otlpSpans } from './otlp-bodies.ts';
import { holdTimers } from '../../held-timers.ts';

const MEBIBYTE = 1024 * 1024;
const agent = new Agent({ connections: 64 });
let door: Door | undefined;
const open = async (options?: DoorOptions): Promise<Door> => {
  door = await openDoor(options);
  return door;
};
afterEach(async () => {
  await door?.close();
  door = undefined;
});

type Answer = { readonly status: number; readonly retryAfter: string | undefined; readonly text: string };

const post = async (
  at: Door,
  path: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> => {
  const answer = await request(at.url + path, { method: 'POST', body, headers, dispatcher: agent });
  const retryAfter = answer.headers['retry-after'];
  return { status: answer.statusCode, retryAfter: retryAfter?.toString(), text: await answer.body.text() };
};

const JSON_TYPE = { 'content-type': 'application/json' };
const PROTOBUF = { 'content-type': 'application/x-protobuf' };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const nativeSpan = (n: number, given: object = {}): object => ({
  trace_id: traceId(n),
  span_id: spanId(n),
  name: 'a span',
  start_time: '2026-11-20T12:00:00Z',
  ...given,
});

/** Sends, and then pings until the answer is there. @returns how many pings were answered before it */
const pingsDuring = async (at: Door, sent: Promise<Answer>): Promise<{ answer: Answer; pings: number }> => {
  let pings = 0;
  let answer: Answer | undefined;
  const answered = (async () => {
    answer = await sent;
  })();
  const pinger = new Agent();
  while (answer === undefined) {
    const pong = await request(`${at.url}/healthz`, { dispatcher: pinger });
    await pong.body.dump();
    if (answer === undefined) pings += 1;
    await turn();
  }
  await answered;
  await pinger.close();
  return { answer, pings };
};

describe('hostile and heavy bodies', () => {
  it.each([
    ['nothing but arrays', '/v1/ingest', `[${'[],'.repeat(4_000_000)}[]]`],
    ['nothing but objects', '/v1/ingest', `[${'{},'.repeat(300_000)}{}]`],
    ['one object of 300,000 keys', '/v1/ingest', `{${Array.from({ length: 300_000 }, (_, n) => `"k${n}":0`).join()}}`],
    ['a million numbers', '/v1/traces', `{"resourceSpans":[${'1,'.repeat(4_000_000)}1]}`],
    ['nesting without end', '/v1/logs', `{"resourceLogs":${'['.repeat(5_000_000)}`],
    [
      'a span of 20 MiB',
      '/v1/ingest',
      JSON.stringify({ spans: [nativeSpan(0, { input: 'x'.repeat(20 * MEBIBYTE) })] }),
    ],
    [
      '10,000 spans of 3 KiB',
      '/v1/ingest',
      JSON.stringify({ spans: Array.from({ length: 10_000 }, (_, n) => nativeSpan(n, { input: 'x'.repeat(3_000) })) }),
    ],
  ])('%s: others are answered while it is worked on', async (_, path, body) => {
    const at = await open();
    const { answer, pings } = await pingsDuring(at, post(at, path, body, JSON_TYPE));
    expect([200, 400, 413]).toContain(answer.status);
    expect(pings).toBeGreaterThan(0);
    const after = await post(at, '/v1/ingest', JSON.stringify({ spans: [nativeSpan(1)] }), JSON_TYPE);
    expect(after.status).toBe(200);
  });

  it('gives a heavy body the same answer and the same rows as its parts', async () => {
    const spans = Array.from({ length: 3_000 }, (_, n) =>
      nativeSpan(n, {
        ...(n % 100 === 7 ? { trace_id: 'bad' } : {}),
        input: { text: 'x'.repeat(1_500), password: 'canary' },
        model: 'gpt-4o-mini',
        usage: { input_tokens: n },
      }),
    );
    const at = await open({ now: () => 0 });
    const whole = await post(
      at,
      '/v1/ingest',
      JSON.stringify([{ ingest_key: 'k', spans }, { spans: [nativeSpan(1, { trace_id: '' })] }]),
      JSON_TYPE,
    );
    const wholeSpans = at.store.spans();
    expect(at.store.units.map(({ ingestKey }) => ingestKey)).toEqual(['k']);
    const parts = await open({ now: () => 0 });
    for (let start = 0; start < spans.length; start += 300)
      await post(parts, '/v1/ingest', JSON.stringify({ spans: spans.slice(start, start + 300) }), JSON_TYPE);
    expect(wholeSpans).toEqual(parts.store.spans());
    const reply = JSON.parse(whole.text) as {
      accepted: number;
      rejected: number;
      errors: { batch: number; index: number }[];
    };
    expect(reply).toMatchObject({ accepted: 2_970, rejected: 31 });
    expect(reply.errors.map(({ batch, index }) => [batch, index])).toEqual([
      ...Array.from({ length: 30 }, (_, n) => [0, n * 100 + 7]),
      [1, 0],
    ]);
    await at.close();
  });

  it('refuses a body that its thread has no memory for, and goes on', async () => {
    const at = await open({ decodeThread: { heapMebibytes: 16 } });
    const spans = Array.from({ length: 2_500 }, (_, n) =>
      nativeSpan(n, { attributes: Object.fromEntries(Array.from({ length: 90 }, (__, k) => [`key ${k} ${n}`, k])) }),
    );
    const answer = await post(at, '/v1/ingest', JSON.stringify({ spans }), JSON_TYPE);
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([413, 'payload_too_large']);
    expect(at.store.units).toEqual([]);
    expect((await post(at, '/v1/ingest', JSON.stringify({ spans: [nativeSpan(1)] }), JSON_TYPE)).status).toBe(200);
  });

  it('inflates no bomb into memory: sixty at once, each 200 KiB that would become 200 MiB', async () => {
    const at = await open({
      limits: { maxBodyBytes: MEBIBYTE, maxInflatedBytes: 4 * MEBIBYTE },
      maxInflightBytes: 64 * MEBIBYTE,
    });
    const bomb = gzipSync(Buffer.alloc(200 * MEBIBYTE), { level: 9 });
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => post(at, '/v1/ingest', bomb, { ...JSON_TYPE, 'content-encoding': 'gzip' })),
    );
    expect(new Set(answers.map(({ status }) => status)).isSubsetOf(new Set([413, 429]))).toBe(true);
    // Their beginnings are small bodies, which have an eighth more room.
    expect(at.mostHeldBytes()).toBeLessThanOrEqual(72 * MEBIBYTE);
    expect(at.heldBytes()).toBe(0);
  });
});

describe('back-pressure', () => {
  it('takes what it has room for, answers 429 overloaded with Retry-After to the rest, and loses nothing it took', async () => {
    const at = await open({ maxInflightBytes: 24 * MEBIBYTE });
    const letGo = at.store.hold();
    const bodies = Array.from({ length: 40 }, (_, n) =>
      JSON.stringify({ ingest_key: `k${n}`, spans: [nativeSpan(n, { input: 'x'.repeat(MEBIBYTE) })] }),
    );
    const sent = bodies.map((body) => post(at, '/v1/ingest', body, JSON_TYPE));
    while (at.store.waiting() === 0) await turn();
    await Promise.race(sent); // the first answer while nothing is written can only be a refusal
    letGo();
    const answers = await Promise.all(sent);
    const taken = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 429);
    expect(taken.length + refused.length).toBe(40);
    expect(refused.length).toBeGreaterThan(0);
    expect(taken).toHaveLength(at.store.signals());
    for (const { retryAfter, text } of refused) {
      expect(Number(retryAfter)).toBeGreaterThan(0);
      expect(JSON.parse(text).code).toBe('overloaded');
    }
    expect(at.mostHeldBytes()).toBeLessThanOrEqual(24 * MEBIBYTE);
    expect(at.heldBytes()).toBe(0);
    // A refused client succeeds when it tries again.
    for (const [n, answer] of answers.entries())
      if (answer.status === 429) expect((await post(at, '/v1/ingest', bodies[n] ?? '', JSON_TYPE)).status).toBe(200);
    expect(at.store.signals()).toBe(40);
  });

  it('refuses an announced body before reading it when there is no room', async () => {
    const at = await open({ maxInflightBytes: 4 * MEBIBYTE });
    const letGo = at.store.hold();
    const first = post(
      at,
      '/v1/ingest',
      JSON.stringify({ spans: [nativeSpan(0, { input: 'x'.repeat(MEBIBYTE) })] }),
      JSON_TYPE,
    );
    while (at.store.waiting() === 0) await turn();
    const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      'POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2000000\r\n\r\n',
    );
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1\.1 429 [\s\S]*retry-after: 1\r\n/i);
    socket.destroy();
    letGo();
    expect((await first).status).toBe(200);
  });

  it('is not held up by clients that announce much and send little', async () => {
    const at = await open({ maxInflightBytes: 8 * MEBIBYTE });
    const idlers: Socket[] = [];
    for (let n = 0; n < 50; n += 1) {
      const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(
        'POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{',
      );
      idlers.push(socket);
    }
    while (at.heldBytes() < 150) await turn();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        post(at, '/v1/ingest', JSON.stringify({ spans: [nativeSpan(n)] }), JSON_TYPE),
      ),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    for (const socket of idlers) socket.destroy();
    await at.pipeline.drain();
    expect([at.store.signals(), at.heldBytes()]).toEqual([20, 0]);
  });

  it('cuts a body that is slower than the request deadline, and holds nothing for it', async () => {
    const deadline = holdTimers((ms) => ms === 29_000);
    const at = await open({ requestTimeoutSeconds: 29 });
    const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      'POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"spans"',
    );
    const answered = once(socket, 'data') as Promise<[Buffer]>;
    await deadline.untilArmed();
    deadline.fire();
    const [head] = await answered;
    expect(head.toString()).toMatch(/^HTTP\/1\.1 503 [\s\S]*request_timeout/);
    await at.pipeline.drain();
    expect([at.heldBytes(), at.store.units]).toEqual([0, []]);
    socket.destroy();
  });
});

describe('a refusal reaches its client', () => {
  const tooLarge = { limits: { maxBodyBytes: MEBIBYTE } };

  it('that uses fetch, with a body far over the bound', async () => {
    const at = await open(tooLarge);
    for (let n = 0; n < 5; n += 1) {
      const answer = await fetch(`${at.url}/v1/traces`, {
        method: 'POST',
        body: Buffer.alloc(20 * MEBIBYTE),
        headers: JSON_TYPE,
      });
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([413, 'payload_too_large']);
    }
  });

  it('that writes its whole body before it reads', async () => {
    const at = await open(tooLarge);
    const socket = connect(Number(new URL(at.url).port), '127.0.0.1');
    await once(socket, 'connect');
    const body = Buffer.alloc(3 * MEBIBYTE, 0x20);
    const head = `POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`;
    await new Promise((resolve) =>
      socket.write(Buffer.concat([Buffer.from(head), body, Buffer.from('\r\n0\r\n\r\n')]), resolve),
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    // The connection is whole: the next request on it is served.
    const small = JSON.stringify({ spans: [nativeSpan(0)] });
    socket.write(
      `POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${small.length}\r\n\r\n${small}`,
    );
    const [next] = (await once(socket, 'data')) as [Buffer];
    expect(next.toString()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

describe('protobuf bodies that are built to be slow', () => {
  it('are decoded off the main thread, with the same outcome', async () => {
    const at = await open();
    const spans = otlpSpans(4_000).map((span, n) => ({
      ...span,
      attributes: Object.fromEntries(Array.from({ length: 20 }, (_, k) => [`k${k}`, `${n}`])),
    }));
    const { answer, pings } = await pingsDuring(at, post(at, '/v1/traces', otlpProtobuf(spans), PROTOBUF));
    expect([answer.status, answer.text, at.store.signals()]).toEqual([200, '', 4_000]);
    expect(pings).toBeGreaterThan(0);
    expect(at.store.spans().map((span) => span.spanId)).toEqual(spans.map((span) => span.spanId));
  });
});
