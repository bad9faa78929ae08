import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeServer, openColumnar } from '../../src/cli/doctor/columnar.ts';
import type { ServerAddress } from '../../src/store/clickhouse/address.ts';
import { openClickHouseSignalStore } from '../../src/store/clickhouse/signals/open.ts';
import { type ClickHouseServer, startClickHouse } from '../clickhouse.ts';
import { aSpan, aUnit } from '../store/signals/factories.ts';

let server: ClickHouseServer;
beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.remove());

const examine = async (address: ServerAddress, readOnly = false): Promise<string[]> => {
  const { findings, close } = await openColumnar(address, readOnly);
  await close();
  return findings.map(({ level, message }) => `${level}: ${message}`);
};
const aStore = async (): Promise<ServerAddress> => {
  const address = server.create();
  const store = await openClickHouseSignalStore({ address });
  await store.write(aUnit({ spans: [aSpan({})] }));
  await store.close();
  return address;
};

describe('storage of the deployment check, on ClickHouse', () => {
  it('a healthy one answers, the probe span survives and is in no list, and it can be asked', async () => {
    const opened = await openColumnar(await aStore(), false);
    expect(opened.findings.map(({ level }) => level)).toEqual(['ok', 'ok']);
    expect(opened.findings[0]?.message).toMatch(
      /^http:\/\/127.*\(database svc_\d+, user default\) answers: ClickHouse \d+\.\d+.*, schema version 5$/,
    );
    expect(opened.findings[1]?.message).toBe('a probe span survived write, read and delete');
    if (!('reads' in opened)) throw new Error('it cannot be asked');
    expect((await opened.reads.listProjects({ projects: 'all', limit: 10 })).items).toHaveLength(1);
    const spans = await opened.reads.listSpans({ projects: 'all', limit: 10, order: 'asc', payloads: false });
    expect(spans.items).toHaveLength(1);
    await opened.close();
  });

  it('counts the services that have it open, by what each claims, until it gives that back', async () => {
    const address = await aStore();
    const store = await openClickHouseSignalStore({ address });
    const { sharing } = store;
    if (sharing === undefined) throw new Error('the store is not shared');
    for (const holder of ['one', 'two', 'one']) await sharing.holdDuty('retention', holder, 60_000);
    expect(await examine(address, true)).toContain('ok: 2 services have it open');
    await sharing.endDuty('retention', 'two');
    expect(await examine(address, true)).toContain('ok: 1 service has it open');
    await store.close();
  });

  it('with --read-only it writes nothing, and says what that proves', async () => {
    expect((await examine(await aStore(), true))[1]).toMatch(/^skipped: no probe span was written/);
  });

  it('a database that is not there is not made', async () => {
    const address = server.create();
    expect((await examine(address)).at(-1)).toBe('skipped: the tables are not there yet; the first start makes them');
    expect(await server.run(`SELECT count() FROM system.databases WHERE name = '${address.database}'`)).toBe('0');
  });

  it('one that is away is a fault that says why', async () => {
    expect(await examine({ ...server.create(), url: new URL('http://127.0.0.1:1') })).toEqual([
      'fault: signal store: ClickHouse does not answer (ECONNREFUSED)',
    ]);
  });

  it('a newer schema is a fault, and is not asked', async () => {
    const address = await aStore();
    await server.run(`INSERT INTO schema_version (store, version) VALUES ('signals', 6)`, address.database);
    const opened = await openColumnar(address, false);
    await opened.close();
    expect(opened.findings.map(({ level }) => level)).toEqual(['ok', 'fault']);
    expect('unread' in opened).toBe(true);
  });

  it('deletes that hang are a warning that names their tables', () => {
    const facts = { version: '26.2.1.1', schemaVersion: 2, hangingDeletes: ['spans'], services: 0 };
    expect(judgeServer(facts).map(({ level }) => level)).toEqual(['warning']);
    expect(judgeServer(facts)[0]?.message).toContain('(spans)');
    expect(judgeServer({ ...facts, hangingDeletes: [] })).toEqual([]);
  });
});
