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
      (await quota.reserve?.(new Map([['p', 1]]), NOON))?.();
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
    )?.();
    expect(windows.asked).toEqual([{ project: 'p', wanted: 30 }]);
    expect(quota.admit('free', NOON)).toBe('unbounded');
    for (let n = 0; n < 30; n += 1) expect(quota.admit('p', NOON)).toBe('admitted');
    expect(quota.admit('p', NOON)).toBe('over_quota');
  });

  it('a refund goes to this service; another minute begins anew; an old one admits nothing that was not taken for it', async () => {
    const windows = createWindows();
    const quota = createSharedQuota({ perMinute: 1, projects: {} }, windows);
    const ask = async (nowMs: number): Promise<string> => {
      (await quota.reserve?.(new Map([['p', 1]]), nowMs))?.();
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
            const release = await quota?.reserve?.(new Map([['p', signals]]), NOON);
            let count = 0;
            for (let n = 0; n < signals; n += 1) if (quota?.admit('p', NOON) === 'admitted') count += 1;
            release?.();
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
