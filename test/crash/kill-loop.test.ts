import { expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { killLoop } from './kill-loop.ts';

const CYCLES = 16;

it('keeps every acknowledged batch, whole and once, over 16 SIGKILLs under load', async () => {
  const folder = temporaryFolder();
  const seed = Date.now() % 1_000_000;
  console.log(`kill loop seed ${seed}`);
  try {
    const figures = await killLoop({ cycles: CYCLES, seed, folder: folder.path });
    expect(figures.cycles).toBe(CYCLES);
    expect(figures.acknowledged).toBeGreaterThan(CYCLES);
    console.log(`kill loop figures ${JSON.stringify(figures)}`);
  } finally {
    folder.remove();
  }
});
