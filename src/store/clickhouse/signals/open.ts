import { nowUnixNano } from '../../../model/time.ts';
import { joinWrites } from '../../signals/joined-writes.ts';
import type { SignalStore } from '../../signals/signal-store.ts';
import { isStorable } from '../../signals/storable.ts';
import { watchWrites } from '../../write-health.ts';
import type { ServerAddress } from '../address.ts';
import { connectDatabase, type DatabaseOptions } from '../connection.ts';
import { checkServer, createDatabase, migrate } from '../migrate.ts';
import { auditLog, trimRecords } from './audit.ts';
import { clickhouseEngine } from './capabilities.ts';
import { cleanTables } from './clean.ts';
import { eraseTraces, trimSlice } from './erase.ts';
import { evaluationRecords } from './evaluation.ts';
import { bringUpLateTotals } from './late-totals.ts';
import { movingOver } from './move.ts';
import { probeSpan } from './probe.ts';
import { signalReads } from './reads.ts';
import { repairTotals } from './repair.ts';
import { startRounds } from './rounds.ts';
import { savedViews } from './saved-views.ts';
import { SIGNALS_SCHEMA } from './schema.ts';
import { sharingOver } from './sharing.ts';
import { createVersions } from './versions.ts';
import { prepareSpan, writeGroup } from './write-group.ts';

export type ClickHouseSignalStoreOptions = {
  readonly address: ServerAddress;
  readonly connections?: number;
  /** Longest time that a statement may take, in milliseconds. */
  readonly statementMs?: number;
  /** How often totals that are behind are repaired, and bytes of what was deleted are removed, in milliseconds. */
  readonly everyMs?: number;
};
const CONNECTIONS = 16;
const STATEMENT_MS = 30_000;
const EVERY_MS = 60_000;
/** Of what no caller waits for: a slice of retention, a repair, the removal of bytes, which goes on in the server. */
const BACKGROUND_MS = 600_000;
const BACKGROUND_CONNECTIONS = 4;

/**
 * Opens the signal store of a ClickHouse database, and makes the database, where the user may, and its tables. Several services may have
 * it open.
 * @throws StoreUnavailable with one line for an operator, when the server is away, refuses or is too old, or the database is newer than
 * this build; nothing was changed then
 * @see Interface specification, "Storage"
 */
export const openClickHouseSignalStore = async ({
  address,
  connections = CONNECTIONS,
  statementMs = STATEMENT_MS,
  everyMs = EVERY_MS,
}: ClickHouseSignalStoreOptions): Promise<SignalStore> => {
  const { store } = SIGNALS_SCHEMA;
  const connecting: DatabaseOptions = { address, store, connections, statementMs, usesDatabase: true };
  const server = connectDatabase({ ...connecting, connections: 1, usesDatabase: false });
  try {
    await checkServer(server, store);
    await createDatabase(server);
  } finally {
    await server.close();
  }
  const database = connectDatabase(connecting);
  try {
    await migrate(database, SIGNALS_SCHEMA);
  } catch (error) {
    await database.close();
    throw error;
  }
  const inBackground = connectDatabase({
    ...connecting,
    connections: BACKGROUND_CONNECTIONS,
    statementMs: Math.max(statementMs, BACKGROUND_MS),
    isAbandoned: true,
  });
  const { ask, run } = database;
  const versions = createVersions(nowUnixNano);
  const late = bringUpLateTotals(database, versions);
  const writer = joinWrites({
    store,
    prepare: prepareSpan,
    write: (group) => writeGroup(database, group, versions, nowUnixNano(), late.long),
  });
  const sharing = sharingOver(database, versions);
  const rounds = [
    startRounds({
      ...{ duty: 'totals', everyMs, sharing },
      work: async () => void (await repairTotals(inBackground, versions, nowUnixNano(), late.patient)),
    }),
    startRounds({ ...{ duty: 'cleaning', everyMs, sharing }, work: () => cleanTables(inBackground, nowUnixNano()) }),
  ];
  let closing: Promise<void> | undefined;
  const { watched, isFaulty } = watchWrites();

  return {
    ...clickhouseEngine,
    ...signalReads(database),
    sharing,
    ...evaluationRecords(database, versions),
    ...savedViews(database, versions),
    ...auditLog(database, versions),
    moving: movingOver(database, versions),

    write: (unit) => watched(writer.write(unit)),
    isWritten: async (ingestKey) =>
      isStorable(ingestKey) &&
      (await ask('SELECT 1 FROM ingest_keys WHERE ingest_key = {key:String} LIMIT 1', { key: ingestKey })).length > 0,

    deleteTraces: async (traceIds, reach) => {
      const deleted = await watched(eraseTraces(database, traceIds, reach, versions));
      return { deleted, pending: deleted > 0 };
    },
    trim: (project, before, limit) => watched(trimSlice(inBackground, project, before, limit, versions)),
    trimRecords: (auditBefore, ingestKeysBefore) => watched(trimRecords(inBackground, auditBefore, ingestKeysBefore)),

    ping: async () => {
      await ask('SELECT 1');
      if (isFaulty())
        await watched(run(`INSERT INTO schema_version (store, version) VALUES ('signals', ${SIGNALS_SCHEMA.version})`));
    },
    probe: () => probeSpan(database),
    close: () =>
      (closing ??= (async () => {
        const written = writer.close();
        await Promise.all([written, late.stop(), ...rounds.map(({ stop }) => stop())]);
        await Promise.all([database.close(), inBackground.close()]);
      })()),
  };
};
