import { afterAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { buildShim } from './disk.ts';
import { runsPowerCut } from './runs-power-cut.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

describe('a power cut under durable runs', () => {
  it('loses no start, step, event or cancel that was acknowledged, runs no at_most_once body twice, and every run goes on to its end', async ({
    skip,
  }) => {
    const built = buildShim(folder.path);
    const shim = 'path' in built ? built.path : skip(built.missing);
    const seed = Date.now() % 1_000_000;
    console.log(`runs power cut seed ${seed}`);
    const figures = await runsPowerCut({ images: 4, imagesPerLoad: 2, seed, home: `${folder.path}/cuts`, shim });
    console.log(`runs power cut figures ${JSON.stringify(figures)}`);
    expect(figures.images).toBe(4);
    expect(figures.completes).toBeGreaterThan(0);
    expect(figures.openAfterCut).toBeGreaterThan(0);
  });

  it.for([
    // SQLite opens what is left of a log without a word: only the ledger knows what was in it.
    [
      'svc-runs.db-wal',
      /acknowledged|was cancelled|its journal|answered 404|are? parked|belongs to another file|damaged|integrity/,
    ],
    // The outbox let go of spans that the signals file had said it held.
    ['svc.db-wal', /its trace|belongs to another file|damaged|integrity/],
  ] as const)(
    'is found out by this very check on a disk that lies about syncs of %s',
    async ([liesAboutSyncsOf, fault], { skip }) => {
      const built = buildShim(folder.path);
      const shim = 'path' in built ? built.path : skip(built.missing);
      const home = `${folder.path}/${liesAboutSyncsOf}`;
      // It ends with the first loss, most often within the first dozen: which moments lose something is a matter of luck.
      const cuts = runsPowerCut({
        images: 96,
        imagesPerLoad: 6,
        seed: 3,
        home,
        shim,
        liesAboutSyncsOf,
        traceMs: 5_000,
      });
      await expect(cuts).rejects.toThrow(fault);
    },
  );
});
