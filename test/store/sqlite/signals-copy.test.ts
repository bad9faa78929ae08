import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { aSpan, aUnit, traceIdOf, traces } from '../signals/factories.ts';
import { temporaryFolder } from './temporary-store.ts';

const leave: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of leave.splice(0).toReversed()) await step();
});
const newPath = (): string => {
  const { path, remove } = temporaryFolder();
  leave.push(remove);
  return path;
};
const open = async (path: string): Promise<SignalStore> => {
  const store = await openSqliteSignalStore({ path });
  leave.push(() => store.close());
  return store;
};
const write = (store: SignalStore, n: number, input: string) =>
  store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(n), input })] }));
const found = async (store: SignalStore, q?: string): Promise<string[]> =>
  (await store.listTraces(traces(q === undefined ? {} : { q }))).items.map(({ traceId }) => traceId).toSorted();
const vacuumInto = (from: string, to: string): void => {
  const db = new Database(from, { readonly: true });
  db.prepare('VACUUM INTO ?').run(to);
  db.close();
};

describe('a copy by VACUUM INTO', () => {
  it('made while the service writes, it is opened as it is: all that was written before it is there and found', async () => {
    const path = newPath();
    const store = await open(path);
    await write(store, 1, 'first words');
    const copy = newPath();
    vacuumInto(path, copy);
    await write(store, 2, 'later words');
    const restored = await open(copy);
    expect(await found(restored)).toEqual([traceIdOf(1)]);
    expect(await found(restored, 'words')).toEqual([traceIdOf(1)]);
    await write(restored, 3, 'own words');
    expect(await found(restored, 'words')).toEqual([traceIdOf(1), traceIdOf(3)]);
    await restored.close();
    const db = new Database(copy, { readonly: true });
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    db.close();
    expect(await found(await open(copy), 'words')).toEqual([traceIdOf(1), traceIdOf(3)]);
  });

  it('in the place of the original, the full-text index of the original is not taken for its own', async () => {
    const path = newPath();
    const store = await open(path);
    await write(store, 1, 'kept words');
    const copy = newPath();
    vacuumInto(path, copy);
    await store.deleteTraces([traceIdOf(1)], 'all'); // the index of the original forgets what the copy holds
    await write(store, 2, 'later words');
    await store.close();
    copyFileSync(copy, path);
    const restored = await open(path);
    expect(await found(restored, 'words')).toEqual([traceIdOf(1)]);
  });

  it('is refused, and not changed, while the log of another file lies beside it', async () => {
    const path = newPath();
    const store = await open(path);
    await write(store, 1, 'words');
    const copy = newPath();
    vacuumInto(path, copy);
    const before = readFileSync(copy);
    writeFileSync(`${copy}-wal`, readFileSync(`${path}-wal`));
    const opening = openSqliteSignalStore({ path: copy });
    await expect(opening).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(opening).rejects.toThrow(/svc\.db-wal beside it belongs to another file; remove that$/);
    expect(readFileSync(copy).equals(before)).toBe(true);
  });
});
