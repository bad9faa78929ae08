import { nowUnixNano } from '../../../model/time.ts';
import type { SignalStore } from '../../signals/signal-store.ts';
import { watchWrites } from '../../write-health.ts';
import { isStorable } from '../../signals/storable.ts';
import { connectDatabase, type DatabaseOptions } from '../connection.ts';
import { migrate } from '../migrate.ts';
import { auditLog, trimRecords } from './audit.ts';
import { eraseTraces, trimSlice } from './erase.ts';
import { evaluationRecords } from './evaluation.ts';
import { postgresEngine } from './capabilities.ts';
import { signalKey } from './keys.ts';
import { bringUpLateTotals } from './late-totals.ts';
import { movingOver } from './move.ts';
import { probeSpan } from './probe.ts';
import { signalReads } from './reads.ts';
import { savedViews } from './saved-views.ts';
import { SIGNALS_SCHEMA } from './schema.ts';
import { sharingOver } from './sharing.ts';
import { createSignalWriter } from './writer.ts';

export type PostgresSignalStoreOptions = Pick<DatabaseOptions, 'url' | 'statementMs'> &
  Partial<Pick<DatabaseOptions, 'connections'>>;
/** Enough for a writer, a delete, retention, and eight reads. */
const CONNECTIONS = 12;
const MIGRATION_MS = 3_600_000;
/** For one slice of what retention takes away; a slice may hold large traces. */
const BACKGROUND_MS = 600_000;

/**
 * Opens the signal store of a PostgreSQL database, and makes or migrates its tables. Several services may have it open.
 * @throws StoreUnavailable with one line for an operator, when the database is away, refuses, belongs to another program, or is
 * newer than this build; nothing was changed then
 * @see Interface specification, "Storage"
 */
export const openPostgresSignalStore = async (options: PostgresSignalStoreOptions): Promise<SignalStore> => {
  const connecting: DatabaseOptions = { connections: CONNECTIONS, ...options, store: SIGNALS_SCHEMA.store };
  // A migration may take longer than any statement of the service, and so may the wait for that of another start.
  const migrating = connectDatabase({ ...connecting, connections: 1, statementMs: MIGRATION_MS });
  try {
    await migrate(migrating, SIGNALS_SCHEMA);
  } finally {
    await migrating.close();
  }
  const database = connectDatabase(connecting);
  const { ask, transaction } = database;
  // Work in the background is not bound by the time of a request.
  const inBackground = connectDatabase({ ...connecting, connections: 1, statementMs: BACKGROUND_MS });
  const late = bringUpLateTotals(database);
  const writer = createSignalWriter(database, nowUnixNano, late);
  let closing: Promise<void> | undefined;
  const { watched, isFaulty } = watchWrites();

  return {
    ...postgresEngine,
    ...signalReads(ask),
    sharing: sharingOver(database),
    moving: movingOver(database),
    ...evaluationRecords(database),
    ...savedViews(database),
    ...auditLog(database),

    write: (unit) => watched(writer.write(unit)),
    isWritten: async (ingestKey) =>
      isStorable(ingestKey) &&
      (await ask('SELECT 1 FROM ingest_keys WHERE ingest_key = $1', [signalKey(ingestKey)])).length > 0,

    deleteTraces: async (traceIds, reach) => ({
      deleted: await watched(transaction((within) => eraseTraces(within, traceIds, reach))),
      pending: false,
    }),
    trim: (project, before, limit) =>
      watched(inBackground.transaction((within) => trimSlice(within, project, before, limit))),
    trimRecords: (auditBefore, ingestKeysBefore) => watched(trimRecords(inBackground, auditBefore, ingestKeysBefore)),

    ping: async () => {
      await ask('SELECT 1');
      if (isFaulty())
        await watched(
          transaction((within) =>
            within('UPDATE schema_version SET store = store WHERE store = $1', [SIGNALS_SCHEMA.name]),
          ),
        );
    },
    probe: () => probeSpan(database),
    close: () =>
      (closing ??= (async () => {
        await Promise.all([writer.close(), late.stop()]);
        await Promise.all([database.close(), inBackground.close()]);
      })()),
  };
};
