import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { statementsOf } from '../../../../src/store/sqlite/signals/statements.ts';

describe('statements of the signals file', () => {
  const db = new Database(':memory:');
  db.exec(`
    CREATE TABLE spans (span INTEGER PRIMARY KEY, name TEXT, cost REAL);
    CREATE INDEX spans_by_name ON spans (name);
    INSERT INTO spans VALUES (1, 'a', 0.1), (2, 'b', 0.2), (3, 'a', NULL), (9007199254740993, '4', 0.3);
  `);
  const statements = statementsOf(db);

  it('hide every parameter from the planner, so that none is planned anew for what is bound', () => {
    const sql =
      'SELECT b.span FROM spans AS a JOIN spans AS b ON b.name = a.name WHERE a.span = ? AND b.cost < ? LIMIT ?';
    for (const statement of [statements.raw(sql), statements.exact(sql), statements.pluck(sql)]) {
      expect(statement.source.match(/\?/g)).toHaveLength(3);
      expect(statement.source.match(/\+\?/g)).toHaveLength(3);
    }
  });

  it('compare with what is bound as they would without that: by the type of the column, NULL with nothing', () => {
    const spans = (condition: string, ...values: unknown[]) =>
      statements
        .exact(`SELECT span FROM spans WHERE ${condition} ORDER BY span`)
        .all(...values)
        .flat();
    expect(spans('name = ?', 4n)).toEqual([9007199254740993n]);
    expect(spans('span = ?', '2')).toEqual([2n]);
    expect(spans('span = ?', 9007199254740993n)).toEqual([9007199254740993n]);
    expect(spans('cost = ?', null)).toEqual([]);
    expect(spans('cost IS ?', null)).toEqual([3n]);
    expect(spans('(name, span) > (?, ?)', 'a', 1)).toEqual([2n, 3n]);
    expect(spans('span IN (SELECT value FROM json_each(?))', '[1,3]')).toEqual([1n, 3n]);
  });

  it('find by the same index as with the parameter in sight', () => {
    const [, , , plan] = db.prepare('EXPLAIN QUERY PLAN SELECT span FROM spans WHERE name = +?').raw().get('a') as [
      number,
      number,
      number,
      string,
    ];
    expect(plan).toMatch(/USING COVERING INDEX spans_by_name \(name=\?\)/);
  });
});
