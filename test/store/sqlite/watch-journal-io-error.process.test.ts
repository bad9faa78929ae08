import { SERVICE } from '../../../src/model/definition/owner.ts';
import { expect, it } from 'vitest';
import { noChanges } from '../../../src/store/runs/changes.ts';
import { openSqliteRunStore } from '../../../src/store/sqlite/runs/open.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { aWatchEntry, aWatchSnapshot } from '../runs/watch-journal-contract.ts';
import { breakFile } from './break-file.ts';
import { temporaryFolder } from './temporary-store.ts';

const ofErrors = { type: 'monitor', id: 'errors', project: 'shop' } as const;

it('a disk that fails under the journal of monitors, as often as it does, ends no process; under the runs it does', async () => {
  const { path, remove } = temporaryFolder();
  const fatal: string[] = [];
  const store = await openSqliteRunStore({ path, onFatal: (message) => fatal.push(message) });
  const failing = async (work: () => Promise<void>): Promise<void> => {
    await store.watchJournal.heads(); // the writer opens its log with the first question
    expect(breakFile(`${path}-wal`)).toBeGreaterThan(0);
    await expect(work()).rejects.toBeInstanceOf(StoreUnavailable);
  };
  const record = () => store.watchJournal.record([aWatchSnapshot(1)], [aWatchEntry(1)]);
  for (let round = 1; round <= 4; round += 1) await failing(record);
  expect(fatal).toEqual([]);
  await record();
  expect(await store.watchJournal.listEntries(ofErrors, 9, 9)).toEqual([aWatchEntry(1)]);

  for (let round = 1; round <= 3; round += 1)
    await failing(() => {
      const changes = noChanges();
      changes.definitions.push({ owner: SERVICE, id: 'flow', version: round, document: '{}', hash: 'h', createdAt: 1 });
      return store.commit(changes);
    });
  expect(fatal).toHaveLength(1);
  await store.close();
  remove();
});
