import { once } from 'node:events';
import type { ServerOptions as HttpOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { boundsOf } from '../../src/http/connections.ts';
import { until } from '../until.ts';
import { anIngestDoor, type Service, type ServiceOptions, startService } from './service.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Two connections of one address, four in all, one more for operational routes; a door that answers when it is let. */
const start = async (options: ServiceOptions = {}) => {
  let letGo: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let reached = 0;
  const service = await startService({
    connections: { inAll: 4, perAddress: 2, forOperations: 1 },
    moreRoutes: [
      anIngestDoor(async () => {
        reached += 1;
        await held;
        return {};
      }),
    ],
    ...options,
  });
  cleanups.push(() => service.close(), letGo);
  return { service, reached: () => reached, letGo };
};

type Client = { readonly socket: Socket; readonly received: () => string; readonly isClosed: () => boolean };
const open = async ({ url }: Service, host = '127.0.0.1'): Promise<Client> => {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: host });
  cleanups.push(() => socket.destroy());
  let received = '';
  let isClosed = false;
  socket.on('data', (piece) => (received += piece.toString()));
  socket.on('close', () => (isClosed = true));
  socket.on('error', () => {});
  await once(socket, 'connect');
  return { socket, received: () => received, isClosed: () => isClosed };
};
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';
const LIST = 'GET /v1/api/traces HTTP/1.1\r\nhost: localhost\r\n\r\n';
const HELD = 'POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n';
/** Asks, and gives the status of the first answer. */
const ask = async (client: Client, request: string): Promise<string> => {
  client.socket.write(request);
  await until(() => client.received().includes('\r\n\r\n') || client.isClosed());
  return client.received().slice(0, 12);
};

describe('connections', () => {
  it('of one address have half of the room: of more, the one that is idle longest is cut for the new one', async () => {
    const { service } = await start();
    const first = await open(service);
    const second = await open(service);
    expect(await ask(second, HEALTH)).toBe('HTTP/1.1 200');
    const third = await open(service);
    expect(await ask(third, HEALTH)).toBe('HTTP/1.1 200');
    await until(first.isClosed);
    expect(second.isClosed()).toBe(false);
    expect(service.counters).toMatchObject({ idleConnectionsCut: 1, connectionsRefused: 0 });
  });

  it('with a request under way are never cut for others: one more of that address is closed', async () => {
    const { service, reached, letGo } = await start();
    const busy = [await open(service), await open(service)];
    for (const client of busy) client.socket.write(HELD);
    await until(() => reached() === 2);
    const third = await open(service);
    await until(third.isClosed);
    expect(service.counters).toMatchObject({ idleConnectionsCut: 0, connectionsRefused: 1 });
    const other = await open(service, '127.0.0.2');
    expect(await ask(other, LIST)).toBe('HTTP/1.1 200');
    letGo();
    for (const client of busy) await until(() => client.received().startsWith('HTTP/1.1 200'));
  });

  it('where there is no room at all, an idle one of the address with most idle ones is cut', async () => {
    const { service } = await start();
    const many = [await open(service, '127.0.0.2'), await open(service, '127.0.0.2')];
    const few = [await open(service, '127.0.0.3'), await open(service)];
    for (const client of [...many, ...few]) expect(await ask(client, HEALTH)).toBe('HTTP/1.1 200');
    const late = await open(service, '127.0.0.4');
    expect(await ask(late, LIST)).toBe('HTTP/1.1 200');
    await until(() => many[0]?.isClosed() === true);
    expect([...many, ...few].map(({ isClosed }) => isClosed())).toEqual([true, false, false, false]);
  });

  it('beyond all that are busy serve operational routes alone, once each', async () => {
    const { service, reached, letGo } = await start();
    const busy = await Promise.all(
      ['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.3'].map((host) => open(service, host)),
    );
    for (const client of busy) client.socket.write(HELD);
    await until(() => reached() === 4);
    const list = await open(service);
    expect(await ask(list, LIST)).toBe('HTTP/1.1 429');
    expect(list.received()).toMatch(/retry-after: 1/i);
    await until(list.isClosed);
    const probe = await open(service);
    expect(await ask(probe, HEALTH)).toBe('HTTP/1.1 200');
    await until(probe.isClosed);
    letGo();
    await Promise.all(busy.map((client) => until(() => client.received().startsWith('HTTP/1.1 200'))));
    expect(await ask(await open(service), LIST)).toBe('HTTP/1.1 200');
  });

  it('beyond all and the room of operations are closed', async () => {
    const { service, reached } = await start();
    const hosts = ['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.3', '127.0.0.4'];
    const busy = await Promise.all(hosts.slice(0, 4).map((host) => open(service, host)));
    for (const client of busy) client.socket.write(HELD);
    await until(() => reached() === 4);
    const waiting = await open(service, '127.0.0.4');
    const late = await open(service, '127.0.0.5');
    // The idle one beyond all gives way to the next.
    await until(waiting.isClosed);
    expect(await ask(late, HEALTH)).toBe('HTTP/1.1 200');
  });

  it('that bring half a head are cut: a head has 10 s, and whose time is over is seen within a second', async () => {
    const { service } = await start();
    const { headersTimeout, connectionsCheckingInterval } = service.server as HttpOptions;
    expect({ headersTimeout, connectionsCheckingInterval }).toEqual({
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
    });
    service.server.headersTimeout = 1; // the rest of the way is as it is with 10 s
    const client = await open(service);
    const closed = new Promise((resolve) => {
      client.socket.once('close', resolve);
    });
    client.socket.write(HEALTH.slice(0, 20));
    await closed;
    expect(client.received()).toMatch(/^HTTP\/1.1 503 /);
    expect(client.received()).toContain('"code":"request_timeout"');
  });

  it('are 10,000 in all and 5,000 of one address, if nothing else is said', () => {
    expect(boundsOf()).toEqual({ inAll: 10_000, perAddress: 5_000, forOperations: 100 });
  });
});
