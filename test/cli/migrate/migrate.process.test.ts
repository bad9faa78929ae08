import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { emptyBatch } from '../../../src/model/signal.ts';
import { openPostgresSignalStore } from '../../../src/store/postgres/signals/open.ts';
import { heldKinds } from '../../../src/store/signals/moving.ts';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { startDaemon, temporaryFolder } from '../../daemon.ts';
import { type PostgresServer, startPostgres } from '../../postgres.ts';
import { aCorpus, answersOf, aQuestion, unitsOf } from '../../store/signals/drawn-corpus.ts';
import {
  aFeedback,
  aLog,
  aPoint,
  aScore,
  aSpan,
  aUnit,
  spanIdOf,
  T0,
  traceIdOf,
} from '../../store/signals/factories.ts';
import { heldOf, textOf } from '../../store/signals/moving-contract.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
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

const opened: SignalStore[] = [];
const closeAll = async (): Promise<void> => {
  for (const store of opened.splice(0)) await store.close();
};
afterEach(closeAll);
/** A store of a test, by its address. */
const open = async (address: string): Promise<SignalStore> => {
  const store = address.startsWith('postgres')
    ? await openPostgresSignalStore({ url: address, connections: 2 })
    : await openSqliteSignalStore({ path: address });
  opened.push(store);
  return store;
};

const PROGRAM = join(import.meta.dirname, '../../../bin/svc.mjs');
/** Runs `svc migrate`. @param killAfterMs ends it with SIGKILL */
const svcMigrate = async (args: readonly string[], killAfterMs?: number) => {
  const child = spawn(process.execPath, [PROGRAM, 'migrate', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  return { code, signal, out, err };
};
const move = (from: string, to: string, ...more: string[]) => svcMigrate(['--from', from, '--to', to, ...more]);

const sorted = (items: unknown): string[] => (items as unknown[]).map(textOf).toSorted();
/** All that a store holds, of each kind in an order of its own. */
const contentOf = async (store: SignalStore): Promise<Record<string, string[]>> => {
  const content: Record<string, string[]> = {};
  for (const kind of heldKinds) content[kind] = (await heldOf(store, kind, { limit: 1_000 })).map(textOf).toSorted();
  return content;
};

/** Records that no corpus draws, and audit rows and keys. */
const fillRecords = async (store: SignalStore): Promise<void> => {
  await store.putDataset({ datasetId: 'd', name: 'n', project: 'one', createdAt: T0 });
  await store.putItems({ project: 'one', datasetId: 'd' }, [{ itemId: 'i', input: { a: [1] }, createdAt: T0 }]);
  await store.putExperiment({ experimentId: 'e', name: 'n', project: 'two', createdAt: T0 });
  const shows = { kind: 'page', path: '/traces?user_id=u' } as const;
  await store.putView({ viewId: 'v', name: 'n', project: 'one', createdAt: T0, shows, userId: 'u' });
  await store.appendAudit([
    {
      ...{ auditId: 'a', at: T0, operation: 'getTrace', project: 'one', remoteAddress: '::1' },
      ...{ resource: traceIdOf(1), outcome: 'allowed' },
    },
  ]);
  await store.write({ ingestKey: 'key-of-a-sender', batch: { ...emptyBatch, logs: [aLog()] } });
};

describe('svc migrate', () => {
  it('moves any signals from a file into PostgreSQL and back into a file: every question has the same answer', () =>
    fc.assert(
      fc.asyncProperty(aCorpus, fc.array(aQuestion, { minLength: 4, maxLength: 4 }), async (corpus, questions) => {
        const [first, last] = [aFile(), aFile()];
        const database = server.create();
        const source = await open(first);
        for (const unit of unitsOf(corpus)) await source.write(unit);
        await fillRecords(source);
        await closeAll();

        expect(await move(first, database)).toMatchObject({ code: 0, err: '' });
        const there = await move(database, last);
        expect(there).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Both sides agree.') });

        const [before, between, after] = [await open(first), await open(database), await open(last)];
        const content = await contentOf(before);
        expect(await contentOf(between)).toEqual(content);
        expect(await contentOf(after)).toEqual(content);
        for (const question of questions) {
          const expected = await answersOf(before, question);
          const inDatabase = await answersOf(between, question);
          const inFile = await answersOf(after, question);
          for (const [place, answer] of expected.entries()) {
            expect(inDatabase[place]).toEqual(answer);
            // What is equal in the order of a list stands there as it arrived, and a database keeps no order of arrival.
            const listed = inFile[place] ?? ['nothing', []];
            if (answer[0] === 'traces') expect(sorted(listed[1])).toEqual(sorted(answer[1]));
            else expect(listed).toEqual(answer);
          }
        }
        for (const name of ['span', 'dataset'] as const)
          expect(
            name === 'span'
              ? await after.isWritten('key-of-a-sender')
              : (await after.findDataset('d', ['one'], []))?.itemCount === 1,
          ).toBe(true);
        await closeAll();
      }),
      { numRuns: 2, endOnFailure: true },
    ));

  it('goes on where it was after SIGKILL at any moment, writes nothing twice, and changes nothing when it runs once more', async () => {
    const SPANS = 6_000;
    for (const direction of ['into a database', 'into a file'] as const) {
      const file = aFile();
      const source = await open(file);
      for (let from = 0; from < SPANS; from += 2_000) {
        const numbers = Array.from({ length: 2_000 }, (_, n) => from + n);
        await source.write(
          aUnit(
            {
              spans: numbers.map((n) =>
                aSpan({
                  traceId: traceIdOf(1 + Math.floor(n / 7)),
                  spanId: spanIdOf(n),
                  input: `question ${n}`,
                  startTime: T0 + BigInt(n),
                }),
              ),
              logs: numbers.map((n) => aLog({ message: `message ${n}`, timestamp: T0 + BigInt(n) })),
              metrics: numbers.slice(0, 500).map((n) => aPoint({ timestamp: T0 + BigInt(n) })),
              scores: numbers
                .slice(0, 300)
                .map((n) => aScore({ traceId: traceIdOf(1 + n), timestamp: T0 + BigInt(n) })),
              feedback: numbers.slice(0, 300).map((n) => aFeedback({ traceId: traceIdOf(1 + n) })),
            },
            `batch-${from}`,
          ),
        );
      }
      await fillRecords(source);
      let content = await contentOf(source);
      await closeAll();
      let [from, to] = [file, server.create()];
      if (direction === 'into a file') {
        expect(await move(from, to)).toMatchObject({ code: 0 });
        [from, to] = [to, aFile()];
      }
      // A start takes long where cores are busy: each try gets longer, until one is over.
      let ended = await svcMigrate(['--from', from, '--to', to], 400);
      let kills = 0;
      for (let ms = 600; ended.signal === 'SIGKILL'; ms *= 1.3) {
        kills += 1;
        ended = await svcMigrate(['--from', from, '--to', to], ms);
      }
      expect(kills).toBeGreaterThan(0);
      expect(ended).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Both sides agree.') });
      expect(await contentOf(await open(to))).toEqual(content);
      await closeAll();
      expect(await move(from, to)).toMatchObject({ code: 0, err: '' });
      expect(await contentOf(await open(to))).toEqual(content);
      await closeAll();
      content = {};
    }
  });

  it('refuses a target that is not empty, and adds to it with --add', async () => {
    const [from, to] = [aFile(), aFile()];
    await (await open(from)).write(
      aUnit({ logs: [aLog({ logId: 'moved' })], spans: [aSpan({ spanId: spanIdOf(1), name: 'new' })] }),
    );
    const target = await open(to);
    await target.write(
      aUnit({ logs: [aLog({ logId: 'held' })], spans: [aSpan({ spanId: spanIdOf(1), name: 'old' })] }),
    );
    await closeAll();
    expect(await move(from, to)).toMatchObject({
      code: 1,
      err: 'svc: the target is not empty: it holds 1 spans, 1 logs; name an empty one, or add to it with --add\n',
    });
    expect(await move(from, to, '--add')).toMatchObject({ code: 0, err: '' });
    // Known again: nothing is added twice.
    expect(await move(from, to, '--add')).toMatchObject({ code: 0, err: '' });
    const added = await open(to);
    expect((await heldOf(added, 'logs')).map(({ logId }) => logId).toSorted()).toEqual(['held', 'moved']);
    expect((await heldOf(added, 'spans')).map(({ name }) => name)).toEqual(['new']);
  });

  it('refuses a dataset whose name another one of the target has, and says which', async () => {
    const [from, to] = [aFile(), aFile()];
    await (await open(from)).putDataset({ datasetId: 'a', name: 'same', project: 'one', createdAt: T0 });
    await (await open(to)).putDataset({ datasetId: 'b', name: 'same', project: 'one', createdAt: T0 });
    await closeAll();
    expect(await move(from, to, '--add')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^svc: dataset "a": another one of project "one" in the target has its name, "same"; rename or delete it/,
      ),
    });
  });

  it('refuses stores that a service has, on either side', async () => {
    const folder = join(temporary.path, 'served');
    mkdirSync(folder);
    const database = server.create();
    const onFile = await startDaemon(folder);
    const onDatabase = await startDaemon(folder, ['--sqlstore-url', database, '--runs-data', 'off', '--port', '0']);
    try {
      const free = aFile();
      await open(free);
      await closeAll();
      const served = join(folder, 'svc.db');
      expect(await move(served, free)).toMatchObject({ code: 1, err: expect.stringContaining('in use') });
      expect(await move(free, served)).toMatchObject({ code: 1, err: expect.stringContaining('in use') });
      const shown =
        /^svc: postgres:\/\/svc@127\.0\.0\.1:\d+\/svc_\d+\?sslmode=prefer: a service serves it; stop all of its services first\n$/;
      expect(await move(database, free)).toMatchObject({ code: 1, err: expect.stringMatching(shown) });
      expect(await move(free, database)).toMatchObject({ code: 1, err: expect.stringMatching(shown) });
      await onDatabase.stop();
      expect(await move(database, free)).toMatchObject({ code: 0 });
    } finally {
      await onFile.stop();
      await onDatabase.stop();
    }
  });

  it.each([
    ['no source', (f: string, d: string) => [f, d], /--from: .*svc\.db: there is no such file/],
    ['a folder', (_f: string, d: string) => [temporary.path, d], /--from: .*: is no file/],
    ['the same store', (_f: string, d: string) => [d, d], /--from and --to name the same store/],
    [
      'another scheme',
      (f: string) => [f, 'mysql://secret@x/y'],
      /--to: must be the path of a file, or a URL that begins with postgres:\/\//,
    ],
    ['no address in a file', (f: string) => [f, '@/dev/null'], /--to: \/dev\/null: holds no address/],
    ['a broken URL', (f: string) => [f, 'postgres://u:se@cret@h/d'], /--to: is no address of a database/],
  ])('ends with 2 for %s, and repeats no secret', async (_title, addresses, message) => {
    const [from = '', to = ''] = addresses(aFile(), 'postgres://svc@127.0.0.1:1/none');
    const ended = await move(from, to);
    expect(ended).toMatchObject({ code: 2, err: expect.stringMatching(message) });
    expect(ended.err).not.toMatch(/secret|se@cret/);
  });

  it('ends with 1 for a file that is none of ours, which it leaves as it was, and for a database that is away', async () => {
    const [foreign, to, from] = [aFile(), aFile(), aFile()];
    writeFileSync(foreign, 'this is a text');
    expect(await move(foreign, to)).toMatchObject({ code: 1, err: expect.stringContaining(foreign) });
    expect(existsSync(to)).toBe(false);
    await open(from);
    await closeAll();
    expect(await move(from, 'postgres://svc:hidden@127.0.0.1:1/none')).toMatchObject({
      code: 1,
      err: expect.not.stringContaining('hidden'),
    });
  });

  it('takes an address from a file, and shows how far it is a line a kind where it is no terminal', async () => {
    const [from, to] = [aFile(), join(temporary.path, 'address')];
    await (await open(from)).write(aUnit({ logs: [aLog(), aLog()], spans: [aSpan()] }));
    await closeAll();
    const target = aFile();
    writeFileSync(to, `${target}\n`);
    const { code, out } = await move(from, `@${to}`);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^spans +100 % {2}1 of 1.*\nlogs +100 % {2}2 of 2.*\nkind +source +target\nspans +1 +1\nlogs +2 +2\n/,
    );
    expect(out).not.toContain('\u001b');
  });
});
