import { randomBytes } from 'node:crypto';
import { nowUnixNano } from '../../../model/time.ts';
import type { ProbeOutcome, ProbeStep } from '../../signals/probe.ts';
import { kindCode, statusCode } from '../../signals/rows/codes.ts';
import type { SignalStore } from '../../signals/signal-store.ts';
import { StoreUnavailable } from '../../unavailable.ts';
import { connectDatabase, type Database } from '../connection.ts';
import { errorCode } from '../driver-error.ts';
import { readVersion } from '../migrate.ts';
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

/** No project has this number, so no list, total or search of a running service ever comes across the probe. */
const NO_PROJECT = -1;
/** A probe older than this was left by a check that was killed half way. */
const FORGOTTEN_NANOS = 3_600_000_000_000n;
const BUSY = /^(?:55P03|40001|40P01)$/;

const probeSpan = async ({ ask, transaction }: Database): Promise<ProbeOutcome> => {
  const traceId = randomBytes(16).toString('hex');
  const text = `probe ${traceId}`;
  const spanId = Buffer.from(traceId.slice(0, 16), 'hex');
  const now = nowUnixNano();
  let step: ProbeStep = 'write';
  const find = async (): Promise<string | undefined> =>
    (
      await ask<[string]>('SELECT input FROM span_payloads WHERE project = $1 AND trace_id = $2', [NO_PROJECT, traceId])
    )[0]?.[0];
  try {
    await transaction(async (within) => {
      await within(
        `WITH old AS (DELETE FROM spans WHERE project = $1 AND received_ns < $2 RETURNING trace_id)
         DELETE FROM span_payloads WHERE project = $1 AND trace_id IN (SELECT trace_id FROM old)`,
        [NO_PROJECT, now - FORGOTTEN_NANOS],
      );
      await within(
        `INSERT INTO spans (project, trace_id, span_id, name, kind, status, start_ns, repeats_usage, received_ns, is_event)
         VALUES ($1, $2, $3, 'probe', $4, $5, $6, 0, $6, 0)`,
        [NO_PROJECT, traceId, spanId, kindCode('generic'), statusCode('ok'), now],
      );
      await within('INSERT INTO span_payloads (project, trace_id, span_id, forms, input) VALUES ($1, $2, $3, 0, $4)', [
        ...[NO_PROJECT, traceId, spanId, text],
      ]);
    });
    step = 'read';
    const found = await find();
    step = 'delete';
    await transaction(async (within) => {
      for (const table of ['span_payloads', 'spans'])
        await within(`DELETE FROM ${table} WHERE project = $1 AND trace_id = $2`, [NO_PROJECT, traceId]);
    });
    if (found !== text) return { kind: 'wrong', step: 'read' };
    return (await find()) === undefined ? { kind: 'survived' } : { kind: 'wrong', step: 'delete' };
  } catch (error) {
    const code = errorCode(error instanceof StoreUnavailable ? error.cause : error);
    if (code === undefined) throw error;
    return BUSY.test(code) ? { kind: 'busy', attempts: 3 } : { kind: 'failed', step, code };
  }
};

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
