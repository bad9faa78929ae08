import { expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { runBomb } from './run-bomb.ts';

// Paces go by the wall clock. Cores that others keep busy slow all of them, and not always at the same time, so their margins are wide,
// and half of the pace is what the command asks for. Runs for each second of the service's own processor time change less.
it('a run that starts itself fifty times over does not stop the runs of another project, and a cancel ends it', async () => {
  const folder = temporaryFolder();
  try {
    const figures = await runBomb({ seconds: 2, folder: folder.path });
    expect(figures.bombRuns).toBeGreaterThan(100);
    expect(figures.paceBeside).toBeGreaterThan(figures.paceAlone / 10);
    expect(figures.paceWhileCancelled).toBeGreaterThan(figures.paceAlone / 20);
    expect(figures.shareBeside).toBeGreaterThan(0.25);
    expect(figures.begunAfterCancel).toBeLessThan(figures.bombRuns);
    expect(figures.peakMebibytes).toBeLessThan(1536);
  } finally {
    folder.remove();
  }
});
