/**
 * Ingest over HTTP, as it is shipped: the daemon in one process, the load in another, rows and full text durable and
 * searchable at the acknowledgement; against the sustained in-process insert of the same rows with the trace projection
 * and no full text. Alternated in one run.
 * Run: `node bench/ingest.ts [pairs] [seconds]`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startDaemon } from '../test/daemon.ts';
import { type Door, benchFolder, load, residentMiB, WARM_UP_SECONDS } from './serve.ts';
import { measurePairs, median, percent, quantile, spread } from './pairs.ts';
import { measureInsertLimit, realisticBatches } from './store-limit.ts';
import type { LoadFigures } from './load.ts';

const pairs = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 6);
const HEALTH_EVERY_MS = 20;

const batch512 = { spansPerBody: 512, connections: 8, seconds } as const;
const protobuf: Door = { encoding: 'protobuf', ...batch512 };
const json: Door = { encoding: 'json', ...batch512 };

type Run = LoadFigures & { readonly healthP99Ms: number; readonly peakMiB: number };

/** One load on an empty file, with `/healthz` asked beside it. */
const loadEmptyFile = async (door: Door): Promise<Run> => {
  const folder = benchFolder();
  const daemon = await startDaemon(folder.path);
  const health: number[] = [];
  let peakMiB = 0;
  let isOver = false;
  const watch = async (): Promise<void> => {
    await sleep(WARM_UP_SECONDS * 1000);
    while (!isOver) {
      const asked = performance.now();
      await (await fetch(`${daemon.url}/healthz`)).arrayBuffer();
      health.push(performance.now() - asked);
      peakMiB = Math.max(peakMiB, residentMiB(daemon.process.pid ?? 0));
      await sleep(HEALTH_EVERY_MS);
    }
  };
  const watching = watch();
  try {
    const figures = await load(folder.path, daemon.url, door);
    return { ...figures, healthP99Ms: quantile(health, 0.99), peakMiB };
  } finally {
    isOver = true;
    await watching;
    await daemon.stop();
    folder.remove();
  }
};

const { batches } = realisticBatches();
const limit = (): number => {
  const folder = benchFolder();
  try {
    return measureInsertLimit(folder.path, batches, seconds);
  } finally {
    folder.remove();
  }
};

const runs: Run[] = [];
const main = await measurePairs(
  pairs,
  async () => {
    const run = await loadEmptyFile(protobuf);
    runs.push(run);
    return run.signalsPerSecond;
  },
  limit,
);
console.log(`limit: in-process insert, trace projection, no full text  ${spread(main.b)} spans/s`);
console.log(`protobuf, 512 spans, 8 connections                       ${spread(main.a)} spans/s`);
console.log(`  of the limit                   ${percent(main.ratio)} (floor 45 %, aim 60 %)`);
console.log(
  `  answer p50, p99                ${spread(runs.map((run) => run.p50Ms))}, ${spread(runs.map((run) => run.p99Ms))} ms (aim p99 300)`,
);
console.log(`  /healthz p99 beside it         ${spread(runs.map((run) => run.healthP99Ms))} ms (aim 50)`);
console.log(`  resident memory, peak          ${spread(runs.map((run) => run.peakMiB))} MiB`);

const doors = await measurePairs(
  pairs,
  async () => (await loadEmptyFile(json)).signalsPerSecond,
  async () => (await loadEmptyFile(protobuf)).signalsPerSecond,
);
console.log(
  `JSON door                        ${spread(doors.a)} spans/s, ${doors.ratio.toFixed(2)} of the protobuf door (floor 0.7)`,
);

for (const [spansPerBody, connections] of [
  [1, 1],
  [1, 32],
  [100, 1],
  [100, 32],
] as const) {
  const small = await measurePairs(
    pairs,
    async () =>
      (await loadEmptyFile({ encoding: 'protobuf', spansPerBody, connections, seconds: seconds / 2 })).signalsPerSecond,
    async () => (await loadEmptyFile({ ...protobuf, seconds: seconds / 2 })).signalsPerSecond,
  );
  console.log(
    `batches of ${String(spansPerBody).padStart(3)}, ${String(connections).padStart(2)} connections   ${spread(small.a)} spans/s (${Math.round(median(small.a) / spansPerBody)} requests/s), ${percent(small.ratio)} of batches of 512`,
  );
}
