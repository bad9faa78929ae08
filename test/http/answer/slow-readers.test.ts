import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cutSlowReaders } from '../../../src/http/answer/slow-readers.ts';
import type { Route } from '../../../src/http/route.ts';
import { type Service, startService } from '../service.ts';

describe('a reader that takes nothing of what waits for it', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const aServer = () => {
    const server = new EventEmitter();
    let cut = 0;
    cutSlowReaders(server as unknown as Server, () => {
      cut += 1;
    });
    const reader = () => {
      const socket = Object.assign(new EventEmitter(), {
        bytesWritten: 100_000,
        writableLength: 0,
        _handle: { writeQueueSize: 0 },
        resetAndDestroy: vi.fn<() => void>(),
      });
      server.emit('connection', socket);
      return socket;
    };
    return { reader, cut: () => cut, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
  };

  it('is cut after ten seconds and not before', async () => {
    const { reader, cut, pass } = aServer();
    const socket = reader();
    socket.writableLength = 50_000;
    await pass(10_000);
    expect([cut(), socket.resetAndDestroy.mock.calls.length]).toEqual([0, 0]);
    await pass(1_000);
    expect([cut(), socket.resetAndDestroy.mock.calls.length]).toEqual([1, 1]);
    await pass(60_000);
    expect(cut()).toBe(1);
  });

  it.each([
    ['a little more than 16 KiB a second for an hour', 16 * 1024 + 1, 3600, 0],
    ['a byte less, for half a minute', 16 * 1024 - 1, 32, 1],
    ['a byte less, for less than half a minute', 16 * 1024 - 1, 28, 0],
  ])('that takes %s', async (_what, bytesPerSecond, seconds, cuts) => {
    const { reader, cut, pass } = aServer();
    const socket = reader();
    socket.writableLength = 10_000;
    for (let second = 0; second < seconds; second += 1) {
      await pass(1000);
      socket.bytesWritten += bytesPerSecond;
    }
    expect(cut()).toBe(cuts);
  });

  it('slowly, but takes all now and then, is let be', async () => {
    const { reader, cut, pass } = aServer();
    const socket = reader();
    for (let second = 0; second < 120; second += 1) {
      socket.writableLength = second % 20 === 0 ? 0 : 10;
      socket.bytesWritten += 1;
      await pass(1000);
    }
    expect(cut()).toBe(0);
  });

  it.each([
    [
      'takes some of a large write',
      (socket: ReturnType<ReturnType<typeof aServer>['reader']>) => {
        socket._handle.writeQueueSize -= 1;
      },
    ],
    [
      'has taken all',
      (socket: ReturnType<ReturnType<typeof aServer>['reader']>) => {
        socket.writableLength = 0;
      },
    ],
    [
      'is given more',
      (socket: ReturnType<ReturnType<typeof aServer>['reader']>) => {
        socket.bytesWritten += 1;
        socket.writableLength += 1;
      },
    ],
  ])('is let be for ten seconds more when it %s', async (_what, move) => {
    const { reader, cut, pass } = aServer();
    const socket = reader();
    socket.writableLength = 50_000;
    socket._handle.writeQueueSize = 50_000;
    await pass(9_000);
    move(socket);
    await pass(1_000);
    socket.writableLength = 50_000;
    await pass(9_000);
    expect(cut()).toBe(0);
  });

  it('is not a connection that nothing waits for, however long it is idle, nor one that has ended', async () => {
    const { reader, cut, pass } = aServer();
    reader();
    const ended = reader();
    ended.writableLength = 1;
    ended.emit('close');
    await pass(3_600_000);
    expect(cut()).toBe(0);
  });
});

describe('on every route', () => {
  let service: Service;
  afterEach(() => service.close());

  it.each([
    ['a list', 'json'],
    ['an answer sent by its handler', 'sent'],
    ['a stream of events', 'stream'],
  ])('%s is cut, its handler learns it, and it is counted', async (_name, how) => {
    const left = Promise.withResolvers<void>();
    const text = 'x'.repeat(1_000_000);
    const route: Route = {
      method: 'GET',
      path: '/v1/api/runs/:run',
      scope: 'read',
      operationId: 'getRun',
      surface: 'runs',
      handler: (request, reply) => {
        request.abandoned.addEventListener('abort', () => left.resolve());
        if (how === 'json') return { rows: Array.from({ length: 64 }, () => text) };
        if (how === 'sent') return reply.send(Buffer.from(text.repeat(64)));
        reply.hijack();
        for (let n = 0; n < 64; n++) reply.raw.write(text);
        return reply;
      },
    };
    service = await startService({ moreRoutes: [route], readerTakesNothingMs: 100 });
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname).on('error', () => {});
    await once(socket, 'connect');
    socket.pause().write('GET /v1/api/runs/r HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await left.promise;
    socket.destroy();
    expect(service.counters.slowReadersCut).toBe(1);
    expect((await service.ask('/metrics')).text).toContain('\nsvc_slow_readers_cut_total 1\n');
  });
});
