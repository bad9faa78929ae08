import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { RunStore } from '../../src/store/runs/run-store.ts';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { runsSuite } from './runs-suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'runs-'));
const stores: RunStore[] = [];
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  rmSync(folder, { recursive: true });
});

runsSuite(async () => {
  // One at a time: a store has two threads, and a test leaves its own behind.
  await stores.pop()?.close();
  const store = await openSqliteRunStore({ path: join(folder, `${crypto.randomUUID()}.db`) });
  stores.push(store);
  return store;
});
