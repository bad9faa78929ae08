import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { createHarness, type Harness } from './run-harness.ts';

/** What a suite gets to work on. */
export type Engine = {
  /** An empty store. It is closed when the next one opens, and at the end of the suite. */
  readonly open: () => Promise<RunStore>;
  /** A service over an empty store. */
  readonly createHarness: (options?: Parameters<typeof createHarness>[0]) => Promise<Harness>;
};

const onMemory = (): (() => Promise<RunStore>) => async () => createMemoryRunStore();

const onSqlite = (): (() => Promise<RunStore>) => {
  const folder = mkdtempSync(join(tmpdir(), 'runs-'));
  const stores: RunStore[] = [];
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    rmSync(folder, { recursive: true });
  });
  return async () => {
    // One at a time: a store has two threads, and a test leaves its own behind.
    await stores.pop()?.close();
    const store = await openSqliteRunStore({ path: join(folder, `${crypto.randomUUID()}.db`) });
    stores.push(store);
    return store;
  };
};

const engines = { memory: onMemory, SQLite: onSqlite } as const;

/** Runs one suite on every engine: durable runs make the same promises whatever they are stored on. */
export const onEachEngine = (title: string, suite: (engine: Engine) => void): void => {
  for (const [name, prepare] of Object.entries(engines))
    describe(`${title}, in ${name}`, () => {
      const open = prepare();
      suite({
        open,
        createHarness: async (options = {}) => createHarness({ ...options, store: options.store ?? (await open()) }),
      });
    });
};
