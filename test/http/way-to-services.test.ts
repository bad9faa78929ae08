import pino from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import type { PassedCall } from '../../src/actors/service/sharded-runs.ts';
import { createPeerDoor, mountPeerDoor, type PeerService } from '../../src/http/peer-calls.ts';
import { createServer } from '../../src/http/server.ts';
import { createWayToServices } from '../../src/http/way-to-services.ts';
import { createCounters } from '../../src/model/counters.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { until } from '../until.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});
const SECRET = 'secret-of-the-peers';
const called = (method: string, ...args: readonly unknown[]): PassedCall => ({ shard: 0, method, args });

/** A service whose kernels answer as a test says, the way to it, and how many requests came. */
const scene = async (answer: PeerService['answer']) => {
  const returned: string[] = [];
  const log = pino({ level: 'silent' });
  const door = createPeerDoor(
    {
      answer,
      follow: () => Promise.reject(new StoreUnavailable('nothing to follow')),
      giveBack: async (leaseIds) => void returned.push(...leaseIds),
    },
    SECRET,
    log,
  );
  const app = createServer({ requestTimeoutSeconds: 30 }, createCounters(), log, true);
  mountPeerDoor(app, door);
  app.addHook('preClose', async () => door.stop());
  let requests = 0;
  app.server.on('request', () => (requests += 1));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const close = async (): Promise<void> => app.close();
  cleanups.push(close);
  return {
    way: createWayToServices(SECRET, 30_000),
    url,
    returned,
    close,
    cut: () => app.server.closeAllConnections(),
    requests: () => requests,
  };
};

describe('calls that one service passes on to another', () => {
  it('go in one request, each answered by itself, in whatever order', async () => {
    const finish = new Map<string, () => void>();
    const { way, url, requests } = await scene(
      ({ args: [name] }) =>
        new Promise((resolve) => {
          finish.set(String(name), () => resolve({ ok: true, value: `${String(name)}\nwith a line` }));
        }),
    );
    const calls = ['a', 'b', 'c'].map((name) => way.call(url, called('getRun', name)));
    await until(() => finish.size === 3);
    finish.get('c')?.();
    expect(await calls[2]).toEqual({ ok: true, value: 'c\nwith a line' });
    finish.get('a')?.();
    finish.get('b')?.();
    expect(await Promise.all(calls.slice(0, 2))).toMatchObject([{ ok: true }, { ok: true }]);
    const [more] = [way.call(url, called('getRun', 'd'))];
    await until(() => finish.has('d'));
    finish.get('d')?.();
    await more;
    expect(requests()).toBe(1);
  });

  it('say apart that the store is away and that there is a fault', async () => {
    const { way, url } = await scene(({ method }) =>
      Promise.reject(method === 'getRun' ? new StoreUnavailable('nobody owns it') : new Error('a bug')),
    );
    await expect(way.call(url, called('getRun'))).rejects.toThrow(new StoreUnavailable('nobody owns it'));
    await expect(way.call(url, called('other'))).rejects.toThrow('met a fault');
  });

  it('one that waits is ended by a message, and still answers', async () => {
    const { way, url, requests } = await scene(
      (_, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('what it had'))),
    );
    const ending = new AbortController();
    const waiting = way.call(url, called('claim'), ending.signal);
    const other = way.call(url, called('claim'), ending.signal);
    await until(() => requests() === 1);
    ending.abort();
    expect(await Promise.all([waiting, other])).toEqual(['what it had', 'what it had']);
    expect(requests()).toBe(1);
  });

  it('leases that a claim got whose caller has gone, or gave up, go back', async () => {
    let leases = 0;
    let claims = 0;
    const { way, url, returned, cut } = await scene((_, signal) => {
      claims += 1;
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ ok: true, value: [{ leaseId: `l${(leases += 1)}` }] })),
      );
    });
    const claim = (): Promise<unknown> => way.call(url, { method: 'claim', args: [] });
    const given = claim();
    await until(() => claims === 1);
    way.endWhere((address, shard) => address === url && shard === undefined);
    await expect(given).rejects.toThrow(StoreUnavailable);
    await until(() => returned.length === 1);
    const lost = claim();
    await until(() => claims === 2);
    cut();
    await expect(lost).rejects.toThrow(StoreUnavailable);
    await until(() => returned.length === 2);
    expect(returned).toEqual(['l1', 'l2']);
    // The next call goes in a new request.
    const next = claim();
    await until(() => claims === 3);
    way.endWhere(() => true);
    await expect(next).rejects.toThrow('did not answer');
  });

  it('without the secret, or to nobody, are unavailable, and one that nobody answers is given up', async () => {
    const { url } = await scene((_, signal) => new Promise((resolve) => signal.addEventListener('abort', resolve)));
    await expect(createWayToServices('a guess', 30_000).call(url, called('getRun'))).rejects.toThrow(StoreUnavailable);
    await expect(createWayToServices(SECRET, 30_000).call('http://127.0.0.1:1', called('getRun'))).rejects.toThrow(
      StoreUnavailable,
    );
    await expect(createWayToServices(SECRET, 50).call(url, called('getRun'))).rejects.toThrow('did not answer');
  });

  it('that are under way when a service stops are answered; it ends though its callers keep their connections', async () => {
    const finish: ((value: unknown) => void)[] = [];
    const { way, url, close } = await scene(
      () =>
        new Promise((resolve) => {
          finish.push(resolve);
        }),
    );
    const calling = way.call(url, called('getRun'));
    await until(() => finish.length === 1);
    const closing = close();
    finish[0]?.('done');
    expect(await calling).toBe('done');
    await closing;
    await expect(way.call(url, called('getRun'))).rejects.toThrow(StoreUnavailable);
  });
});
