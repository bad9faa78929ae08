import type Database from 'better-sqlite3';
import { AFTER_MOVE_KEYS, type HeldKind, MOVE_KEYS } from '../../signals/moving.ts';
import type { Paging } from '../../signals/query.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { DATASET, EXPERIMENT, ITEM } from './read-evaluation.ts';
import { AUDIT_COLUMNS, FEEDBACK, LOGS, NOTES, POINTS, SCORES, type Table } from './read-records.ts';
import { spansByNumber } from './read-spans.ts';
import type { RowPage } from './read-traces.ts';
import { readUpTo } from './read-up-to.ts';
import type { Statements } from './statements.ts';
import { VIEW } from './view-rows.ts';

/** A table whose rows are numbered as they come. */
type Numbered = { readonly table: string; readonly key: string; readonly whole?: string };

const ofProject = ({ from, key, columns }: Pick<Table, 'from' | 'key' | 'columns'>): Numbered => ({
  table: from,
  key,
  whole: `SELECT ${columns} FROM ${from} AS r JOIN projects AS p ON p.project = r.project WHERE r.${key} = ?`,
});

const numbered: Readonly<Record<Exclude<HeldKind, 'ingest_keys'>, Numbered>> = {
  spans: { table: 'spans', key: 'span' },
  logs: ofProject(LOGS),
  metrics: ofProject(POINTS),
  scores: ofProject(SCORES),
  feedback: ofProject(FEEDBACK),
  aspect_notes: ofProject(NOTES),
  datasets: ofProject({ from: 'datasets', key: 'dataset', columns: DATASET }),
  dataset_items: {
    table: 'dataset_items',
    key: 'item',
    whole: `SELECT ${ITEM}, p.name FROM dataset_items AS i JOIN datasets AS d ON d.dataset = i.dataset
      JOIN projects AS p ON p.project = d.project WHERE i.item = ?`,
  },
  experiments: ofProject({ from: 'experiments', key: 'experiment', columns: EXPERIMENT }),
  saved_views: ofProject({ from: 'saved_views', key: 'view', columns: `${VIEW}, r.user_id` }),
  audit: { table: 'audit', key: 'entry', whole: `SELECT ${AUDIT_COLUMNS} FROM audit AS a WHERE a.entry = ?` },
};

/** Keys but for those of moves, which stand together in the order of keys. */
const OWN_KEYS = `(ingest_key < '${MOVE_KEYS}' OR ingest_key >= '${AFTER_MOVE_KEYS}')`;

export const countHeld = (statements: Statements, kind: HeldKind): number =>
  statements
    .pluck<number>(
      kind === 'ingest_keys'
        ? `SELECT count(*) FROM ingest_keys WHERE ${OWN_KEYS}`
        : `SELECT count(*) FROM ${numbered[kind].table}`,
    )
    .get() ?? 0;

type ScanPaging = Pick<Paging, 'limit' | 'after' | 'maxBytes'>;

/** @see Moving.scan */
export const scanHeld = (statements: Statements, kind: HeldKind, { limit, after, maxBytes }: ScanPaging): RowPage => {
  if (kind === 'ingest_keys') {
    const found = statements
      .exact<Row>(
        `SELECT ingest_key, at_ns FROM ingest_keys WHERE ingest_key > ? AND ${OWN_KEYS} ORDER BY ingest_key LIMIT ?`,
      )
      .all(String(after?.[0] ?? ''), limit + 1);
    const rows = found.slice(0, limit);
    return [rows, found.length > limit ? [String(rows.at(-1)?.[0])] : undefined];
  }
  const { table, key, whole } = numbered[kind];
  const found = statements
    .pluck<number>(`SELECT ${key} FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ?`)
    .all(Number(after?.[0] ?? 0), limit + 1);
  const statement = whole === undefined ? undefined : statements.exact<Row>(whole);
  const find =
    statement === undefined ? spansByNumber(statements, true) : (row: number): Row | undefined => statement.get(row);
  const [rows, read] = readUpTo(found.slice(0, limit), find, maxBytes);
  return [rows, found.length > read ? [found[read - 1] ?? 0] : undefined];
};

/** Writes of what no sender writes. Each runs inside an open transaction. */
export type RestoreWriter = {
  restoreAudit(rows: readonly Row[]): void;
  /** @param rows ingest_key, at_ns */
  restoreIngestKeys(rows: readonly Row[]): void;
};

export const restoreWriterOf = (db: Database.Database): RestoreWriter => {
  const addEntry = db.prepare(
    `INSERT INTO audit SELECT NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?
     WHERE NOT EXISTS (SELECT 1 FROM audit WHERE audit_id = ? AND at_ns = ?)`,
  );
  const addKey = db.prepare('INSERT INTO ingest_keys VALUES (?, ?) ON CONFLICT DO NOTHING');
  return {
    restoreAudit: (rows) => {
      for (const row of rows) addEntry.run(...row, ...row.slice(0, 2));
    },
    restoreIngestKeys: (rows) => {
      for (const row of rows) addKey.run(...row);
    },
  };
};
