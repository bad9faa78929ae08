import { expect, it } from 'vitest';
import { CATCHES_UP_MS, spansOfSteps, traceLag } from '../../src/model/trace-lag.ts';

const ended_at = '2026-11-22T12:00:00Z';
const noon = Date.parse(ended_at);
const anAttempt = (span_id: string, status = 'succeeded') => ({ span_id, status, ended_at });

it('a trace that lacks the span of a step catches up for a minute, and then it lacks it', () => {
  const attempts = [anAttempt('a'), anAttempt('b', 'failed')];
  expect(traceLag(attempts, new Set(['a', 'b', 'c']), noon)).toBeUndefined();
  const lag = { missing: 1, of: 2 };
  expect(traceLag(attempts, new Set(['a']), noon + CATCHES_UP_MS)).toEqual({ ...lag, isCatchingUp: true });
  expect(traceLag(attempts, new Set(['a']), noon + CATCHES_UP_MS + 1)).toEqual({ ...lag, isCatchingUp: false });
});

it('no span is expected of an attempt that has not ended, or ended without a result', () => {
  const attempts = ['offered', 'running', 'orphaned', 'lapsed', 'cancelled'].map((status) => anAttempt(status, status));
  expect(traceLag(attempts, new Set(), noon)).toBeUndefined();
});

it('the latest hundred are looked at', () => {
  const attempts = Array.from({ length: 101 }, (_, at) => anAttempt(String(at)));
  expect(spansOfSteps(attempts).map(({ span_id: id }) => id)).toEqual(attempts.slice(1).map(({ span_id: id }) => id));
});
