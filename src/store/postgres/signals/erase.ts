import type { ProjectReach } from '../../../model/scope.ts';
import type { UnixNano } from '../../../model/time.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { isTraceId } from '../../signals/storable.ts';
import { int4Array, textArray } from '../arrays.ts';
import type { Ask } from '../connection.ts';
import { inReach } from './reach.ts';
import { deleteOf, lockTraces, writeJudged } from './totals.ts';
import { hex } from './statement.ts';

/** Tables that hold what a trace's spans are, beside its own row. */
const tracedTables = ['late_totals', 'trace_facets', 'trace_scores', 'span_words', 'span_payloads', 'spans'] as const;
const deleteTraceRows = async (ask: Ask, keys: readonly Row[]): Promise<void> => {
  if (keys.length === 0) return;
  for (const table of [...tracedTables, 'traces']) await ask(...deleteOf(table, keys));
};

/** Signals beside spans: their table, and its key. Judgements first, in the order in which writers lock. */
const records = [
  ['scores', 'score', 'score_id'],
  ['feedback', 'feedback', 'feedback_id'],
  ['aspect_notes', 'note', 'note_id'],
  ['logs', 'log', 'log'],
] as const;
const judgements = records.slice(0, 2);

/** Which signals belong to which traces: what holds for a record `r` that names a trace, and for a span `s`. */
type Owned = { readonly record: string; readonly span: string; readonly values: Parameters<Ask>[1] };

/** Reads and locks records that belong to traces: those of a table that name one, or judgements that name only a span of one. */
const selectNamed = ([table, key, id]: (typeof records)[number], { record }: Owned): string =>
  `SELECT r.${key} FROM ${table} AS r WHERE ${record} ORDER BY r.project, r.${id} FOR UPDATE OF r`;
const selectOfSpans = ([table, key, id]: (typeof records)[number], { span }: Owned): string =>
  `SELECT r.${key} FROM ${table} AS r JOIN spans AS s ON r.project = s.project AND r.span_id = encode(s.span_id, 'hex')
   WHERE r.trace_id IS NULL AND ${span} ORDER BY r.project, r.${id} FOR UPDATE OF r`;

/**
 * Removes records of traces, of all tables in one statement, so that it sees a unit completely or not at all. What another transaction
 * holds is passed over: it is written again after this delete.
 */
const deleteRecords = async (ask: Ask, owned: Owned): Promise<string[]> => {
  const deletes = [
    ...records.map((of) => [of, selectNamed(of, owned)] as const),
    ...judgements.map((of) => [of, selectOfSpans(of, owned)] as const),
  ].map(
    ([[table, key], which], place) =>
      `gone${place} AS (DELETE FROM ${table} WHERE ${key} IN (${which} SKIP LOCKED) RETURNING trace_id)`,
  );
  const removed = await ask<[string | null]>(
    `WITH ${deletes.join(', ')} ${deletes.map((_, place) => `SELECT trace_id FROM gone${place}`).join(' UNION ALL ')}`,
    owned.values,
  );
  return removed.flatMap(([traceId]) => traceId ?? []);
};

/**
 * Removes all signals of these traces, inside an open transaction. What is written meanwhile, and not committed yet, comes after it.
 * @returns how many of the ids had anything
 */
export const eraseTraces = async (ask: Ask, traceIds: readonly string[], reach: ProjectReach): Promise<number> => {
  const ids = traceIds.filter(isTraceId);
  if (ids.length === 0) return 0;
  const [reached, values] = inReach(reach, 1);
  const projects = await ask<[number]>(`SELECT p.project FROM projects AS p WHERE ${reached}`, values);
  const named: Owned = {
    record: 'r.project = ANY ($1::int4[]) AND r.trace_id = ANY ($2::text[])',
    span: 's.project = ANY ($1::int4[]) AND s.trace_id = ANY ($2::text[]::uuid[])',
    values: [int4Array(projects.map(([project]) => project)), textArray(ids)],
  };
  for (const of of records) await ask(selectNamed(of, named), named.values);
  for (const of of judgements) await ask(selectOfSpans(of, named), named.values);
  const found = new Set(await deleteRecords(ask, named));
  const keys = await ask<[number, string]>(
    `SELECT project, ${hex('trace_id')} FROM traces AS s WHERE ${named.span} ORDER BY project, trace_id FOR UPDATE`,
    named.values,
  );
  if (keys.length === 0) return found.size;
  // A unit may have been committed since the records went. Its spans go now, and so does the rest of it.
  await deleteRecords(ask, {
    record: '(r.project, r.trace_id) IN (SELECT * FROM unnest($1::int4[], $2::text[]))',
    span: '(s.project, s.trace_id) IN (SELECT * FROM unnest($1::int4[], $2::text[]::uuid[]))',
    values: [int4Array(keys.map(([project]) => project)), textArray(keys.map(([, traceId]) => traceId))],
  });
  for (const [, traceId] of keys) found.add(traceId);
  await deleteTraceRows(
    ask,
    keys.map((key): Row => [...key]),
  );
  return found.size;
};

/** Signals that go by their own time. */
const timed = [
  ['scores', 'score'],
  ['feedback', 'feedback'],
  ['aspect_notes', 'note'],
  ['logs', 'log'],
  ['metric_points', 'point'],
] as const;

/**
 * Removes a slice of a project's oldest signals, inside an open transaction; a trace goes completely or stays. What another transaction
 * holds at the moment is passed over, and goes with a later slice.
 * @param limit traces, and signals of each other kind, at the most
 * @returns how many rows went
 */
export const trimSlice = async (ask: Ask, project: string, before: UnixNano, limit: number): Promise<number> => {
  if (project.includes('\0')) return 0;
  const [[number] = []] = await ask<[number]>('SELECT project FROM projects WHERE name = $1', [project]);
  if (number === undefined) return 0;
  let rows = 0;
  const judged = new Set<string>();
  for (const [table, key] of timed) {
    const traceId = table === 'scores' || table === 'feedback' ? 'trace_id' : 'NULL::text';
    const removed = await ask<[string | null]>(
      `DELETE FROM ${table} WHERE ${key} IN (
         SELECT ${key} FROM ${table} WHERE project = $1 AND at_ns < $2 ORDER BY at_ns, ${key} LIMIT $3 FOR UPDATE SKIP LOCKED
       ) RETURNING ${traceId}`,
      [number, before, limit],
    );
    rows += removed.length;
    for (const [id] of removed) if (id !== null && isTraceId(id)) judged.add(id);
  }
  const touched = [...judged].sort().map((id): Row => [number, id]);
  if (touched.length > 0) await writeJudged(ask, lockTraces(ask, touched));
  const old = await ask<[string]>(
    `SELECT ${hex('trace_id')} FROM traces WHERE project = $1 AND start_ns < $2 ORDER BY start_ns, trace_id LIMIT $3
     FOR UPDATE SKIP LOCKED`,
    [number, before, limit],
  );
  await deleteTraceRows(
    ask,
    old.map(([id]): Row => [number, id]),
  );
  return rows + old.length;
};
