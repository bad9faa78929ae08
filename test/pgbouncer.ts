import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, owner } from './postgres.ts';

const PROGRAM = '/usr/sbin/pgbouncer';
const READY_MS = 60_000;
const LOOK_MS = 50;

export type PgBouncer = {
  /** The address of a database behind it, for that of the database itself. */
  readonly urlOf: (url: string) => string;
  readonly remove: () => Promise<void>;
};

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/**
 * A PgBouncer in transaction mode before a server on the loopback address: a connection is lent for a transaction, and the next one may get another.
 * After the server was away it refuses callers for a second, instead of the usual fifteen.
 * @param most connections to the server
 * @throws Error with what it said when it does not start
 */
export const startPgBouncer = async (serverPort: number, most: number): Promise<PgBouncer> => {
  if (!existsSync(PROGRAM)) throw new Error(`no PgBouncer in ${PROGRAM}: apt-get install pgbouncer`);
  const user = owner();
  const folder = mkdtempSync(join(tmpdir(), 'svc-pgbouncer-'));
  const port = await freePort();
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(
    config,
    `[databases]
* = host=127.0.0.1 port=${serverPort} user=svc
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${most}
max_client_conn = 200
server_login_retry = 1
`,
  );
  if (user !== undefined) for (const path of [folder, config]) chownSync(path, user.uid, user.gid);
  let said = '';
  const started: ChildProcess = spawn(PROGRAM, [config], { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  started.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4_000);
  });
  const remove = async (): Promise<void> => {
    if (started.exitCode === null && started.signalCode === null) {
      const ended = new Promise<void>((resolve) => started.once('exit', () => resolve()));
      started.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  for (const until = Date.now() + READY_MS; !(await isListening(port)); await sleep(LOOK_MS))
    if (started.exitCode !== null || Date.now() > until) {
      await remove();
      throw new Error(`PgBouncer did not start: ${said}`);
    }
  return {
    urlOf: (url) => url.replace(/@127\.0\.0\.1:\d+/, `@127.0.0.1:${port}`),
    remove,
  };
};
