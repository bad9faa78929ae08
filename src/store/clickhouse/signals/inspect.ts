import type { ProbeOutcome } from '../../signals/probe.ts';
import type { SignalStore } from '../../signals/signal-store.ts';
import type { ServerAddress } from '../address.ts';
import { connectDatabase, type Database, type DatabaseOptions } from '../connection.ts';
import { checkServer, readVersion } from '../migrate.ts';
import { probeSpan } from './probe.ts';
import { signalReads } from './reads.ts';
import { SIGNALS_SCHEMA } from './schema.ts';

/** What is known of a server and the database on it. */
export type ServerFacts = {
  readonly version: string;
  /** 0 where the tables are not made yet. */
  readonly schemaVersion: number;
  /** Tables from which bytes of what was deleted should have gone by now, and have not. */
  readonly hangingDeletes: readonly string[];
  /** Services that have it open. */
  readonly services: number;
};

/** What `doctor` may ask of a database. */
export type SignalReads = Pick<SignalStore, 'listProjects' | 'listSpans' | 'listScores'>;

export type ServerInspection = {
  readonly facts: ServerFacts;
  readonly reads: SignalReads;
  /** Writes a span, reads it back and deletes it. */
  readonly probe: () => Promise<ProbeOutcome>;
  readonly close: () => Promise<void>;
};

const CONNECTIONS = 2;
const STATEMENT_MS = 30_000;
/** A mutation of the service that is not over after so long hangs. */
const HANGS_AFTER_MINUTES = 15;
/** How long ago the last claim of a service may be that is said to be there. */
const SEEN_SECONDS = 15;

/** Each service claims the duty of retention each five seconds, also while another holds it. One that ended has given it back. */
const countServices = async ({ ask }: Database): Promise<number> => {
  const [[count] = ['0']] = await ask<[string]>(
    `SELECT countIf(last > 0) FROM (
       SELECT argMax(for_ms, _block_number) AS last FROM duty_claims
       WHERE duty = 'retention' AND at > now64(6) - INTERVAL ${SEEN_SECONDS} SECOND GROUP BY holder)`,
  );
  return Number(count);
};

/**
 * Looks into a database beside services that may use it. Makes and changes no table.
 * @throws StoreUnavailable when the server is away, refuses or is too old, or the database belongs to another program
 */
export const inspectServer = async (address: ServerAddress): Promise<ServerInspection> => {
  const { store } = SIGNALS_SCHEMA;
  const connecting: DatabaseOptions = {
    ...{ address, store, connections: CONNECTIONS, statementMs: STATEMENT_MS },
    usesDatabase: false,
  };
  const server = connectDatabase(connecting);
  const database = connectDatabase({ ...connecting, usesDatabase: true });
  try {
    const version = await checkServer(server, store);
    const [there] = await server.ask('SELECT 1 FROM system.databases WHERE name = {name:String}', {
      name: address.database,
    });
    const hanging = await server.ask<[string]>(
      `SELECT DISTINCT table FROM system.mutations WHERE database = {name:String} AND NOT is_done
         AND create_time < now() - INTERVAL ${HANGS_AFTER_MINUTES} MINUTE ORDER BY table`,
      { name: address.database },
    );
    const schemaVersion = there === undefined ? 0 : await readVersion(database, SIGNALS_SCHEMA);
    return {
      facts: {
        version,
        schemaVersion,
        hangingDeletes: hanging.map(([table]) => table),
        services: schemaVersion === 0 ? 0 : await countServices(database),
      },
      reads: signalReads(database),
      probe: () => probeSpan(database),
      close: database.close,
    };
  } catch (error) {
    await database.close();
    throw error;
  } finally {
    await server.close();
  }
};
