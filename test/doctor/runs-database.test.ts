import { describe, expect, it } from 'vitest';
import { judgeMove } from '../../src/cli/doctor/moves.ts';
import { CLOCK_OFFSET_MS, judgeClock, judgeOwners } from '../../src/cli/doctor/runs-database.ts';

describe('svc doctor: the runs of a database (--runs-url)', () => {
  it('says whether a service owns them', () => {
    expect(judgeOwners([], 1)).toMatchObject({ level: 'skipped' });
    expect(judgeOwners([{ owner: 'a', leftMs: 1 }], 1)).toMatchObject({
      level: 'ok',
      message: 'the runs are owned by 1 service',
    });
    expect(judgeOwners([{ owner: 'a', leftMs: 0 }], 1)).toMatchObject({
      level: 'warning',
      message: 'no service owns the runs: nothing moves them',
    });
    const three = ['a', 'b', 'a'].map((owner, shard) => ({ owner, leftMs: 1 - shard }));
    expect(judgeOwners(three, 4)).toMatchObject({
      level: 'warning',
      message: 'no service owns the runs of 3 of 4 shards: nothing moves them',
    });
    const all = three.map((one) => ({ ...one, leftMs: 1 }));
    expect(judgeOwners(all, 3)).toMatchObject({ level: 'ok', message: 'the runs in 3 shards are owned by 2 services' });
  });

  it('names runs that were moved away, and a part of some that arrived; a move that only began keeps no service from starting', () => {
    expect(judgeMove(undefined)).toEqual([]);
    expect(judgeMove({ kind: 'leaving', move: 'm', to: 'there' })).toEqual([]);
    expect(judgeMove({ kind: 'left', move: 'm', to: 'there' })).toMatchObject([
      { level: 'fault', message: expect.stringMatching(/^its runs were moved to there: start with that/) },
    ]);
    expect(judgeMove({ kind: 'arriving', move: 'm', from: 'here' })).toMatchObject([
      { level: 'fault', message: expect.stringContaining('the move of runs from here has not come to its end') },
    ]);
  });

  it('warns where the clock of this machine is more than a second from that of the database, either way', () => {
    for (const sign of [1, -1]) {
      expect(judgeClock(10_000 + sign * CLOCK_OFFSET_MS, 10_000)).toMatchObject({ level: 'ok' });
      expect(judgeClock(10_000 + sign * (CLOCK_OFFSET_MS + 1), 10_000)).toMatchObject({
        level: 'warning',
        message: `the clock of this machine is 1001 ms ${sign > 0 ? 'ahead of' : 'behind'} that of the database: after a takeover, runs show times in another order than things happened`,
      });
    }
  });
});
