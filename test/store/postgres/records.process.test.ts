import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresSignalStore } from '../../../src/store/postgres/signals/open.ts';
import { MOST_SAVED_VIEWS } from '../../../src/store/signals/saved-views.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { aSpan, aUnit, T0, traceIdOf } from '../signals/factories.ts';
import type { OpenStore } from '../signals/opening.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

const openNew: OpenStore = async () => {
  const url = server.create();
  const opened: SignalStore[] = [];
  const open = async (): Promise<SignalStore> => {
    const store = await openPostgresSignalStore({ url, connections: 4 });
    opened.push(store);
    return store;
  };
  return {
    store: await open(),
    replica: open,
    remove: async () => {
      await Promise.all(opened.map((store) => store.close()));
    },
  };
};

describe('records of a PostgreSQL database with two replicas', () => {
  const pair = async () => {
    const { store, replica, remove } = await openNew();
    return { one: store, other: await replica(), remove };
  };

  it('two datasets that want one name at once: one has it', async () => {
    const { one, other, remove } = await pair();
    for (let round = 0; round < 5; round += 1) {
      const stored = await Promise.all(
        [one, other, one, other].map((store, place) =>
          store.putDataset({ datasetId: `d-${round}-${place}`, name: `n-${round}`, project: 'default', createdAt: T0 }),
        ),
      );
      expect(stored.filter((dataset) => dataset !== undefined)).toHaveLength(1);
    }
    await remove();
  });

  it('a case is never added to a dataset that is being deleted', async () => {
    const { one, other, remove } = await pair();
    for (let round = 0; round < 10; round += 1) {
      const dataset = { project: 'default', datasetId: `d-${round}` };
      await one.putDataset({ ...dataset, name: `n-${round}`, createdAt: T0 });
      const [outcome] = await Promise.all([
        other.putItems(dataset, [{ itemId: 'i', input: 1, createdAt: T0 }]),
        one.deleteDataset(dataset),
      ]);
      expect(['written', 'no_dataset']).toContain(outcome);
      expect(await other.findItem(dataset, 'i')).toBeUndefined();
      expect(await other.findDataset(dataset.datasetId, 'all', 'all')).toBeUndefined();
    }
    await remove();
  });

  it(`views that come through both at once are ${MOST_SAVED_VIEWS} at the most`, async () => {
    const { one, other, remove } = await pair();
    const stored = await Promise.all(
      Array.from({ length: MOST_SAVED_VIEWS + 5 }, (_, n) =>
        (n % 2 === 0 ? one : other).putView({
          viewId: `v-${n}`,
          name: 'v',
          project: 'default',
          createdAt: T0,
          shows: { kind: 'page', path: '/traces' },
        }),
      ),
    );
    expect(stored.filter((view) => view !== undefined)).toHaveLength(MOST_SAVED_VIEWS);
    await remove();
  });

  it('audit rows come back through every filter, page by page, and go with their age', async () => {
    const { one, other, remove } = await pair();
    const entry = (auditId: string, at: bigint, fields: object = {}) => ({
      ...{ auditId, at, operation: 'read_trace', project: 'default', remoteAddress: '127.0.0.1' },
      ...{ resource: 'trace/1', outcome: 'allowed' as const, ...fields },
    });
    const third = entry('3', T0 + 2n, { subject: 'ann', keyFingerprint: 'f', operation: 'delete_traces' });
    await one.appendAudit([entry('1', T0), entry('2', T0 + 1n, { project: 'p'.repeat(3_000) })]);
    await other.appendAudit([third]);
    await one.appendAudit([]);
    const ids = async (query: object): Promise<string[]> =>
      (await other.listAudit({ projects: 'all', limit: 10, ...query })).items.map(({ auditId }) => auditId);
    expect((await other.listAudit({ projects: 'all', limit: 1 })).items).toEqual([third]);
    expect(await ids({})).toEqual(['3', '2', '1']);
    expect(await ids({ projects: ['p'.repeat(3_000), 'a\0b'] })).toEqual(['2']);
    expect(await ids({ operation: 'read_trace' })).toEqual(['2', '1']);
    expect(await ids({ subject: 'ann' })).toEqual(['3']);
    expect(await ids({ subject: 'an\0' })).toEqual([]);
    expect(await ids({ from: T0 + 1n, to: T0 + 2n })).toEqual(['2']);
    const first = await other.listAudit({ projects: 'all', limit: 2 });
    expect(await ids({ after: first.next })).toEqual(['1']);
    await one.trimRecords(T0 + 1n, 0n);
    expect(await ids({})).toEqual(['3', '2']);
    await remove();
  });

  it('names with U+0000 are stored with U+FFFD in its place, and nothing is found by such a name', async () => {
    const { one, remove } = await pair();
    const stored = await one.putDataset({ datasetId: 'a\0b', name: 'n\0', project: 'default', createdAt: T0 });
    expect(stored).toMatchObject({ datasetId: 'a\ufffdb', name: 'n\ufffd' });
    expect(await one.findDataset('a\0b', 'all', 'all')).toBeUndefined();
    expect(await one.findDataset('a\ufffdb', 'all', 'all')).toEqual(stored);
    const dataset = { project: 'default', datasetId: 'a\ufffdb' };
    await one.putItems(dataset, [{ itemId: 'i', input: 'in\0put', createdAt: T0 }]);
    expect(await one.findItem(dataset, 'i')).toMatchObject({ input: 'in\0put' });
    expect(await one.findItem(dataset, 'i\0')).toBeUndefined();
    await remove();
  });

  it('keys of batches are known to both, and forgotten with their age', async () => {
    const { one, other, remove } = await pair();
    await one.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1), receivedAt: T0 })] }, 'key'));
    expect(await other.isWritten('key')).toBe(true);
    expect(await other.isWritten('other')).toBe(false);
    await other.trimRecords(0n, T0);
    expect(await one.isWritten('key')).toBe(true);
    await other.trimRecords(0n, T0 + 1n);
    expect(await one.isWritten('key')).toBe(false);
    await remove();
  });

  it('commits what was taken, then refuses', async () => {
    const { one, remove } = await pair();
    const taken = Array.from({ length: 20 }, (_, n) =>
      one.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(n + 1) })] })),
    );
    await one.close();
    expect(await Promise.all(taken)).toEqual(Array(20).fill('written'));
    await expect(one.write(aUnit({}))).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(one.ping()).rejects.toBeInstanceOf(StoreUnavailable);
    await one.close();
    await remove();
  });
});
