import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseUrl, parseDatabaseUrl, type ServerAddress, showAddress } from '../../store/clickhouse/address.ts';
import { parseAddress } from '../../store/postgres/address.ts';
import type { SignalStore } from '../../store/signals/signal-store.ts';
import { applicationIdOf } from '../../store/sqlite/connection.ts';
import { RUNS_FILE } from '../../store/sqlite/runs/schema.ts';
import { openSqliteSignalStore } from '../../store/sqlite/signals/open.ts';
import { SIGNALS_FILE } from '../../store/sqlite/signals/schema.ts';
import { databaseOf } from '../config.ts';
import { DUTY_MS, startDuty } from '../duty.ts';

/** Where signals or runs are, as `--from` and `--to` name it. */
export type StoreAddress =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'clickhouse'; readonly server: ServerAddress };

type Parsed = { readonly ok: true; readonly value: StoreAddress } | { readonly ok: false; readonly problem: string };
const refused = (problem: string): Parsed => ({ ok: false, problem });

/** The duty of the services that each of them asks for as long as it runs. */
const SERVING = 'retention';
/** A service that died holds it so long. */
const WAIT_MS = 2 * DUTY_MS;
export const LOOK_MS = 500;
/** A statement of a move may count a table. */
export const STATEMENT_MS = 86_400_000;

/**
 * Reads an address: a path, or the URL of a PostgreSQL or ClickHouse database. `@path` names a file that holds it, where other users do not
 * see it.
 * @returns the address, or what is wrong with it, without repeating it
 */
export const parseStoreAddress = (text: string): Parsed => {
  if (text.startsWith('@')) {
    const path = text.slice(1);
    if (!existsSync(path)) return refused(`${path}: there is no such file`);
    const held = readFileSync(path, 'utf8').trim();
    return held === '' || held.startsWith('@') ? refused(`${path}: holds no address`) : parseStoreAddress(held);
  }
  if (/^postgres(?:ql)?:\/\//.test(text)) {
    const address = parseAddress(text);
    return address.ok ? { ok: true, value: { kind: 'postgres', url: text } } : refused(address.problem);
  }
  if (isDatabaseUrl(text)) {
    const address = parseDatabaseUrl(text);
    return address.ok ? { ok: true, value: { kind: 'clickhouse', server: address.value } } : refused(address.problem);
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text))
    return refused(
      'must be the path of a file, or a URL that begins with postgres://, clickhouse+http:// or clickhouse+https://',
    );
  return text === '' ? refused('must not be empty') : { ok: true, value: { kind: 'file', path: resolve(text) } };
};

/** How an address is shown: without its password. */
export const showStore = (address: StoreAddress): string => {
  if (address.kind === 'file') return address.path;
  return address.kind === 'postgres' ? databaseOf(address.url) : showAddress(address.server);
};

const others = {
  signals: { kind: RUNS_FILE, hint: 'holds durable runs, not signals; --runs moves them' },
  runs: { kind: SIGNALS_FILE, hint: 'holds signals, not durable runs; they are moved without --runs' },
} as const;

/** What is wrong with a file to read from, or nothing. */
export const faultOfSource = (address: StoreAddress, moves: keyof typeof others): string | undefined => {
  if (address.kind !== 'file') return undefined;
  const found = statSync(address.path, { throwIfNoEntry: false });
  if (found === undefined) return `${address.path}: there is no such file`;
  if (!found.isFile()) return `${address.path}: is no file`;
  const { kind, hint } = others[moves];
  return applicationIdOf(address.path) === kind.applicationId ? `${address.path}: ${hint}` : undefined;
};

/** Why a move does not begin: no service may have the store. */
export const isServed = (address: StoreAddress): string =>
  `${showStore(address)}: a service serves it; stop all of its services first`;

/** A store that this process has for itself: no service uses it meanwhile. */
export type HeldStore<S> = {
  readonly store: S;
  /** Whether it is still certain that no service uses the store. */
  readonly isHeld: () => boolean;
  readonly close: () => Promise<void>;
};

/** Opens a database that services may share. Its driver is loaded where it is used. */
const openShared = async (address: Exclude<StoreAddress, { readonly kind: 'file' }>): Promise<SignalStore> => {
  if (address.kind === 'postgres') {
    const { openPostgresSignalStore } = await import('../../store/postgres/signals/open.ts');
    return openPostgresSignalStore({ url: address.url, statementMs: STATEMENT_MS });
  }
  const { openClickHouseSignalStore } = await import('../../store/clickhouse/signals/open.ts');
  return openClickHouseSignalStore({ address: address.server, statementMs: STATEMENT_MS });
};

/**
 * Opens a store for itself alone: a file by its lock, a database by the duty that each of its services asks for.
 * @param holder names the move, so that one which was killed has its duty when it runs again
 * @throws StoreUnavailable, which names the store, when it cannot be opened; of a file also when a service has it
 * @returns what keeps it from being opened, in words, when a service serves the database
 */
export const openHeld = async (address: StoreAddress, holder: string): Promise<HeldStore<SignalStore> | string> => {
  if (address.kind === 'file') {
    const store = await openSqliteSignalStore({ path: address.path });
    return { store, isHeld: () => true, close: () => store.close() };
  }
  const store = await openShared(address);
  const { sharing } = store;
  if (sharing === undefined) throw new Error('a database that services share has no duties');
  try {
    for (const until = performance.now() + WAIT_MS; ; await sleep(LOOK_MS)) {
      if (await sharing.holdDuty(SERVING, holder, DUTY_MS)) break;
      if (performance.now() < until) continue;
      await store.close();
      return isServed(address);
    }
  } catch (error) {
    await store.close();
    throw error;
  }
  // The lease knows that it holds the duty once the store has answered its first request. A look before that would take the duty for lost.
  let answered = (): void => {};
  const taken = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const duty = startDuty({ name: SERVING, holder, sharing, taken: answered });
  await Promise.race([taken, sleep(WAIT_MS, undefined, { ref: false })]);
  return {
    store,
    isHeld: duty.isHeld,
    close: async () => {
      await duty.stop();
      await store.close();
    },
  };
};
