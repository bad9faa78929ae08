import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { findRouteFaults } from '../../src/http/contract/route-faults.ts';
import { problemBody, statusOf } from '../../src/http/answer/problem.ts';
import type { Route } from '../../src/http/route.ts';
import { failureCodes, Refusal } from '../../src/model/failure.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { TRACE } from './factories.ts';
import { rawRequest, type Service, type ServiceOptions, startService } from './service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

/** A door of our own under an operation of the document, to see what the app does around a handler. */
const anIngestDoor = (handler: Route['handler'], more: Partial<Route> = {}): Route => ({
  method: 'POST',
  path: '/v1/ingest',
  scope: 'ingest',
  operationId: 'ingestBatch',
  surface: 'ingest',
  body: 'raw',
  handler,
  ...more,
});

const never = (): Promise<never> => new Promise(() => {});

describe('a refused upload', () => {
  const piece = Buffer.alloc(64 * 1024, 32);
  const large = Buffer.alloc(16 * 1024 * 1024, 32);
  it.each([
    ['without a key', 401, undefined, () => large],
    ['over the bound, as its header says', 413, 'writer', () => large],
    ['over the bound, as it turns out', 413, 'writer', () => Readable.from(Array.from({ length: 48 }, () => piece))],
  ] as const)('%s gets its answer, and holds up no stop', async (_name, status, key, body) => {
    const { url } = await start({ keys: { topLevel: { write: ['writer'] } }, maxBodyBytes: 1024 * 1024 });
    const answer = await rawRequest(`${url}/v1/api/scores`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'x-svc-key': key }) },
      body: body(),
    });
    expect(answer.statusCode).toBe(status);
    expect(await answer.body.json()).toMatchObject({ message: expect.any(String) });
  });
});

describe('the shape of errors', () => {
  it('each code has the status of the table in the interface decisions', () => {
    const table: Record<number, string[]> = {
      400: 'invalid_parameter invalid_body invalid_id unknown_scorer cap_exceeded definition_invalid input_invalid judge_not_configured'.split(
        ' ',
      ),
      401: ['unauthorized'],
      403: ['forbidden'],
      404: ['not_found'],
      405: ['method_not_allowed'],
      406: ['not_acceptable'],
      409: 'already_applied fenced run_terminal not_started definition_conflict conflict'.split(' '),
      413: ['payload_too_large'],
      415: ['unsupported_content_encoding', 'unsupported_media_type'],
      429: ['overloaded', 'over_quota'],
      500: ['internal'],
      503: ['runs_disabled', 'store_unavailable', 'request_timeout'],
    };
    for (const [status, codes] of Object.entries(table))
      for (const code of codes) expect([code, statusOf[code as keyof typeof statusOf]]).toEqual([code, Number(status)]);
    expect(Object.values(table).flat().toSorted()).toEqual([...failureCodes].toSorted());
  });

  it('is {code, message} and `field` only when one parameter is at fault', () => {
    expect(problemBody({ code: 'conflict', message: 'm' })).toEqual({ code: 'conflict', message: 'm' });
    expect(problemBody({ code: 'conflict', message: 'm', field: 'f', retryAfterSeconds: 3 })).toEqual({
      code: 'conflict',
      message: 'm',
      field: 'f',
    });
  });

  it('404 `not_found` for a path that there is not, in and outside the query API', async () => {
    const { ask } = await start();
    for (const path of ['/nothing', '/v1/api/nothing', '/v1/api', '/v1/api/', '/V1/API/traces']) {
      const answer = await ask(path);
      expect([answer.status, answer.body.code, answer.headers.get('content-type')]).toEqual([
        404,
        'not_found',
        'application/json',
      ]);
    }
  });

  it('405 `method_not_allowed` with Allow', async () => {
    const { ask } = await start();
    const answer = await ask('/v1/api/traces', { method: 'PUT' });
    expect([answer.status, answer.body.code, answer.headers.get('allow')]).toEqual([
      405,
      'method_not_allowed',
      'GET, HEAD',
    ]);
    expect((await ask(`/v1/api/traces/${TRACE}`, { method: 'POST' })).headers.get('allow')).toBe('DELETE, GET, HEAD');
    expect((await ask('/v1/api/scores', { method: 'PATCH' })).headers.get('allow')).toBe('GET, HEAD, POST');
    expect((await ask('/healthz', { method: 'DELETE' })).status).toBe(405);
  });

  it.each([
    ['text/html', 406],
    ['application/json;q=0, text/plain', 406],
    ['text/event-stream', 406],
    ['application/json', 200],
    ['text/html, */*;q=0.1', 200],
    ['application/*', 200],
  ])('with Accept: %s a list answers %d', async (accept, status) => {
    const { ask } = await start();
    const answer = await ask('/v1/api/traces', { headers: { accept } });
    expect(answer.status).toBe(status);
    if (status === 406) expect(answer.body.code).toBe('not_acceptable');
  });

  it('the operational endpoints answer whatever the client accepts', async () => {
    const { ask } = await start();
    expect((await ask('/healthz', { headers: { accept: 'text/html' } })).status).toBe(200);
  });

  it('a path that is no URL path is 400 in our shape', async () => {
    const { url } = await start();
    const answer = await rawRequest(`${url}/v1/api/traces/%zz`);
    expect(answer.statusCode).toBe(400);
    expect(await answer.body.json()).toMatchObject({ code: 'invalid_parameter' });
    expect(answer.headers['x-request-id']).toBeTruthy();
  });

  /** Sends bytes as they are, and returns everything that comes back until the connection ends. */
  const sendBytes = (url: string, bytes: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
      let text = '';
      socket.on('data', (piece) => (text += piece.toString()));
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });

  it.each([
    ['what is not HTTP', 'NONSENSE\r\n\r\n', 'not a well-formed HTTP request'],
    [
      'HTTP/2, which is how gRPC begins,',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'set OTEL_EXPORTER_OTLP_PROTOCOL=http/json',
    ],
    ['headers over the bound of the parser', `GET / HTTP/1.1\r\nx: ${'x'.repeat(17_000)}\r\n\r\n`, 'over 16384 bytes'],
  ])('%s is answered in our shape too', async (_name, bytes, word) => {
    const { url } = await start();
    const received = await sendBytes(url, bytes);
    expect(received).toMatch(/^HTTP\/1.1 400 /);
    expect(received).toMatch(/x-request-id: \S+/);
    const body = JSON.parse(received.split('\r\n\r\n')[1] ?? '') as object;
    expect(body).toEqual({ code: 'invalid_parameter', message: expect.stringContaining(word) });
  });

  it('a client of HTTP/2 or gRPC is told of in the log, once', async () => {
    const service = await start();
    for (let i = 0; i < 3; i++) await sendBytes(service.url, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    const told = service.logged.filter((line) => line.includes('HTTP/2 or gRPC'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('OTEL_EXPORTER_OTLP_PROTOCOL=http/json');
  });

  it.each([
    ['none', '', 400],
    ['two', 'host: localhost\r\nhost: example.com\r\n', 400],
    ['one', 'host: localhost\r\n', 200],
  ])('a request over HTTP/1.1 with %s of the Host header', async (_name, hosts, status) => {
    const { url } = await start();
    const received = await sendBytes(url, `GET /healthz HTTP/1.1\r\n${hosts}connection: close\r\n\r\n`);
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(received).toMatch(/x-request-id: \S+/);
    if (status === 400)
      expect(JSON.parse(received.split('\r\n\r\n')[1] ?? '')).toEqual({
        code: 'invalid_parameter',
        message: 'a request over HTTP/1.1 needs one Host header',
        field: 'host',
      });
  });

  it('an expectation other than 100-continue is passed over; HTTP/1.0 may come without Host', async () => {
    const { url } = await start();
    for (const request of [
      'GET /healthz HTTP/1.1\r\nhost: localhost\r\nexpect: miracles\r\nconnection: close\r\n\r\n',
      'GET /healthz HTTP/1.0\r\n\r\n',
    ]) {
      const received = await sendBytes(url, request);
      expect(received).toMatch(/^HTTP\/1.1 200 /);
      expect(received).toMatch(/x-request-id: \S+/);
    }
  });

  it('connections beyond the bound are closed, those within go on', async () => {
    const { url } = await start({ maxConnections: 1 });
    const held = connect(Number(new URL(url).port), '127.0.0.1');
    await new Promise((resolve) => held.once('connect', resolve));
    expect(await sendBytes(url, '').catch(() => '')).toBe('');
    held.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    const [answer] = (await once(held, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /);
    held.destroy();
  });

  it('500 `internal` never carries a stack or a payload; the log has the error under the request id', async () => {
    const { ask, logged, counters } = await start({
      store: {
        listTraces: async () => {
          throw new TypeError('the secret prompt broke us');
        },
      },
    });
    const answer = await ask('/v1/api/traces');
    expect([answer.status, answer.body.code]).toEqual([500, 'internal']);
    expect(answer.text).not.toMatch(/secret|TypeError|\.ts/);
    expect(logged.filter((line) => line.includes(answer.headers.get('x-request-id') ?? '?'))).toHaveLength(1);
    expect(counters.requestErrors).toBe(1);
  });

  it('storage that fails or is away is 503 `store_unavailable` with Retry-After, never 500', async () => {
    const { ask, counters } = await start({
      store: {
        listTraces: async () => {
          throw new StoreUnavailable('the store does not answer: the disk is full');
        },
      },
    });
    const answer = await ask('/v1/api/traces');
    expect([answer.status, answer.body]).toEqual([
      503,
      { code: 'store_unavailable', message: 'the store does not answer: the disk is full' },
    ]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(counters.requestErrors).toBe(1);
  });

  it('requests that failed with a server error are counted, 4xx never', async () => {
    const { ask, counters } = await start({ keys: { topLevel: { read: ['r'] } } });
    await ask('/v1/api/traces');
    await ask('/v1/api/traces?limit=0', { key: 'r' });
    await ask('/nothing');
    expect(counters.requestErrors).toBe(0);
  });
});

describe('every answer', () => {
  it('carries its own x-request-id', async () => {
    const { ask } = await start();
    const answers = await Promise.all(
      ['/healthz', '/nothing', '/v1/api/traces', '/v1/api/traces?x=1', '/'].map((path) => ask(path)),
    );
    const ids = answers.map((answer) => answer.headers.get('x-request-id'));
    expect(ids.every((id) => /^[0-9a-f-]{36}$/.test(id ?? ''))).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('tells browsers to keep, sniff, frame and refer nothing', async () => {
    const { ask } = await start();
    const { headers } = await ask('/v1/api/traces');
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'content-type': 'application/json',
    });
  });

  it('counts ingest and query requests apart, and operations as neither', async () => {
    const { ask, counters } = await start({ moreRoutes: [anIngestDoor(() => ({}))] });
    await ask('/healthz');
    await ask('/v1/api/traces');
    await ask('/v1/api/traces?nope=1');
    await ask('/v1/ingest', { method: 'POST', body: '{}' });
    expect([counters.queryRequests, counters.ingestRequests]).toEqual([2, 1]);
  });
});

describe('the request deadline', () => {
  it('answers 503 `request_timeout`, tells the work that nobody waits, and counts a server error', async () => {
    let abandoned: AbortSignal | undefined;
    const { ask, counters } = await start({
      requestTimeoutSeconds: 0.05,
      moreRoutes: [
        anIngestDoor((request) => {
          abandoned = request.abandoned;
          return never();
        }),
      ],
    });
    const answer = await ask('/v1/ingest', { method: 'POST', body: '{}' });
    expect([answer.status, answer.body.code]).toEqual([503, 'request_timeout']);
    expect(answer.body.message).toContain('--request-timeout-seconds');
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(abandoned?.aborted).toBe(true);
    expect(counters.requestErrors).toBe(1);
  });

  it('covers a body that does not arrive', async () => {
    const { url } = await start({ requestTimeoutSeconds: 0.05 });
    const received = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () =>
        socket.write(
          'POST /v1/api/scores HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a',
        ),
      );
      socket.once('data', (piece) => {
        resolve(piece.toString());
        socket.destroy();
      });
      socket.on('error', reject);
    });
    expect(received).toMatch(/^HTTP\/1.1 503 /);
    expect(received).toContain('request_timeout');
  });

  it.each(['streams', 'holds'] as const)('does not end a route that %s', async (trait) => {
    const { ask } = await start({
      requestTimeoutSeconds: 0.02,
      moreRoutes: [
        anIngestDoor(() => new Promise((resolve) => setTimeout(() => resolve({ done: true }), 80)), { [trait]: true }),
      ],
    });
    const asked = { method: 'POST', body: '{}', headers: { accept: 'text/event-stream' } };
    expect((await ask('/v1/ingest', asked)).body).toEqual({ done: true });
  });

  it('ends a route that streams when it is not asked for a stream', async () => {
    const { ask } = await start({
      requestTimeoutSeconds: 0.02,
      moreRoutes: [anIngestDoor(() => new Promise((resolve) => setTimeout(() => resolve({}), 80)), { streams: true })],
    });
    expect((await ask('/v1/ingest', { method: 'POST', body: '{}' })).status).toBe(503);
  });
});

describe('stopping', () => {
  it('lets requests in flight finish and takes no new connection', async () => {
    let release: (answer: object) => void = () => {};
    let entered: () => void = () => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const service = await startService({
      moreRoutes: [
        anIngestDoor(() => {
          entered();
          return new Promise((resolve) => {
            release = resolve;
          });
        }),
      ],
    });
    const answer = service.ask('/v1/ingest', { method: 'POST', body: '{}' });
    await inside;
    const closed = service.close();
    await expect(service.ask('/healthz', { headers: { connection: 'close' } })).rejects.toThrow('fetch failed');
    release({ finished: true });
    expect((await answer).body).toEqual({ finished: true });
    await closed;
  });

  it('ends registered streams, which would hold it up for ever', async () => {
    const service = await startService();
    let ended = false;
    const opened = service.streams.open('k', () => {
      ended = true;
    });
    expect(opened.ok).toBe(true);
    await service.close();
    expect(ended).toBe(true);
    expect(service.streams.open('k', () => {})).toMatchObject({ ok: false, failure: { code: 'overloaded' } });
  });

  it('bounds streams by key and in all', async () => {
    const { streams } = await start(); // two a key, three in all
    const first = streams.open('a', () => {});
    streams.open('a', () => {});
    expect(streams.open('a', () => {})).toMatchObject({ ok: false, failure: { code: 'overloaded' } });
    if (first.ok) first.value();
    expect(streams.open('a', () => {}).ok).toBe(true);
    expect(streams.open('b', () => {}).ok).toBe(true);
    expect(streams.open('c', () => {})).toMatchObject({ ok: false, failure: { code: 'overloaded' } });
  });

  it('writes the audit rows that still wait', async () => {
    const service = await startService();
    await service.ask('/v1/api/traces');
    await service.close();
    expect(service.audited).toHaveLength(1);
  });
});

describe('CORS', () => {
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'http://page.example', 'access-control-request-method': 'DELETE' },
  };

  it('the query API carries CORS for every origin, without credentials', async () => {
    const { ask } = await start();
    const answer = await ask('/v1/api/traces', { headers: { origin: 'http://page.example' } });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });
  it('its refusals carry it too, or a page could not read them', async () => {
    const { ask } = await start({ keys: { topLevel: { read: ['r'] } } });
    for (const path of ['/v1/api/traces', '/v1/api/nothing', '/v1/api/traces?x=1'])
      expect(
        (await ask(path, { headers: { origin: 'http://page.example' } })).headers.get('access-control-allow-origin'),
      ).toBe('*');
  });
  it('a preflight allows every method of the API and both key headers, without a key', async () => {
    const { ask } = await start({ keys: { topLevel: { read: ['r'], admin: ['a'] } } });
    const { status, headers } = await ask(`/v1/api/traces/${TRACE}`, preflight);
    expect(status).toBe(204);
    for (const method of ['GET', 'POST', 'PUT', 'DELETE'])
      expect(headers.get('access-control-allow-methods')).toContain(method);
    for (const name of ['authorization', 'x-svc-key', 'content-type'])
      expect(headers.get('access-control-allow-headers')?.toLowerCase()).toContain(name);
  });
  it('with a list of origins only those are named', async () => {
    const { ask } = await start({ corsOrigins: ['https://ui.example'] });
    const allowed = await ask('/v1/api/traces', { headers: { origin: 'https://ui.example' } });
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://ui.example');
    expect(allowed.headers.get('vary')).toContain('Origin');
    const other = await ask('/v1/api/traces', { headers: { origin: 'https://evil.example' } });
    expect(other.headers.get('access-control-allow-origin')).not.toBe('https://evil.example');
  });
  it('the ingest doors carry no CORS headers, not on OPTIONS either', async () => {
    const { ask } = await start({ keys: { topLevel: { ingest: ['i'] } }, moreRoutes: [anIngestDoor(() => ({}))] });
    const posted = await ask('/v1/ingest', {
      method: 'POST',
      body: '{}',
      key: 'i',
      headers: { origin: 'http://page.example' },
    });
    const asked = await ask('/v1/ingest', preflight);
    expect(posted.status).toBe(200);
    expect(asked.status).toBe(405);
    for (const { headers } of [posted, asked, await ask('/healthz', preflight)])
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('pages of strangers', () => {
  it('a foreign Origin is refused at the ingest doors while no ingest key is set', async () => {
    const { ask, url } = await start({ moreRoutes: [anIngestDoor(() => ({}))] });
    const send = (origin: string) => ask('/v1/ingest', { method: 'POST', body: '{}', headers: { origin } });
    const refused = await send('https://evil.example');
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
    expect(refused.body.message).toContain('--ingest-key');
    expect((await send('null')).status).toBe(403);
    expect((await send(url)).status).toBe(200);
  });

  it('with an ingest key set the key decides', async () => {
    const { ask } = await start({ keys: { topLevel: { ingest: ['i'] } }, moreRoutes: [anIngestDoor(() => ({}))] });
    const answer = await ask('/v1/ingest', {
      method: 'POST',
      body: '{}',
      key: 'i',
      headers: { origin: 'https://evil.example' },
    });
    expect(answer.status).toBe(200);
  });

  it('a name of a stranger that leads to this machine is refused where no key guards, and taken where one does', async () => {
    const open = await start();
    const guarded = await start({ keys: { topLevel: { read: ['r'] } } });
    const status = async (service: Service, host: string, headers: Record<string, string> = {}) => {
      const answer = await rawRequest(`${service.url}/v1/api/traces`, { headers: { host, ...headers } });
      await answer.body.dump();
      return answer.statusCode;
    };
    expect(await status(open, 'evil.example.com')).toBe(403);
    expect(await status(open, 'localhost:4317')).toBe(200);
    expect(await status(open, '192.168.1.5:4317')).toBe(200);
    expect(await status(open, 'mybox')).toBe(200);
    expect(await status(guarded, 'obs.example.com', { authorization: 'Bearer r' })).toBe(200);
    expect(await status(guarded, 'evil.example.com')).toBe(401);
  });

  it('health needs neither key nor a name of this machine', async () => {
    const { url } = await start({ keys: { topLevel: { read: ['r'] } } });
    const answer = await rawRequest(`${url}/healthz`, { headers: { host: 'probe.example.com' } });
    await answer.body.dump();
    expect(answer.statusCode).toBe(200);
  });
});

describe('keys over HTTP', () => {
  const keys = { topLevel: { read: ['reader'], write: ['writer'] } };

  it('401 `unauthorized` with WWW-Authenticate: Bearer for no key and for one that is not known', async () => {
    const { ask } = await start({ keys });
    for (const key of [undefined, 'guess']) {
      const answer = await ask('/v1/api/traces', key === undefined ? {} : { key });
      expect([answer.status, answer.body.code, answer.headers.get('www-authenticate')]).toEqual([
        401,
        'unauthorized',
        'Bearer',
      ]);
    }
  });
  it('403 `forbidden` for a known key without the scope', async () => {
    const { ask } = await start({ keys });
    const answer = await ask('/v1/api/traces', { key: 'writer' });
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
  });
  it('the key is taken from Authorization: Bearer and from X-Svc-Key', async () => {
    const { ask } = await start({ keys });
    expect((await ask('/v1/api/traces', { key: 'reader' })).status).toBe(200);
    expect((await ask('/v1/api/traces', { headers: { 'x-svc-key': 'reader' } })).status).toBe(200);
  });
  it('repeated and conflicting headers are refused', async () => {
    const { url, ask } = await start({ keys });
    const repeated = await rawRequest(`${url}/v1/api/traces`, {
      headers: ['authorization', 'Bearer reader', 'authorization', 'Bearer guess'],
    });
    await repeated.body.dump();
    expect(repeated.statusCode).toBe(401);
    expect((await ask('/v1/api/traces', { key: 'reader', headers: { 'x-svc-key': 'writer' } })).status).toBe(401);
  });
  it('more than 100 failures of a peer in a second are 429, while its good key goes on', async () => {
    const { ask } = await start({ keys });
    const statuses = new Set<number>();
    // Two seconds' worth at the least, whatever moment of the second this starts at.
    for (let round = 0; round < 3; round += 1)
      for (const answer of await Promise.all(
        Array.from({ length: 110 }, () => ask('/v1/api/traces', { key: 'guess' })),
      ))
        statuses.add(answer.status);
    expect(statuses).toEqual(new Set([401, 429]));
    expect((await ask('/v1/api/traces', { key: 'reader' })).status).toBe(200);
  });
  it('no key is ever logged', async () => {
    const { ask, logged } = await start({
      keys,
      store: {
        listTraces: async () => {
          throw new Error('broken');
        },
      },
    });
    await ask('/v1/api/traces', { key: 'reader' });
    await ask('/v1/api/traces', { key: 'guess-secret' });
    expect(logged.join()).not.toMatch(/reader|guess-secret/);
  });
});

describe('a service whose routes are not in order does not start', () => {
  const door = anIngestDoor(() => ({}));
  it.each([
    ['a route without a scope', { ...door, scope: undefined as unknown as 'open' }, 'declares no scope'],
    [
      'a route without an operation',
      { ...door, operationId: 'nothingLikeIt' },
      'which spec/openapi.yaml does not have',
    ],
    ['a scope other than the document’s', { ...door, scope: 'read' as const }, 'spec/openapi.yaml says ingest'],
    ['another path', { ...door, path: '/v1/other' }, 'which is POST /v1/ingest'],
    ['another method', { ...door, method: 'PUT' as const }, 'which is POST /v1/ingest'],
    [
      'an operation that is served twice',
      { ...door, path: '/v1/api/traces', method: 'GET' as const, operationId: 'listTraces' },
      'serves already',
    ],
  ])('%s', async (_name, route, fault) => {
    await expect(startService({ moreRoutes: [route] })).rejects.toThrow(fault);
  });
  it('a body that the document does not know', () => {
    const { body: _body, ...bodyless } = door;
    expect(findRouteFaults([bodyless]).routes.join()).toContain('disagree on whether there is a body');
  });
});

describe('refusals thrown by handlers', () => {
  it('are answered as what they are, with Retry-After where a retry can help', async () => {
    const { ask } = await start({
      moreRoutes: [
        anIngestDoor(() => {
          throw new Refusal({ code: 'overloaded', message: 'full', retryAfterSeconds: 1.2 });
        }),
      ],
    });
    const answer = await ask('/v1/ingest', { method: 'POST', body: '{}' });
    expect([answer.status, answer.body, answer.headers.get('retry-after')]).toEqual([
      429,
      { code: 'overloaded', message: 'full' },
      '2',
    ]);
  });
});
