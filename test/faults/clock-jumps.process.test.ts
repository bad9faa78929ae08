import { afterAll, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { jumpClock, LIBRARY } from './clock-jumps.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

it('over jumps of the clock and restarts no timer ends early, no lease is lost, and a date is met by the clock alone', async ({
  skip,
}) => {
  const library = LIBRARY ?? skip('libfaketime is not installed');
  const figures = await jumpClock({
    library,
    jumps: 20,
    restartEachJumps: 6,
    sleepers: 2,
    napMs: 1000,
    // However slow the machine is, no nap is late and a worker is heard in time.
    leaseTtlMs: 10_000,
    patienceMs: 240_000,
    seed: 20261129,
    folder: folder.path,
  });
  expect(figures).toMatchObject({ jumps: 20, restarts: 3 });
  expect(figures.napsOverARestart).toBeGreaterThan(0);
  expect(figures.looksAtDates).toBeGreaterThan(0);
  expect(figures.bodies).toBeGreaterThan(0);
});
