import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Peers } from '../../src/http/relay.ts';
import type { Route } from '../../src/http/route.ts';
import { until } from '../until.ts';
import { sendBytes } from './send-bytes.ts';
import { type Service, type ServiceOptions, startService } from './service.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});
const SECRET = 'secret-of-the-peers';
const KEYS = {
  topLevel: { read: ['read-key-00000001'], admin: ['admin-key-0000001'], execute: ['execute-key-00001'] },
};
const READ = 'x-svc-key: read-key-00000001\r\n';
const EXECUTE = 'x-svc-key: execute-key-00001\r\n';

const peers = (address?: () => string): Peers => ({
  isOwner: () => address === undefined,
  ownerAddress: () => address?.(),
  onOwnerChange: () => {},
  secret: SECRET,
});
/** Two calls about runs; what was seen of them is noted. */
const runCalls = (seen: string[], work: () => Promise<void> = async () => {}): Route[] => [
  {
    method: 'GET',
    path: '/v1/api/actors/:type/:id',
    scope: 'read',
    operationId: 'getActor',
    surface: 'query',
    atOwner: true,
    handler: ({ raw, params, caller }) => {
      seen.push(raw.url ?? '');
      return { params, caller };
    },
  },
  {
    method: 'POST',
    path: '/v1/api/runs/:run/cancel',
    scope: 'execute',
    operationId: 'cancelRun',
    surface: 'runs',
    body: 'json',
    atOwner: true,
    handler: async ({ raw, body }) => {
      seen.push(raw.url ?? '');
      await work();
      return { body: body ?? 'none' };
    },
  },
];
const start = async (options: ServiceOptions): Promise<Service> => {
  const service = await startService({ keys: KEYS, ...options });
  let closing: Promise<void> | undefined;
  const closed = { ...service, close: () => (closing ??= service.close()) };
  cleanups.push(closed.close);
  return closed;
};
/** The owner of the runs, and a service that passes on to it. */
const pair = async (work?: () => Promise<void>) => {
  const seen: string[] = [];
  const owner = await start({ moreRoutes: runCalls(seen, work), peers: peers() });
  const relay = await start({ moreRoutes: runCalls([]), peers: peers(() => owner.url) });
  return { owner, relay, seen };
};
const END = 'host: localhost\r\nconnection: close\r\n\r\n';
const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
const cancel = (service: Service, body?: string): Promise<{ readonly status: number; readonly body: unknown }> =>
  service.ask('/v1/api/runs/r/cancel', {
    method: 'POST',
    key: 'execute-key-00001',
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
  });

describe('calls that are passed on to the owner of the runs', () => {
  it('go to the owner alone, also where the request line names another host: the secret of the services goes nowhere else', async () => {
    const { relay, seen } = await pair();
    const heard: string[] = [];
    const stranger = createServer((request, response) => {
      heard.push(request.url ?? '');
      response.end('{}');
    }).listen(0, '127.0.0.1');
    cleanups.push(async () => stranger.close());
    await once(stranger, 'listening');
    const elsewhere = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    const answer = await sendBytes(
      relay.url,
      `GET ${elsewhere}/v1/api/actors/run/a?at_seq=1 HTTP/1.1\r\n${READ}${END}`,
    );
    expect(bodyOf(answer)).toMatchObject({ params: { type: 'run', id: 'a' } });
    expect([heard, seen]).toEqual([[], ['/v1/api/actors/run/a?at_seq=1']]);
  });

  it('show the owner no key of the client: who calls was decided before', async () => {
    const heads: (readonly string[])[] = [];
    const owner = createServer((request, response) => {
      heads.push(request.rawHeaders);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    cleanups.push(async () => owner.close());
    await once(owner, 'listening');
    const { port } = owner.address() as AddressInfo;
    const relay = await start({ moreRoutes: runCalls([]), peers: peers(() => `http://127.0.0.1:${port}`) });
    const keys = [READ, 'Authorization: Bearer read-key-00000001\r\n'];
    for (const key of keys)
      await sendBytes(
        relay.url,
        `GET /v1/api/actors/run/a HTTP/1.1\r\n${key}cookie: session=mine\r\nx-kept: 1\r\n${END}`,
      );
    expect(heads).toHaveLength(keys.length);
    for (const head of heads) {
      expect(head.join('\n')).not.toMatch(/read-key|session=mine/);
      expect(head).toContain('x-kept');
    }
  });

  it('have room for who calls beside the head of the client, which has the bound that it has anywhere', async () => {
    const projects = Array.from({ length: 200 }, (_, n) => `project-of-a-long-name-${'x'.repeat(20)}-${n}`);
    const keys = {
      topLevel: {},
      projects: Object.fromEntries(projects.map((project) => [project, { read: ['read-key-00000001'] }])),
    };
    const owner = await start({ keys, moreRoutes: runCalls([]), peers: peers() });
    const relay = await start({ keys, moreRoutes: runCalls([]), peers: peers(() => owner.url) });
    const path = '/v1/api/actors/run/a';
    const ask = (service: Service, bytes: number) =>
      service.ask(path, { key: 'read-key-00000001', headers: { 'x-long': 'x'.repeat(bytes) } });
    for (const service of [owner, relay]) {
      expect(await ask(service, 15_000)).toMatchObject({ status: 200, body: { caller: { reach: projects } } });
      expect(await ask(service, 17_000)).toMatchObject({
        status: 400,
        body: { code: 'invalid_parameter', message: 'path and headers of the request are over 16384 bytes' },
      });
    }
  });

  it('reach the route that the caller was allowed to use, and no other by dots in the path', async () => {
    const { relay, seen } = await pair();
    for (const path of ['/v1/api/actors/%2e%2e/audit', '/v1/api/actors/../audit'])
      expect(bodyOf(await sendBytes(relay.url, `GET ${path} HTTP/1.1\r\n${READ}${END}`))).toMatchObject({
        params: { type: '..', id: 'audit' },
      });
    expect(seen).toEqual(['/v1/api/actors/%2e%2e/audit', '/v1/api/actors/../audit']);
  });

  it('are believed from a service that knows the secret, about the very call that it decided', async () => {
    const { owner } = await pair();
    const decided = (operation: string): string =>
      Buffer.from(
        JSON.stringify({ operation, caller: { scopes: ['read'], reach: ['p'], remoteAddress: '192.0.2.1' } }),
      ).toString('base64url');
    const ask = (path: string, secret: string, operation: string) =>
      owner.ask(path, { headers: { 'x-svc-peer': secret, 'x-svc-caller': decided(operation) } });
    expect(await ask('/v1/api/actors/run/a', SECRET, 'getActor')).toMatchObject({
      status: 200,
      body: { caller: { reach: ['p'], remoteAddress: '192.0.2.1' } },
    });
    expect((await ask('/v1/api/actors/run/a', `${SECRET}x`, 'getActor')).status).toBe(401);
    expect((await ask('/v1/api/actors/run/a', SECRET, 'listActors')).status).toBe(403);
    expect((await ask('/v1/api/audit', SECRET, 'listAudit')).status).toBe(403);
    expect(owner.logged.join('')).not.toContain(SECRET);
  });

  it('a body that a call does not take is not passed on: what stands in it is no request at the owner', async () => {
    const { relay, seen } = await pair();
    const hidden = `GET /v1/api/actors/run/hidden HTTP/1.1\r\nhost: localhost\r\n${READ}\r\n`;
    const chunked = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
    const sent = `GET /v1/api/actors/run/a HTTP/1.1\r\n${READ}transfer-encoding: chunked\r\n${END}${chunked}`;
    expect(await sendBytes(relay.url, sent)).toContain('HTTP/1.1 200');
    expect((await relay.ask('/v1/api/actors/run/b', { key: 'read-key-00000001' })).status).toBe(200);
    expect(seen).toEqual(['/v1/api/actors/run/a', '/v1/api/actors/run/b']);
  });

  it('bodies arrive as they were sent: none, one with a length, one in chunks', async () => {
    const { relay } = await pair();
    const line = `POST /v1/api/runs/r/cancel HTTP/1.1\r\n${EXECUTE}`;
    const json = '{"reason":"why"}';
    const type = 'content-type: application/json\r\n';
    for (const [bytes, body] of [
      [`${line}${END}`, 'none'],
      [`${line}content-length: 0\r\n${END}`, 'none'],
      [`${line}${type}content-length: ${json.length}\r\n${END}${json}`, { reason: 'why' }],
      [`${line}${type}transfer-encoding: chunked\r\n${END}10\r\n${json}\r\n0\r\n\r\n`, { reason: 'why' }],
    ] as const) {
      const answer = await sendBytes(relay.url, bytes);
      expect(answer).toContain('HTTP/1.1 200');
      expect(bodyOf(answer)).toEqual({ body });
    }
  });

  it('a body over its bound is refused by the owner, and the next call is answered', async () => {
    const { relay } = await pair();
    for (const bytes of [1024 * 1024 + 1, 3 * 1024 * 1024])
      expect(await cancel(relay, `{"reason":"${'x'.repeat(bytes)}"}`)).toMatchObject({ status: 413 });
    expect((await cancel(relay, '{}')).status).toBe(200);
  });

  it('where the owner cannot be reached: 503 with Retry-After 1, and the connection takes the next request', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const { port } = gone.address() as AddressInfo;
    gone.close();
    const relay = await start({ moreRoutes: runCalls([]), peers: peers(() => `http://127.0.0.1:${port}`) });
    const json = `{"reason":"${'x'.repeat(500_000)}"}`;
    const post = `POST /v1/api/runs/r/cancel HTTP/1.1\r\nhost: localhost\r\n${EXECUTE}content-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`;
    const answers = await sendBytes(relay.url, `${post}GET /healthz HTTP/1.1\r\n${END}`);
    expect(answers).toMatch(/^HTTP\/1\.1 503 /);
    expect(answers).toMatch(/\r\nretry-after: 1\r\n/i);
    expect(answers).toMatch(/HTTP\/1\.1 200 /);
  });

  it('no two services pass a call to and fro', async () => {
    const urls: string[] = [];
    const [one, other] = [
      await start({ moreRoutes: runCalls([]), peers: peers(() => urls[1] ?? '') }),
      await start({ moreRoutes: runCalls([]), peers: peers(() => urls[0] ?? '') }),
    ];
    expect((await one.ask('/v1/api/actors/run/a', { key: 'read-key-00000001' })).body).toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('--peer-url'),
    });
    urls.push(one.url, other.url);
    for (const service of [one, other])
      expect(await service.ask('/v1/api/actors/run/a', { key: 'read-key-00000001' })).toMatchObject({
        status: 503,
        body: { code: 'store_unavailable' },
      });
  });

  it('end with 503 when the runs have another owner, also one at the same address', async () => {
    let changed = (): void => {};
    const heard = Promise.withResolvers<void>();
    const hung = createServer(() => heard.resolve()).listen(0, '127.0.0.1');
    cleanups.push(async () => hung.close());
    await once(hung, 'listening');
    const { port } = hung.address() as AddressInfo;
    const toHung = peers(() => `http://127.0.0.1:${port}`);
    const relay = await start({
      moreRoutes: runCalls([]),
      peers: { ...toHung, onOwnerChange: (listener) => (changed = listener) },
    });
    const answer = cancel(relay, '{}');
    await heard.promise;
    changed();
    expect(await answer).toMatchObject({ status: 503, body: { code: 'store_unavailable' } });
  });

  it('a stop answers those that are under way', async () => {
    let isInside = false;
    let goOn = (): void => {};
    const { relay } = await pair(() => {
      isInside = true;
      return new Promise((resolve) => {
        goOn = resolve;
      });
    });
    const answer = cancel(relay, '{}');
    await until(() => isInside);
    const closed = relay.close();
    await until(() =>
      relay.ask('/healthz', { headers: { connection: 'close' } }).then(
        () => false,
        (error: Error) => error.message === 'fetch failed',
      ),
    );
    goOn();
    expect(await answer).toMatchObject({ status: 200, body: { body: {} } });
    await closed;
  });
});
