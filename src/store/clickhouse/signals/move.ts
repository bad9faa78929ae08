import { AFTER_MOVE_KEYS, type Held, type HeldKind, MOVE_KEYS, type Moving } from '../../signals/moving.ts';
import type { Page, Paging } from '../../signals/query.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeTextFeedback } from '../../signals/rows/decode-records.ts';
import { decodeHeld } from '../../signals/rows/held-rows.ts';
import { decodeInTurns } from '../../in-turns.ts';
import { storable } from '../../signals/storable.ts';
import { binding } from '../binding.ts';
import type { Ask, Database } from '../connection.ts';
import { auditLog, ENTRIES } from './audit.ts';
import { DATASET_RECORDS, EXPERIMENT_RECORDS, ITEM_RECORDS, withCounts } from './evaluation.ts';
import { knownKeys } from './ingest-keys.ts';
import { askKeys, readKey } from './keyed.ts';
import { NO_PROJECT } from './reach.ts';
import { FEEDBACK_RECORDS, LOG_RECORDS, NOTE_RECORDS, POINTS, SCORE_RECORDS } from './read-records.ts';
import { spanColumns } from './read-trace.ts';
import { bindPlace } from './record-page.ts';
import { VIEW_RECORDS } from './saved-views.ts';
import { INGEST_KEYS, SPANS } from './tables.ts';
import type { Versions } from './versions.ts';
import { readWhole, type Whole } from './whole-rows.ts';

type ScanPaging = Pick<Paging, 'limit' | 'after' | 'maxBytes'>;
/** A table, and the columns that identify and order its rows. */
type Scanned = Whole & { readonly order: readonly string[] };

const byKey = (table: Whole): Scanned => ({ ...table, order: table.of.key });
/** Records in the order in which they were made. */
const byPlace = (table: Whole): Scanned => ({ ...table, order: ['row', ...table.of.key] });

const scanned: Readonly<Record<Exclude<HeldKind, 'ingest_keys'>, Scanned>> = {
  spans: byKey({ of: SPANS, columns: spanColumns(true).replaceAll('s.', 'r.'), weight: 'r.weight' }),
  logs: byKey(LOG_RECORDS),
  metrics: byKey(POINTS),
  scores: byKey(SCORE_RECORDS),
  feedback: byKey(FEEDBACK_RECORDS),
  aspect_notes: byKey(NOTE_RECORDS),
  datasets: byPlace(DATASET_RECORDS),
  dataset_items: {
    ...ITEM_RECORDS,
    columns: `${ITEM_RECORDS.columns}, r.project`,
    order: ['project', 'dataset_id', 'row', 'item_id'],
  },
  experiments: byPlace(EXPERIMENT_RECORDS),
  saved_views: byPlace({ ...VIEW_RECORDS, columns: `${VIEW_RECORDS.columns}, r.user_id` }),
  audit: byKey(ENTRIES),
};

/** Integers of 64 bits are read as decimal text. */
const decodeKey = ([ingestKey, at]: Row): Held['ingest_keys'] => ({
  ingestKey: ingestKey as string,
  at: BigInt(at as string),
});
const decoders: { readonly [K in HeldKind]: (row: Row) => Held[K] } = {
  ...decodeHeld,
  feedback: decodeTextFeedback,
  ingest_keys: decodeKey,
};

const OWN_ROWS = `r.project <> '${NO_PROJECT}'`;

const scanTable = async (ask: Ask, table: Scanned, { limit, after, maxBytes }: ScanPaging): Promise<Page<Row>> => {
  const { of, order } = table;
  const to = binding();
  const parts = [OWN_ROWS];
  const named = order.map((column) => `r.${column}`);
  if (after !== undefined) {
    const places = order.map((column, at) => bindPlace(to, of, column, after[at]));
    parts.push(`(${named.join(', ')}) > (${places.join(', ')})`);
    // What follows from that, in the form that leaves out parts of the table.
    const [first = '', second] = named;
    const [place = '', next = ''] = places;
    parts.push(`${first} >= ${place}`);
    if (second !== undefined) parts.push(`(${first} > ${place} OR ${second} >= ${next})`);
  }
  const found = await ask<string[]>(
    `SELECT ${[...of.key.map((column) => `r.${column}`), ...named].join(', ')} FROM ${of.table} AS r FINAL
     WHERE ${parts.join(' AND ')} ORDER BY ${named.join(', ')} LIMIT ${limit + 1}`,
    to.params,
  );
  const wanted = found.slice(0, limit);
  const { rows, taken } = await readWhole(
    ask,
    table,
    wanted.map((row) => readKey(of, row)),
    maxBytes,
  );
  const last = wanted[taken - 1];
  return found.length > taken && last !== undefined
    ? { items: rows, next: last.slice(of.key.length) }
    : { items: rows };
};

/** Keys but for those of moves, which stand together in the order of keys. */
const OWN_KEYS = `(ingest_key < '${MOVE_KEYS}' OR ingest_key >= '${AFTER_MOVE_KEYS}')`;

const scanKeys = async (ask: Ask, { limit, after }: ScanPaging): Promise<Page<Row>> => {
  const found = await ask<Row>(
    `SELECT ingest_key, at_ns FROM ${INGEST_KEYS.table} FINAL WHERE ingest_key > {after:String} AND ${OWN_KEYS}
     ORDER BY ingest_key LIMIT ${limit + 1}`,
    { after: storable(String(after?.[0] ?? '')) },
  );
  const items = found.slice(0, limit);
  return found.length > limit ? { items, next: [String(items.at(-1)?.[0])] } : { items };
};

const scanRows = async (ask: Ask, kind: HeldKind, paging: ScanPaging): Promise<Page<Row>> => {
  if (kind === 'ingest_keys') return scanKeys(ask, paging);
  const page = await scanTable(ask, scanned[kind], paging);
  return kind === 'datasets' ? { ...page, items: await withCounts(ask, page.items) } : page;
};

/** @see Moving */
export const movingOver = (database: Database, versions: Versions): Moving => {
  const { ask, insert } = database;
  const { appendAudit } = auditLog(database, versions);
  return {
    count: async (kind) => {
      const from =
        kind === 'ingest_keys'
          ? `${INGEST_KEYS.table} FINAL WHERE ${OWN_KEYS}`
          : `${scanned[kind].of.table} AS r FINAL WHERE ${OWN_ROWS}`;
      return Number((await ask<[string]>(`SELECT count() FROM ${from}`))[0]?.[0] ?? 0);
    },
    scan: async (kind, paging) => {
      const page = await scanRows(ask, kind, paging);
      return { ...page, items: await decodeInTurns(page.items, decoders[kind]) };
    },
    restoreAudit: async (entries) => {
      const own = new Map(entries.map((entry) => [`${entry.at} ${storable(entry.auditId)}`, entry]));
      const held = await askKeys<[at: string, id: string]>(
        ask,
        [...own.values()].map(({ at, auditId }) => [at, storable(auditId)]),
        'Array(Tuple(Int64, String))',
        (keys) => `SELECT at_ns, audit_id FROM audit FINAL WHERE (at_ns, audit_id) IN ${keys}`,
      );
      for (const [at, id] of held) own.delete(`${at} ${id}`);
      await appendAudit([...own.values()]);
    },
    restoreIngestKeys: async (keys) => {
      const own = new Map<string, bigint>();
      for (const { ingestKey, at } of keys) if (!own.has(ingestKey)) own.set(ingestKey, at);
      for (const key of await knownKeys(ask, [...own.keys()])) own.delete(key);
      await insert(INGEST_KEYS, [...own]);
    },
  };
};
