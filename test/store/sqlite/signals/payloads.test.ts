import { randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Span } from '../../../../src/model/span.ts';
import type { Row } from '../../../../src/store/signals/rows/columns.ts';
import { payloadRow } from '../../../../src/store/signals/rows/encode.ts';
import { openSqliteSignalStore } from '../../../../src/store/sqlite/signals/open.ts';
import { openBody, packBlock, readIndex, recordOf, rowIn } from '../../../../src/store/sqlite/signals/payload-block.ts';
import { payloadReaderOf } from '../../../../src/store/sqlite/signals/read-payloads.ts';
import { migrations, SIGNALS_FILE } from '../../../../src/store/sqlite/signals/schema.ts';
import { statementsOf } from '../../../../src/store/sqlite/signals/statements.ts';
import { payloadWriterOf } from '../../../../src/store/sqlite/signals/write-payloads.ts';
import { transactionsOf } from '../../../../src/store/sqlite/transaction.ts';
import { aSpan, aUnit, spanIdOf, T0, traceIdOf, traces } from '../../signals/factories.ts';
import { openedBlocks, partsIn, placesIn, remainsOf } from '../stored-payloads.ts';
import { temporaryFolder } from '../temporary-store.ts';

const KIB = 1024;
/** Text of so many bytes that nothing compresses much. */
const drawn = (bytes: number): string =>
  randomBytes(Math.ceil(bytes / 2))
    .toString('hex')
    .slice(0, bytes);

const leave: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of leave.splice(0).toReversed()) await step();
});

const text = fc.option(
  fc.oneof(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.constantFrom('', '\0', 'é\u{1f600}')),
  {
    nil: null,
  },
);
const rowOf = (span: number): fc.Arbitrary<Row> =>
  fc
    .tuple(fc.integer({ min: 0, max: 3 }), ...Array.from({ length: 9 }, () => text))
    .map(([forms, ...texts]): Row => [span, forms, ...texts]);

describe('a block of payloads', () => {
  it('gives back every row as it was, whatever numbers and texts', () => {
    fc.assert(
      fc.property(
        fc
          .uniqueArray(fc.integer({ min: -(2 ** 47), max: 2 ** 47 }), { minLength: 1, maxLength: 40 })
          .chain((numbers) => fc.tuple(...numbers.toSorted((a, b) => a - b).map(rowOf))),
        (rows) => {
          const block = rows[0]?.[0] as number;
          const { index, body } = packBlock(block, rows.map(recordOf));
          const entries = readIndex(block, index);
          const opened = openBody(body, entries);
          expect(entries.map((entry): Row => [entry.span, ...rowIn(opened, entry)])).toEqual(rows);
          expect(entries.map(({ hasText }) => hasText)).toEqual(rows.map((row) => row[2] !== null || row[4] !== null));
        },
      ),
    );
  });

  it('with a changed or missing byte is damaged, and gives no text', () => {
    const rows = [1, 2, 3].map((span) => payloadRow(aSpan({ input: `${drawn(500)} ${'word '.repeat(100)}` }), span));
    const { index, body } = packBlock(1, rows.map(recordOf));
    const entries = readIndex(1, index);
    for (let at = 0; at < body.length; at += 7) {
      const changed = Buffer.from(body);
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      expect(() => openBody(changed, entries), `byte ${at}`).toThrow(
        expect.objectContaining({ code: 'SQLITE_CORRUPT' }),
      );
    }
    expect(() => openBody(body.subarray(0, -1), entries)).toThrow(expect.objectContaining({ code: 'SQLITE_CORRUPT' }));
    expect(() => openBody(body, entries.slice(0, 2))).toThrow(expect.objectContaining({ code: 'SQLITE_CORRUPT' }));
    expect(() => readIndex(1, Buffer.from([0xff, 0xff, 0x7f]))).toThrow(
      expect.objectContaining({ code: 'SQLITE_CORRUPT' }),
    );
  });
});

describe('payloads in the file', () => {
  /** A writer on a file of its own, and what the file then says. */
  const aFile = () => {
    const db = new Database(':memory:');
    leave.push(() => void db.close());
    for (const { sql } of migrations) db.exec(sql);
    db.exec(SIGNALS_FILE.standing ?? '');
    const transactions = transactionsOf(db);
    let writer = payloadWriterOf(db);
    const statements = statementsOf(db);
    const commit = (work: () => void): void =>
      transactions.run(() => {
        work();
        writer.finish();
      });
    return {
      db,
      commit,
      writer: () => writer,
      restart: () => {
        writer = payloadWriterOf(db);
      },
      add: (...rows: Row[]) => commit(() => rows.forEach((row) => writer.add(row))),
      drop: (...spans: number[]) => commit(() => spans.forEach((span) => writer.drop(span))),
      /** All reads are of one connection. */
      read: () => payloadReaderOf(statements),
      blocks: (): number[][] =>
        db
          .prepare<[], [number, Buffer]>('SELECT block, spans FROM payload_blocks ORDER BY block')
          .raw()
          .all()
          .map(([block, spans]) => readIndex(block, spans).map(({ span }) => span)),
      alone: (): number[] => db.prepare<[], number>('SELECT span FROM span_payloads ORDER BY span').pluck().all(),
      parts: (): number => db.prepare<[], number>('SELECT count(*) FROM payload_parts').pluck().get() ?? 0,
    };
  };
  /** A row whose record has exactly so many bytes. */
  const sized = (span: number, bytes: number): Row => {
    const row: Row = [span, 0, drawn(Math.max(0, bytes - 13)), ...Array<null>(8).fill(null)];
    const missing = bytes - recordOf(row).bytes;
    row[2] = drawn((row[2] as string).length + missing);
    expect(recordOf(row).bytes).toBe(bytes);
    return row;
  };

  it('those of one commit below 16 KiB wait in rows of their own; of 16 KiB they are a block, with those that waited', () => {
    const file = aFile();
    file.add(sized(1, 16 * KIB - 1));
    expect([file.alone(), file.blocks()]).toEqual([[1], []]);
    file.add(sized(2, 16 * KIB));
    expect([file.alone(), file.blocks()]).toEqual([[], [[1, 2]]]);
  });

  it('small commits make a block when they have 64 KiB together, and not before', () => {
    const file = aFile();
    for (let span = 1; span <= 8; span++) file.add(sized(span, 7 * KIB));
    file.add(sized(9, 8 * KIB - 12));
    file.add(sized(10, 11));
    expect([file.alone().length, file.blocks()]).toEqual([10, []]);
    file.add(sized(11, 10));
    expect([file.alone(), file.blocks()]).toEqual([[], [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]]]);
  });

  it('a large commit is cut into blocks of about the same size, and a span of 64 KiB has one to itself', () => {
    const file = aFile();
    file.add(...Array.from({ length: 100 }, (_, i) => sized(i + 1, 2 * KIB)));
    expect(file.blocks().map((spans) => spans.length)).toEqual([33, 34, 33]);
    file.add(sized(101, KIB), sized(102, 64 * KIB), sized(103, KIB), sized(104, 64 * KIB - 1));
    expect(file.blocks().slice(3)).toEqual([[101], [102], [103, 104]]);
    expect(file.alone()).toEqual([]);
  });

  it('a block without its last span is gone, with its parts; one that loses a span keeps the others', () => {
    const file = aFile();
    file.add(...[1, 2, 3].map((span) => sized(span, 8 * KIB)));
    const second = file.read().find(2);
    file.drop(1, 3);
    expect(file.blocks()).toEqual([[2]]);
    expect(file.read().find(2)).toEqual(second);
    expect([1, 3].map((span) => file.read().find(span))).toEqual([undefined, undefined]);
    file.drop(2);
    expect([file.blocks(), file.parts()]).toEqual([[], 0]);
  });

  it('of a unit that failed nothing is stored, and what it dropped stays', () => {
    const file = aFile();
    file.add(sized(1, 20 * KIB));
    file.commit(() => {
      file.writer().unit(() => file.writer().add(sized(2, 20 * KIB)));
      expect(() =>
        file.writer().unit(() => {
          file.writer().drop(1);
          file.writer().drop(2);
          file.writer().add(sized(3, 20 * KIB));
          throw new Error('a constraint');
        }),
      ).toThrow('a constraint');
    });
    expect(file.blocks()).toEqual([[1], [2]]);
  });

  it('any history of commits, drops, failures and restarts leaves what was stored and not dropped, in order, and no part besides', () => {
    const size = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 0, max: 3 * KIB }) },
      { weight: 2, arbitrary: fc.integer({ min: 3 * KIB, max: 40 * KIB }) },
      { weight: 1, arbitrary: fc.integer({ min: 60 * KIB, max: 150 * KIB }) },
    );
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constant('add' as const), sizes: fc.array(size, { maxLength: 30 }) }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('drop' as const),
          seed: fc.nat(),
          share: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('fail' as const), sizes: fc.array(size, { maxLength: 5 }) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
    );
    const aRow = (span: number, bytes: number): Row => {
      const words = `span${span} `.repeat(Math.ceil(bytes / 8)).slice(0, bytes);
      return span % 5 === 0
        ? [span, 0, null, null, null, null, words, null, null, null, null]
        : [
            span,
            span % 4,
            words,
            span % 2 === 0 ? 'input.value' : null,
            span % 3 === 0 ? '{}' : null,
            null,
            null,
            null,
            null,
            null,
            null,
          ];
    };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const file = aFile();
        const stored = new Map<number, Row>();
        let next = 1;
        for (const one of steps) {
          if (one.kind === 'restart') file.restart();
          else if (one.kind === 'add') {
            const rows = one.sizes.map((bytes) => aRow(next++, bytes));
            file.add(...rows);
            for (const row of rows) stored.set(row[0] as number, row);
          } else if (one.kind === 'drop') {
            const gone = [...stored.keys()].filter(
              (span) => ((span * 2_654_435_761 + one.seed) % 1000) / 1000 < one.share,
            );
            expect(gone.map((span) => file.writer().hasText(span))).toEqual(gone.map((span) => span % 5 !== 0));
            file.drop(...gone, next + 5);
            for (const span of gone) stored.delete(span);
          } else {
            expect(() =>
              file.commit(() => {
                for (const bytes of one.sizes) file.writer().add(aRow(next++, bytes));
                for (const span of [...stored.keys()].slice(0, 3)) file.writer().drop(span);
                file.writer().finish();
                throw new Error('the disk is full');
              }),
            ).toThrow('the disk is full');
            file.writer().abandon();
          }
          // What is open since an earlier state of the file says nothing of this one.
          const now = file.read();
          for (let span = 1; span < next; span += 7) expect(now.find(span)).toEqual(stored.get(span)?.slice(1));
        }
        const reader = file.read();
        const spans = [...stored.keys()];
        expect(spans.map((span): Row => [span, ...(reader.find(span) ?? [])])).toEqual([...stored.values()]);
        expect(reader.find(next)).toBeUndefined();
        expect(reader.lastSpan()).toBe(spans.at(-1) ?? 0);
        const withText = spans.filter((span) => span % 5 !== 0);
        const middle = withText[withText.length >> 1] ?? 0;
        for (const after of [0, middle, next])
          expect(
            file
              .read()
              .textsAfter(after, 40)
              .map(([span]) => span),
          ).toEqual(withText.filter((span) => span > after).slice(0, 40));
        const inBlocks = file.blocks().flat();
        expect(inBlocks).toEqual(inBlocks.toSorted((a, b) => a - b));
        expect([...inBlocks, ...file.alone()].toSorted((a, b) => a - b)).toEqual(spans);
        expect(file.parts()).toBe(file.db.prepare('SELECT coalesce(sum(parts), 0) FROM payload_blocks').pluck().get());
        file.db.close();
      }),
      { numRuns: 60 },
    );
  });

  it('are, as they are stored, the bytes of what is read, in a row of their own and in a block', () => {
    const span = aSpan({ input: drawn(3_000), output: { said: 'é\u{1f600}' }, attributes: { a: 'ü' } });
    const [own, packed] = [aFile(), aFile()];
    own.add(payloadRow(span, 1));
    packed.add(payloadRow(span, 1), sized(2, 20 * KIB));
    for (const file of [own, packed]) {
      const reader = file.read();
      const row = reader.find(1);
      expect(reader.findStored(1)?.map((column) => (Buffer.isBuffer(column) ? column.toString() : column))).toEqual(
        row,
      );
      expect(reader.findTexts(1)).toEqual([row?.[0], row?.[1], row?.[3]]);
    }
  });

  it('weigh the same in a row of their own and in a block, but for the marks between their texts', () => {
    const span = aSpan({
      input: drawn(5_000),
      inputAttribute: 'input.value',
      output: { said: 'é' },
      attributes: { a: 'b' },
    });
    const [own, packed] = [aFile(), aFile()];
    own.add(payloadRow(span, 1));
    packed.add(payloadRow(span, 1), sized(2, 20 * KIB));
    expect([own.alone(), packed.alone()]).toEqual([[1], []]);
    const weight = own.read().weigh(1);
    expect(weight).toBe(2 * 5_000 + Buffer.byteLength('{"said":"é"}') + '{"a":"b"}'.length);
    expect(packed.read().weigh(1) - weight).toBeGreaterThanOrEqual(0);
    expect(packed.read().weigh(1) - weight).toBeLessThan(30);
  });
});

describe('a store with blocks', () => {
  const opened = async (path: string) => {
    const store = await openSqliteSignalStore({ path });
    leave.push(() => store.close());
    return store;
  };
  const aFolder = () => {
    const made = temporaryFolder();
    leave.push(made.remove);
    return made;
  };
  const spansOf = (trace: number, count: number, fields: (n: number) => Partial<Omit<Span, 'correlation'>>): Span[] =>
    Array.from({ length: count }, (_, n) =>
      aSpan({ traceId: traceIdOf(trace), spanId: spanIdOf(trace * 1000 + n), ...fields(n) }),
    );

  it('finds phrases and words in blocks, and a replaced span by its new text alone', async () => {
    const { folder, path } = aFolder();
    const store = await opened(path);
    const said = (n: number, more: string) => ({ input: `${drawn(1_000)} early bird${n} ${more}`, output: 'the worm' });
    await store.write(aUnit({ spans: spansOf(1, 60, (n) => said(n, 'catches')) }));
    expect(placesIn(path).alone).toEqual([]);
    const stored = partsIn(path);
    await store.write(aUnit({ spans: spansOf(1, 60, (n) => said(n, 'sleeps')).slice(20, 40) }));
    const found = async (q: string) => (await store.listTraces(traces({ q }))).items.length;
    expect([await found('"bird3 catches"'), await found('"bird30 catches"')]).toEqual([1, 0]);
    expect([await found('"bird30 sleeps"'), await found('"bird3 sleeps"')]).toEqual([1, 0]);
    // What gathers until there is time for it goes with the first delete that waits for it.
    await store.deleteTraces([traceIdOf(2)], 'all');
    await store.write(aUnit({ spans: spansOf(3, 1, () => ({ input: 'last' })) }));
    expect(await store.deleteTraces([traceIdOf(3)], 'all')).toEqual({ deleted: 1, pending: false });
    expect(openedBlocks(path)).not.toContain('bird30 catches');
    expect(remainsOf(folder, path, stored)).toEqual([]);
    expect(await store.findSpan(traceIdOf(1), spanIdOf(1003), 'all')).toMatchObject({ output: 'the worm' });
  });

  it('a file of a build without blocks is opened as it is, read, searched, changed and trimmed', async () => {
    const { path } = aFolder();
    const first = await openSqliteSignalStore({ path });
    // One at a time, so that each has a row of its own.
    for (let n = 1; n <= 30; n++)
      await first.write(
        aUnit({ spans: spansOf(n, 1, () => ({ input: `old word${n} here`, startTime: T0 + BigInt(n) })) }),
      );
    await first.close();
    const db = new Database(path);
    db.exec('DROP TABLE payload_blocks; DROP TABLE payload_parts; DELETE FROM schema_version WHERE version = 3');
    db.close();

    const store = await opened(path);
    const found = async (q: string) => (await store.listTraces(traces({ q }))).items.length;
    expect(await found('"word7 here"')).toBe(1);
    await store.write(aUnit({ spans: spansOf(50, 100, (n) => ({ input: `new ${drawn(600)} word${n}` })) }));
    expect(placesIn(path).alone).toHaveLength(30);
    expect(placesIn(path).blocks.flat()).toHaveLength(100);
    await store.write(aUnit({ spans: spansOf(7, 1, () => ({ input: 'replaced', startTime: T0 + 7n })) }));
    // Span 7 of trace 50 says "word7" as well, without "here".
    expect(await found('"word7 here"')).toBe(0);
    expect(await found('replaced')).toBe(1);
    expect(await store.trim('default', T0 + 20n, 1_000)).toBeGreaterThan(0);
    expect(await found('old')).toBe(11);
    expect(await store.findSpan(traceIdOf(25), spanIdOf(25_000), 'all')).toMatchObject({ input: 'old word25 here' });
  });

  it('its index is made anew from rows and blocks alike', async () => {
    const { path } = aFolder();
    const first = await openSqliteSignalStore({ path });
    await first.write(aUnit({ spans: spansOf(1, 700, (n) => ({ input: `${drawn(200)} packed${n}` })) }));
    await first.write(aUnit({ spans: spansOf(2, 1, () => ({ input: 'alone' })) }));
    await first.close();
    const side = new Database(`${path}.fts`);
    side.exec('UPDATE progress SET store = store + 1');
    side.close();
    const store = await opened(path);
    for (const word of ['packed0', 'packed699', 'alone'])
      expect((await store.listTraces(traces({ q: word }))).items, word).toHaveLength(1);
  });
});

describe('texts that are read again for the index', () => {
  it('come in steps of some MiB, in the order of their spans, and none is left out', async () => {
    const { path, remove } = temporaryFolder();
    leave.push(remove);
    const store = await openSqliteSignalStore({ path });
    const long = drawn(3 * KIB * KIB);
    const spans = Array.from({ length: 8 }, (_, n) =>
      aSpan({ traceId: traceIdOf(n), spanId: spanIdOf(n), input: n % 3 === 1 ? `short ${n}` : `${n} ${long}` }),
    );
    for (const span of spans) await store.write(aUnit({ spans: [span] }));
    await store.close();
    const db = new Database(path, { readonly: true });
    const seen: number[] = [];
    const steps: number[] = [];
    for (let after = 0; ; ) {
      const rows = payloadReaderOf(statementsOf(db)).textsAfter(after, 512);
      if (rows.length === 0) break;
      steps.push(rows.length);
      seen.push(...rows.map(([span]) => span));
      after = seen.at(-1) ?? 0;
    }
    db.close();
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(Math.max(...steps)).toBeLessThan(8);
  });
});
