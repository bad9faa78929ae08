import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, truncateSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { SignalStore } from '../../../src/store/signals/signal-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { searchPath } from '../../../src/store/sqlite/signals/search-file.ts';
import { aLog, aNote, aSpan, aUnit, inDefault, spanIdOf, T0, traceIdOf, traces } from '../signals/factories.ts';
import { openedBlocks, partsIn, remainsOf } from './stored-payloads.ts';
import { openTemporary, temporaryFolder } from './temporary-store.ts';

const found = async (store: SignalStore, q: string): Promise<number> =>
  (await store.listTraces(traces({ q, limit: 1000 }))).items.length;

/** Resolves when it is so of the files of a folder; looks after each change of one of them. */
const untilFiles = (folder: string, isSo: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    let next: NodeJS.Immediate | undefined;
    const look = (): void => {
      next = undefined;
      if (!isSo()) return;
      end();
      resolve();
    };
    const watcher = watch(folder, () => {
      next ??= setImmediate(look);
    });
    const end = (): void => {
      watcher.close();
      clearImmediate(next);
    };
    onTestFinished(end);
  });

describe('faults of the disk', () => {
  const leave: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const step of leave.splice(0).toReversed()) await step();
  });

  it('a full disk: writes are unavailable, reads go on, nothing is half stored, and it recovers without a restart (P16)', async () => {
    const { store, remove } = await openTemporary({ maxFileBytes: 4 * 1024 * 1024 });
    leave.push(remove);
    const written: string[] = [];
    const refused: string[] = [];
    // Drawn anew for each span: what repeats would be compressed to nothing.
    const big = (): string => `lorem ipsum ${randomBytes(33_000).toString('base64')}`;
    for (let n = 1; refused.length < 5; n++) {
      const spans = Array.from({ length: 8 }, (_, i) =>
        aSpan({ traceId: traceIdOf(n), spanId: spanIdOf(i), input: `${big()} mark${n}` }),
      );
      try {
        await store.write(aUnit({ spans }, `key ${n}`));
        written.push(traceIdOf(n));
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnavailable);
        expect((error as Error).message).toMatch(/the disk is full \(SQLITE_FULL\)/);
        refused.push(traceIdOf(n));
      }
    }
    expect(written.length).toBeGreaterThan(2);
    const listed = (await store.listTraces(traces({ order: 'asc', limit: 1000 }))).items;
    expect(listed.map(({ traceId }) => traceId).toSorted()).toEqual(written.toSorted());
    expect(listed.every(({ spanCount }) => spanCount === 8)).toBe(true);
    expect(await found(store, 'lorem')).toBe(written.length);
    await store.deleteTraces(written.slice(0, 2), 'all');
    const n = Number.parseInt((refused[0] ?? '').slice(1), 16);
    expect(await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(n), input: 'after' })] }, `key ${n}`))).toBe(
      'written',
    );
    expect(await found(store, 'after')).toBe(1);
  });
});

describe('full-text side file', () => {
  const leave: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const step of leave.splice(0).toReversed()) await step();
  });
  const closedFile = async () => {
    const made = temporaryFolder();
    leave.push(made.remove);
    const store = await openSqliteSignalStore({ path: made.path });
    for (let n = 1; n <= 30; n++)
      await store.write(
        aUnit({ spans: [aSpan({ traceId: traceIdOf(n), input: { text: `common word${n}` }, output: 'tail' })] }),
      );
    await store.close();
    return made;
  };
  const reopened = async (path: string): Promise<SignalStore> => {
    const store = await openSqliteSignalStore({ path });
    leave.push(() => store.close());
    return store;
  };

  it('is made anew from the data file when it is missing', async () => {
    const { path } = await closedFile();
    rmSync(searchPath(path));
    const store = await reopened(path);
    expect(await found(store, 'common tail')).toBe(30);
    expect(await found(store, 'word7')).toBe(1);
  });
  it.each([
    ['cut short', (path: string) => truncateSync(path, 100)],
    ['no database', (path: string) => writeFileSync(path, 'x'.repeat(50_000))],
    ['empty', (path: string) => truncateSync(path, 0)],
    [
      'overwritten in its middle',
      (path: string) => {
        const bytes = readFileSync(path);
        bytes.fill(0xa5, 16_384, bytes.length);
        writeFileSync(path, bytes);
      },
    ],
  ])('is made anew when it is %s', async (_, damage) => {
    const { path } = await closedFile();
    damage(searchPath(path));
    const store = await reopened(path);
    expect(await found(store, 'common')).toBe(30);
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(99), input: 'common' })] }));
    expect(await found(store, 'common')).toBe(31);
  });
  it('is made anew when it belongs to another data file', async () => {
    const mine = await closedFile();
    const other = await closedFile();
    writeFileSync(searchPath(mine.path), readFileSync(searchPath(other.path)));
    const store = await reopened(mine.path);
    expect(await found(store, 'word7')).toBe(1);
  });
  it('is brought up to a data file that is ahead of it, as a crash between the two commits leaves them', async () => {
    const { path } = await closedFile();
    const behind = readFileSync(searchPath(path));
    const store = await openSqliteSignalStore({ path });
    await store.write(
      aUnit({ spans: [aSpan({ traceId: traceIdOf(50), input: 'lagging' }), aSpan({ traceId: traceIdOf(51) })] }),
    );
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(3), spanId: spanIdOf(5000), input: 'lagging' })] }));
    await store.deleteTraces([traceIdOf(4)], 'all');
    await store.close();
    writeFileSync(searchPath(path), behind);
    const again = await reopened(path);
    expect(await found(again, 'lagging')).toBe(2);
    expect(await found(again, 'common')).toBe(29);
    await again.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(60), input: 'lagging' })] }));
    expect(await found(again, 'lagging')).toBe(3);
  });
});

describe('erasure', () => {
  const leave: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const step of leave.splice(0).toReversed()) await step();
  });
  /** How often the text stands in any file of the folder, and in the blocks of the data file when they are opened. */
  const occurrences = (folder: string, text: string): Record<string, number> => {
    const counts: Record<string, number> = {};
    const countIn = (name: string, content: Buffer | string): void => {
      let count = 0;
      for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + 1)) count++;
      if (count > 0) counts[name] = count;
    };
    for (const name of readdirSync(folder)) countIn(name, readFileSync(join(folder, name)));
    countIn('opened blocks', openedBlocks(join(folder, 'svc.db')));
    return counts;
  };

  it('after a delete no byte of the trace remains in any file: row, index, log (P25)', async () => {
    // On a busy machine one stall would tell that cutting out takes too long.
    const { store, path, remove } = await openTemporary({ cutOutMs: Number.POSITIVE_INFINITY });
    leave.push(remove);
    const folder = join(path, '..');
    const canary = 'zqcanary';
    const bystander = (n: number) =>
      aSpan({ traceId: traceIdOf(n), input: `plain text number${n} `.repeat(50), correlation: { userId: `user${n}` } });
    for (let n = 1; n <= 60; n++) {
      await store.write(
        aUnit({
          spans: [
            bystander(n),
            ...(n % 10 === 0
              ? [
                  aSpan({
                    traceId: traceIdOf(1000),
                    spanId: spanIdOf(n),
                    name: `${canary}name`,
                    model: `${canary}model`,
                    input: `begin ${canary}in${n} ${'long '.repeat(n * 200)} ${canary}tail`,
                    output: { nested: [`${canary}out`] },
                    attributes: { key: `${canary}attr` },
                    events: [{ name: `${canary}event`, time: T0, attributes: {} }],
                    status: 'error',
                    error: { message: `${canary}error`, stack: `${canary}stack` },
                    correlation: { userId: `${canary}user`, sessionId: `${canary}session`, tags: [`${canary}tag`] },
                  }),
                ]
              : []),
          ],
          ...(n === 30
            ? {
                logs: [aLog({ traceId: traceIdOf(1000), message: `${canary}log` })],
                aspectNotes: [aNote({ traceId: traceIdOf(1000), text: `${canary}note` })],
              }
            : {}),
        }),
      );
    }
    // Replaced text must go as well.
    await store.write(
      aUnit({ spans: [aSpan({ traceId: traceIdOf(1000), spanId: spanIdOf(10), input: `${canary}replaced` })] }),
    );
    expect(occurrences(folder, canary)).toMatchObject({
      'svc.db-wal': expect.any(Number),
      'opened blocks': expect.any(Number),
    });
    const stored = partsIn(path);
    expect(await store.deleteTraces([traceIdOf(1000)], 'all')).toEqual({ deleted: 1, pending: false });
    expect(occurrences(folder, canary)).toEqual({});
    expect(remainsOf(folder, path, stored)).toEqual([]);
    expect(await found(store, 'plain')).toBe(50 + 10);
    expect(await found(store, `${canary}*`)).toBe(0);
    expect((await store.listTraces({ ...traces(), ...inDefault })).items).toHaveLength(50);
  });

  it('after trimming no byte of old traces remains in any file', async () => {
    const { store, path, remove } = await openTemporary();
    leave.push(remove);
    await store.write(
      aUnit({
        spans: [
          aSpan({ startTime: T0, input: 'zqold words' }),
          aSpan({ traceId: traceIdOf(2), startTime: T0 + 9n, input: 'fresh' }),
        ],
      }),
    );
    expect(await store.trim('default', T0 + 1n, 10)).toBe(1);
    expect(occurrences(join(path, '..'), 'zqold')).toEqual({});
    expect(await found(store, 'fresh')).toBe(1);
  });

  it('a large erasure is found by nobody at once, says that bytes are pending, and purges them', async () => {
    const { store, path, remove } = await openTemporary({ purgeDelayMs: 50 });
    leave.push(remove);
    const folder = join(path, '..');
    for (let n = 0; n < 20; n++)
      await store.write(
        aUnit({
          spans: Array.from({ length: 100 }, (_, i) =>
            aSpan({ traceId: traceIdOf(1), spanId: spanIdOf(n * 100 + i), input: `zqlarge${n}x${i} secret` }),
          ),
        }),
      );
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(2), input: 'stays secret' })] }));
    const purged = untilFiles(folder, () => Object.keys(occurrences(folder, 'zqlarge')).length === 0);
    expect(await store.deleteTraces([traceIdOf(1)], 'all')).toEqual({ deleted: 1, pending: true });
    expect(await found(store, 'secret')).toBe(1);
    expect(occurrences(folder, 'zqlarge1x7 secret')).toEqual({});
    await purged;
    expect(await found(store, 'stays')).toBe(1);
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(3), input: 'secret' })] }));
    expect(await found(store, 'secret')).toBe(2);
  });

  it('an erasure that takes too long to cut out of the index is struck out, says that bytes are pending, and purges them', async () => {
    const { store, path, remove } = await openTemporary({ cutOutMs: 0, purgeDelayMs: 50 });
    leave.push(remove);
    const folder = join(path, '..');
    const spans = Array.from({ length: 200 }, (_, i) => aSpan({ spanId: spanIdOf(i), input: `zqslow${i} secret` }));
    await store.write(aUnit({ spans }));
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(2), input: 'stays secret' })] }));
    const purged = untilFiles(folder, () => Object.keys(occurrences(folder, 'zqslow')).length === 0);
    expect(await store.deleteTraces([traceIdOf(1)], 'all')).toEqual({ deleted: 1, pending: true });
    expect(await found(store, 'secret')).toBe(1);
    await purged;
    expect(await found(store, 'stays')).toBe(1);
  });

  it('a trimming in slices leaves no byte of old traces in any file once the index is purged', async () => {
    const { store, path, remove } = await openTemporary({ purgeDelayMs: 50 });
    leave.push(remove);
    const folder = join(path, '..');
    for (let n = 1; n <= 3; n += 1)
      await store.write(
        aUnit({ spans: [aSpan({ traceId: traceIdOf(n), startTime: T0, input: `zqslice${n} words` })] }),
      );
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(9), startTime: T0 + 9n, input: 'fresh words' })] }));
    const purged = untilFiles(folder, () => Object.keys(occurrences(folder, 'zqslice')).length === 0);
    for (const rows of [1, 1, 1, 0]) expect(await store.trim('default', T0 + 1n, 1)).toBe(rows);
    expect(await found(store, 'words')).toBe(1);
    await purged;
    expect(await found(store, 'fresh')).toBe(1);
  });

  it('a large erasure that comes while another is purged is purged as well', async () => {
    const { store, path, remove } = await openTemporary({ purgeDelayMs: 0 });
    leave.push(remove);
    const folder = join(path, '..');
    const rounds = [1, 2, 3, 4];
    for (const n of rounds)
      await store.write(
        aUnit({
          spans: Array.from({ length: 1_100 }, (_, i) =>
            aSpan({
              traceId: traceIdOf(n),
              spanId: spanIdOf(i),
              input: `zqround${n}x${i} ${randomBytes(24).toString('hex')}`,
            }),
          ),
        }),
      );
    const purged = untilFiles(folder, () => Object.keys(occurrences(folder, 'zqround')).length === 0);
    for (const n of rounds)
      expect(await store.deleteTraces([traceIdOf(n)], 'all')).toEqual({ deleted: 1, pending: true });
    await purged;
    expect(await found(store, 'zqround4x7')).toBe(0);
  });

  it('spans that are sent again a thousand times leave one row and no words behind that anybody finds', async () => {
    const { store, remove } = await openTemporary();
    leave.push(remove);
    for (let n = 0; n < 10; n++)
      await store.write(
        aUnit({
          spans: Array.from({ length: 200 }, (_, i) => aSpan({ spanId: spanIdOf(i), input: `again round${n}` })),
        }),
      );
    expect((await store.listTraces(traces({ q: 'round9 again' }))).items).toMatchObject([{ spanCount: 200 }]);
    expect(await found(store, 'round8')).toBe(0);
  });

  it('an erasure that a crash cut off between the files is finished at the next start', async () => {
    const { folder, path, remove } = temporaryFolder();
    leave.push(remove);
    const store = await openSqliteSignalStore({ path });
    await store.write(
      aUnit({ spans: [aSpan({ input: 'zqcut off' }), aSpan({ traceId: traceIdOf(2), input: 'stays' })] }),
    );
    await store.close();
    const index = readFileSync(searchPath(path));
    const again = await openSqliteSignalStore({ path });
    await again.deleteTraces([traceIdOf(1)], 'all');
    await again.close();
    // The side file as it was before the delete, while the data file says that it has been done: what is left is unreachable.
    writeFileSync(searchPath(path), index);
    const last = await openSqliteSignalStore({ path });
    leave.push(() => last.close());
    expect(await found(last, 'zqcut')).toBe(0);
    expect(await found(last, 'stays')).toBe(1);
    expect(readdirSync(folder)).toContain('svc.db.fts');
  });
});

describe('a damaged block of payloads (P25)', () => {
  const leave: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const step of leave.splice(0).toReversed()) await step();
  });
  /** Two blocks, each of one batch with three traces: of the first, which holds `more` too, a byte is changed. */
  const damagedFile = async (...more: ReturnType<typeof aSpan>[]) => {
    const made = temporaryFolder();
    leave.push(made.remove);
    const store = await openSqliteSignalStore({ path: made.path });
    for (const [batch, word] of ['zqbroken', 'zqwhole'].entries())
      await store.write(
        aUnit({
          spans: [
            ...[1, 2, 3].map((n) =>
              aSpan({
                traceId: traceIdOf(3 * batch + n),
                input: `${word}${n} together ${randomBytes(8_000).toString('hex')}`,
              }),
            ),
            ...(batch === 0 ? more : []),
          ],
        }),
      );
    await store.close();
    const db = new Database(made.path);
    const [part, bytes] = db
      .prepare<[], [number, Buffer]>('SELECT part, bytes FROM payload_parts ORDER BY part LIMIT 1')
      .raw()
      .get() as [number, Buffer];
    bytes[1_000] = (bytes[1_000] ?? 0) ^ 0x10;
    db.prepare('UPDATE payload_parts SET bytes = ? WHERE part = ?').run(bytes, part);
    db.close();
    return { ...made, bytes };
  };
  const opened = async (path: string): Promise<SignalStore> => {
    const store = await openSqliteSignalStore({
      path,
      onFatal: (message) => {
        throw new Error(`the store gave up: ${message}`);
      },
    });
    leave.push(() => store.close());
    return store;
  };

  it('keeps no erasure from ending: of its own traces nor of others, and words of the others are found as before', async () => {
    const { path } = await damagedFile();
    const store = await opened(path);
    // A phrase is looked for in the text itself, which nobody can read of a damaged one.
    expect(await Promise.all(['broken', 'whole'].map((word) => found(store, `"zq${word}2 together"`)))).toEqual([0, 1]);
    for (const n of [1, 4, 2, 3])
      expect(await store.deleteTraces([traceIdOf(n)], 'all')).toEqual({ deleted: 1, pending: false });
    expect(partsIn(path).length).toBeGreaterThan(0);
    const kept = openedBlocks(path);
    expect([kept.includes('zqwhole1'), kept.includes('zqwhole2')]).toEqual([false, true]);
    expect(await Promise.all(['zqbroken2', 'zqwhole1', 'zqwhole2'].map((word) => found(store, word)))).toEqual([
      0, 0, 1,
    ]);
    expect(await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(9), input: 'zqlater' })] }))).toBe('written');
    expect(await found(store, 'zqlater')).toBe(1);
  });

  it('keeps no span of it from coming again, whose payloads are readable then', async () => {
    const quiet = aSpan({ traceId: traceIdOf(50), attributes: { at: 'desk' } });
    const { path } = await damagedFile(quiet);
    const store = await opened(path);
    await expect(store.findSpan(quiet.traceId, quiet.spanId, 'all')).rejects.toThrow('damaged');
    expect(await store.write(aUnit({ spans: [quiet] }))).toBe('written');
    expect(await store.findSpan(quiet.traceId, quiet.spanId, 'all')).toMatchObject({ attributes: { at: 'desk' } });
  });

  it('an erasure of one of its traces removes its bytes, and the payloads of its other traces stay unreadable', async () => {
    const { path, folder, bytes } = await damagedFile();
    const store = await opened(path);
    expect(await store.deleteTraces([traceIdOf(1)], 'all')).toEqual({ deleted: 1, pending: false });
    expect(remainsOf(folder, path, [bytes])).toEqual([]);
    expect(partsIn(path).some((part) => part.includes(bytes.subarray(0, 24)))).toBe(false);
    await expect(store.findTrace(traceIdOf(2), 'all', true)).rejects.toThrow(/damaged/);
    expect((await store.listTraces(traces({ limit: 10 }))).items).toHaveLength(5);
  });

  it('a span of it that is sent again is readable again', async () => {
    const { path } = await damagedFile();
    const store = await opened(path);
    await store.write(aUnit({ spans: [aSpan({ traceId: traceIdOf(1), input: 'zqagain' })] }));
    expect(await found(store, 'zqagain')).toBe(1);
    expect(await found(store, 'zqwhole2')).toBe(1);
  });

  it('keeps no start from making the index anew without it', async () => {
    const { path } = await damagedFile();
    rmSync(searchPath(path));
    const store = await opened(path);
    expect(await Promise.all(['zqbroken2', 'zqwhole2'].map((word) => found(store, word)))).toEqual([0, 1]);
  });
});
