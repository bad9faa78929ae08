import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteSignalStore } from '../../../../src/store/sqlite/signals/open.ts';
import { temporaryFolder } from '../../../daemon.ts';

const open = async () => {
  const folder = temporaryFolder();
  const store = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
  return {
    store,
    folder,
    close: async () => {
      await store.close();
      folder.remove();
    },
  };
};

describe('SQLite: datasets and experiments', () => {
  it('are there after the file is opened again', async () => {
    const { store, folder } = await open();
    const dataset = { datasetId: 'd', name: 'kept', project: 'p', createdAt: 1n };
    await store.putDataset(dataset);
    await store.putItems(dataset, [{ itemId: 'i', input: 'in', createdAt: 1n }]);
    await store.putExperiment({ experimentId: 'e', name: 'kept too', project: 'p', createdAt: 1n });
    await store.close();
    const again = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
    expect(await again.findDataset('kept', [], 'all')).toEqual({ ...dataset, itemCount: 1 });
    expect((await again.findExperiment('e', 'all'))?.name).toBe('kept too');
    await again.close();
    folder.remove();
  });

  it('share commits with signals: many at once are all answered', async () => {
    const { store, close } = await open();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        store.putDataset({ datasetId: `d-${i}`, name: `n-${i % 25}`, project: 'p', createdAt: BigInt(i) }),
      ),
    );
    // Half of them come second to a name that is taken: those are refused, and cost the others nothing.
    expect(outcomes.filter((outcome) => outcome !== undefined)).toHaveLength(25);
    expect((await store.listDatasets({ projects: ['p'], limit: 100 })).items).toHaveLength(25);
    await close();
  });

  it('leave nothing of a deleted case in the files', async () => {
    const { readFileSync, readdirSync } = await import('node:fs');
    const { store, folder, close } = await open();
    const dataset = { datasetId: 'd', name: 'n', project: 'p', createdAt: 1n };
    await store.putDataset(dataset);
    await store.putItems(dataset, [{ itemId: 'i', input: 'a remarkable-marker-4711', createdAt: 1n }]);
    const holds = () =>
      readdirSync(folder.path).filter((name) =>
        readFileSync(join(folder.path, name)).includes('remarkable-marker-4711'),
      );
    expect(holds()).not.toEqual([]);
    expect(await store.deleteItem(dataset, 'i')).toEqual({ deleted: 1, pending: false });
    expect(holds()).toEqual([]);
    await close();
  });
});
