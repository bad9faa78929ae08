import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import { openDataFile } from '../../../src/store/sqlite/connection.ts';
import { openSqliteRunStore } from '../../../src/store/sqlite/runs/open.ts';
import { RUNS_FILE } from '../../../src/store/sqlite/runs/schema.ts';
import { TRIM_BY_NUMBER, TRIM_BY_TIME } from '../../../src/store/sqlite/runs/watch-journal.ts';
import {
  aWatchEntry,
  aWatchSnapshot,
  expectUnavailable,
  watchJournalContract,
} from '../runs/watch-journal-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'watch-journal-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const freshPath = (): string => join(folder, `${crypto.randomUUID()}.db`);
const ofErrors = { type: 'monitor', id: 'errors', project: 'shop' } as const;

watchJournalContract('sqlite', async () => {
  const { watchJournal, close } = await openSqliteRunStore({ path: freshPath() });
  return { journal: watchJournal, close };
});

describe('sqlite: the journal of monitors and SLOs in the runs file', () => {
  it('is found by the next service', async () => {
    const path = freshPath();
    const first = await openSqliteRunStore({ path });
    await first.watchJournal.record([aWatchSnapshot(4)], [aWatchEntry(1), aWatchEntry(2)]);
    await first.close();
    const second = await openSqliteRunStore({ path });
    expect(await second.watchJournal.heads()).toEqual([{ type: 'monitor', id: 'errors', seq: 2, version: 4 }]);
    expect(await second.watchJournal.findEntry(ofErrors, 2)).toEqual(aWatchEntry(2));
    await second.close();
  });

  it.each([1, 2])('a file of schema version %i is brought forward, with what it holds', async (version) => {
    const path = freshPath();
    const { standing: _standing, ...kind } = RUNS_FILE;
    const asItWas = { ...kind, schemaVersion: version, migrations: kind.migrations.slice(0, version) };
    const { db } = openDataFile(path, 4, asItWas);
    db.prepare("INSERT INTO definition VALUES ('flow', 1, '{}', 'h', 1)").run();
    db.close();
    const store = await openSqliteRunStore({ path });
    expect(await store.listDefinitions({ reach: 'all', limit: 9 })).toHaveLength(1);
    expect(await store.watchJournal.heads()).toEqual([]);
    await store.watchJournal.record([aWatchSnapshot(1)], [aWatchEntry(1)]);
    await store.close();
    const again = await openSqliteRunStore({ path });
    expect(await again.watchJournal.listEntries(ofErrors, 9, 9)).toEqual([aWatchEntry(1)]);
    await again.close();
    const after = new Database(path, { readonly: true });
    expect(after.prepare('SELECT version FROM schema_version').pluck().all()).toEqual(
      RUNS_FILE.migrations.map((migration) => migration.version),
    );
    after.close();
  });

  it('a closed store is unavailable', async () => {
    const store = await openSqliteRunStore({ path: freshPath() });
    await store.close();
    await expectUnavailable(store.watchJournal);
  });

  it.each([
    ['number', TRIM_BY_NUMBER, ['monitor', 'errors', 1]],
    ['time', TRIM_BY_TIME, [1]],
  ] as const)('trims by %s without reading the whole journal', (_what, sql, values) => {
    const { db } = openDataFile(freshPath(), 4, RUNS_FILE);
    const plan = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
    expect(plan.map(({ detail }) => detail).join()).toMatch(/SEARCH watch_journal/);
    expect(plan.map(({ detail }) => detail).join()).not.toMatch(/SCAN/);
    db.close();
  });
});
