import { afterEach, describe, expect, it } from 'vitest';
import { TRACE } from './factories.ts';
import { sendBytes } from './send-bytes.ts';
import { anIngestDoor, type Service, type ServiceOptions, startService } from './service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

describe('what no route serves', () => {
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

  it.each(['TRACE', 'QUERY', 'PROPFIND', 'PATCH', 'M-SEARCH'])(
    '405 for %s too, whatever its body is, and 404 where nothing is',
    async (method) => {
      const { url } = await start({ keys: { topLevel: { read: ['r'] } } });
      const head = 'host: localhost\r\nconnection: close\r\ncontent-type: nonsense\r\ncontent-length: 2\r\n\r\n{}';
      const received = await sendBytes(url, `${method} /v1/api/traces HTTP/1.1\r\n${head}`);
      expect(received).toMatch(/^HTTP\/1.1 405 /);
      expect(received).toMatch(/allow: GET, HEAD\r\n/);
      expect(await sendBytes(url, `${method} /nothing HTTP/1.1\r\n${head.replace('nonsense', 'text/plain')}`)).toMatch(
        /^HTTP\/1.1 404 /,
      );
    },
  );
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
