import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createQuota } from '../../src/ingest/quota.ts';
import type { Quota, QuotaVerdict } from '../../src/ingest/quota.ts';

const MINUTE = 60_000;
const NOON = 28_000_000 * MINUTE;

const times = (count: number, quota: Quota, project: string, nowMs: number): QuotaVerdict[] =>
  Array.from({ length: count }, () => quota.admit(project, nowMs));
const admitted = (verdicts: readonly QuotaVerdict[]): number => verdicts.filter((one) => one === 'admitted').length;

describe('a fixed window per wall-clock minute and project', () => {
  it('admits as many signals as the ceiling, and refuses the next one by one', () => {
    const quota = createQuota({ perMinute: 3, projects: {} });
    expect(times(5, quota, 'a', NOON)).toEqual(['admitted', 'admitted', 'admitted', 'over_quota', 'over_quota']);
  });

  it('opens anew at the full minute and not a millisecond before', () => {
    const quota = createQuota({ perMinute: 1, projects: {} });
    expect(quota.admit('a', NOON)).toBe('admitted');
    expect(quota.admit('a', NOON + MINUTE - 1)).toBe('over_quota');
    expect(quota.admit('a', NOON + MINUTE)).toBe('admitted');
  });

  it('counts each project apart', () => {
    const quota = createQuota({ perMinute: 1, projects: {} });
    expect(quota.admit('a', NOON)).toBe('admitted');
    expect(quota.admit('b', NOON)).toBe('admitted');
    expect(quota.admit('a', NOON)).toBe('over_quota');
  });

  it("lets a project's own value replace the top level, lower or higher", () => {
    const quota = createQuota({ perMinute: 2, projects: { low: 1, high: 4, none: 0 } });
    expect(admitted(times(9, quota, 'low', NOON))).toBe(1);
    expect(admitted(times(9, quota, 'high', NOON))).toBe(4);
    expect(admitted(times(9, quota, 'none', NOON))).toBe(0);
    expect(admitted(times(9, quota, 'other', NOON))).toBe(2);
  });

  it('counts as unbounded, and never refuses, a project that no ceiling covers', () => {
    const quota = createQuota({ projects: { low: 1 } });
    expect(times(3, quota, 'other', NOON)).toEqual(['unbounded', 'unbounded', 'unbounded']);
    expect(times(2, quota, 'low', NOON)).toEqual(['admitted', 'over_quota']);
    expect(quota.admit('__proto__', NOON)).toBe('unbounded');
  });
});

describe('signals that were admitted and then not written', () => {
  it('are given back to their minute', () => {
    const quota = createQuota({ perMinute: 3, projects: {} });
    times(3, quota, 'a', NOON);
    quota.refund('a', 2, NOON);
    expect(admitted(times(5, quota, 'a', NOON))).toBe(2);
  });

  it('give nothing to a later minute, and never more than was taken', () => {
    const quota = createQuota({ perMinute: 2, projects: {} });
    times(2, quota, 'a', NOON);
    quota.admit('b', NOON + MINUTE);
    quota.refund('a', 2, NOON);
    quota.refund('b', 100, NOON + MINUTE);
    expect(admitted(times(9, quota, 'a', NOON + MINUTE))).toBe(2);
    expect(admitted(times(9, quota, 'b', NOON + MINUTE))).toBe(2);
  });
});

describe('clock jumps never lock a quota window', () => {
  it.each([
    ['+1 h', 60],
    ['−2 h', -120],
    ['+10 y', 5_259_600],
    ['back to the epoch', -28_000_000],
  ])('after a jump of %s the ceiling is whole', (_name, minutes) => {
    const quota = createQuota({ perMinute: 2, projects: {} });
    times(3, quota, 'a', NOON);
    const later = NOON + minutes * MINUTE;
    expect(admitted(times(9, quota, 'a', later))).toBe(2);
    expect(admitted(times(9, quota, 'a', later + MINUTE))).toBe(2);
  });
});

describe('senders that invent project names', () => {
  it('share one count past 10,000 names in a minute, while a configured project keeps its own', () => {
    const quota = createQuota({ perMinute: 2, projects: { mine: 3 } });
    for (let n = 0; n < 10_000; n += 1) expect(quota.admit(`made-up-${n}`, NOON)).toBe('admitted');
    const late = Array.from({ length: 50 }, (_, n) => quota.admit(`late-${n}`, NOON));
    expect(admitted(late)).toBe(2);
    expect(admitted(times(9, quota, 'mine', NOON))).toBe(3);
    expect(quota.admit('made-up-0', NOON)).toBe('admitted');
    expect(quota.admit('late-0', NOON + MINUTE)).toBe('admitted');
  });

  it('share it as well under names longer than 256 characters', () => {
    const quota = createQuota({ perMinute: 1, projects: {} });
    expect(quota.admit('x'.repeat(257), NOON)).toBe('admitted');
    expect(quota.admit('y'.repeat(257), NOON)).toBe('over_quota');
    expect(quota.admit('y'.repeat(256), NOON)).toBe('admitted');
  });
});

describe('a refusal', () => {
  it('names the project, the ceiling and the way out, with the seconds to the next minute', () => {
    const quota = createQuota({ perMinute: 7, projects: {} });
    expect(quota.refusal('shop', NOON + 15_500)).toEqual({
      code: 'over_quota',
      message:
        'project "shop" is over its ceiling of 7 signals a minute; send again in 45 s, or raise quota_per_minute',
      retryAfterSeconds: 45,
    });
    expect(quota.refusal('shop', NOON).retryAfterSeconds).toBe(60);
    expect(quota.refusal('shop', NOON + MINUTE - 1).retryAfterSeconds).toBe(1);
  });
});

describe('any sequence of calls', () => {
  it('admits in each minute exactly the smaller of what was asked and the ceiling', () => {
    const call = fc.record({
      project: fc.constantFrom('a', 'b', 'c'),
      minute: fc.nat({ max: 3 }),
      ms: fc.nat({ max: 59_999 }),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 200 }), fc.nat({ max: 20 }), (calls, ceiling) => {
        const quota = createQuota({ perMinute: ceiling, projects: { c: 5 } });
        const inOrder = calls.toSorted((x, y) => x.minute - y.minute);
        const asked = new Map<string, number>();
        const passed = new Map<string, number>();
        for (const { project, minute, ms } of inOrder) {
          const key = `${project} ${minute}`;
          asked.set(key, (asked.get(key) ?? 0) + 1);
          if (quota.admit(project, NOON + minute * MINUTE + ms) === 'admitted')
            passed.set(key, (passed.get(key) ?? 0) + 1);
        }
        for (const [key, count] of asked)
          expect(passed.get(key) ?? 0).toBe(Math.min(count, key.startsWith('c') ? 5 : ceiling));
      }),
    );
  });
});
