import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { columnsOf, insertPresent } from '../../../src/store/sqlite/insert-present.ts';

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
