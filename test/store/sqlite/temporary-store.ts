import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { openSqliteSignalStore, type SqliteSignalStoreOptions } from '../../../src/store/sqlite/signals/open.ts';

export type TemporaryFolder = { readonly folder: string; readonly path: string; readonly remove: () => void };

/** A folder of its own for one test, and the name of a data file in it. */
export const temporaryFolder = (): TemporaryFolder => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-signals-'));
  return { folder, path: join(folder, 'svc.db'), remove: () => rmSync(folder, { recursive: true, force: true }) };
};

export type TemporaryStore = {
  readonly store: SignalStore;
  readonly path: string;
  readonly remove: () => Promise<void>;
};

/** An empty store in a folder of its own. */
export const openTemporary = async (options: Partial<SqliteSignalStoreOptions> = {}): Promise<TemporaryStore> => {
  const { path, remove } = temporaryFolder();
  const store = await openSqliteSignalStore({ path, ...options });
  return {
    store,
    path,
    remove: async () => {
      await store.close();
      remove();
    },
  };
};
