import { readFileSync } from 'node:fs';
import { type ClientBase, type ClientConfig, type CustomTypesConfig, Pool, type PoolClient, types as known } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';
import type { DatabaseAddress, Host } from './address.ts';
import { errorCode, isAway, isWithoutTls, refusesOptions } from './driver-error.ts';

/** How long a connection may take to be made, or to become free: as long as an answer, within these bounds, in milliseconds. */
const CONNECT_MS = { least: 5_000, most: 10_000 };
/** After no host could be reached: the first pause before the next attempt, and the longest, in milliseconds. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** How long a server may take to end the connections of a service that stops. */
const GOODBYE_MS = 2_000;

const INT8 = 20;
/** Of the types that we read, the driver leaves 64-bit integers as text. */
const types: CustomTypesConfig = {
  getTypeParser: (oid: number) => (oid === INT8 ? (text: string) => BigInt(text) : known.getTypeParser(oid, 'text')),
};

export type RouteOptions = {
  readonly address: DatabaseAddress;
  /** Names the store in errors. */
  readonly store: string;
  readonly connections: number;
  /** What the server shows them by. */
  readonly application: string;
  /** Settings of each session, as it starts. */
  readonly settings: Readonly<Record<string, string>>;
  /** How long an answer is waited for, in milliseconds, where the server does not say a word. */
  readonly silenceMs: number;
};

export type Route = {
  /** A connection to the first host that takes writes. Rejects with an error of the driver. */
  readonly connect: () => Promise<PoolClient>;
  /** Says that a connection turned out to lead to a server that takes no writes. */
  readonly leave: () => void;
  readonly close: () => Promise<void>;
};

const readPem = (path: string, store: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new StoreUnavailable(`${store}: ${path} cannot be read (${errorCode(error) ?? 'unknown error'})`, {
      cause: error,
    });
  }
};

/** What the driver does about TLS. @throws StoreUnavailable when a file cannot be read */
const tlsOf = (
  { sslmode, sslrootcert, sslcert, sslkey }: DatabaseAddress,
  store: string,
): Exclude<ClientConfig['ssl'], undefined> => {
  if (sslmode === 'disable') return false;
  const verifies = sslmode === 'verify-ca' || sslmode === 'verify-full';
  return {
    rejectUnauthorized: verifies,
    ...(sslrootcert === undefined ? {} : { ca: readPem(sslrootcert, store) }),
    ...(sslcert === undefined ? {} : { cert: readPem(sslcert, store) }),
    ...(sslkey === undefined ? {} : { key: readPem(sslkey, store) }),
    ...(sslmode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
  };
};

const asText = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');

/**
 * Connections to the first of several hosts that takes writes. A host that is away, or takes none, is left for the next one; while
 * none answers, callers wait for a pause that grows, and then try again.
 * @throws StoreUnavailable when a file of certificates cannot be read
 */
export const openRoute = ({ address, store, connections, application, settings, silenceMs }: RouteOptions): Route => {
  const { hosts, database, user, password, sslmode } = address;
  const tls = tlsOf(address, store);
  let usesTls = tls !== false;
  let sendsOptions = true;
  let at = 0;
  let pool: Pool | undefined;
  let closing: Promise<void> | undefined;
  let pauseMs = 0;
  let awayUntil = 0;

  /** Takes no part in anything any more; who has a connection of it gives that back. */
  const leavePool = (): void => {
    pool?.end().catch(() => {});
    pool = undefined;
  };
  const poolOf = ({ host, port }: Host): Pool => {
    const made = new Pool({
      ...{ host, port, database, user, ...(password === undefined ? {} : { password }) },
      ssl: usesTls ? tls : false,
      max: connections,
      connectionTimeoutMillis: Math.min(CONNECT_MS.most, Math.max(CONNECT_MS.least, silenceMs)),
      query_timeout: silenceMs,
      application_name: application,
      ...(sendsOptions ? { options: asText(settings) } : {}),
      types,
      keepAlive: true,
      ...(hosts.length === 1
        ? {}
        : {
            // The driver waits for it, which its types do not say.
            // oxlint-disable-next-line typescript/no-misused-promises
            onConnect: async (client: ClientBase) => {
              const { rows } = await client.query('SHOW transaction_read_only');
              if (rows[0]?.transaction_read_only === 'on')
                throw Object.assign(new Error('the server takes no writes'), { code: '25006' });
            },
          }),
    });
    // An idle connection that breaks is replaced when it is needed; unheard, the event would end the process.
    made.on('error', () => {});
    return made;
  };

  /** Tries the host of now. A server without TLS, or a pooler that takes no settings, is tried again as it wants it. */
  const connectHere = async (): Promise<PoolClient> => {
    for (;;) {
      const host = hosts[at];
      if (host === undefined) throw new Error('the address has no such host');
      const mine = (pool ??= poolOf(host));
      try {
        return await mine.connect();
      } catch (error) {
        const isOfTls = isWithoutTls(error) && sslmode === 'prefer';
        const isOfOptions = refusesOptions(error);
        // Another caller may have gone on meanwhile, to another host or to what this one wants.
        if (mine !== pool && (isOfTls || isOfOptions || isAway(error))) continue;
        if (mine === pool && isOfTls && usesTls) usesTls = false;
        else if (mine === pool && isOfOptions && sendsOptions) sendsOptions = false;
        else throw error;
        leavePool();
      }
    }
  };
  const next = (): void => {
    at = (at + 1) % hosts.length;
    usesTls = tls !== false;
    leavePool();
  };

  return {
    connect: async () => {
      const waitMs = awayUntil - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      for (let tried = 1; ; tried += 1) {
        if (closing !== undefined) throw new StoreUnavailable(`the ${store} is closed`);
        const host = at;
        try {
          const client = await connectHere();
          pauseMs = 0;
          return client;
        } catch (error) {
          if (!isAway(error)) throw error;
          // Another caller may have gone on to the next host meanwhile.
          if (hosts.length > 1 && at === host) next();
          if (tried < hosts.length) continue;
          pauseMs = Math.min(Math.max(pauseMs * 2, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
          awayUntil = performance.now() + pauseMs;
          throw error;
        }
      }
    },
    leave: () => {
      if (hosts.length > 1) next();
    },
    close: () =>
      (closing ??= (async () => {
        // A server that is frozen does not close its connections.
        await Promise.race([pool?.end(), new Promise((resolve) => setTimeout(resolve, GOODBYE_MS).unref())]);
      })()),
  };
};
