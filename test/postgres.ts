import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const HOME = '/usr/lib/postgresql';
const READY_MS = 60_000;
const STOP_MS = 20_000;
const LOOK_MS = 50;

/** Where Debian keeps the programs of the newest server that is there. @throws Error where there is none */
const programs = (): string => {
  const newest = (existsSync(HOME) ? readdirSync(HOME) : [])
    .filter((release) => existsSync(join(HOME, release, 'bin', 'initdb')))
    .sort((a, b) => Number(b) - Number(a))[0];
  if (newest === undefined) throw new Error(`no PostgreSQL server in ${HOME}: apt-get install postgresql`);
  return join(HOME, newest, 'bin');
};

/** The server refuses to run as root, and so does PgBouncer; Debian's package made a user for it. */
export const owner = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = ['-u', '-g'].map((which) => Number(spawnSync('id', [which, 'postgres']).stdout));
  if (!Number.isInteger(uid) || !Number.isInteger(gid) || !uid || !gid) throw new Error('there is no user "postgres"');
  return { uid, gid };
};

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });

export type PostgresServer = {
  readonly port: number;
  /** The address of a database that does not exist before. */
  readonly create: () => string;
  /** Runs SQL with the server's own client. @param url of a database; the maintenance database when absent. @returns what it prints */
  readonly run: (sql: string, url?: string) => string;
  /** Sends a signal to the postmaster: SIGINT ends all sessions at once, SIGKILL is a crash. */
  readonly kill: (signal: NodeJS.Signals) => Promise<void>;
  /** Stops all of its processes where they are, as a host that hangs does; the system still accepts connections for it. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Starts it again on the same data and port. */
  readonly start: () => Promise<void>;
  /** Ends the server and removes its data. */
  readonly remove: () => Promise<void>;
};

export type PostgresOptions = {
  /**
   * Whether commits reach the disk: for tests of crashes of the machine's kind. A killed server loses nothing without it, as a commit
   * waits all the same until its log is written.
   */
  readonly isDurable?: boolean;
  /** Settings beside ours, as `name=value`. */
  readonly settings?: readonly string[];
  /** With these PEM texts the server speaks TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** A server that this one follows, read-only until it is promoted. */
  readonly standbyOf?: PostgresServer;
};

/**
 * A server of its own, on a free port of the loopback address, with its data in a temporary folder.
 * @throws Error with what the server said when it does not start
 */
export const startPostgres = async ({
  isDurable = false,
  settings: given = [],
  tls,
  standbyOf,
}: PostgresOptions = {}): Promise<PostgresServer> => {
  const bin = programs();
  const user = owner();
  const folder = mkdtempSync(join(tmpdir(), 'svc-postgres-'));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const port = await freePort();
  const as = { ...user, cwd: folder, env: { PATH: `${bin}:/usr/bin:/bin`, LC_ALL: 'C.UTF-8' } };
  const [program, args] =
    standbyOf === undefined
      ? ['initdb', ['-D', data, '-U', 'svc', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']]
      : [
          'pg_basebackup',
          ['-D', data, '-U', 'svc', '-h', '127.0.0.1', '-p', String(standbyOf.port), '-R', '-c', 'fast', '--no-sync'],
        ];
  const made = spawnSync(join(bin, program), args, { ...as, encoding: 'utf8' });
  if (made.status !== 0) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`${program}: ${made.stderr || String(made.error)}`);
  }
  const ownFile = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    if (user !== undefined) chownSync(path, user.uid, user.gid);
    return path;
  };

  let server: ChildProcess | undefined;
  let said = '';
  const settings = [
    ...['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${folder}`, 'max_connections=200'],
    ...['shared_buffers=64MB', 'autovacuum=off', 'log_min_messages=fatal'],
    ...(isDurable ? [] : ['fsync=off', 'full_page_writes=off']),
    ...(tls === undefined
      ? []
      : [
          'ssl=on',
          `ssl_cert_file=${ownFile('server.crt', tls.certificate)}`,
          `ssl_key_file=${ownFile('server.key', tls.key)}`,
        ]),
    ...given,
  ];
  const psql = (sql: string, url: string) =>
    spawnSync(join(bin, 'psql'), ['-X', '-q', '-t', '-A', '-v', 'ON_ERROR_STOP=1', '-d', url, '-c', sql], {
      ...as,
      encoding: 'utf8',
    });
  const urlOf = (database: string): string => `postgres://svc@127.0.0.1:${port}/${database}`;

  const start = async (): Promise<void> => {
    const started = spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
      ...as,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    server = started;
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000);
    });
    for (const until = Date.now() + READY_MS; ; await sleep(LOOK_MS)) {
      if (psql('SELECT 1', urlOf('postgres')).status === 0) return;
      if (started.exitCode !== null || Date.now() > until) throw new Error(`PostgreSQL did not start: ${said}`);
    }
  };
  const childrenOf = (pid: number): number[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter((child) => child !== '')
      .map(Number);
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    const running = server;
    if (running?.pid === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const sessions = childrenOf(running.pid);
    const ended = new Promise<void>((resolve) => running.once('exit', () => resolve()));
    running.kill(signal);
    const late = setTimeout(() => running.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
    // Sessions outlive a killed postmaster for a moment, and nobody may start on their memory.
    while (sessions.some((session) => existsSync(`/proc/${session}`))) await sleep(LOOK_MS);
  };
  /** To all of its processes: a session has one of its own. */
  const signal = (which: 'SIGSTOP' | 'SIGCONT'): void => {
    const pid = server?.pid;
    if (pid === undefined) throw new Error('the server is not running');
    process.kill(pid, which);
    for (const session of childrenOf(pid)) process.kill(session, which);
  };
  const run = (sql: string, url = urlOf('postgres')): string => {
    const { status, stdout, stderr } = psql(sql, url);
    if (status !== 0) throw new Error(`psql: ${stderr}`);
    return stdout.trim();
  };

  let databases = 0;
  const remove = async (): Promise<void> => {
    await kill('SIGINT');
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    create: () => {
      const name = `svc_${(databases += 1)}`;
      run(`CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    port,
    run,
    kill,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    start,
    remove,
  };
};
