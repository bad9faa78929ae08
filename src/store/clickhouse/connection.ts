import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClickHouseSettings, createClient } from '@clickhouse/client';
import { StoreUnavailable } from '../unavailable.ts';
import type { ServerAddress } from './address.ts';
import { errorCode, isUnanswered, judgeError } from './driver-error.ts';
import { type Layout, layoutOf } from './layout.ts';
import { type Columns, encodeRows, type ValueRow } from './row-binary.ts';

/** What a statement binds, by name. Text of others reaches a statement in no other way. */
export type Params = Readonly<Record<string, unknown>>;

/** Asks one statement. Rows come as arrays, 64-bit integers as decimal text, so that no time loses a digit. */
export type Ask = <R extends readonly unknown[]>(sql: string, params?: Params) => Promise<R[]>;

/** A table as rows are written to it. */
export type Written = { readonly table: string; readonly columns: Columns };

export type Database = {
  readonly name: string;
  readonly layout: Layout;
  /** Reads. */
  readonly ask: Ask;
  /**
   * Inserts rows in one block, which is on the disk when this resolves. An insert whose answer did not come is tried once more, under the
   * same token, so that the server takes it once.
   */
  readonly insert: (into: Written, rows: readonly ValueRow[]) => Promise<void>;
  /** Runs a statement that changes something: INSERT … SELECT, ALTER, CREATE. */
  readonly run: (sql: string, params?: Params, settings?: ClickHouseSettings) => Promise<void>;
  /** Refuses all that follows, and waits for what is under way, or ends it where that may be abandoned. */
  readonly close: () => Promise<void>;
};

export type DatabaseOptions = {
  readonly address: ServerAddress;
  /** Names the store in errors. */
  readonly store: string;
  /** Connections at the most. */
  readonly connections: number;
  /** Longest time that a statement may take, in milliseconds. */
  readonly statementMs: number;
  /** Whether the database is named to the server, which refuses one that is not there. */
  readonly usesDatabase: boolean;
  /** Whether the close waits for nothing: what is under way is done again, or goes on in the server. */
  readonly isAbandoned?: boolean;
};

/** The server ends a statement that takes too long; one that does not even do that is frozen or cut off, in milliseconds. */
const SILENCE_MS = 5_000;
const READ_MEMORY_BYTES = 2 * 1024 ** 3;
const THREADS = 4;

const ofAll: ClickHouseSettings = {
  // Else an error after the first bytes stands in the middle of an answer with status 200.
  wait_end_of_query: 1,
  // Named, as a default of the server may be otherwise: what is acknowledged is on the disk.
  async_insert: 0,
};
const ofReads: ClickHouseSettings = {
  readonly: '2',
  max_memory_usage: String(READ_MEMORY_BYTES),
  max_threads: THREADS,
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_denormals: 0,
  output_format_json_escape_forward_slashes: 0,
  // Rows are chosen among the newest of each key, never among those that are replaced.
  use_skip_indexes_if_final: 1,
  use_skip_indexes_if_final_exact_mode: 1,
  // Of rows that are named by their keys the other columns are read where a key was found.
  optimize_move_to_prewhere_if_final: 1,
  // Pages read many small pieces, mostly out of memory, and a pool of threads costs more than each of them.
  local_filesystem_read_method: 'pread',
  // A statement that reads a table twice sees one state of it.
  enable_shared_storage_snapshot_in_query: 1,
  // With it the server (26.7) does not read a text index, and cuts the words of `hasAllTokens` by another rule than that of the index.
  use_top_k_dynamic_filtering: 0,
};

/**
 * What was acknowledged is on most replicas, and each read, at whichever, sees it: a replica that lags behind refuses to answer. That takes
 * inserts of a table one after the other.
 */
const ofCluster: ClickHouseSettings = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  select_sequential_consistency: '1',
};
/** Another service's insert is still on its way to most replicas. */
const QUORUM_UNDER_WAY = '286';
const QUORUM_ATTEMPTS = 10;
const QUORUM_WAIT_MS = 25;

/** Requests to one server over HTTP, which depend on no session. */
export const connectDatabase = ({
  address,
  store,
  connections,
  statementMs,
  usesDatabase,
  isAbandoned = false,
}: DatabaseOptions): Database => {
  const client = createClient({
    url: address.url.origin,
    ...(address.url.pathname === '/' ? {} : { pathname: address.url.pathname }),
    username: address.user,
    password: address.password ?? '',
    ...(usesDatabase ? { database: address.database } : {}),
    application: 'svc',
    request_timeout: statementMs + SILENCE_MS,
    max_open_connections: connections,
    use_multipart_params_auto: true,
    // A failure is an error; the driver's own log would print statements.
    log: { level: 127 },
    clickhouse_settings: {
      ...ofAll,
      ...(address.cluster === undefined ? {} : ofCluster),
      max_execution_time: Math.ceil(statementMs / 1000),
    },
  });
  let closing: Promise<void> | undefined;
  const underWay = new Set<Promise<unknown>>();

  const judged = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closing !== undefined) throw new StoreUnavailable(`the ${store} is closed`);
    const done = work();
    underWay.add(done);
    try {
      return await done;
    } catch (error) {
      throw judgeError(store, error);
    } finally {
      underWay.delete(done);
    }
  };
  const again = async (work: () => Promise<void>): Promise<void> => {
    for (let attempt = 1; ; attempt += 1)
      try {
        return await work();
      } catch (error) {
        const isBehind = errorCode(error) === QUORUM_UNDER_WAY && attempt < QUORUM_ATTEMPTS;
        const isUnknown = attempt === 1 && isUnanswered(error) && errorCode(error) !== 'ECONNREFUSED';
        if (closing !== undefined || !(isBehind || isUnknown)) throw error;
        if (isBehind) await sleep(QUORUM_WAIT_MS * attempt);
      }
  };

  return {
    name: address.database,
    layout: layoutOf(address.cluster),
    ask: <R extends readonly unknown[]>(sql: string, params: Params = {}) =>
      judged(async () => {
        const found = await client.query({
          query: sql,
          format: 'JSONCompactEachRow',
          query_params: { ...params },
          clickhouse_settings: ofReads,
        });
        return (await found.json()) as unknown as R[];
      }),
    insert: async ({ table, columns }, rows) => {
      if (rows.length === 0) return;
      const names = columns.map(([name]) => name).join(', ');
      const bytes = encodeRows(columns, rows);
      const token = randomUUID();
      await judged(() =>
        again(async () => {
          const { stream } = await client.exec({
            query: `INSERT INTO ${table} (${names}) FORMAT RowBinary`,
            values: Readable.from([bytes], { objectMode: false }),
            clickhouse_settings: { insert_deduplication_token: token },
          });
          await text(stream);
        }),
      );
    },
    run: (sql, params = {}, settings = {}) =>
      judged(async () => {
        await client.command({ query: sql, query_params: { ...params }, clickhouse_settings: settings });
      }),
    close: () =>
      (closing ??= (async () => {
        if (!isAbandoned) await Promise.allSettled([...underWay]);
        await client.close();
      })()),
  };
};
