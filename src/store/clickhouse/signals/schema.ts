import type { Schema } from '../migrate.ts';
import { createTables } from './tables.ts';

/** What `schema_version` holds when this build has opened a database: that of the embedded store, which keeps the same. */
const SCHEMA_VERSION = 2;

/** The tables of the signal store. */
export const SIGNALS_SCHEMA: Schema = { store: 'signal store', version: SCHEMA_VERSION, statements: createTables };
