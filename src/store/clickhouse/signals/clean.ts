import type { Database, Params } from '../connection.ts';
import { EPOCHS, type Table, TRACES, VERSIONED } from './tables.ts';
import { EPOCH_BITS } from './totals.ts';

/** Rows that say that others are gone stay this long: no write that began before them is under way any more, in milliseconds. */
const KEPT_MS = 3_600_000;
const NANOS_PER_MILLI = 1_000_000n;

/** Keys whose newest row says that they are gone. */
const gone = ({ table, key }: Table): string => {
  const names = key.join(', ');
  return `(${names}) IN (SELECT ${names} FROM ${table} WHERE (${names}) IN (SELECT ${names} FROM ${table} WHERE is_deleted = 1)
    GROUP BY ${names} HAVING argMax(is_deleted, version) = 1)`;
};

/** Whether a mutation of a table is not over: another one would only wait behind it. */
const isMutating = async ({ ask, name }: Database, table: string): Promise<boolean> => {
  const under = await ask(
    'SELECT 1 FROM system.mutations WHERE database = {database:String} AND table = {table:String} AND NOT is_done LIMIT 1',
    { database: name, table },
  );
  return under.length > 0;
};

/** Removes rows, where there are any: a mutation looks at every part of a table. @returns whether there were any */
const removeBytes = async (
  { ask, run }: Database,
  table: string,
  condition: string,
  params: Params = {},
): Promise<boolean> => {
  const some = await ask(`SELECT 1 FROM ${table} WHERE ${condition} LIMIT 1`, params);
  if (some.length > 0) await run(`ALTER TABLE ${table} DELETE WHERE ${condition}`, params, { mutations_sync: '1' });
  return some.length > 0;
};

/**
 * Removes the bytes of what was deleted from one table: first the rows themselves, and when none of those is left anywhere, the rows that
 * say so. In one go, parts of a table that are rewritten one after the other would show for a moment what was deleted.
 */
const cleanTable = async (database: Database, table: Table, markersBefore: bigint): Promise<void> => {
  const marked = await database.ask(`SELECT 1 FROM ${table.table} WHERE is_deleted = 1 LIMIT 1`);
  if (marked.length === 0 || (await isMutating(database, table.table))) return;
  if (await removeBytes(database, table.table, `is_deleted = 0 AND ${gone(table)}`)) return;
  // Of the totals of a trace the epoch is a time.
  const time = table === TRACES ? `toUInt64(bitShiftRight(version, ${EPOCH_BITS}))` : 'version';
  await removeBytes(database, table.table, `is_deleted = 1 AND ${time} < {before:UInt64} AND ${gone(table)}`, {
    before: markersBefore,
  });
};

/** Removes the epochs of traces that are gone completely. */
const cleanEpochs = async (database: Database, before: bigint): Promise<void> => {
  if (await isMutating(database, EPOCHS.table)) return;
  await removeBytes(
    database,
    EPOCHS.table,
    'epoch < {before:UInt64} AND (project, trace_id) NOT IN (SELECT project, trace_id FROM traces)',
    { before },
  );
};

/**
 * Removes the bytes of what was deleted from all tables.
 * @throws AggregateError of what kept tables from it, after the others
 */
export const cleanTables = async (database: Database, nowNs: bigint): Promise<void> => {
  const before = nowNs - BigInt(KEPT_MS) * NANOS_PER_MILLI;
  const faults: unknown[] = [];
  for (const table of VERSIONED)
    await cleanTable(database, table, before).catch((error: unknown) => faults.push(error));
  await cleanEpochs(database, before).catch((error: unknown) => faults.push(error));
  if (faults.length > 0) throw new AggregateError(faults, 'bytes of what was deleted could not be removed');
};
