import { expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { runsKillLoop } from './runs-kill-loop.ts';

const CYCLES = 20;
const KILLS_UNDER_BOTH = 4;
/** Short ones: what there is to check grows with the load between two faults. */
const CYCLE_MS = 700;

it('keeps every acknowledged step, pause, restart, action on many runs and scheduled time, with one winner and no gap, over 20 faults of daemon and workers', async () => {
  const folder = temporaryFolder();
  const seed = Date.now() % 1_000_000;
  console.log(`runs kill loop seed ${seed}`);
  try {
    const figures = await runsKillLoop({ cycles: CYCLES, cycleMs: CYCLE_MS, seed, folder: folder.path });
    expect(figures.cycles).toBe(CYCLES);
    expect(figures.daemonKills + figures.workerKills + figures.workerStops).toBeGreaterThanOrEqual(CYCLES);
    expect(figures.acknowledgedCompletes).toBeGreaterThan(CYCLES);
    for (const seen of [
      'held',
      'lateReports',
      'pauses',
      'restarts',
      'groups',
      'definitionPauses',
      'schedulePauses',
      'laterStarts',
      'scheduledTimes',
      'skippedTimes',
    ] as const)
      expect(figures[seen], seen).toBeGreaterThan(0);
    console.log(`runs kill loop figures ${JSON.stringify(figures)}`);
  } finally {
    folder.remove();
  }
});

it('keeps every acknowledged batch of signals, whole and once, and every acknowledged step over 4 SIGKILLs under both loads', async () => {
  const folder = temporaryFolder();
  const seed = Date.now() % 1_000_000;
  console.log(`runs kill loop seed ${seed}, with signals`);
  try {
    const figures = await runsKillLoop({
      ...{ cycles: KILLS_UNDER_BOTH, cycleMs: CYCLE_MS, withSignals: true },
      ...{ seed, folder: folder.path },
    });
    expect(figures.daemonKills).toBe(KILLS_UNDER_BOTH);
    expect(figures.acknowledgedCompletes).toBeGreaterThan(0);
    expect(figures.signals?.acknowledged).toBeGreaterThan(KILLS_UNDER_BOTH);
    console.log(`runs kill loop figures ${JSON.stringify(figures)}`);
  } finally {
    folder.remove();
  }
});
