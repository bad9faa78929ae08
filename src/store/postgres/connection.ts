import PQueue from 'p-queue';
import type { ClientBase, PoolClient } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';
import { parseAddress } from './address.ts';
import { errorCode, hasClashed, judgeError } from './driver-error.ts';
import { openRoute } from './route.ts';
import { SERVICE } from './application.ts';

/** What a statement binds. A Buffer goes as binary: that of an array is made by `arrays.ts`. */
export type Bound = string | number | bigint | boolean | Buffer | null;

/** Asks one statement. Rows come as arrays, int8 as bigint, so that no time loses a digit. The caller names what its columns are. */
export type Ask = <R extends readonly unknown[]>(sql: string, values?: readonly Bound[]) => Promise<R[]>;

/** The rows of the statement that a transaction was opened with. */
export type Opened = readonly (readonly unknown[])[];

export type Database = {
  /** Reads. What changes something is a transaction, whose commit is known to have reached the disk. */
  readonly ask: Ask;
  /**
   * Runs a unit of work in one transaction, and again from its beginning, up to three times, when it clashed with another. An error
   * while it is committed leaves open whether it was. Statements that the work asks for beside each other are run in the order of the
   * calls; behind one that fails none is run.
   * @param opening a first statement, without parameters, that goes with the beginning: it saves one way there and back
   */
  readonly transaction: <T>(work: (ask: Ask, opened: Opened) => Promise<T>, opening?: string) => Promise<T>;
  /** Ends all connections, after what they do. */
  readonly close: () => Promise<void>;
};

export type DatabaseOptions = {
  /** @see parseAddress */
  readonly url: string;
  /** Names the store in errors. */
  readonly store: string;
  /** Connections at the most. One of four is kept for transactions. */
  readonly connections: number;
  /** What the server shows them by; as those of a service when absent. */
  readonly application?: string;
  /** Longest time that a statement may take, in milliseconds. */
  readonly statementMs?: number;
  /** Longest time that a transaction may stand still between two statements, in milliseconds: so long a process that hangs holds its locks. */
  readonly idleInTransactionMs?: number;
};

const STATEMENT_MS = 30_000;
/** Longest wait for a row that another transaction holds, in milliseconds. */
const LOCK_MS = 5_000;
/** A transaction of ours never waits for anything but the database. */
const IDLE_IN_TRANSACTION_MS = 30_000;
/**
 * The server ends a statement that takes too long; one that does not even do that is frozen, or cut off. It is given up after a quarter
 * of that time more, within these bounds, in milliseconds.
 */
const SILENCE_MS = { least: 1_000, most: 5_000 };
const ATTEMPTS = 3;
const READ_ONLY = '25006';

/**
 * Connections to one database, made when they are needed, and made again after the server was away. Nothing depends on a session, so a
 * pooler that hands out one a transaction may stand between.
 * @throws StoreUnavailable when the address is none, or a file that it names cannot be read
 */
export const connectDatabase = ({
  url,
  store,
  connections,
  application = SERVICE,
  statementMs = STATEMENT_MS,
  idleInTransactionMs = IDLE_IN_TRANSACTION_MS,
}: DatabaseOptions): Database => {
  const address = parseAddress(url);
  if (!address.ok) throw new StoreUnavailable(`${store}: the address of the database ${address.problem}`);
  // What is acknowledged is on the disk, whatever the server's own default is.
  const settings = {
    synchronous_commit: 'on',
    statement_timeout: String(statementMs),
    lock_timeout: String(LOCK_MS),
    idle_in_transaction_session_timeout: String(idleInTransactionMs),
    // Our statements read few rows by an index. The planner does not always foresee that, and then compiles them: 850 ms for one that runs for 2.
    jit: 'off',
  };
  const route = openRoute({
    address: address.value,
    store,
    connections,
    application,
    settings,
    silenceMs: statementMs + Math.min(SILENCE_MS.most, Math.max(SILENCE_MS.least, statementMs / 4)),
  });
  // A pooler may keep what a session starts with to itself, and a plain SET would reach another's transaction.
  // Our units of work rely on seeing what others committed while they waited for a lock, whatever the default of a role or database is.
  const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${Object.entries(settings)
    .map(([name, value]) => `SET LOCAL ${name} = '${value}'`)
    .join('; ')}`;
  const reading = new PQueue({ concurrency: Math.max(1, connections - Math.ceil(connections / 4)) });
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
      client = await route.connect();
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
      if (failure instanceof StoreUnavailable && errorCode(failure.cause) === READ_ONLY) route.leave();
      throw failure;
    } finally {
      client.off('error', ignore);
      client.release(failure instanceof StoreUnavailable);
    }
  };

  /** Asks one statement after the other: the next may be put together while the server works on the one before. */
  const inTurn = (ask: Ask): { readonly ask: Ask; readonly settled: () => Promise<void> } => {
    let last: Promise<unknown> = Promise.resolve();
    return {
      ask: <R extends readonly unknown[]>(sql: string, values?: readonly Bound[]) => {
        const answer = last.then(() => ask<R>(sql, values));
        // Who waits for none of them waits for one that failed before.
        answer.catch(() => {});
        last = answer;
        return answer;
      },
      settled: async () => {
        await last.catch(() => {});
      },
    };
  };

  const once = <T>(work: (ask: Ask, opened: Opened) => Promise<T>, opening: string | undefined): Promise<T> =>
    lend(async (client) => {
      const ask = askOf(client);
      const turns = inTurn(ask);
      try {
        const text = opening === undefined ? begin : `${begin}; ${opening}`;
        // Of several statements in one text the driver gives a result each, which its types do not say.
        const results = (await client.query({ text, rowMode: 'array' })) as unknown as readonly {
          readonly rows: Opened;
        }[];
        const done = await work(turns.ask, opening === undefined ? [] : (results.at(-1)?.rows ?? []));
        await turns.ask('COMMIT');
        return done;
      } catch (error) {
        // A connection that is not used again rolls back by its end, and one that is silent would be waited for.
        if (!(judgeError(store, error) instanceof StoreUnavailable)) {
          await turns.settled();
          await ask('ROLLBACK').catch(() => {});
        }
        throw error;
      }
    });

  return {
    ask: (sql, values) => reading.add(() => lend((client) => askOf(client)(sql, values))),
    transaction: async (work, opening) => {
      for (let attempt = 1; ; attempt += 1)
        try {
          return await once(work, opening);
        } catch (error) {
          const cause = error instanceof StoreUnavailable ? error.cause : error;
          if (attempt >= ATTEMPTS || !hasClashed(cause)) throw error;
        }
    },
    close: () => (closing ??= route.close()),
  };
};
