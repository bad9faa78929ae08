import type { ProbeOutcome } from '../../signals/probe.ts';
import type { SignalStore } from '../../signals/signal-store.ts';
import { connectDatabase } from '../connection.ts';
import { readVersion } from '../migrate.ts';
import { probeSpan } from './probe.ts';
import { VISITOR } from '../application.ts';
import { countServices } from '../services.ts';
import { signalReads } from './reads.ts';
import { SIGNALS_SCHEMA } from './schema.ts';

/** What is known of a server and the database on it. */
export type DatabaseFacts = {
  /** As in 150018. */
  readonly serverVersion: number;
  readonly serverVersionText: string;
  /** 0 where the tables are not made yet. */
  readonly schemaVersion: number;
  /** Whether it takes no writes: a standby, or one that is set so. */
  readonly isReadOnly: boolean;
  /** `synchronous_commit` is that of our transactions. */
  readonly settings: Readonly<Record<(typeof asked)[number], string>>;
  /** Servers that follow this one. */
  readonly standbys: number;
  /** Services that have it open. */
  readonly services: number;
};

/** What `doctor` may ask of a database. */
export type SignalReads = Pick<SignalStore, 'listProjects' | 'listSpans' | 'listScores'>;

export type DatabaseInspection = {
  readonly facts: DatabaseFacts;
  readonly reads: SignalReads;
  /** Writes a span, reads it back and deletes it, a transaction each. */
  readonly probe: () => Promise<ProbeOutcome>;
  readonly close: () => Promise<void>;
};

const CONNECTIONS = 2;
const asked = ['fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names', 'autovacuum'] as const;

/**
 * Looks into a database beside services that may use it. Makes and changes no table.
 * @throws StoreUnavailable when the database is away, refuses, or belongs to another program
 */
export const inspectDatabase = async (url: string): Promise<DatabaseInspection> => {
  const database = connectDatabase({
    url,
    store: SIGNALS_SCHEMA.store,
    connections: CONNECTIONS,
    application: VISITOR,
  });
  try {
    const facts = await database.transaction(async (within): Promise<DatabaseFacts> => {
      const settings = new Map(
        await within<[string, string]>(
          `SELECT name, setting FROM pg_settings WHERE name IN (${asked.map((name) => `'${name}'`).join(', ')})`,
        ),
      );
      const [[number, text, readOnly, standbys] = []] = await within<[string, string, string, bigint]>(
        `SELECT current_setting('server_version_num'), current_setting('server_version'),
           current_setting('transaction_read_only'), (SELECT count(*) FROM pg_stat_replication)`,
      );
      return {
        serverVersion: Number(number),
        serverVersionText: text?.split(' ')[0] ?? '',
        schemaVersion: await readVersion(within, SIGNALS_SCHEMA),
        isReadOnly: readOnly === 'on',
        settings: Object.fromEntries(
          asked.map((name) => [name, settings.get(name) ?? '']),
        ) as DatabaseFacts['settings'],
        standbys: Number(standbys ?? 0n),
        services: await countServices(within),
      };
    });
    return { facts, reads: signalReads(database.ask), probe: () => probeSpan(database), close: database.close };
  } catch (error) {
    await database.close();
    throw error;
  }
};
