import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, constants, type IncomingHttpHeaders } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';

/**
 * OTLP over gRPC as a stranger sees it, frame by frame. The exporters of other makers are tried in `test/clients`.
 * @see Interface decisions, "OTLP over gRPC, on the same port"
 */
const INVALID_ARGUMENT = 3;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

const TRACES = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
const LOGS = '/opentelemetry.proto.collector.logs.v1.LogsService/Export';
const METRICS = '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export';

const field = (number: number, inner: Uint8Array): Uint8Array =>
  protobuf.Writer.create()
    .uint32((number << 3) | 2)
    .bytes(inner)
    .finish();
const text = (number: number, value: string): Uint8Array => field(number, Buffer.from(value));
const together = (...parts: Uint8Array[]): Uint8Array => Buffer.concat(parts);

let spansSent = 0;
/** A request with one span, or with one whose trace id is all zero. */
const aSpan = (name = 'grpc', traceId = ''): Uint8Array => {
  spansSent += 1;
  const id = traceId === '' ? spansSent.toString(16).padStart(32, 'a') : traceId;
  const span = together(
    field(1, Buffer.from(id, 'hex')),
    field(2, Buffer.from('00f067aa0ba902b7', 'hex')),
    text(5, name),
  );
  return field(1, field(2, field(2, span)));
};
const aLog = (message: string): Uint8Array => field(1, field(2, field(2, field(5, text(1, message)))));
const aMetric = (name: string): Uint8Array => {
  const value = protobuf.Writer.create()
    .uint32((4 << 3) | 1)
    .double(1)
    .finish();
  return field(1, field(2, field(2, together(text(1, name), field(5, field(1, value))))));
};

const frame = (message: Uint8Array, flag = 0): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

type Answer = {
  readonly http: number;
  readonly status: number;
  readonly message: string;
  readonly body: Buffer;
  readonly details: string;
  /** The trailer in which the exporters of Python look for a time to wait. */
  readonly retryInfo: Buffer | undefined;
};

const call = async (
  session: ClientHttp2Session,
  path: string,
  body: Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  let answered: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  stream.on('response', (found) => (answered = found));
  stream.on('trailers', (found) => (trailers = found));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('error', () => {});
  const closed = new Promise<void>((resolve) => stream.once('close', resolve));
  stream.end(body);
  await closed;
  const status = { ...answered, ...trailers };
  return {
    http: Number(answered[':status']),
    status: Number(status['grpc-status'] ?? -1),
    message: decodeURIComponent(String(status['grpc-message'] ?? '')),
    body: Buffer.concat(chunks),
    details: Buffer.from(String(status['grpc-status-details-bin'] ?? ''), 'base64').toString('latin1'),
    retryInfo:
      status['google.rpc.retryinfo-bin'] === undefined
        ? undefined
        : Buffer.from(String(status['google.rpc.retryinfo-bin']), 'base64'),
  };
};

const folder = temporaryFolder();
let daemon: Daemon;
let session: ClientHttp2Session;

beforeAll(async () => {
  daemon = await startDaemon(folder.path, ['--max-body-bytes', '100000', '--max-batch-signals', '50']);
  session = connectHttp2(daemon.url);
  session.on('error', () => {});
});
afterAll(async () => {
  session.destroy();
  await daemon.stop();
  folder.remove();
});

const read = async (path: string): Promise<Record<string, unknown[]>> =>
  (await (await fetch(`${daemon.url}${path}`)).json()) as Record<string, unknown[]>;

describe('A connection that opens with the HTTP/2 preface is served gRPC', () => {
  it('takes traces, logs and metrics, answered OK with an empty message', async () => {
    for (const [path, message] of [
      [TRACES, aSpan('by grpc')],
      [LOGS, aLog('by grpc')],
      [METRICS, aMetric('by_grpc')],
    ] as const) {
      const answer = await call(session, path, frame(message));
      expect(answer).toMatchObject({ http: 200, status: 0 });
      expect([...answer.body]).toEqual([0, 0, 0, 0, 0]);
    }
    expect((await read('/v1/api/traces?name=by%20grpc'))['traces']).toHaveLength(1);
    expect((await read('/v1/api/logs'))['logs']).toHaveLength(1);
    expect((await read('/v1/api/metrics'))['metrics']).toContainEqual(expect.objectContaining({ name: 'by_grpc' }));
  });

  it('takes gzip and identity, many calls at once on one connection', async () => {
    const compressed = frame(gzipSync(aSpan('zipped')), 1);
    const answers = await Promise.all([
      call(session, TRACES, compressed, { 'grpc-encoding': 'gzip' }),
      call(session, TRACES, frame(aSpan('plain')), { 'grpc-encoding': 'gzip' }),
      call(session, TRACES, frame(aSpan('identity')), { 'grpc-encoding': 'identity' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([0, 0, 0]);
    expect((await read('/v1/api/traces?name=zipped'))['traces']).toHaveLength(1);
  });

  it('"Taken in part: OK with `partial_success`", which counts and names what was refused', async () => {
    const both = together(aSpan('kept'), aSpan('refused', '0'.repeat(32)));
    const answer = await call(session, TRACES, frame(both));
    expect(answer.status).toBe(0);
    expect(answer.body.toString('latin1')).toMatch(/trace_id/);
    expect((await read('/v1/api/traces?name=kept'))['traces']).toHaveLength(1);
    expect((await read('/v1/api/traces?name=refused'))['traces']).toHaveLength(0);
  });

  it('stores doubtful times as sent, and warns in `partial_success` with nothing rejected', async () => {
    const inSeconds = protobuf.Writer.create()
      .uint32((7 << 3) | 1)
      .fixed64(1_763_629_200)
      .finish();
    const span = together(
      field(1, Buffer.from('c'.repeat(32), 'hex')),
      field(2, Buffer.from('00f067aa0ba902b7', 'hex')),
      text(5, 'in seconds'),
      inSeconds,
    );
    const answer = await call(session, TRACES, frame(field(1, field(2, field(2, span)))));
    expect(answer.status).toBe(0);
    const partialSuccess = protobuf.Reader.create(answer.body.subarray(5));
    expect([partialSuccess.uint32() >>> 3, partialSuccess.uint32() > 0, partialSuccess.uint32() >>> 3]).toEqual([
      1,
      true,
      2,
    ]);
    expect(partialSuccess.string()).toBe(
      'stored as sent, but 1 signal has a time in seconds where nanoseconds belong: correct the sender',
    );
    expect((await read('/v1/api/traces?name=in%20seconds&from=1970-01-01T00:00:00Z'))['traces']).toMatchObject([
      { start_time: '1970-01-01T00:00:01.763629200Z' },
    ]);
    expect(await (await fetch(`${daemon.url}/metrics`)).text()).toMatch(
      /^svc_signals_doubtful_time_total\{reason="seconds"\} 1$/m,
    );
  });

  it.each([
    [
      'a body that cannot be read',
      TRACES,
      frame(Buffer.from([0xff, 0xff])),
      {},
      INVALID_ARGUMENT,
      /not a valid OTLP protobuf/,
    ],
    ['no message at all', TRACES, Buffer.alloc(0), {}, INVALID_ARGUMENT, /ends before its length/],
    [
      'a message shorter than it says',
      TRACES,
      frame(aSpan()).subarray(0, 20),
      {},
      INVALID_ARGUMENT,
      /ends after 15 of/,
    ],
    [
      'bytes after the message',
      TRACES,
      Buffer.concat([frame(aSpan()), frame(aSpan())]),
      {},
      INVALID_ARGUMENT,
      /bytes follow/,
    ],
    ['a compression flag of 2', TRACES, frame(aSpan(), 2), {}, INVALID_ARGUMENT, /compression flag is 2/],
    ['compressed without saying how', TRACES, frame(gzipSync(aSpan()), 1), {}, INVALID_ARGUMENT, /does not say how/],
    ['what is no gzip', TRACES, frame(aSpan(), 1), { 'grpc-encoding': 'gzip' }, INVALID_ARGUMENT, /not valid gzip/],
    [
      'an unknown encoding',
      TRACES,
      frame(aSpan()),
      { 'grpc-encoding': 'zstd' },
      UNIMPLEMENTED,
      /"zstd" is not supported; use gzip/,
    ],
    ['an unknown method', '/a.B/C', frame(aSpan()), {}, UNIMPLEMENTED, /not served/],
    ['a message over --max-body-bytes', TRACES, frame(Buffer.alloc(100_001)), {}, RESOURCE_EXHAUSTED, /100001.*100000/],
    [
      'more signals than --max-batch-signals',
      TRACES,
      frame(together(...Array.from({ length: 51 }, () => aSpan()))),
      {},
      RESOURCE_EXHAUSTED,
      /51 signals and the limit is 50/,
    ],
  ])('refuses %s, and the connection lives', async (_, path, body, headers, status, message) => {
    const answer = await call(session, path, body, headers);
    expect(answer).toMatchObject({ http: 200, status });
    expect(answer.message).toMatch(message);
    expect(answer.details).not.toContain('RetryInfo');
    expect(answer.retryInfo).toBeUndefined();
    expect((await call(session, TRACES, frame(aSpan()))).status).toBe(0);
  });

  it.each([
    ['a message over the bound', Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1])],
    ['an unknown method', Buffer.from([0, 0, 0, 0, 9, 1])],
  ])('lives when %s is refused, whether its call ends, stays open or goes on', async (_, start) => {
    for (const after of ['end', 'open', 'more'] as const) {
      const own = connectHttp2(daemon.url);
      own.on('error', () => {});
      const path = start[1] === 0 ? '/a.B/C' : TRACES;
      const stream = own.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
      stream.on('error', () => {});
      stream.resume();
      const closed = new Promise((resolve) => stream.once('close', resolve));
      if (after === 'end') stream.end(start);
      else stream.write(start);
      if (after === 'more') stream.write(Buffer.alloc(50_000));
      await closed;
      own.destroy();
      expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200);
    }
    expect((await call(session, TRACES, frame(aSpan()))).status).toBe(0);
  });

  it('a call that stalls is ended at the deadline, counted as a failure of the service, and the process lives', async () => {
    const where = temporaryFolder();
    const hasty = await startDaemon(where.path, ['--request-timeout-seconds', '1']);
    const own = connectHttp2(hasty.url);
    own.on('error', () => {});
    const stream = own.request({ ':method': 'POST', ':path': TRACES, 'content-type': 'application/grpc' });
    stream.on('error', () => {});
    stream.resume();
    const answered = new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.write(Buffer.from([0, 0, 0, 0, 9, 1]));
    expect((await answered)['grpc-status']).toBe(String(UNAVAILABLE));
    await closed;
    expect(await (await fetch(`${hasty.url}/metrics`)).text()).toMatch(/^svc_request_errors_total 1$/m);
    own.destroy();
    expect(await hasty.stop('SIGTERM')).toBe(0);
    where.remove();
  });

  it.each(['application/grpc-web', 'application/grpc-web+proto', 'application/grpc+json'])(
    'answers 415 to %s',
    async (type) => {
      expect((await call(session, TRACES, frame(aSpan()), { 'content-type': type })).http).toBe(415);
    },
  );

  it('answers 415 to what is no gRPC call', async () => {
    const answer = await call(session, '/v1/traces', Buffer.from('{}'), { 'content-type': 'application/json' });
    expect(answer).toMatchObject({ http: 415, status: -1 });
  });

  it('HTTP/1.1 behaves as before on the same port, however its first bytes are cut', async () => {
    const url = new URL(daemon.url);
    for (const pieces of [
      ['GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n'],
      ['P', 'OST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'],
    ]) {
      const socket = connect(Number(url.port), url.hostname);
      let answer = '';
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
      await once(socket, 'connect');
      for (const piece of pieces) await new Promise((done) => socket.write(piece, done));
      await once(socket, 'close');
      expect(answer).toMatch(/^HTTP\/1\.1 (200|405) /);
    }
  });
});

describe('Keys, projects and ceilings over gRPC', () => {
  const keyed = temporaryFolder();
  let guarded: Daemon;
  let client: ClientHttp2Session;
  beforeAll(async () => {
    guarded = await startDaemon(keyed.path, [
      '--ingest-key',
      'ingest-key-1234567',
      '--read-key',
      'read-key-123456789',
      '--quota-per-minute',
      '3',
    ]);
    client = connectHttp2(guarded.url);
    client.on('error', () => {});
  });
  afterAll(async () => {
    client.destroy();
    await guarded.stop();
    keyed.remove();
  });

  it('no key, or a wrong one: UNAUTHENTICATED; one without the scope: PERMISSION_DENIED', async () => {
    expect((await call(client, TRACES, frame(aSpan()))).status).toBe(UNAUTHENTICATED);
    expect((await call(client, TRACES, frame(aSpan()), { authorization: 'Bearer wrong' })).status).toBe(
      UNAUTHENTICATED,
    );
    expect((await call(client, TRACES, frame(aSpan()), { authorization: 'Bearer read-key-123456789' })).status).toBe(
      PERMISSION_DENIED,
    );
  });

  it('a key from `authorization` or `x-svc-key`; over the ceiling: UNAVAILABLE with RetryInfo', async () => {
    expect((await call(client, TRACES, frame(aSpan()), { authorization: 'Bearer ingest-key-1234567' })).status).toBe(0);
    const key = { 'x-svc-key': 'ingest-key-1234567' };
    expect((await call(client, TRACES, frame(aSpan()), key)).status).toBe(0);
    let answer = await call(client, TRACES, frame(aSpan()), key);
    // A minute may begin in between: then three more pass before the ceiling.
    for (let sent = 0; sent < 4 && answer.status === 0; sent += 1)
      answer = await call(client, TRACES, frame(aSpan()), key);
    expect(answer.status).toBe(UNAVAILABLE);
    expect(answer.details).toContain('google.rpc.RetryInfo');
    // The same once more, in a trailer of its own: `retry_delay`, a duration, of its seconds alone. One second is not said there.
    const [seconds] = answer.retryInfo?.subarray(3) ?? [];
    if (seconds !== undefined) expect([...(answer.retryInfo ?? [])]).toEqual([10, 2, 8, seconds]);
    expect(seconds ?? 1).toBeLessThanOrEqual(60);
  });
});

describe('--otlp-grpc and --otlp-protobuf', () => {
  const plain = temporaryFolder();
  let other: Daemon;
  beforeAll(async () => {
    other = await startDaemon(plain.path, ['--otlp-grpc', 'off', '--otlp-protobuf', 'all']);
  });
  afterAll(async () => {
    await other.stop();
    plain.remove();
  });

  it('off: the port serves HTTP/1.1 alone', async () => {
    const client = connectHttp2(other.url);
    const failed = once(client, 'error');
    client.request({ ':method': 'POST', ':path': TRACES, 'content-type': 'application/grpc' }).on('error', () => {});
    await failed;
    expect((await fetch(`${other.url}/healthz`)).status).toBe(200);
  });

  it('all: the HTTP doors of logs and metrics take protobuf, and answer in it', async () => {
    const send = (path: string, body: Uint8Array) =>
      fetch(`${other.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/x-protobuf' }, body });
    for (const [path, body] of [
      ['/v1/logs', aLog('by protobuf')],
      ['/v1/metrics', aMetric('by_protobuf')],
    ] as const) {
      const answer = await send(path, body);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-protobuf']);
    }
    const { logs } = (await (await fetch(`${other.url}/v1/api/logs`)).json()) as { logs: { message: string }[] };
    expect(logs.map(({ message }) => message)).toEqual(['by protobuf']);
  });

  it('without it the answer, and the start log once, say what to set', async () => {
    const answer = await fetch(`${daemon.url}/v1/logs`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf' },
      body: aLog('x'),
    });
    expect(answer.status).toBe(400);
    expect(((await answer.json()) as { message: string }).message).toMatch(
      /^body is not valid JSON: .*OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=http\/json.*--otlp-protobuf all/,
    );
    expect(daemon.lines.filter((line) => line.includes('--otlp-protobuf all'))).toHaveLength(1);
    expect(other.lines.filter((line) => line.includes('--otlp-protobuf all'))).toHaveLength(0);
  });
});

describe('Streams, frames, headers and resets are bounded', () => {
  const alive = async (): Promise<void> => {
    expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200);
    const fresh = connectHttp2(daemon.url);
    expect((await call(fresh, TRACES, frame(aSpan()))).status).toBe(0);
    fresh.destroy();
  };
  const raw = async (bytes: Buffer): Promise<Socket> => {
    const url = new URL(daemon.url);
    const socket = connect(Number(url.port), url.hostname);
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(bytes);
    return socket;
  };
  const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

  it('calls that are opened and reset at once end their connection, and nobody else notices', async () => {
    const attacker = connectHttp2(daemon.url);
    attacker.on('error', () => {});
    const ended = new Promise((resolve) => attacker.once('close', resolve));
    for (let n = 0; n < 2000 && !attacker.destroyed; n += 1) {
      const stream = attacker.request({ ':method': 'POST', ':path': TRACES, 'content-type': 'application/grpc' });
      stream.on('error', () => {});
      stream.close(constants.NGHTTP2_CANCEL);
      if (n % 100 === 0) await new Promise((done) => setImmediate(done));
    }
    await alive();
    attacker.destroy();
    await ended;
  });

  it('headers over their bound are refused', async () => {
    const client = connectHttp2(daemon.url, { maxSendHeaderBlockLength: 10_000_000 });
    client.on('error', () => {});
    const answer = await call(client, TRACES, frame(aSpan()), { 'x-large': 'a'.repeat(200_000) });
    expect(answer.status).not.toBe(0);
    client.destroy();
    await alive();
  });

  it('random frames after the preface end their own connection only', async () => {
    let seed = 20_261_122;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * below);
    };
    const sockets: Socket[] = [];
    for (let n = 0; n < 200; n += 1) {
      const junk = Buffer.from(Array.from({ length: 9 + random(200) }, () => random(256)));
      if (random(2) === 0) junk.writeUIntBE(random(100), 0, 3); // a plausible length
      if (random(2) === 0) junk.writeUInt8(random(10), 3); // a known type
      sockets.push(await raw(Buffer.concat([PREFACE, EMPTY_SETTINGS, junk])));
    }
    await alive();
    for (const socket of sockets) socket.destroy();
  });

  it('1,000 idle HTTP/2 connections bring nothing down', async () => {
    const sockets = await Promise.all(
      Array.from({ length: 1000 }, () => raw(Buffer.concat([PREFACE, EMPTY_SETTINGS]))),
    );
    await alive();
    for (const socket of sockets) socket.destroy();
  });

  it("a connection that begins like the preface and goes on otherwise is nobody else's trouble", async () => {
    const socket = await raw(Buffer.from('PRI * HTTP/3.0\r\n\r\n'));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
    await alive();
  });
});

describe('Connections that say nothing', () => {
  it('a connection that is opened and ended, as probes do, is closed at once', async () => {
    const url = new URL(daemon.url);
    const socket = connect({ port: Number(url.port), host: url.hostname, allowHalfOpen: true });
    await once(socket, 'connect');
    socket.end();
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    expect(socket.destroyed).toBe(true);
  });

  it('a peer that never closes its side does not keep the service from stopping', async () => {
    const where = temporaryFolder();
    const stopping = await startDaemon(where.path);
    const url = new URL(stopping.url);
    const socket = connect({ port: Number(url.port), host: url.hostname, allowHalfOpen: true });
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(
      Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]),
    );
    await once(socket, 'data'); // the settings of the service: its session is there
    expect(await stopping.stop('SIGTERM')).toBe(0);
    socket.destroy();
    where.remove();
  });
});

describe('Stopping with gRPC connections open', () => {
  it('ends with 0 although a client keeps its connection', async () => {
    const where = temporaryFolder();
    const stopping = await startDaemon(where.path);
    const client = connectHttp2(stopping.url);
    client.on('error', () => {});
    expect((await call(client, TRACES, frame(aSpan()))).status).toBe(0);
    expect(await stopping.stop('SIGTERM')).toBe(0);
    client.destroy();
    where.remove();
  });
});
