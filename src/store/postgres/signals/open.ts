import { nowUnixNano } from '../../../model/time.ts';
import type { SignalCapabilities } from '../../signals/capabilities.ts';
import type { SignalStore } from '../../signals/signal-store.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import { connectDatabase, type DatabaseOptions } from '../connection.ts';
import { migrate } from '../migrate.ts';
import { auditLog, trimRecords } from './audit.ts';
import { eraseTraces, trimSlice } from './erase.ts';
import { evaluationRecords } from './evaluation.ts';
import { signalKey, WORD_BYTES } from './keys.ts';
import { signalReads } from './reads.ts';
import { savedViews } from './saved-views.ts';
import { SIGNALS_SCHEMA } from './schema.ts';
import { isStorable } from './statement.ts';
import { createSignalWriter } from './writer.ts';

/** The name of the engine, and what it promises. */
export const postgresEngine: { readonly kind: string; readonly capabilities: SignalCapabilities } = {
  kind: 'postgres',
  capabilities: {
    deletes: 'immediate',
    idempotency: 'exact',
    atomicity: 'unit',
    fullText: { longestWordBytes: WORD_BYTES },
    order: 'identity',
  },
};

/**
 * Opens the signal store of a PostgreSQL database, and makes or migrates its tables. Several services may have it open.
 * @throws StoreUnavailable with one line for an operator, when the database is away, refuses, belongs to another program, or is
 * newer than this build; nothing was changed then
 * @see Interface specification, "Storage"
 */
export const openPostgresSignalStore = async (options: Omit<DatabaseOptions, 'store'>): Promise<SignalStore> => {
  const database = connectDatabase({ ...options, store: SIGNALS_SCHEMA.store });
  try {
    await migrate(database, SIGNALS_SCHEMA);
  } catch (error) {
    await database.close();
    throw error;
  }
  const { ask, transaction } = database;
  const writer = createSignalWriter(database, nowUnixNano);
  let closing: Promise<void> | undefined;
  /** Whether the last write failed: then a ping tries one. */
  let isFaulty = false;
  const watched = async <T>(change: Promise<T>): Promise<T> => {
    try {
      const done = await change;
      isFaulty = false;
      return done;
    } catch (error) {
      if (error instanceof StoreUnavailable) isFaulty = true;
      throw error;
    }
  };

  return {
    ...postgresEngine,
    ...signalReads(ask),
    ...evaluationRecords(database),
    ...savedViews(database),
    ...auditLog(database),

    write: (unit) =>
      closing === undefined
        ? watched(writer.write(unit))
        : Promise.reject(new StoreUnavailable(`the ${SIGNALS_SCHEMA.store} is closed`)),
    isWritten: async (ingestKey) =>
      isStorable(ingestKey) &&
      (await ask('SELECT 1 FROM ingest_keys WHERE ingest_key = $1', [signalKey(ingestKey)])).length > 0,

    deleteTraces: async (traceIds, reach) => ({
      deleted: await watched(transaction((within) => eraseTraces(within, traceIds, reach))),
      pending: false,
    }),
    trim: (project, before, limit) => watched(transaction((within) => trimSlice(within, project, before, limit))),
    trimRecords: (auditBefore, ingestKeysBefore) => watched(trimRecords(ask, auditBefore, ingestKeysBefore)),

    ping: async () => {
      await ask('SELECT 1');
      if (isFaulty)
        await watched(ask('UPDATE schema_version SET store = store WHERE store = $1', [SIGNALS_SCHEMA.name]));
    },
    close: () =>
      (closing ??= (async () => {
        await writer.idle();
        await database.close();
      })()),
  };
};
