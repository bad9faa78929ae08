import { EventEmitter } from 'node:events';
import { connect } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeadlines } from '../../src/http/deadline.ts';
import type { Route } from '../../src/http/route.ts';
import { holdTimers } from '../held-timers.ts';
import { anIngestDoor, type Service, type ServiceOptions, startService } from './service.ts';

/** A length that no other timer of the process has. */
const SECONDS = 29;
const never = (): Promise<never> => new Promise(() => {});

describe('the deadline of a request', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A request under its deadline, as far as it has come. */
  const begin = (traits: Partial<Route>, accept?: string) => {
    const deadlines = createDeadlines(SECONDS);
    const request = { method: 'POST', headers: { accept } } as unknown as FastifyRequest;
    const raw = Object.assign(new EventEmitter(), { writableFinished: false, headersSent: false });
    const work = Promise.withResolvers<string>();
    const outcome = vi.fn<(how: unknown) => void>();
    const done = deadlines
      .serve(
        anIngestDoor(() => ({}), traits),
        request,
        { raw } as unknown as FastifyReply,
        () => work.promise,
      )
      .then(outcome, outcome);
    return { deadlines, request, raw, work, outcome, done };
  };

  it('lets work be done until the last moment of it', async () => {
    const { request, work, outcome, done } = begin({});
    await vi.advanceTimersByTimeAsync(SECONDS * 1000 - 1);
    expect(outcome).not.toHaveBeenCalled();
    work.resolve('answer');
    await done;
    expect(outcome).toHaveBeenCalledWith('answer');
    await vi.advanceTimersByTimeAsync(1);
    expect(request.abandoned.aborted).toBe(false);
  });

  it('is over when the answer goes out: its reader may take longer', async () => {
    const { request, raw, work, outcome, done } = begin({});
    await vi.advanceTimersByTimeAsync(SECONDS * 1000 - 1);
    raw.headersSent = true;
    await vi.advanceTimersByTimeAsync(SECONDS * 1000);
    expect([outcome.mock.calls.length, request.abandoned.aborted]).toEqual([0, false]);
    work.resolve('answer');
    await done;
    expect(outcome).toHaveBeenCalledWith('answer');
  });

  it('ends with `request_timeout`, and the work learns that nobody waits for it', async () => {
    const { request, work, outcome } = begin({});
    await vi.advanceTimersByTimeAsync(SECONDS * 1000);
    expect(outcome.mock.lastCall?.[0]).toMatchObject({ failure: { code: 'request_timeout', retryAfterSeconds: 1 } });
    expect(request.abandoned.aborted).toBe(true);
    work.reject(new Error('a failure after the deadline is nobody’s')); // unhandled, it would fail this test
    await vi.advanceTimersByTimeAsync(0);
  });

  it.each([
    ['an event stream', { streams: true }, 'text/event-stream', 'goes on'],
    ['a route that streams, asked for JSON,', { streams: true }, 'application/json', 'ends'],
    ['a long poll', { holds: true }, 'application/json', 'goes on'],
  ])('%s %j with Accept: %s %s', async (_name, traits, accept, end) => {
    const { outcome } = begin(traits, accept);
    await vi.advanceTimersByTimeAsync(SECONDS * 1000);
    expect(outcome).toHaveBeenCalledTimes(end === 'ends' ? 1 : 0);
  });

  it('a client that hangs up before its answer is complete abandons the request, and releases its long poll', () => {
    const { request, raw } = begin({ holds: true });
    expect([request.abandoned.aborted, request.released.aborted]).toEqual([false, false]);
    raw.emit('close');
    expect([request.abandoned.aborted, request.released.aborted]).toEqual([true, true]);
  });

  it('a connection that closes after the answer abandons nothing', () => {
    const { request, raw } = begin({});
    raw.writableFinished = true;
    raw.emit('close');
    expect(request.abandoned.aborted).toBe(false);
  });

  it('a stop releases the long polls that are held, and abandons none', () => {
    const { deadlines, request } = begin({ holds: true });
    deadlines.releaseHeld();
    expect([request.abandoned.aborted, request.released.aborted]).toEqual([false, true]);
  });
});

describe('a long poll that comes while the service stops', () => {
  it.each([{ holds: true }, { waits: true }])('is released before its work begins: %j', async (traits) => {
    const deadlines = createDeadlines(SECONDS);
    deadlines.releaseHeld();
    const request = { method: 'POST', headers: {} } as unknown as FastifyRequest;
    const raw = Object.assign(new EventEmitter(), { writableFinished: false, headersSent: false });
    const route = anIngestDoor(() => ({}), traits);
    await deadlines.serve(route, request, { raw } as unknown as FastifyReply, async () => {
      expect([request.abandoned.aborted, request.released.aborted]).toEqual([false, true]);
    });
  });
});

describe('the deadline over HTTP', () => {
  const running: Service[] = [];
  const start = async (options: ServiceOptions = {}): Promise<Service> => {
    const service = await startService(options);
    running.push(service);
    return service;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((service) => service.close()));
  });

  it('answers 503 `request_timeout`, tells the work that nobody waits, and counts a server error', async () => {
    const deadline = holdTimers((ms) => ms === SECONDS * 1000);
    let abandoned: AbortSignal | undefined;
    const { ask, counters } = await start({
      requestTimeoutSeconds: SECONDS,
      moreRoutes: [
        anIngestDoor((request) => {
          abandoned = request.abandoned;
          return never();
        }),
      ],
    });
    const asked = ask('/v1/ingest', { method: 'POST', body: '{}' });
    await deadline.untilArmed();
    deadline.fire();
    const answer = await asked;
    expect([answer.status, answer.body.code]).toEqual([503, 'request_timeout']);
    expect(answer.body.message).toContain('--request-timeout-seconds');
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(abandoned?.aborted).toBe(true);
    expect(counters.requestErrors).toBe(1);
  });

  it('covers a body that does not arrive', async () => {
    const deadline = holdTimers((ms) => ms === SECONDS * 1000);
    const { url } = await start({ requestTimeoutSeconds: SECONDS });
    const received = new Promise<string>((resolve, reject) => {
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
    await deadline.untilArmed();
    deadline.fire();
    expect(await received).toMatch(/^HTTP\/1.1 503 /);
    expect(await received).toContain('request_timeout');
  });
});
