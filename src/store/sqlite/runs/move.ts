import type Database from 'better-sqlite3';
import { type HeldRunKind, heldTableOf, MOVE_NOTE, type MoveNote, type RowsPage } from '../../runs/moving.ts';
import type { Column, Columns } from '../../runs/rows/encode-changes.ts';

/** What a row weighs: its texts, of which alone it can have many. */
const weightOf = (row: Columns): number => {
  let characters = 0;
  for (const column of row) if (typeof column === 'string') characters += column.length;
  return characters;
};

/** @see RunMoving; the caller holds the transaction of what writes */
export const movingOf = (db: Database.Database) => {
  const writeNote = (note: MoveNote | undefined): void => {
    db.prepare(`DELETE FROM ${MOVE_NOTE}`).run();
    if (note !== undefined) db.prepare(`INSERT INTO ${MOVE_NOTE} VALUES (?, ?)`).run(note.kind, JSON.stringify(note));
  };
  return {
    count: (kind: HeldRunKind): number =>
      db
        .prepare<[], number>(`SELECT count(*) FROM ${heldTableOf(kind).table}`)
        .pluck()
        .get() ?? 0,
    scan: (kind: HeldRunKind, after: Columns | undefined, limit: number, maxBytes: number): RowsPage => {
      const { table, key } = heldTableOf(kind);
      const begin = after === undefined ? '' : `WHERE (${key.join(', ')}) > (${key.map(() => '?').join(', ')})`;
      const statement = db
        .prepare<Column[], Column[]>(`SELECT * FROM ${table} ${begin} ORDER BY ${key.join(', ')} LIMIT ?`)
        .raw();
      const rows: Columns[] = [];
      let weight = 0;
      for (const row of statement.iterate(...(after ?? []), limit)) {
        rows.push(row);
        weight += weightOf(row);
        if (weight >= maxBytes) break;
      }
      const last = rows.at(-1);
      if (last === undefined) return { rows };
      const names = statement.columns().map(({ name }) => name);
      return { rows, next: key.map((name) => last[names.indexOf(name)] ?? null) };
    },
    restore: (kind: HeldRunKind, rows: readonly Columns[], note: MoveNote): void => {
      const { table } = heldTableOf(kind);
      const width = rows[0]?.length ?? 0;
      if (width > 0) {
        const insert = db.prepare<Column[]>(
          `INSERT INTO ${table} VALUES (${Array.from({ length: width }, () => '?').join(', ')})`,
        );
        for (const row of rows) insert.run(...row);
      }
      writeNote(note);
    },
    readNote: (): MoveNote | undefined => {
      const held = db.prepare<[], string>(`SELECT note FROM ${MOVE_NOTE}`).pluck().get();
      return held === undefined ? undefined : (JSON.parse(held) as MoveNote);
    },
    writeNote,
  };
};
