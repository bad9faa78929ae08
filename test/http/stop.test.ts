import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { until } from '../until.ts';
import { anIngestDoor, type Service, startService } from './service.ts';

type Client = { readonly socket: Socket; readonly received: () => string; readonly error: () => unknown };
const open = async ({ url }: Service): Promise<Client> => {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  let error: unknown;
  socket.on('data', (piece) => (received += piece.toString()));
  socket.on('error', (failure) => (error = failure));
  await once(socket, 'connect');
  return { socket, received: () => received, error: () => error };
};
const HEALTH = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';
/** Resolves when the stop has looked for quiet connections and has ended one. */
const endOfAQuietOne = async (service: Service): Promise<{ readonly quietIsEnded: Promise<unknown> }> => {
  const { socket } = await open(service);
  socket.resume();
  return { quietIsEnded: once(socket, 'end').then(() => socket.end()) };
};
/** Longer than any of these tests takes. */
const LONG_MS = 20_000;

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
    // What the system has accepted is still taken in, then the port is closed.
    await until(() =>
      service.ask('/healthz', { headers: { connection: 'close' } }).then(
        () => false,
        (error: Error) => error.message === 'fetch failed',
      ),
    );
    release({ finished: true });
    expect((await answer).body).toEqual({ finished: true });
    await closed;
  });

  it('ends registered streams, which would hold it up indefinitely', async () => {
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

  it('writes the audit rows that still wait', async () => {
    const service = await startService();
    await service.ask('/v1/api/traces');
    await service.close();
    expect(service.audited).toHaveLength(1);
  });

  it.each([
    ['a connection that has not sent anything', ''],
    ['a connection that has sent half a head', HEALTH.slice(0, 20)],
  ])('answers what comes on %s, and closes it with the answer', async (_, before) => {
    const service = await startService({ quietMs: LONG_MS });
    const client = await open(service);
    if (before !== '') client.socket.write(before);
    const closed = service.close();
    client.socket.write(HEALTH.slice(before.length));
    await once(client.socket, 'end');
    expect(client.received()).toMatch(/^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n/);
    client.socket.end();
    await closed;
  });

  it('answers what comes on a connection that rested between requests', async () => {
    const service = await startService({ quietMs: LONG_MS });
    const client = await open(service);
    client.socket.write(HEALTH);
    await until(() => client.received() !== '');
    const closed = service.close();
    client.socket.write(HEALTH);
    await once(client.socket, 'end');
    expect(client.received().match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(client.received().match(/connection: close/g)).toHaveLength(1);
    client.socket.end();
    await closed;
  });

  it('ends a connection that stays quiet: what its client sends then is not done, and meets no reset', async () => {
    let asked = 0;
    const service = await startService({
      moreRoutes: [
        anIngestDoor(() => {
          asked += 1;
          return Promise.resolve({});
        }),
      ],
    });
    const client = await open(service);
    const closed = service.close();
    await once(client.socket, 'end');
    client.socket.end('POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n');
    await once(client.socket, 'close');
    await closed;
    expect(client.error()).toBeUndefined();
    expect([client.received(), asked]).toEqual(['', 0]);
  });

  it('lets a slow reader have the end of its answer', async () => {
    const answer = { text: 'x'.repeat(16 * 1024 * 1024) };
    const service = await startService({ moreRoutes: [anIngestDoor(() => Promise.resolve(answer))] });
    const client = await open(service);
    client.socket.pause();
    client.socket.write('POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n');
    await until(() => client.socket.bytesRead > 0);
    const { quietIsEnded } = await endOfAQuietOne(service);
    const closed = service.close();
    await quietIsEnded;
    client.socket.resume();
    await once(client.socket, 'end');
    expect(client.error()).toBeUndefined();
    expect(client.received().length).toBeGreaterThan(answer.text.length);
    client.socket.end();
    await closed;
  });

  it('lets a client that is refused in the middle of its body send the rest and read the answer', async () => {
    const service = await startService();
    const client = await open(service);
    const { quietIsEnded } = await endOfAQuietOne(service);
    const part = 'x'.repeat(100_000);
    const closed = service.close();
    client.socket.write(
      `POST /v1/api/scores HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/xml\r\ncontent-length: ${3 * part.length}\r\n\r\n`,
    );
    client.socket.write(part);
    await until(() => client.received() !== '');
    client.socket.write(part);
    await quietIsEnded;
    expect(client.socket.readableEnded).toBe(false);
    client.socket.write(part);
    await once(client.socket, 'end');
    expect(client.received()).toMatch(/^HTTP\/1\.1 415/);
    expect(client.error()).toBeUndefined();
    client.socket.end();
    await closed;
  });
});
