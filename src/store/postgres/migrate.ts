import { StoreUnavailable } from '../unavailable.ts';
import type { Ask, Database } from './connection.ts';
import { errorCode } from './driver-error.ts';

/** The tables of one store in a database. */
export type Schema = {
  /** Names the rows of `schema_version`: several stores may share a database. */
  readonly name: string;
  /** Names the store in refusals. */
  readonly store: string;
  /** Steps from one version to the next, in order; never edited after a release. */
  readonly steps: readonly { readonly version: number; readonly sql: string }[];
};

/** Of the lock that one start at a time holds while it changes tables ("svcs" in ASCII). */
const LOCK = 0x73766373;
const UNDEFINED_COLUMN = '42703';

/** The version that the database has; 0 where it has none. @throws StoreUnavailable where the table is not ours */
export const readVersion = async (ask: Ask, { name, store }: Schema): Promise<number> => {
  // Read as rows: to_regclass would answer from a cache, which who waited for another start's lock finds as it was before.
  const [[isThere] = [false]] = await ask<[boolean]>(
    `SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'schema_version' AND relnamespace = current_schema()::regnamespace)`,
  );
  if (!isThere) return 0;
  try {
    const [[version] = [0]] = await ask<[number | null]>('SELECT max(version) FROM schema_version WHERE store = $1', [
      name,
    ]);
    return version ?? 0;
  } catch (error) {
    if (errorCode(error) !== UNDEFINED_COLUMN) throw error;
    throw new StoreUnavailable(
      `${store}: the database has a table schema_version of another program; name a database of its own`,
      { cause: error },
    );
  }
};

/**
 * Brings the tables to the version of this build, in one transaction, under a lock that replicas which start together wait for. A
 * database that has the version is only read.
 * @returns the version
 * @throws StoreUnavailable when a newer build has written the database, or it belongs to another program; nothing was changed then
 */
export const migrate = async (database: Database, schema: Schema): Promise<number> => {
  const newest = schema.steps.at(-1)?.version ?? 0;
  const refuseNewer = (found: number): void => {
    if (found > newest)
      throw new StoreUnavailable(
        `${schema.store}: the database has schema version ${found}, and this release knows ${newest}: run the release that wrote it`,
      );
  };
  const found = await readVersion(database.ask, schema);
  refuseNewer(found);
  if (found === newest) return newest;
  await database.transaction(async (ask) => {
    // Who waits here does so for a migration, which may take longer than any statement of the service.
    await ask('SET LOCAL lock_timeout = 0');
    await ask('SET LOCAL statement_timeout = 0');
    await ask('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    const before = await readVersion(ask, schema);
    refuseNewer(before);
    if (before === newest) return;
    await ask(`CREATE TABLE IF NOT EXISTS schema_version (
      store text NOT NULL, version integer NOT NULL, applied_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (store, version)
    )`);
    for (const { version, sql } of schema.steps) {
      if (version <= before) continue;
      await ask(sql);
      await ask('INSERT INTO schema_version (store, version) VALUES ($1, $2)', [schema.name, version]);
    }
  });
  return newest;
};
