import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSharedQuota } from '../../src/ingest/shared-quota.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';

const MINUTE = 60_000;
const NOON = Date.parse('2026-03-01T12:00:00Z');

/** The common windows of a store, in memory. */
const createWindows = () => {
  const taken = new Map<string, number>();
  const asked: { readonly project: string; readonly wanted: number }[] = [];
  return {
    taken,
    asked,
    reserveSignals: async (project: string, minute: number, wanted: number, ceiling: number): Promise<number> => {
      asked.push({ project, wanted });
      const key = `${project} ${minute}`;
      const granted = Math.max(0, Math.min(wanted, ceiling - (taken.get(key) ?? 0)));
      taken.set(key, (taken.get(key) ?? 0) + granted);
      return granted;
    },
  };
};

describe('a ceiling that services share', () => {
  it('takes a twentieth ahead, and asks again when that is used up', async () => {
    const windows = createWindows();
    const quota = createSharedQuota({ perMinute: 100, projects: {} }, windows);
    for (let n = 0; n < 10; n += 1) {
      (await quota.reserve?.(new Map([['p', 1]]), NOON))?.release();
      expect(quota.admit('p', NOON)).toBe('admitted');
    }
    expect(windows.asked).toEqual([
      { project: 'p', wanted: 5 },
      { project: 'p', wanted: 5 },
    ]);
  });

  it('takes as much as a request brings where that is more, and no project without a ceiling is asked for', async () => {
    const windows = createWindows();
    const quota = createSharedQuota({ projects: { p: 100 } }, windows);
    (
      await quota.reserve?.(
        new Map([
          ['p', 30],
          ['free', 9],
        ]),
        NOON,
      )
    )?.release();
    expect(windows.asked).toEqual([{ project: 'p', wanted: 30 }]);
    expect(quota.admit('free', NOON)).toBe('unbounded');
    for (let n = 0; n < 30; n += 1) expect(quota.admit('p', NOON)).toBe('admitted');
    expect(quota.admit('p', NOON)).toBe('over_quota');
  });

  it('a refund goes to this service; another minute begins anew; an old one admits nothing that was not taken for it', async () => {
    const windows = createWindows();
    const quota = createSharedQuota({ perMinute: 1, projects: {} }, windows);
    const ask = async (nowMs: number): Promise<string> => {
      (await quota.reserve?.(new Map([['p', 1]]), nowMs))?.release();
      return quota.admit('p', nowMs);
    };
    expect(await ask(NOON)).toBe('admitted');
    expect(await ask(NOON)).toBe('over_quota');
    quota.refund('p', 1, NOON);
    expect(await ask(NOON)).toBe('admitted');
    expect(await ask(NOON + MINUTE)).toBe('admitted');
    expect(quota.admit('p', NOON)).toBe('over_quota');
    expect(quota.refusal('p', NOON)).toMatchObject({ code: 'over_quota', retryAfterSeconds: 60 });
  });

  it('a late refund, or a late signal, of a minute that is over leaves the windows of this one as they are', async () => {
    const windows = createWindows();
    const quota = createSharedQuota({ perMinute: 100, projects: {} }, windows);
    const early = await quota.reserve?.(new Map([['p', 11]]), NOON);
    for (let n = 0; n < 10; n += 1) early?.admit('p');
    const now = NOON + 2 * MINUTE;
    for (const nowMs of [NOON + MINUTE, now]) (await quota.reserve?.(new Map([['p', 1]]), nowMs))?.release();
    const large = await quota.reserve?.(new Map([['p', 50]]), now);
    expect(large?.admit('p')).toBe('admitted');
    quota.refund('p', 10, NOON);
    expect(early?.admit('p')).toBe('over_quota');
    expect(quota.admit('p', NOON)).toBe('over_quota');
    for (let n = 1; n < 50; n += 1) expect(large?.admit('p')).toBe('admitted');
    large?.release();
    const rest = await quota.reserve?.(new Map([['p', 50]]), now);
    for (let n = 0; n < 50; n += 1) expect(rest?.admit('p')).toBe('admitted');
    expect(quota.admit('p', now)).toBe('over_quota');
  });

  it('requests that come together take what they bring and a twentieth, and leave the rest to other services', async () => {
    const windows = createWindows();
    const quota = createSharedQuota({ perMinute: 1000, projects: {} }, windows);
    const reserved = await Promise.all(
      Array.from({ length: 60 }, async () => quota.reserve?.(new Map([['p', 1]]), NOON)),
    );
    expect(reserved.map((one) => one?.admit('p'))).toEqual(Array(60).fill('admitted'));
    for (const one of reserved) one?.release();
    expect([...windows.taken.values()]).toEqual([100]);
  });

  it('a request that is half let through is not counted twice by the next one', async () => {
    const windows = createWindows();
    const quota = createSharedQuota({ perMinute: 100, projects: {} }, windows);
    const large = await quota.reserve?.(new Map([['p', 50]]), NOON);
    for (let n = 0; n < 25; n += 1) expect(large?.admit('p')).toBe('admitted');
    const small = await quota.reserve?.(new Map([['p', 1]]), NOON);
    expect(windows.asked.at(-1)).toEqual({ project: 'p', wanted: 5 });
    expect(small?.admit('p')).toBe('admitted');
    for (let n = 0; n < 25; n += 1) expect(large?.admit('p')).toBe('admitted');
    large?.release();
    small?.release();
    // The four that are left are taken before the store is asked again.
    const last = await quota.reserve?.(new Map([['p', 4]]), NOON);
    expect(windows.asked).toHaveLength(2);
    for (let n = 0; n < 4; n += 1) expect(last?.admit('p')).toBe('admitted');
    expect(last?.admit('p')).toBe('over_quota');
  });

  it('a store that is away refuses the request, and leaves no claim behind', async () => {
    const windows = createWindows();
    let isAway = true;
    const quota = createSharedQuota(
      { perMinute: 20, projects: {} },
      {
        reserveSignals: async (...asked) => {
          if (isAway) throw new StoreUnavailable('the store is away');
          return windows.reserveSignals(...asked);
        },
      },
    );
    await expect(quota.reserve?.(new Map([['p', 20]]), NOON)).rejects.toThrow(StoreUnavailable);
    isAway = false;
    await quota.reserve?.(new Map([['p', 1]]), NOON);
    expect(windows.asked).toEqual([{ project: 'p', wanted: 1 }]);
  });

  it('whatever services do at once, a minute admits no more than its ceiling, and all of it when one alone asks for enough', async () => {
    const request = fc.record({ service: fc.nat({ max: 2 }), signals: fc.integer({ min: 1, max: 12 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { maxLength: 40 }), fc.nat({ max: 60 }), async (requests, ceiling) => {
        const windows = createWindows();
        const services = [0, 1, 2].map(() => createSharedQuota({ perMinute: ceiling, projects: {} }, windows));
        const admitted = await Promise.all(
          requests.map(async ({ service, signals }) => {
            const quota = services[service];
            const reserved = await quota?.reserve?.(new Map([['p', signals]]), NOON);
            let count = 0;
            for (let n = 0; n < signals; n += 1) if (reserved?.admit('p') === 'admitted') count += 1;
            reserved?.release();
            return { service, count };
          }),
        );
        const total = admitted.reduce((sum, { count }) => sum + count, 0);
        const wanted = requests.reduce((sum, { signals }) => sum + signals, 0);
        expect(total).toBeLessThanOrEqual(ceiling);
        if (requests.every(({ service }) => service === 0)) expect(total).toBe(Math.min(wanted, ceiling));
      }),
    );
  });
});
