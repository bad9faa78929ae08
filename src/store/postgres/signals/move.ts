import { AFTER_MOVE_KEYS, type Held, type HeldKind, MOVE_KEYS, type Moving } from '../../signals/moving.ts';
import { instantOf } from '../../signals/position.ts';
import type { Page, Paging } from '../../signals/query.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { decodeTextFeedback } from '../../signals/rows/decode-records.ts';
import { decodeHeld } from '../../signals/rows/held-rows.ts';
import { decodeInTurns } from '../../in-turns.ts';
import type { Ask, Database } from '../connection.ts';
import { AUDIT, AUDIT_COLUMNS, auditRow } from './audit.ts';
import { DATASETS, EXPERIMENTS, ITEMS } from './evaluation.ts';
import { insertInto, names, unnest } from '../insert.ts';
import { signalKey } from './keys.ts';
import { FEEDBACK, LOGS, NOTES, POINTS, SCORES, type Table } from './read-records.ts';
import { spanColumns } from './read-trace.ts';
import type { RecordTable } from './record-page.ts';
import { VIEWS } from './saved-views.ts';
import { SPAN_KEY, weightOf } from './span-pieces.ts';
import { hex } from './statement.ts';

type ScanPaging = Pick<Paging, 'limit' | 'after' | 'maxBytes'>;
/** The rows of a page, each behind its key, and how many bytes each weighs. */
type Weighed = readonly [weight: number, ...key: Row];

const sizeOf = (texts: readonly string[]): string =>
  texts.length === 0 ? '0' : texts.map((column) => `coalesce(octet_length(r.${column}), 0)`).join(' + ');

/** A table of records, as the lists of its kind read it. */
const ofList = ({ table, key, columns, texts }: Table): Required<RecordTable> => ({
  from: `${table} AS r JOIN projects AS p ON p.project = r.project`,
  key,
  columns,
  weight: sizeOf(texts),
});
const ofRecord = (record: RecordTable): Required<RecordTable> => ({ weight: '0', ...record });

const numbered: Readonly<Record<Exclude<HeldKind, 'spans' | 'ingest_keys'>, Required<RecordTable>>> = {
  logs: ofList(LOGS),
  metrics: ofList(POINTS),
  scores: ofList(SCORES),
  feedback: ofList(FEEDBACK),
  aspect_notes: ofList(NOTES),
  datasets: ofRecord(DATASETS),
  dataset_items: ofRecord({
    ...ITEMS,
    from: `${ITEMS.from} JOIN projects AS p ON p.project = d.project`,
    columns: `${ITEMS.columns}, p.name`,
  }),
  experiments: ofRecord(EXPERIMENTS),
  saved_views: ofRecord({ ...VIEWS, columns: `${VIEWS.columns}, r.user_id` }),
  audit: ofRecord(AUDIT),
};

const decoders: { readonly [K in HeldKind]: (row: Row) => Held[K] } = { ...decodeHeld, feedback: decodeTextFeedback };

/** How many of the rows go into a page: with a bound of bytes, those up to the one that brings them to it. */
const takenOf = (found: readonly Weighed[], { limit, maxBytes = Number.POSITIVE_INFINITY }: ScanPaging): number => {
  let bytes = 0;
  const last = found.slice(0, limit).findIndex(([weight]) => (bytes += weight) >= maxBytes);
  return last === -1 ? Math.min(found.length, limit) : last + 1;
};

/** Rows in the order of their numbers. */
const scanNumbered = async (
  ask: Ask,
  { from, key, columns, weight }: Required<RecordTable>,
  paging: ScanPaging,
): Promise<Page<Row>> => {
  const found = await ask<[...Weighed]>(
    `SELECT (${weight})::float8, r.${key} FROM ${from} WHERE r.${key} > $1 ORDER BY r.${key} LIMIT $2`,
    [instantOf(paging.after?.[0] ?? 0), paging.limit + 1],
  );
  const taken = takenOf(found, paging);
  const first = found[0]?.[1];
  const last = found[taken - 1]?.[1];
  if (first === undefined || last === undefined) return { items: [] };
  const items = await ask<Row>(`SELECT ${columns} FROM ${from} WHERE r.${key} BETWEEN $1 AND $2 ORDER BY r.${key}`, [
    first,
    last,
  ]);
  return found.length > taken ? { items, next: [String(last)] } : { items };
};

const SPAN_ORDER = 's.project, s.start_ns, s.trace_id, s.span_id';

/** Spans by project and start, so that those of a trace stand together. */
const scanSpans = async (ask: Ask, paging: ScanPaging): Promise<Page<Row>> => {
  const [project = 0, start = 0, trace = '', span = ''] = paging.after ?? [];
  const beyond =
    paging.after === undefined ? 'true' : `(${SPAN_ORDER}) > ($2::int4, $3::int8, $4::uuid, decode($5, 'hex'))`;
  const found = await ask<[number, number, bigint, string, string]>(
    `SELECT c.weight, c.project, c.start_ns, ${hex('c.trace_id')}, encode(c.span_id, 'hex') FROM (
       SELECT ${SPAN_ORDER}, ${weightOf(true)} AS weight FROM spans AS s
         LEFT JOIN span_payloads AS l ON l.project = s.project AND l.trace_id = s.trace_id AND l.span_id = s.span_id
       WHERE ${beyond} ORDER BY ${SPAN_ORDER} LIMIT $1
     ) AS c ORDER BY c.project, c.start_ns, c.trace_id, c.span_id`,
    [
      paging.limit + 1,
      ...(paging.after === undefined ? [] : [Number(project), instantOf(start), String(trace), String(span)]),
    ],
  );
  const taken = takenOf(found, paging);
  const page = found.slice(0, taken);
  const { sql, values } = unnest(
    SPAN_KEY,
    page.map(([, of, , traceId, spanId]): Row => [of, traceId, spanId]),
  );
  const { columns, joins } = spanColumns(true);
  const items =
    page.length === 0
      ? []
      : await ask<Row>(
          `SELECT ${columns} FROM ${sql} WITH ORDINALITY AS k (project, trace_id, span_id, place)
           JOIN spans AS s ON s.project = k.project AND s.trace_id = k.trace_id AND s.span_id = k.span_id ${joins} ORDER BY k.place`,
          values,
        );
  const last = page.at(-1);
  return found.length > taken && last !== undefined
    ? { items, next: [last[1], last[2].toString(), last[3], last[4]] }
    : { items };
};

/** Keys but for those of moves, which stand together in the order of keys. */
const OWN_KEYS = `(ingest_key < '${MOVE_KEYS}' OR ingest_key >= '${AFTER_MOVE_KEYS}')`;

const scanKeys = async (ask: Ask, { limit, after }: ScanPaging): Promise<Page<Row>> => {
  const found = await ask<Row>(
    `SELECT ingest_key, at_ns FROM ingest_keys WHERE ingest_key > $1 AND ${OWN_KEYS} ORDER BY ingest_key LIMIT $2`,
    [String(after?.[0] ?? ''), limit + 1],
  );
  const items = found.slice(0, limit);
  return found.length > limit ? { items, next: [String(items.at(-1)?.[0])] } : { items };
};

const tableOf = (kind: HeldKind): string => {
  if (kind === 'spans') return 'spans';
  return kind === 'ingest_keys' ? `ingest_keys WHERE ${OWN_KEYS}` : numbered[kind].from;
};

const scanRows = (ask: Ask, kind: HeldKind, paging: ScanPaging): Promise<Page<Row>> => {
  if (kind === 'spans') return scanSpans(ask, paging);
  return kind === 'ingest_keys' ? scanKeys(ask, paging) : scanNumbered(ask, numbered[kind], paging);
};

/** @see Moving */
export const movingOver = ({ ask, transaction }: Database): Moving => ({
  count: async (kind) => Number((await ask<[bigint]>(`SELECT count(*) FROM ${tableOf(kind)}`))[0]?.[0] ?? 0),
  scan: async (kind, paging) => {
    const page = await scanRows(ask, kind, paging);
    return { ...page, items: await decodeInTurns(page.items, decoders[kind]) };
  },
  restoreAudit: async (entries) => {
    if (entries.length === 0) return;
    const { sql, values } = unnest(AUDIT_COLUMNS, entries.map(auditRow));
    await transaction((within) =>
      within(
        `INSERT INTO audit (${names(AUDIT_COLUMNS)}) SELECT n.* FROM ${sql} AS n (${names(AUDIT_COLUMNS)})
         WHERE NOT EXISTS (SELECT 1 FROM audit AS a WHERE a.at_ns = n.at_ns AND a.audit_id = n.audit_id)`,
        values,
      ),
    );
  },
  restoreIngestKeys: async (keys) => {
    if (keys.length === 0) return;
    const rows = keys.map(({ ingestKey, at }): Row => [signalKey(ingestKey), at]);
    await transaction((within) =>
      within(
        ...insertInto(
          'ingest_keys',
          [
            ['ingest_key', 'text'],
            ['at_ns', 'int8'],
          ],
          rows,
          'ON CONFLICT (ingest_key) DO NOTHING',
        ),
      ),
    );
  },
});
