import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { inspectFile } from '../../../src/store/sqlite/connection.ts';
import { SCHEMA_VERSION, SIGNALS_FILE } from '../../../src/store/sqlite/signals/schema.ts';
import { aSpan, aUnit, inDefault, T0, traceIdOf, traces } from '../signals/factories.ts';
import { temporaryFolder } from './temporary-store.ts';

/** Every file of a folder by its bytes; `-shm` is scratch memory that any reader may make. */
const fingerprint = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => !name.endsWith('-shm') && !name.includes('.lock'))
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  );

const refusal = async (path: string): Promise<string> => {
  let store: SignalStore;
  try {
    store = await openSqliteSignalStore({ path });
  } catch (error) {
    expect(error).toBeInstanceOf(StoreUnavailable);
    return (error as Error).message;
  }
  await store.close();
  throw new Error('the file was opened');
};

describe('data file', () => {
  const leave: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const step of leave.splice(0).toReversed()) await step();
  });
  const aFolder = () => {
    const made = temporaryFolder();
    leave.push(made.remove);
    return made;
  };
  /** A closed data file that holds some traces. */
  const aFile = async (spans = 50) => {
    const made = aFolder();
    const store = await openSqliteSignalStore({ path: made.path });
    await store.write(
      aUnit({
        spans: Array.from({ length: spans }, (_, i) => aSpan({ traceId: traceIdOf(i + 1), input: `word ${i}` })),
      }),
    );
    await store.close();
    return made;
  };

  it('a missing folder is made for the owner alone, and every file is the owner’s alone', async () => {
    const { folder } = aFolder();
    const path = join(folder, 'new', 'deep', 'svc.db');
    const store = await openSqliteSignalStore({ path });
    leave.push(() => store.close());
    await store.write(aUnit({ spans: [aSpan({ input: 'x' })] }));
    const modeOf = (file: string) => statSync(file).mode & 0o777;
    expect(modeOf(join(folder, 'new'))).toBe(0o700);
    for (const name of readdirSync(join(folder, 'new', 'deep')))
      expect([name, modeOf(join(folder, 'new', 'deep', name)) & 0o077]).toEqual([name, 0]);
  });

  it('what was written is there after closing and opening again; no write-ahead log is left behind', async () => {
    const { path } = await aFile();
    expect(existsSync(`${path}-wal`)).toBe(false);
    const store = await openSqliteSignalStore({ path });
    leave.push(() => store.close());
    expect((await store.listTraces(traces({ q: 'word' }))).items).toHaveLength(50);
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(99), input: 'word' })] }));
    expect((await store.listTraces(traces({ limit: 100, q: 'word' }))).items).toHaveLength(51);
  });

  it('writes 16 KiB pages in write-ahead logging and records schema version 2', async () => {
    const { path } = await aFile();
    const db = new Database(path, { readonly: true });
    leave.push(() => void db.close());
    expect(db.pragma('page_size', { simple: true })).toBe(16_384);
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(db.prepare('SELECT max(version) FROM schema_version').pluck().get()).toBe(2);
    expect(SCHEMA_VERSION).toBe(2);
  });

  it('a file at an older schema version is brought forward, and keeps what it holds', async () => {
    const { path } = await aFile();
    const db = new Database(path);
    db.exec('DROP TABLE audit; DELETE FROM schema_version WHERE version >= 2');
    db.close();
    const store = await openSqliteSignalStore({ path });
    leave.push(() => store.close());
    expect((await store.listTraces(traces())).items).toHaveLength(50);
    expect((await store.listAudit({ ...inDefault })).items).toEqual([]);
  });

  it('a file of a build that indexed priced calls alone counts those that failed, too', async () => {
    const { path } = aFolder();
    const first = await openSqliteSignalStore({ path });
    const failed = aSpan({ kind: 'model_generation', model: 'm', status: 'error', error: { message: 'overloaded' } });
    await first.write(aUnit({ spans: [failed] }));
    await first.close();
    const db = new Database(path);
    db.exec(
      'DROP INDEX spans_calls; CREATE INDEX spans_priced ON spans (project, start_ns) WHERE total_cost IS NOT NULL',
    );
    db.close();
    const store = await openSqliteSignalStore({ path });
    leave.push(() => store.close());
    const window = { projects: ['default'], from: T0 - 1n, to: T0 + 1n, bookModels: ['m'] } as const;
    expect((await store.costReport({ ...window, groupBy: 'model' })).groups).toMatchObject([{ key: 'm', count: 1 }]);
    const after = new Database(path, { readonly: true });
    leave.push(() => void after.close());
    const indexes = after
      .prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'spans_%' AND type = 'index'")
      .pluck();
    expect(indexes.all()).toContain('spans_calls');
    expect(indexes.all()).not.toContain('spans_priced');
  });

  it('a second store on the same file is refused at once, and the first goes on (P28)', async () => {
    const { path } = await aFile();
    const store = await openSqliteSignalStore({ path });
    const message = await refusal(path);
    expect(message).toContain(path);
    expect(message).toContain('in use by another process');
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(99) })] }));
    await store.close();
    const again = await openSqliteSignalStore({ path });
    await again.close();
  });

  describe('is refused with one line that names file and cause, and is not changed (P18)', () => {
    const refusedUnchanged = async (folder: string, path: string, cause: RegExp): Promise<void> => {
      const before = fingerprint(folder);
      const message = await refusal(path);
      expect(message).toMatch(cause);
      expect(message).toContain(path);
      expect(message).not.toContain('\n');
      expect(fingerprint(folder)).toEqual(before);
    };

    it('a newer schema', async () => {
      const { folder, path } = await aFile();
      const db = new Database(path);
      db.exec("INSERT INTO schema_version VALUES (3, 'later')");
      db.close();
      await refusedUnchanged(folder, path, /newer release \(schema version 3; this build reads up to 2\)/);
    });
    it('a database of another program', async () => {
      const { folder, path } = aFolder();
      const db = new Database(path);
      db.exec('CREATE TABLE bookmarks (url TEXT)');
      db.close();
      await refusedUnchanged(folder, path, /another program/);
    });
    it('a file that is no database', async () => {
      const { folder, path } = aFolder();
      writeFileSync(path, 'hello '.repeat(100));
      await refusedUnchanged(folder, path, /not a SQLite database/);
    });
    it('a folder in place of the file', async () => {
      const { path } = aFolder();
      mkdirSync(path);
      expect(await refusal(path)).toContain(path);
    });
    it('a file that is cut short', async () => {
      const { folder, path } = await aFile();
      truncateSync(path, statSync(path).size - 16_384);
      await refusedUnchanged(folder, path, /cut short/);
    });
    it('a page that is overwritten', async () => {
      const { folder, path } = await aFile();
      const bytes = readFileSync(path);
      bytes.fill(0xa5, 16_384 * 3, 16_384 * 4);
      writeFileSync(path, bytes);
      await refusedUnchanged(folder, path, /damaged/);
    });
    it('a page that is overwritten, in a file that is not too large to be read completely at the start', async () => {
      const { path } = await aFile();
      const bytes = readFileSync(path);
      bytes.fill(0xa5, 16_384 * 3, 16_384 * 4);
      writeFileSync(path, bytes);
      const inspect = (wholeCheckBytes: number) => inspectFile(path, SIGNALS_FILE, { wholeCheckBytes, tidy: () => {} });
      expect(() => inspect(bytes.length)).toThrow(/damaged/);
      expect(inspect(bytes.length - 1).fileBytes).toBe(bytes.length);
    });
    it('a write-ahead log of another file', async () => {
      const mine = await aFile();
      const other = aFolder();
      const store = await openSqliteSignalStore({ path: other.path });
      await store.write(aUnit({ spans: [aSpan()] }));
      // As a crash leaves it: the log beside the file, not yet copied into it.
      copyFileSync(`${other.path}-wal`, `${mine.path}-wal`);
      await store.close();
      const before = fingerprint(mine.folder);
      // Depending on which pages the foreign log holds, it shows as foreign, or as damage.
      expect(await refusal(mine.path)).toMatch(/belongs to another file|damaged/);
      expect(fingerprint(mine.folder)).toEqual(before);
    });
    it('an empty file whose log holds data', async () => {
      const { folder, path } = aFolder();
      writeFileSync(path, '');
      writeFileSync(`${path}-wal`, 'something');
      await refusedUnchanged(folder, path, /write-ahead log/);
    });
  });

  it('random damage never ends in a crash, and never in data that nobody wrote', async () => {
    const { folder, path } = await aFile();
    const whole = readFileSync(path);
    const names = new Set(Array.from({ length: 50 }, (_, i) => traceIdOf(i + 1)));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: whole.length - 1 }), fc.integer({ min: 1, max: 255 })), {
          minLength: 1,
          maxLength: 20,
        }),
        fc.option(fc.nat({ max: whole.length })),
        async (flips, cut) => {
          const bytes = Buffer.from(cut === null ? whole : whole.subarray(0, cut));
          for (const [at, mask] of flips) if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ mask;
          for (const name of readdirSync(folder))
            if (name !== 'svc.db' && !name.includes('.lock')) truncateSync(join(folder, name), 0);
          writeFileSync(path, bytes);
          let store: SignalStore | undefined;
          try {
            store = await openSqliteSignalStore({ path });
            const { items } = await store.listTraces(traces({ limit: 100 }));
            // A flip inside a stored value cannot be seen; a trace that was never written can.
            expect(items.filter(({ traceId }) => !names.has(traceId)).length).toBeLessThanOrEqual(flips.length);
          } catch (error) {
            expect(error).toBeInstanceOf(StoreUnavailable);
            expect((error as Error).message).toContain(path);
          } finally {
            await store?.close();
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it('a unit that breaks a rule of the file fails alone; units beside it are written completely', async () => {
    const { path } = aFolder();
    const store = await openSqliteSignalStore({ path });
    leave.push(() => store.close());
    const broken = aUnit(
      {
        spans: [
          aSpan({ traceId: traceIdOf(7), input: 'halfway' }),
          aSpan({ name: null as never, traceId: traceIdOf(7) }),
        ],
      },
      'broken',
    );
    const results = await Promise.allSettled([
      store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1), input: 'good' })] })),
      store.write(broken),
      store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1), input: 'good' })] })),
      store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(2), input: 'good' })] })),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    // Not for a client to try again: the unit would fail each time.
    expect((results[1] as PromiseRejectedResult).reason).not.toBeInstanceOf(StoreUnavailable);
    expect((await store.listTraces(traces({ order: 'asc' }))).items).toMatchObject([
      { traceId: traceIdOf(1), spanCount: 2 },
      { traceId: traceIdOf(2), spanCount: 1 },
    ]);
    expect((await store.listTraces(traces({ q: 'good' }))).items).toHaveLength(2);
    expect((await store.listTraces(traces({ q: 'halfway' }))).items).toHaveLength(0);
    expect(await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(7), input: 'halfway' })] }, 'broken'))).toBe(
      'written',
    );
    expect((await store.listTraces(traces({ q: 'halfway' }))).items).toHaveLength(1);
  });
});
