import { type ClientBase, type CustomTypesConfig, Pool, type PoolClient, types as known } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';
import { hasClashed, judgeError } from './driver-error.ts';

/** What a statement binds. A Buffer goes as binary: that of an array is made by `arrays.ts`. */
export type Bound = string | number | bigint | boolean | Buffer | null;

/** Asks one statement. Rows come as arrays, int8 as bigint, so that no time loses a digit. The caller names what its columns are. */
export type Ask = <R extends readonly unknown[]>(sql: string, values?: readonly Bound[]) => Promise<R[]>;

export type Database = {
  readonly ask: Ask;
  /**
   * Runs a unit of work in one transaction, and again from its beginning, up to three times, when it clashed with another. An error
   * while it is committed leaves open whether it was.
   */
  readonly transaction: <T>(work: (ask: Ask) => Promise<T>) => Promise<T>;
  /** Ends all connections, after what they do. */
  readonly close: () => Promise<void>;
};

export type DatabaseOptions = {
  readonly url: string;
  /** Names the store in errors. */
  readonly store: string;
  /** Connections at the most. */
  readonly connections: number;
  /** Longest time that a statement may take, in milliseconds. */
  readonly statementMs?: number;
};

const STATEMENT_MS = 30_000;
/** Longest wait for a row that another transaction holds, in milliseconds. */
const LOCK_MS = 5_000;
/** A transaction of ours never waits for anything but the database. */
const IDLE_IN_TRANSACTION_MS = 30_000;
const CONNECT_MS = 10_000;
const ATTEMPTS = 3;

const INT8 = 20;
/** Of the types that we read, the driver leaves 64-bit integers as text. */
const types: CustomTypesConfig = {
  getTypeParser: (oid: number) => (oid === INT8 ? (text: string) => BigInt(text) : known.getTypeParser(oid, 'text')),
};

/**
 * Connections to one database, made when they are needed, and made again after the server was away. Nothing depends on a session, so a
 * pooler that hands out one a transaction may stand between.
 */
export const connectDatabase = ({ url, store, connections, statementMs = STATEMENT_MS }: DatabaseOptions): Database => {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'svc',
    // With the start of a session, not by SET, which a pooler would hand to another's transaction.
    options: `-c statement_timeout=${statementMs} -c lock_timeout=${LOCK_MS} -c idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_MS}`,
    types,
  });
  // An idle connection that breaks is replaced when it is needed; unheard, the event would end the process.
  pool.on('error', () => {});
  let closing: Promise<void> | undefined;

  const askOf =
    (client: ClientBase): Ask =>
    async <R extends readonly unknown[]>(sql: string, values: readonly Bound[] = []) => {
      const { rows } = await client.query({ text: sql, values: [...values], rowMode: 'array' });
      return rows as unknown as R[];
    };

  /** Lends a connection; one that failed is not used again. */
  const lend = async <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => {
    if (closing !== undefined) throw new StoreUnavailable(`the ${store} is closed`);
    let client: PoolClient;
    try {
      client = await pool.connect();
    } catch (error) {
      throw judgeError(store, error);
    }
    // While a statement runs its promise tells of the end of the connection; between two of them nobody listens.
    const ignore = (): void => {};
    client.on('error', ignore);
    let failure: unknown;
    try {
      return await work(client);
    } catch (error) {
      failure = judgeError(store, error);
      throw failure;
    } finally {
      client.off('error', ignore);
      client.release(failure instanceof StoreUnavailable);
    }
  };

  const once = <T>(work: (ask: Ask) => Promise<T>): Promise<T> =>
    lend(async (client) => {
      const ask = askOf(client);
      await ask('BEGIN');
      try {
        const done = await work(ask);
        await ask('COMMIT');
        return done;
      } catch (error) {
        // A connection that is lost rolls back by itself.
        await ask('ROLLBACK').catch(() => {});
        throw error;
      }
    });

  return {
    ask: (sql, values) => lend((client) => askOf(client)(sql, values)),
    transaction: async (work) => {
      for (let attempt = 1; ; attempt += 1)
        try {
          return await once(work);
        } catch (error) {
          const cause = error instanceof StoreUnavailable ? error.cause : error;
          if (attempt >= ATTEMPTS || !hasClashed(cause)) throw error;
        }
    },
    close: () => (closing ??= pool.end()),
  };
};
