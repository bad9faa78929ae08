import { expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { runsKillLoop } from './runs-kill-loop.ts';

const CYCLES = 25;

it('keeps every acknowledged step of a run, with one winner and no gap, over 25 SIGKILLs of daemon and workers', async () => {
  const folder = temporaryFolder();
  const seed = Date.now() % 1_000_000;
  console.log(`runs kill loop seed ${seed}`);
  try {
    const figures = await runsKillLoop({ cycles: CYCLES, seed, folder: folder.path });
    expect(figures.cycles).toBe(CYCLES);
    expect(figures.daemonKills + figures.workerKills).toBeGreaterThanOrEqual(CYCLES);
    expect(figures.acknowledgedCompletes).toBeGreaterThan(CYCLES);
    expect(figures.held).toBeGreaterThan(0);
    console.log(`runs kill loop figures ${JSON.stringify(figures)}`);
  } finally {
    folder.remove();
  }
});
