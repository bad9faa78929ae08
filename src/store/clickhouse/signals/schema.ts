import type { Schema } from '../migrate.ts';
import { createTables, extendTables } from './tables.ts';

/** What `schema_version` holds when this build has opened a database. */
const SCHEMA_VERSION = 5;

/** The tables of the signal store. */
export const SIGNALS_SCHEMA: Schema = {
  store: 'signal store',
  version: SCHEMA_VERSION,
  statements: (layout) => [...createTables(layout), ...extendTables(layout)],
};
