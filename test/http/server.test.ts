import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { sendBytes } from './send-bytes.ts';
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
});

describe('a request that no route is asked for', () => {
  it('a path that is no URL path is 400 in our shape', async () => {
    const { url } = await start();
    const answer = await rawRequest(`${url}/v1/api/traces/%zz`);
    expect(answer.statusCode).toBe(400);
    expect(await answer.body.json()).toMatchObject({ code: 'invalid_parameter' });
    expect(answer.headers['x-request-id']).toBeTruthy();
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
});
