import { afterEach, expect, it } from 'vitest';
import { usePlans } from '../../src/machines/transition.ts';
import { playEpisode } from './episode.ts';

const SEED = 20_261_120;

afterEach(() => {
  usePlans(true);
});

it('a simulated world takes the same course whether its transitions are taken by plan or by xstate', async () => {
  for (let seed = SEED; seed < SEED + 4; seed += 1) {
    const byPlan = await playEpisode({ seed });
    usePlans(false);
    const byXstate = await playEpisode({ seed });
    usePlans(true);
    expect(byXstate).toEqual(byPlan);
    expect(byPlan.attempts).toBeGreaterThan(20);
  }
});
