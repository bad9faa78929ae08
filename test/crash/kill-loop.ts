/**
 * Kills the daemon with SIGKILL under load, again and again, and holds it to what it had acknowledged. The ledger lives in
 * this process, outside the victim. Run as a command: `node test/crash/kill-loop.ts --cycles 1000 --seed 7`,
 * with `--minutes 10` to end sooner.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { seededRandom } from './ledger.ts';
import { createSignalsLoad, MAX_SPANS_PER_BATCH, type SignalFigures, WRITERS } from './signals-load.ts';
import { checkFiles } from './verify.ts';

/** A batch of more spans is under way for longer, and so is the time in which the kill may come. */
const KILL_WITHIN_MS = 300;
const KILL_WITHIN_MS_A_SPAN = 0.15;

export type KillFigures = SignalFigures & { readonly cycles: number };

/** @throws Error that names the seed, the cycle and the batch on the first promise that does not hold */
export const killLoop = async (options: {
  readonly cycles: number;
  readonly seed: number;
  readonly folder: string;
  readonly onCycle?: (cycle: number) => void;
  /** Batches under way at one time. */
  readonly writers?: number;
  /** Most spans of one batch; large ones have half of them at least. */
  readonly spans?: number;
  /** Ends sooner when this is over, in milliseconds. */
  readonly withinMs?: number;
}): Promise<KillFigures> => {
  const { seed, writers, spans = MAX_SPANS_PER_BATCH } = options;
  const random = seededRandom(seed);
  const signals = createSignalsLoad({ seed, random, writers, spans });

  let daemon = await startDaemon(options.folder);
  const until = performance.now() + (options.withinMs ?? Number.POSITIVE_INFINITY);
  let cycle = 0;
  for (; cycle < options.cycles && performance.now() < until; cycle += 1) {
    const writing = signals.write(daemon.url);
    await sleep(100 + Math.floor(random() * (KILL_WITHIN_MS + spans * KILL_WITHIN_MS_A_SPAN)));
    writing.stop();
    await daemon.stop('SIGKILL');
    const sent = await writing.ended();
    daemon = await startDaemon(options.folder);
    await signals.check(daemon, sent, cycle);
    options.onCycle?.(cycle);
  }

  await signals.checkTotals(daemon.url);
  const code = await daemon.stop('SIGTERM');
  await signals.close();
  if (code !== 0) throw new Error(`seed ${seed}: the last stop ended with ${code}`);
  checkFiles(join(options.folder, 'svc.db'));
  return { cycles: cycle, ...signals.figures() };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: '1000' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
      minutes: { type: 'string', default: 'Infinity' },
      writers: { type: 'string', default: String(WRITERS) },
      spans: { type: 'string', default: String(MAX_SPANS_PER_BATCH) },
    },
  });
  const folder = temporaryFolder();
  console.log(`kill loop: ${values.cycles} cycles, seed ${values.seed}`);
  try {
    const figures = await killLoop({
      cycles: Number(values.cycles),
      seed: Number(values.seed),
      folder: folder.path,
      writers: Number(values.writers),
      spans: Number(values.spans),
      withinMs: Number(values.minutes) * 60_000,
      onCycle: (cycle) => {
        if (cycle % 50 === 49) console.log(`${cycle + 1} cycles`);
      },
    });
    console.log(JSON.stringify(figures));
  } finally {
    folder.remove();
  }
}
