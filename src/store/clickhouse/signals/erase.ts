import type { ProjectReach } from '../../../model/scope.ts';
import type { UnixNano } from '../../../model/time.ts';
import { isStorable, isTraceId } from '../../signals/storable.ts';
import { binding, tuples } from '../binding.ts';
import type { Database, Params } from '../connection.ts';
import { type Key, keyText, keyType, ofTraces, portions, readKey, type TraceKey } from './keyed.ts';
import { inReach } from './reach.ts';
import { FEEDBACK, LOGS, METRICS, NOTES, SCORES, SPANS, type Table } from './tables.ts';
import { raiseEpochs, withoutLateTotals, writeTogether, writeTotals } from './totals.ts';
import type { Versions } from './versions.ts';

/**
 * Removes what a condition holds for now: inserts, for each such row, one of the same key that says so. It has the version after that of
 * the row which it removes, so what is written later, or was not seen, stays.
 */
export const removeRows = (
  { run }: Database,
  { table, key }: Pick<Table, 'table' | 'key'>,
  condition: string,
  params: Params,
): Promise<void> =>
  run(
    `INSERT INTO ${table} (${key.join(', ')}, version, is_deleted)
     SELECT ${key.map((name) => `r.${name}`).join(', ')}, r.version + 1, 1 FROM ${table} AS r FINAL WHERE ${condition}`,
    params,
  );

/** Removes those of the keys whose newest rows are still older than a boundary: what was sent again meanwhile may have a new time. */
const removeOlder = async (database: Database, table: Table, keys: readonly Key[], before: UnixNano): Promise<void> => {
  for (const portion of portions(keys)) {
    const { bind, params } = binding();
    const named = table.key.map((name) => `r.${name}`).join(', ');
    const condition = `(${named}) IN ${bind(tuples(portion), keyType(table))} AND r.at_ns < {before:Int64}`;
    await removeRows(database, table, condition, { ...params, before });
  }
};

/** Removes the spans of these traces, whose epochs were raised, and brings their totals up to that. */
const removeTraces = async (database: Database, keys: readonly TraceKey[], versions: Versions): Promise<void> => {
  for (const portion of portions(keys)) {
    const to = binding();
    await removeRows(database, SPANS, ofTraces(portion, to, 'r.'), to.params);
  }
  await raiseEpochs(database, keys, versions);
  await writeTogether(database, keys, versions);
};

const named = [SCORES, FEEDBACK, NOTES, LOGS] as const;
const TRACES_AT_ONCE = 500;

const eraseSome = async (
  database: Database,
  ids: readonly string[],
  reach: ProjectReach,
  versions: Versions,
): Promise<number> => {
  const { bind, params } = binding();
  const traceIds = bind(ids, 'Array(String)');
  const reached = inReach(reach, { bind, params }, 'r.');
  const own = `r.trace_id IN ${traceIds} AND ${reached}`;
  const [holding, records] = await Promise.all([
    database.ask<[string, string]>(
      ['traces', 'spans']
        .map((table) => `SELECT r.project, r.trace_id FROM ${table} AS r FINAL WHERE ${own}`)
        .join(' UNION DISTINCT '),
      params,
    ),
    database.ask<[string]>(
      named
        .map(
          ({ table }) =>
            `SELECT assumeNotNull(r.trace_id) FROM ${table} AS r FINAL WHERE ${own} AND r.trace_id IS NOT NULL`,
        )
        .join(' UNION DISTINCT '),
      params,
    ),
  ]);
  await raiseEpochs(database, holding, versions);
  // Judgements that name a span alone belong to the trace that holds the span.
  for (const table of [SCORES, FEEDBACK])
    await removeRows(
      database,
      table,
      `r.trace_id IS NULL AND ${reached} AND (r.project, assumeNotNull(r.span_id)) IN (
         SELECT r.project, r.span_id FROM spans AS r FINAL WHERE ${own}) AND r.span_id IS NOT NULL`,
      params,
    );
  for (const table of named) await removeRows(database, table, own, params);
  await removeTraces(database, holding, versions);
  return new Set([...holding.map(([, id]) => id), ...records.map(([id]) => id)]).size;
};

/**
 * Removes all signals of these traces. Nobody sees them from now on; their bytes go later.
 * @returns how many of the ids had anything
 */
export const eraseTraces = async (
  database: Database,
  traceIds: readonly string[],
  reach: ProjectReach,
  versions: Versions,
): Promise<number> => {
  const ids = [...new Set(traceIds.filter(isTraceId))];
  let erased = 0;
  for (let at = 0; at < ids.length; at += TRACES_AT_ONCE)
    erased += await eraseSome(database, ids.slice(at, at + TRACES_AT_ONCE), reach, versions);
  return erased;
};

const timed = [SCORES, FEEDBACK, NOTES, LOGS, METRICS] as const;
const isJudged = (table: Table): boolean => table === SCORES || table === FEEDBACK;

/**
 * Removes a slice of a project's oldest signals; a trace goes completely or stays.
 * @param limit traces, and signals of each other kind, at the most
 * @returns how many rows went
 */
export const trimSlice = async (
  database: Database,
  project: string,
  before: UnixNano,
  limit: number,
  versions: Versions,
): Promise<number> => {
  if (!isStorable(project)) return 0;
  const params = { project, before, limit };
  let rows = 0;
  const judged = new Map<string, TraceKey>();
  for (const table of timed) {
    const keys = table.key.map((name) => `r.${name}`).join(', ');
    const old = await database.ask<[traceId: string | null, ...string[]]>(
      `SELECT ${isJudged(table) ? 'r.trace_id' : 'NULL'}, ${keys} FROM ${table.table} AS r FINAL
       WHERE r.project = {project:String} AND r.at_ns < {before:Int64} ORDER BY r.at_ns LIMIT {limit:UInt32}`,
      params,
    );
    const left = old.flatMap(([id]): TraceKey[] => (id !== null && isTraceId(id) ? [[project, id]] : []));
    for (const key of left) judged.set(keyText(key), key);
    await raiseEpochs(database, left, versions);
    await removeOlder(
      database,
      table,
      old.map(([, ...key]) => readKey(table, key)),
      before,
    );
    rows += old.length;
  }
  await raiseEpochs(database, [...judged.values()], versions);
  await writeTotals(database, [...judged.values()], versions, withoutLateTotals);
  const old = await database.ask<[string]>(
    `SELECT trace_id FROM traces FINAL WHERE project = {project:String} AND start_ns < {before:Int64}
     ORDER BY start_ns, trace_id LIMIT {limit:UInt32}`,
    params,
  );
  const traces = old.map(([id]): TraceKey => [project, id]);
  await raiseEpochs(database, traces, versions);
  await removeTraces(database, traces, versions);
  return rows + old.length;
};
