import { expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { outcomes, stopUnderLoad } from './stops.ts';

// Three of the five hundred of `node test/faults/stops.ts`.
it('a stop answers all that was sent, or is sent shortly after it, on connections that stood before it', async () => {
  const folder = temporaryFolder();
  try {
    const { before, exitCodes } = await stopUnderLoad({ stops: 3, seed: 20261122, folder: folder.path });
    for (const [kind, counts] of Object.entries(before)) {
      const unanswered = outcomes
        .filter((outcome) => outcome !== 'answered')
        .map((outcome) => [outcome, counts[outcome]]);
      expect([kind, ...unanswered]).toEqual([kind, ['ended', 0], ['reset', 0], ['refused', 0], ['silent', 0]]);
      expect(counts.answered).toBeGreaterThan(0);
    }
    expect(exitCodes).toEqual([0]);
  } finally {
    folder.remove();
  }
});
