import type { ProjectReach } from '../../../model/scope.ts';
import type { UnixNano } from '../../../model/time.ts';
import type { Row } from '../../signals/rows/columns.ts';
import { isTraceId } from '../../signals/storable.ts';
import { int4Array, textArray, uuidArray } from '../arrays.ts';
import type { Ask } from '../connection.ts';
import { inReach } from './reach.ts';
import { deleteOf, lockTraces, writeTotals } from './write-group.ts';
import { hex } from './statement.ts';

/** Tables that hold what a trace's spans are, beside its own row. */
const tracedTables = ['trace_facets', 'trace_scores', 'span_words', 'span_payloads', 'spans'] as const;
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

/**
 * Removes all signals of these traces, inside an open transaction. What is written meanwhile, and not committed yet, comes after it.
 * @returns how many of the ids had anything
 */
export const eraseTraces = async (ask: Ask, traceIds: readonly string[], reach: ProjectReach): Promise<number> => {
  const ids = traceIds.filter(isTraceId);
  if (ids.length === 0) return 0;
  const [reached, values] = inReach(reach, 1);
  const projects = await ask<[number]>(`SELECT p.project FROM projects AS p WHERE ${reached}`, values);
  const bound = [int4Array(projects.map(([project]) => project)), textArray(ids), uuidArray(ids)];
  const found = new Set<string>();
  for (const [table, key, id] of records) {
    const removed = await ask<[string]>(
      `DELETE FROM ${table} WHERE ${key} IN (
         SELECT ${key} FROM ${table} WHERE project = ANY ($1::int4[]) AND trace_id = ANY ($2::text[]) ORDER BY project, ${id} FOR UPDATE
       ) RETURNING trace_id`,
      bound.slice(0, 2),
    );
    for (const [traceId] of removed) found.add(traceId);
  }
  // Judgements that name a span alone belong to the trace that holds the span.
  for (const table of ['scores', 'feedback'])
    await ask(
      `DELETE FROM ${table} AS r USING spans AS s
       WHERE s.project = ANY ($1::int4[]) AND s.trace_id = ANY ($2::uuid[])
         AND r.trace_id IS NULL AND r.project = s.project AND r.span_id = encode(s.span_id, 'hex')`,
      [bound[0] ?? null, bound[2] ?? null],
    );
  const keys = await ask<[number, string]>(
    `SELECT project, ${hex('trace_id')} FROM traces WHERE project = ANY ($1::int4[]) AND trace_id = ANY ($2::uuid[])
     ORDER BY project, trace_id FOR UPDATE`,
    [bound[0] ?? null, bound[2] ?? null],
  );
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
  if (touched.length > 0) await writeTotals(ask, lockTraces(ask, touched), touched);
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
