import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerAddress } from '../src/store/clickhouse/address.ts';
import { freePort } from './postgres.ts';

const ENGINES = join(import.meta.dirname, 'engines');
const PROGRAM = join(ENGINES, 'clickhouse-server.mjs');
const READY_MS = 120_000;
const STOP_MS = 20_000;
const LOOK_MS = 50;

/** A disk in memory, where there is a roomy one: no test cuts the power, and what a killed process has written stays. */
const MEMORY_DISK = '/dev/shm';
const FREE_BYTES = 2 * 1024 ** 3;
const home = (): string => {
  if (!existsSync(MEMORY_DISK)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY_DISK);
  return bavail * bsize >= FREE_BYTES ? MEMORY_DISK : tmpdir();
};

export type ClickHouseServer = {
  readonly url: URL;
  /** The address of a database that does not exist before. */
  readonly create: () => ServerAddress;
  /** Runs a statement as it stands. @returns what the server prints */
  readonly run: (sql: string, database?: string) => Promise<string>;
  /** Sends a signal to the server and waits for its end: SIGKILL is a crash. */
  readonly kill: (signal: NodeJS.Signals) => Promise<void>;
  /** Stops it where it is, as a host that hangs does; the system still accepts connections for it. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Starts it again on the same data and port. */
  readonly start: () => Promise<void>;
  /** Ends the server and removes its data. */
  readonly remove: () => Promise<void>;
};

/**
 * A ClickHouse server of its own, on a free port of the loopback address, with its data in a temporary folder.
 * @param kept a folder for its data instead, which stays when the server is removed
 * @throws Error with what the server said when it does not start
 */
export const startClickHouse = async (kept?: string): Promise<ClickHouseServer> => {
  if (!existsSync(join(ENGINES, 'node_modules')))
    throw new Error('no ClickHouse server: run npm --prefix test/engines ci, as npm test does');
  const folder = kept ?? mkdtempSync(join(home(), 'svc-clickhouse-'));
  const port = await freePort();
  const url = new URL(`http://127.0.0.1:${port}`);
  let server: ChildProcess | undefined;
  let said = '';

  const start = async (): Promise<void> => {
    // A process group of its own; it ends with its standard input, and so with who started it.
    const started = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM, folder, String(port)], {
      stdio: ['pipe', 'ignore', 'pipe'],
      detached: true,
    });
    server = started;
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000);
    });
    for (const until = Date.now() + READY_MS; ; await sleep(LOOK_MS)) {
      const isUp = await fetch(new URL('/ping', url)).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isUp) return;
      if (started.exitCode !== null || started.signalCode !== null || Date.now() > until)
        throw new Error(`ClickHouse did not start: ${said}`);
    }
  };
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    const running = server;
    if (running?.pid === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => running.once('exit', () => resolve()));
    process.kill(-running.pid, signal);
    const late = setTimeout(() => running.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
  };
  const signal = (which: 'SIGSTOP' | 'SIGCONT'): void => {
    if (server?.pid === undefined) throw new Error('the server is not running');
    process.kill(-server.pid, which);
  };
  const run = async (sql: string, database = 'default'): Promise<string> => {
    const answer = await fetch(new URL(`/?wait_end_of_query=1&database=${database}`, url), {
      method: 'POST',
      body: sql,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`ClickHouse: ${text}`);
    return text.trim();
  };

  let databases = 0;
  const remove = async (): Promise<void> => {
    await kill('SIGKILL');
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    url,
    create: () => ({ url, database: `svc_${(databases += 1)}`, user: 'default' }),
    run,
    kill,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    start,
    remove,
  };
};
