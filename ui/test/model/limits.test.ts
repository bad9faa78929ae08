import { describe, expect, it } from 'vitest';
import { boundText, countText, type LimitKey, ownerText, inUseText } from '../../src/model/limits.ts';

const aKey = (more: Partial<LimitKey> = {}): LimitKey => ({
  limit_id: 'id',
  kind: 'concurrency',
  project: 'p',
  definition_id: 'refund',
  definition_version: 1,
  key: 'ada',
  limit: 1,
  used: 1,
  waiting: 0,
  moved_at: '2026-11-20T09:00:00Z',
  ...more,
});

describe('a key in use', () => {
  it('says what it bounds: runs, attempts of a task, or starts in a window', () => {
    expect(boundText(aKey())).toBe('at most 1 run at a time');
    expect(boundText(aKey({ limit: 2 }))).toBe('at most 2 runs at a time');
    expect(boundText(aKey({ step_id: 'pay', limit: 3 }))).toBe('at most 3 attempts at a time');
    expect(boundText(aKey({ kind: 'rate', limit: 5, per_ms: 10_000 }))).toBe('at most 5 starts in 10 s');
  });

  it('says whose it is and how much of it is in use', () => {
    expect(ownerText(aKey())).toBe('refund');
    expect(ownerText(aKey({ step_id: 'pay' }))).toBe('refund › pay');
    expect(inUseText(aKey({ used: 1200, limit: 5000 }))).toBe('1,200 of 5,000');
  });
});

describe('a count of runs that wait', () => {
  it('says that there may be more where it was not finished', () => {
    expect(countText({ waiting_on: 'event', count: 0 })).toBe('0');
    expect(countText({ waiting_on: 'event', count: 10_000, capped: true })).toBe('10,000+');
  });
});
