import { describe, expect, it } from 'vitest';
import { keepScoreId, offlineScoreId } from '../../src/scoring/score-id.ts';

const START = 1_795_161_600_123_456_789n;
const idOf = (over: { project?: string; trace?: string; scorer?: string; version?: string; start?: bigint } = {}) =>
  offlineScoreId(
    over.project ?? 'p',
    over.trace ?? 't',
    over.scorer ?? 'answered',
    over.version ?? '1',
    over.start ?? START,
  );
const timeOf = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

describe('the id of a score that a pass makes', () => {
  it('is a UUIDv7 with the start of the run in milliseconds', () => {
    expect(idOf()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(timeOf(idOf())).toBe(1_795_161_600_123);
  });

  it('is the same for the same run, scorer and version, and another when one of them differs', () => {
    expect(idOf()).toBe(idOf());
    const ids = [
      idOf(),
      idOf({ project: 'q' }),
      idOf({ trace: 'u' }),
      idOf({ scorer: 'no_errors' }),
      idOf({ version: '2' }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has time zero for a run that says it began before 1970', () => {
    expect(timeOf(idOf({ start: -1n }))).toBe(0);
  });

  it('is kept when the start of the run has moved since, and never taken from another score', () => {
    const moved = idOf({ start: START - 5_000_000_000n });
    expect(moved).not.toBe(idOf());
    expect(keepScoreId(moved, [idOf({ scorer: 'no_errors' }), idOf()])).toBe(idOf());
    expect(keepScoreId(moved, [idOf({ scorer: 'no_errors' }), 'a-client-chose-this'])).toBe(moved);
    expect(keepScoreId(moved, [])).toBe(moved);
  });
});
