import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { aTerminal } from './a-terminal.ts';

/** What a service answers, with its store or without; `test/deploy` asks a real one. */
const withHealth = async (isReady: boolean, use: (url: string) => Promise<void>): Promise<void> => {
  const detail = `signal store: ${new StoreUnavailable('the database is away').message}`;
  const server = createServer((request, response) => {
    const away = !isReady && request.url === '/readyz';
    response.writeHead(away ? 503 : 200, { 'content-type': 'application/json' });
    const health = { version: '9.9.9', spec_version: '1.0', uptime_seconds: 7, storage: 'postgres' };
    response.end(JSON.stringify({ ...health, ...(away ? { status: 'degraded', detail } : { status: 'ok' }) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
};

describe('svc health', () => {
  it.each([[[]], [['--ready']]])('%j: ends with 0 beside a service that serves, without any key', (flags) =>
    withHealth(true, async (url) => {
      const { code, out, err } = await aTerminal({ SVC_ENDPOINT: url })(['health', ...flags]);
      expect({ code, out, err }).toEqual({ code: 0, out: 'ok: svc 9.9.9, postgres, up 7 s\n', err: [] });
    }),
  );

  it('tells a service without its store from one that does not serve: --ready alone ends with 1', () =>
    withHealth(false, async (url) => {
      const svc = aTerminal({ SVC_ENDPOINT: url });
      expect(await svc(['health'])).toEqual({ code: 0, out: 'ok: svc 9.9.9, postgres, up 7 s\n', err: [] });
      expect(await svc(['health', '--ready'])).toEqual({
        code: 1,
        out: '',
        err: [`svc: ${url} is not ready: signal store: the database is away`],
      });
    }));

  it('ends with 1 where nothing answers, with 2 for an address that is none', async () => {
    const svc = aTerminal({});
    expect(await svc(['health', '--endpoint', 'http://127.0.0.1:1'])).toMatchObject({
      code: 1,
      err: [expect.stringContaining('nothing answers at http://127.0.0.1:1')],
    });
    expect(await svc(['health', '--endpoint', 'nowhere'])).toMatchObject({ code: 2 });
  });
});
