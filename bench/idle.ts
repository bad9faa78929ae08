/**
 * Resident memory of the idle daemon: once with nothing compiled before, as at the very first start, then as at every later one.
 * Run: `node bench/idle.ts`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startDaemon } from '../test/daemon.ts';
import { benchFolder, residentMiB } from './serve.ts';

const SETTLED_MS = 6_000;

const measure = async (what: string, flags: readonly string[]): Promise<void> => {
  const folder = benchFolder();
  try {
    const asked = performance.now();
    const daemon = await startDaemon(folder.path, flags);
    const start = performance.now() - asked;
    await sleep(SETTLED_MS);
    console.log(
      `${what.padEnd(28)} ${residentMiB(daemon.process.pid ?? 0).toFixed(0)} MiB idle, ${start.toFixed(0)} ms to listening`,
    );
    await daemon.stop();
  } finally {
    folder.remove();
  }
};

await measure('first start (if not cached)', []);
await measure('later start', []);
await measure('later start, --runs-data off', ['--runs-data', 'off']);
