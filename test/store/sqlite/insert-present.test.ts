import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnsOf, insertOrMeet, insertPresent, insertTogether } from '../../../src/store/sqlite/insert-present.ts';

/** A table of a key and so many columns, in memory. */
const aTable = (columns: number): Database.Database => {
  const db = new Database(':memory:');
  db.exec(`CREATE TABLE t (id INTEGER PRIMARY KEY, ${Array.from({ length: columns }, (_, n) => `c${n}`).join(', ')})`);
  return db;
};

describe('rows without the columns that are null in them', () => {
  it('are stored as those with all columns are, whichever are null, also beyond the statements that are kept', () => {
    const db = aTable(7);
    const insert = insertPresent(db, 't', columnsOf(db, 't'));
    const rows = Array.from({ length: 128 }, (_, mask) => [
      mask + 1,
      ...Array.from({ length: 7 }, (_, place) => ((mask >> place) & 1 ? [`text ${mask}`, 1.5, 7][place % 3] : null)),
    ]);
    for (const row of [...rows, ...rows.map(([id, ...rest]) => [Number(id) + 128, ...rest])])
      expect(insert(row).changes).toBe(1);
    expect(db.prepare('SELECT * FROM t WHERE id <= 128').raw().all()).toEqual(rows);
    expect(db.prepare('SELECT count(*) FROM t').pluck().get()).toBe(256);
  });

  it('get a number where the key is null, and say what a conflict left undone', () => {
    const db = aTable(1);
    const insert = insertPresent(db, 't', columnsOf(db, 't'), 'ON CONFLICT DO NOTHING');
    expect(insert([null, 'a']).lastInsertRowid).toBe(1);
    expect(insert([1, 'b']).changes).toBe(0);
    expect(db.prepare('SELECT c0 FROM t').pluck().all()).toEqual(['a']);
  });

  it('may have 32 columns and no more', () => {
    const most = aTable(31);
    const insert = insertPresent(most, 't', columnsOf(most, 't'));
    insert([1, ...Array.from({ length: 30 }, () => null), 'last']);
    expect(most.prepare('SELECT c30 FROM t').pluck().get()).toBe('last');
    const more = aTable(32);
    expect(() => insertPresent(more, 't', columnsOf(more, 't'))).toThrow(/33 columns/);
  });
});

describe('rows that may be there', () => {
  it('meet one that says the same, in whichever columns are null, or another, and change no more than what is taken over', () => {
    const db = aTable(4); // key, taken over, and two that are compared
    db.exec('CREATE UNIQUE INDEX by_key ON t (c0)');
    const insert = insertOrMeet(db, 't', columnsOf(db, 't'), ['c0'], 'c1');
    const values = [null, 'text', 'other', 1.5, 7, 7n, 2n ** 62n];
    let id = 1;
    for (const [a, first] of values.entries())
      for (const [b, second] of values.entries()) {
        const key = `${a}/${b}`;
        const there = id++;
        expect(insert([there, key, 1, first, second], 0)).toBe(there);
        for (const third of values) {
          const isSame = Number(third) === Number(second) || third === second;
          const before = db.prepare('SELECT * FROM t WHERE id = ?').safeIntegers().raw().get(there);
          expect(insert([id++, key, BigInt(id), first, third], 0)).toBe(isSame ? there : undefined);
          const after = db.prepare('SELECT * FROM t WHERE id = ?').safeIntegers().raw().get(there) as unknown[];
          expect(after).toEqual(isSame ? (before as unknown[]).with(2, BigInt(id)) : before);
        }
      }
    expect(db.prepare('SELECT count(*) FROM t').pluck().get()).toBe(values.length ** 2);
    db.close();
  });

  it('are told from new ones also where the row of another table went in last, under the number of this one', () => {
    const db = aTable(3);
    db.exec('CREATE UNIQUE INDEX by_key ON t (c0); CREATE TABLE other (id INTEGER PRIMARY KEY)');
    const insert = insertOrMeet(db, 't', columnsOf(db, 't'), ['c0'], 'c1');
    expect(insert([1, 'a', 1], 0)).toBe(1);
    db.exec('INSERT INTO other VALUES (2)');
    expect(insert([2, 'a', 2], 2)).toBe(1);
    db.exec('INSERT INTO other VALUES (3)');
    expect(insert([3, 'b', 3], 3)).toBe(3);
    db.close();
  });
});

describe('rows that go in together', () => {
  const stored = (db: Database.Database): unknown[] => db.prepare('SELECT * FROM t ORDER BY id').raw().all();
  const rowOf = (id: number, mask: number, columns: number): unknown[] => [
    id,
    ...Array.from({ length: columns }, (_, place) => ((mask >> place) & 1 ? [`text ${id}`, 1.5, 7][place % 3] : null)),
  ];

  it('are stored as each by itself would be, however many have the same columns', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(6), fc.nat(70)), { maxLength: 12 }), (stretches) => {
        const db = aTable(3);
        const together = insertTogether(db, 't', columnsOf(db, 't'));
        const rows: unknown[][] = [];
        for (const [mask, count] of stretches)
          for (let i = 0; i < count; i += 1) rows.push(rowOf(rows.length + 1, mask, 3));
        for (const row of rows) together.add(row);
        together.flush();
        expect(stored(db)).toEqual(rows);
        together.flush();
        expect(stored(db)).toHaveLength(rows.length);
        db.close();
      }),
      { numRuns: 60 },
    );
  });

  it('are stored also beyond the statements that are kept', () => {
    const db = aTable(7);
    const together = insertTogether(db, 't', columnsOf(db, 't'));
    const rows = Array.from({ length: 3 * 128 }, (_, at) => rowOf(at + 1, at % 128, 7));
    for (const row of rows) together.add(row);
    together.flush();
    expect(stored(db)).toEqual(rows);
  });

  it('go in by themselves from the 32nd with the same columns on', () => {
    const db = aTable(1);
    const together = insertTogether(db, 't', columnsOf(db, 't'));
    for (let id = 1; id <= 31; id += 1) together.add([id, 'a']);
    expect(stored(db)).toHaveLength(0);
    together.add([32, 'a']);
    expect(stored(db)).toHaveLength(32);
  });

  it('are gone when they are forgotten, and after an error, and those that follow are stored', () => {
    const db = aTable(1);
    const together = insertTogether(db, 't', columnsOf(db, 't'));
    together.add([1, 'a']);
    together.add([2, null]);
    together.forget();
    together.flush();
    expect(stored(db)).toHaveLength(0);
    for (const id of [3, 3]) together.add([id, 'a']);
    expect(() => together.flush()).toThrow(/UNIQUE/);
    together.forget();
    together.add([4, 'b']);
    together.flush();
    expect(stored(db).at(-1)).toEqual([4, 'b']);
  });
});
