/**
 * Kills the daemon with SIGKILL under load, again and again, and holds it to what it had acknowledged. The ledger lives in
 * this process, outside the victim. Run as a command: `node test/crash/kill-loop.ts --cycles 1000 --seed 7`,
 * with `--minutes 10` to end sooner.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { Agent } from 'undici';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { COST_PER_SPAN, type Entry, nativeEntry, otlpEntry, seededRandom } from './ledger.ts';
import { checkFiles, find, post } from './verify.ts';

const WRITERS = 8;
const MAX_SPANS_PER_BATCH = 60;
/** A batch of more spans is under way for longer, and so is the time in which the kill may come. */
const KILL_WITHIN_MS = 300;
const KILL_WITHIN_MS_A_SPAN = 0.15;

export type KillFigures = {
  readonly cycles: number;
  readonly acknowledged: number;
  /** Batches without an answer that were found whole after the restart. */
  readonly unknownKept: number;
  readonly unknownLost: number;
  /** Batches sent again after a restart: all of unknown outcome, and every tenth of the others. */
  readonly resent: number;
  readonly spans: number;
};

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
  const random = seededRandom(options.seed);
  const { writers: writerCount = WRITERS, spans: most = MAX_SPANS_PER_BATCH } = options;
  const least = most > MAX_SPANS_PER_BATCH ? most / 2 : 1;
  const ledger: Entry[] = [];
  let unknownKept = 0;
  let unknownLost = 0;
  let resent = 0;

  const reader = new Agent({ connections: 4 });
  const check = async (daemon: Daemon, entry: Entry, cycle: number): Promise<void> => {
    const fail = (what: string) => new Error(`seed ${options.seed}, cycle ${cycle}, batch ${entry.traceId}: ${what}`);
    const found = await find(daemon.url, entry, reader);
    if (typeof found === 'object') throw fail(`${entry.outcome}, but ${found.fault}`);
    const wasAcknowledged = entry.outcome === 'acknowledged';
    if (wasAcknowledged) {
      if (found === 'absent') throw fail('acknowledged, but not there');
    } else if (found === 'absent') unknownLost += 1;
    else unknownKept += 1;
    if (wasAcknowledged && random() < 0.9) return;
    // An unknown outcome is resent, and now and then a known one. Spans with ids and a keyed batch are there once.
    const { status, duplicate, text } = await post(daemon.url, entry, reader);
    if (status !== 200)
      throw fail(`the resend answered ${status} ${text}; the log ends with ${daemon.lines.slice(-3).join(' ')}`);
    const wasThere = found === 'whole' && entry.door === 'native' ? 1 : 0;
    if (duplicate !== wasThere) throw fail(`the resend counted ${duplicate} duplicates instead of ${wasThere}`);
    entry.outcome = 'acknowledged';
    resent += 1;
    const again = await find(daemon.url, entry, reader);
    if (again !== 'whole') throw fail(`after the resend: ${JSON.stringify(again)}`);
  };
  /** Checks in fours: the daemon has four readers. */
  const checkAll = async (daemon: Daemon, entries: readonly Entry[], cycle: number): Promise<void> => {
    for (let at = 0; at < entries.length; at += 4)
      await Promise.all(entries.slice(at, at + 4).map((entry) => check(daemon, entry, cycle)));
  };

  let daemon = await startDaemon(options.folder);
  const until = performance.now() + (options.withinMs ?? Number.POSITIVE_INFINITY);
  let cycle = 0;
  for (; cycle < options.cycles && performance.now() < until; cycle += 1) {
    const entries: Entry[] = [];
    const dispatcher = new Agent({ connections: writerCount });
    let stopped = false;
    const writer = async (): Promise<void> => {
      while (!stopped) {
        const spans = Math.floor(least + random() * (most + 1 - least));
        const now = BigInt(Date.now()) * 1_000_000n;
        const entry = random() < 0.5 ? otlpEntry(spans, now) : nativeEntry(spans, now);
        entries.push(entry);
        try {
          const { status } = await post(daemon.url, entry, dispatcher);
          if (status === 200) entry.outcome = 'acknowledged';
          else if (status !== 429 && status !== 503) throw new Error(`an ingest call answered ${status}`);
        } catch (error) {
          if (!stopped) throw error;
        }
      }
    };
    const writers = Array.from({ length: writerCount }, writer);
    await sleep(100 + Math.floor(random() * (KILL_WITHIN_MS + most * KILL_WITHIN_MS_A_SPAN)));
    stopped = true;
    await daemon.stop('SIGKILL');
    await Promise.all(writers);
    await dispatcher.destroy();
    daemon = await startDaemon(options.folder);
    await checkAll(daemon, entries, cycle);
    ledger.push(...entries);
    options.onCycle?.(cycle);
  }

  // Everything of all cycles at once: nothing was lost later, nothing was counted twice.
  const spans = ledger.reduce((sum, entry) => sum + entry.spans, 0);
  const response = await fetch(`${daemon.url}/v1/api/analytics/cost?from=-1d&group_by=model`);
  const report = (await response.json()) as { total_cost: number; groups: readonly { key: string; count: number }[] };
  const counted = report.groups.find((group) => group.key === 'gpt-4o-mini')?.count;
  if (counted !== spans) throw new Error(`seed ${options.seed}: analytics count ${counted} calls, the ledger ${spans}`);
  if (Math.abs(report.total_cost - spans * COST_PER_SPAN) > 1e-6)
    throw new Error(`seed ${options.seed}: analytics sum ${report.total_cost}, the ledger ${spans * COST_PER_SPAN}`);
  const code = await daemon.stop('SIGTERM');
  await reader.close();
  if (code !== 0) throw new Error(`seed ${options.seed}: the last stop ended with ${code}`);
  checkFiles(join(options.folder, 'svc.db'));
  return { cycles: cycle, acknowledged: ledger.length, unknownKept, unknownLost, resent, spans };
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
