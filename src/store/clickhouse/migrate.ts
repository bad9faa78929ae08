import { StoreUnavailable } from '../unavailable.ts';
import type { Database } from './connection.ts';
import { errorCode } from './driver-error.ts';
import type { Layout } from './layout.ts';

/** The tables of one store in a database. */
export type Schema = {
  /** Names the store in refusals. */
  readonly store: string;
  readonly version: number;
  /** Statements that bring any older version to this one. They may be repeated, and run beside each other. */
  readonly statements: (layout: Layout) => readonly string[];
};

/** The oldest release whose text indexes are no experiment. */
const OLDEST = { major: 26, minor: 2 };
const UNKNOWN_TABLE = '60';
const UNKNOWN_COLUMN = '47';

/** @throws StoreUnavailable where the server is older than this store can use */
export const checkServer = async ({ ask }: Database, store: string): Promise<string> => {
  const [[version] = ['']] = await ask<[string]>('SELECT version()');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor))
    throw new StoreUnavailable(
      `${store}: ClickHouse is ${version}, and ${OLDEST.major}.${OLDEST.minor} or later is needed`,
    );
  return version;
};

/** Makes the database where it is not there. @throws StoreUnavailable where it is not, and the user may not make it */
export const createDatabase = async ({ ask, run, name, layout }: Database): Promise<void> => {
  const held = await ask('SELECT 1 FROM system.databases WHERE name = {name:String}', { name });
  if (held.length === 0) await run(`CREATE DATABASE IF NOT EXISTS {name:Identifier}${layout.on}`, { name });
};

/** The version that the database has; 0 where it has none. @throws StoreUnavailable where the table is not ours */
export const readVersion = async ({ ask }: Database, { store }: Schema): Promise<number> => {
  try {
    const [[version] = [0]] = await ask<[number]>(`SELECT max(version) FROM schema_version WHERE store = 'signals'`);
    return version;
  } catch (error) {
    const code = errorCode(error);
    if (code === UNKNOWN_TABLE) return 0;
    if (code !== UNKNOWN_COLUMN) throw error;
    throw new StoreUnavailable(
      `${store}: the database has a table schema_version of another program; name a database of its own`,
      { cause: error },
    );
  }
};

/**
 * Brings the tables to the version of this build. No lock keeps services apart that start together: each statement may run beside itself,
 * and the version is written last.
 * @returns the version
 * @throws StoreUnavailable when a newer build has written the database, or it belongs to another program; nothing was changed then
 */
export const migrate = async (database: Database, schema: Schema): Promise<number> => {
  const found = await readVersion(database, schema);
  if (found > schema.version)
    throw new StoreUnavailable(
      `${schema.store}: the database has schema version ${found}, and this release knows ${schema.version}: run the release that wrote it`,
    );
  if (found === schema.version) return found;
  const { on, engine } = database.layout;
  await database.run(`CREATE TABLE IF NOT EXISTS schema_version${on} (store String, version UInt32, applied_at DateTime DEFAULT now())
    ENGINE = ${engine('ReplacingMergeTree')} ORDER BY (store, version) SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`);
  for (const statement of schema.statements(database.layout)) await database.run(statement);
  await database.run(`INSERT INTO schema_version (store, version) VALUES ('signals', ${schema.version})`);
  return schema.version;
};
