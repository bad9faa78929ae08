import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { type Door, openDoor } from '../routes/ingest-door.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A sender that waits to be told before it sends its body. */
const waitingSender = async (door: Door, contentLength: number, path = '/v1/ingest') => {
  const socket: Socket = connect(Number(new URL(door.url).port), '127.0.0.1');
  cleanups.push(() => socket.destroy());
  await once(socket, 'connect');
  let received = '';
  let isClosed = false;
  socket.on('data', (piece) => (received += piece.toString()));
  socket.on('close', () => (isClosed = true));
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n` +
      `content-length: ${contentLength}\r\n\r\n`,
  );
  return { socket, received: () => received, isClosed: () => isClosed };
};
const open = async (): Promise<Door> => {
  const door = await openDoor({
    keys: { topLevel: { ingest: ['sender'] } },
    limits: { maxBodyBytes: 1000, maxInflatedBytes: 4000 },
  });
  cleanups.push(() => door.close());
  return door;
};
const openUnguarded = async (): Promise<Door> => {
  const door = await openDoor({ limits: { maxBodyBytes: 1000, maxInflatedBytes: 4000 } });
  cleanups.push(() => door.close());
  return door;
};

describe('Expect: 100-continue', () => {
  it('with a length over the bound is answered 413 at once, without an invitation, and the connection ends', async () => {
    const sender = await waitingSender(await openUnguarded(), 1001);
    await until(() => sender.isClosed());
    expect(sender.received()).toMatch(/^HTTP\/1.1 413 /);
    expect(sender.received()).toMatch(/connection: close/i);
    expect(sender.received()).not.toContain('100 Continue');
  });

  it('without a key it is answered 401 at once', async () => {
    const sender = await waitingSender(await open(), 10);
    await until(() => sender.isClosed());
    expect(sender.received()).toMatch(/^HTTP\/1.1 401 /);
  });

  it('within the bound it is told to go on, and the connection stays for the next request', async () => {
    const body = '{"spans":[]}';
    const sender = await waitingSender(await openUnguarded(), body.length);
    await until(() => sender.received().includes('\r\n\r\n'));
    expect(sender.received()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    sender.socket.write(body);
    await until(() => sender.received().includes('"accepted":0'));
    expect(sender.received()).toMatch(/HTTP\/1.1 200 /);
    sender.socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until(() => sender.received().includes('"status":"ok"'));
    expect(sender.isClosed()).toBe(false);
  });
});
