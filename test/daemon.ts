import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type Daemon = {
  readonly url: string;
  readonly process: ChildProcess;
  /** Log lines so far, as the process wrote them. */
  readonly lines: readonly string[];
  /** Resolves to its exit status once it has ended and all that it printed is in `lines`. */
  readonly ended: Promise<number | null>;
  /** Ends the process with the signal and waits for its end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
};

/** Those that still run end with this process, however a test has failed. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** An empty folder for one test's files, and how to remove it. */
export const temporaryFolder = (): { path: string; remove: () => void } => {
  const path = mkdtempSync(join(tmpdir(), 'svc-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
};

/** Below the ports that systems give to those who ask for any: 32768 and more on Linux, 49152 elsewhere. */
const LASTING_PORTS = { first: 20_000, count: 10_000 };

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });

/**
 * A free port for a daemon that is to come back to its address: nobody who asks for any port gets it while the daemon is away,
 * and a client that tries to reach the daemon meanwhile is not given it as a port of its own.
 */
export const aLastingPort = async (): Promise<number> => {
  for (let tries = 0; tries < LASTING_PORTS.count; tries += 1) {
    const port = LASTING_PORTS.first + randomInt(LASTING_PORTS.count);
    if (await isFree(port)) return port;
  }
  throw new Error('no port is free');
};

/**
 * Starts the real daemon as its own process, on a free port of the loopback address.
 * @param folder where its files live; the same folder again is a restart
 * @param env variables of its environment, beside those of this process
 * @throws Error with everything the process printed when it ends before it listens
 */
export const startDaemon = async (
  folder: string,
  flags: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Daemon> => {
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, '..', 'bin', 'svc.mjs'),
      ...['--port', '0', '--data', join(folder, 'svc.db'), '--runs-data', join(folder, 'svc-runs.db')],
      ...flags,
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its cache of compiled code is the one that it has anywhere.
      env: { ...process.env, NODE_ENV: 'production', NODE_COMPILE_CACHE: undefined, ...env },
    },
  );
  running.add(child);
  child.once('exit', () => running.delete(child));
  // Not `exit`: the last lines of a process may be read after its end.
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      const address = /"address":"(http:[^"]+)"/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    void ended.then((code) => reject(new Error(`the daemon ended with ${code}:\n${lines.join('\n')}`)));
  });
  return {
    url,
    process: child,
    lines,
    ended,
    stop: (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
  };
};
