import { expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { runBomb } from './run-bomb.ts';

// The margins are wide: cores that others keep busy slow both sides, and not always at the same time.
it('a run that starts itself fifty times over does not stop the runs of another project, and a cancel ends it', async () => {
  const folder = temporaryFolder();
  try {
    const figures = await runBomb({ seconds: 2, folder: folder.path });
    expect(figures.bombRuns).toBeGreaterThan(100);
    expect(figures.paceBeside).toBeGreaterThan(figures.paceAlone / 10);
    expect(figures.paceWhileCancelled).toBeGreaterThan(figures.paceAlone / 20);
    expect(figures.peakMebibytes).toBeLessThan(1536);
  } finally {
    folder.remove();
  }
});
