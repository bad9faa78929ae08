import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type Daemon = {
  readonly url: string;
  readonly process: ChildProcess;
  /** Log lines so far, as the process wrote them. */
  readonly lines: readonly string[];
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
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_ENV: 'production', ...env } },
  );
  running.add(child);
  child.once('exit', () => running.delete(child));
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      const address = /"address":"(http:[^"]+)"/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once('exit', (code) => reject(new Error(`the daemon ended with ${code}:\n${lines.join('\n')}`)));
  });
  return {
    url,
    process: child,
    lines,
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const ended = once(child, 'exit');
      child.kill(signal);
      const [code] = (await ended) as [number | null];
      return code;
    },
  };
};
