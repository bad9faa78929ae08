import { afterEach, describe, expect, it } from 'vitest';
import { anIngestDoor, NOW, rawRequest, type Service, type ServiceOptions, startService } from '../service.ts';

const running: Service[] = [];
const start = async (options: ServiceOptions = {}): Promise<Service> => {
  const service = await startService(options);
  running.push(service);
  return service;
};
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
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

  it('whoami needs a name of this machine too, unless a key that is known comes along', async () => {
    const { url } = await start({ keys: { topLevel: { read: ['r'] } } });
    const status = async (host: string, headers: Record<string, string> = {}) => {
      const answer = await rawRequest(`${url}/v1/api/whoami`, { headers: { host, ...headers } });
      await answer.body.dump();
      return answer.statusCode;
    };
    expect(await status('evil.example.com')).toBe(403);
    expect(await status('evil.example.com', { authorization: 'Bearer guess' })).toBe(401);
    expect(await status('evil.example.com', { authorization: 'Bearer r' })).toBe(200);
    expect(await status('localhost')).toBe(200);
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
  it('more than 100 failures of a peer in a second are 429, while its good key goes on; the next second starts anew', async () => {
    let now = NOW;
    const { ask } = await start({ keys, now: () => now });
    const guess = async (times: number) =>
      (await Promise.all(Array.from({ length: times }, () => ask('/v1/api/traces', { key: 'guess' })))).map(
        ({ status }) => status,
      );
    expect(new Set(await guess(100))).toEqual(new Set([401]));
    expect(await guess(1)).toEqual([429]);
    expect((await ask('/v1/api/traces', { key: 'reader' })).status).toBe(200);
    now += 1_000_000_000n;
    expect(await guess(1)).toEqual([401]);
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
