import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** Pairs of loads, ours and theirs in turn, and how long each lasts. */
export const PAIRS = Number(process.env['BENCH_PAIRS'] ?? 3);
export const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 10);

const READY_MS = 120_000;
const LOOK_MS = 100;
const STOP_MS = 10_000;

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

export type PeerServer = {
  readonly program: string;
  readonly args: readonly string[];
  /** Beside the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  /** Addresses that answer 2xx once it is ready. */
  readonly ready: readonly string[];
};

/**
 * Runs the server of another engine for as long as it is used.
 * @throws Error when it ends before it is ready, or is not ready within two minutes
 */
export const withServer = async <Result>(
  { program, args, env, ready }: PeerServer,
  use: () => Promise<Result>,
): Promise<Result> => {
  const server = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...env } });
  try {
    const until = Date.now() + READY_MS;
    while (!(await Promise.all(ready.map(answers))).every(Boolean)) {
      if (server.exitCode !== null || Date.now() > until) throw new Error(`${program} did not become ready`);
      await sleep(LOOK_MS);
    }
    return await use();
  } finally {
    const ended = server.exitCode === null ? once(server, 'exit') : undefined;
    server.kill('SIGTERM');
    const late = setTimeout(() => server.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
  }
};
