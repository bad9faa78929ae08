import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { histories, registerAll } from './commands.ts';
import { corners } from './corners.ts';
import { mustBeSeen } from './coverage.ts';
import { anyDefinition } from './definitions.ts';
import { createPair } from './pair.ts';
import { pauseCorners } from './pause-corners.ts';

/** The same histories in every build: coverage is then a fact and not a matter of luck. Others are drawn by the campaign. */
const SEED = 20_261_120;
const folder = mkdtempSync(join(tmpdir(), 'runs-oracle-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const onSqlite = () => openSqliteRunStore({ path: join(folder, `${crypto.randomUUID()}.db`) });
const onMemory = async (): Promise<RunStore> => createMemoryRunStore();
const seen = new Set<string>();

describe.each([
  { name: 'memory', open: onMemory, numRuns: 60 },
  { name: 'sqlite', open: onSqlite, numRuns: 12 },
])('the service on $name and a naive engine, given the same calls', ({ open, numRuns }) => {
  it.each([
    ['where chance seldom leads', corners],
    ['wherever a run is paused', pauseCorners],
  ])('say the same and hold the same %s', async (_where, play) => {
    const store = await open();
    const pair = await createPair(store);
    await registerAll(pair, { id: 'any', version: 1, steps: [{ id: 'only', kind: 'task' }] });
    await play(pair);
    expect(pair.engine.seen.size).toBeGreaterThan(0);
    for (const one of pair.engine.seen) seen.add(one);
    await store.close();
  });

  it('say the same and hold the same after every call of any history', async () => {
    await fc.assert(
      fc.asyncProperty(anyDefinition, histories(60), async (any, commands) => {
        const store = await open();
        const pair = await createPair(store);
        await registerAll(pair, any);
        try {
          await fc.asyncModelRun(() => ({ model: {}, real: pair }), commands);
        } finally {
          for (const one of pair.engine.seen) seen.add(one);
          await store.close();
        }
      }),
      { seed: SEED, numRuns },
    );
    expect(seen.size).toBeGreaterThan(0);
  });
});

describe('the histories above', () => {
  it('have seen each call, each refusal, each kind of step and each way that a run can take', () => {
    expect(mustBeSeen.filter((one) => !seen.has(one))).toEqual([]);
  });
});
