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

it('has a batch of thousands of spans whole or not at all, and each that was acknowledged, when SIGKILL comes while it is taken', async () => {
  const folder = temporaryFolder();
  const seed = Date.now() % 1_000_000;
  console.log(`kill loop seed ${seed}, large batches`);
  try {
    // With what a native batch holds beside them, just below the bound of 10,000 signals.
    const figures = await killLoop({ cycles: 2, writers: 2, spans: 9900, seed, folder: folder.path });
    expect(figures.cycles).toBe(2);
    expect(figures.unknownKept + figures.unknownLost).toBeGreaterThan(0);
    console.log(`kill loop figures ${JSON.stringify(figures)}`);
  } finally {
    folder.remove();
  }
});
