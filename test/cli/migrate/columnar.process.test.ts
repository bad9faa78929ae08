import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDatabaseUrl } from '../../../src/store/clickhouse/address.ts';
import { openClickHouseSignalStore } from '../../../src/store/clickhouse/signals/open.ts';
import { heldKinds } from '../../../src/store/signals/moving.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { type ClickHouseServer, startClickHouse } from '../../clickhouse.ts';
import { startDaemon, temporaryFolder } from '../../daemon.ts';
import { aCorpus, unitsOf } from '../../store/signals/drawn-corpus.ts';
import { aLog, aSpan, aUnit, T0, traceIdOf } from '../../store/signals/factories.ts';
import { heldOf, textOf } from '../../store/signals/moving-contract.ts';

let server: ClickHouseServer;
beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.remove());

const temporary = temporaryFolder();
afterAll(temporary.remove);
let files = 0;
const aFile = (): string => {
  const folder = join(temporary.path, String((files += 1)));
  mkdirSync(folder);
  return join(folder, 'svc.db');
};
const aDatabase = (): string => {
  const { url, database } = server.create();
  return `clickhouse+${url.origin}/${database}`;
};

/** Does something with the store of an address, and closes it. */
const within = async <T>(address: string, work: (store: SignalStore) => Promise<T>): Promise<T> => {
  const parsed = parseDatabaseUrl(address);
  const store = parsed.ok
    ? await openClickHouseSignalStore({ address: parsed.value })
    : await openSqliteSignalStore({ path: address });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
};
const contentOf = (address: string): Promise<Record<string, string[]>> =>
  within(address, async (store) => {
    const content: Record<string, string[]> = {};
    for (const kind of heldKinds) content[kind] = (await heldOf(store, kind, { limit: 1_000 })).map(textOf).toSorted();
    return content;
  });

const PROGRAM = join(import.meta.dirname, '../../../bin/svc.mjs');
const move = async (from: string, to: string) => {
  const child = spawn(process.execPath, [PROGRAM, 'migrate', '--from', from, '--to', to], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
};

describe('svc migrate and ClickHouse', () => {
  it('moves any signals from a file into ClickHouse and back into a file, digit by digit; a move that runs again changes nothing', async () => {
    const [first, database, last] = [aFile(), aDatabase(), aFile()];
    const [corpus] = fc.sample(aCorpus, 1);
    await within(first, async (store) => {
      if (corpus !== undefined) for (const unit of unitsOf(corpus)) await store.write(unit);
      await store.write(aUnit({ spans: [aSpan({ input: 'question' })], logs: [aLog(), aLog()] }, 'key-of-a-sender'));
      await store.putDataset({ datasetId: 'd', name: 'n', project: 'one', createdAt: T0 });
      await store.putItems({ project: 'one', datasetId: 'd' }, [{ itemId: 'i', input: { a: [1] }, createdAt: T0 }]);
      await store.appendAudit([
        {
          ...{ auditId: 'a', at: T0, operation: 'getTrace', project: 'one', remoteAddress: '::1' },
          ...{ resource: traceIdOf(1), outcome: 'allowed' },
        },
      ]);
    });
    const content = await contentOf(first);
    for (const [from, to] of [
      [first, database],
      [first, database],
      [database, last],
    ] as const) {
      expect(await move(from, to)).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringContaining('Both sides agree.'),
      });
      expect(await contentOf(to)).toEqual(content);
    }
  });

  it('refuses a database that a service serves', async () => {
    const database = aDatabase();
    const parsed = parseDatabaseUrl(database);
    if (!parsed.ok) throw new Error(parsed.problem);
    const folder = join(temporary.path, 'served');
    mkdirSync(folder);
    const daemon = await startDaemon(folder, ['--runs-data', 'off'], {
      SVCD_COLSTORE_URL: parsed.value.url.origin,
      SVCD_COLSTORE_DATABASE: parsed.value.database,
    });
    try {
      const free = aFile();
      await within(free, async () => {});
      expect(await move(free, database)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^svc: http:\/\/127.*: a service serves it; stop all of its services first\n$/),
      });
    } finally {
      await daemon.stop();
    }
  });
});
