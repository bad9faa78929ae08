/**
 * Kills the daemon with SIGKILL under load, again and again, and holds it to what it had acknowledged. The ledger lives in
 * this process, outside the victim. Run as a command: `node test/crash/kill-loop.ts --cycles 1000 --seed 7`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { type Daemon, startDaemon, temporaryFolder } from '../daemon.ts';
import { COST_PER_SPAN, type Entry, nativeEntry, otlpEntry, seededRandom } from './ledger.ts';

const WRITERS = 8;
const MAX_SPANS_PER_BATCH = 60;

export type KillFigures = {
  readonly cycles: number;
  readonly acknowledged: number;
  /** Batches without an answer that were found whole after the restart. */
  readonly unknownKept: number;
  readonly unknownLost: number;
  readonly spans: number;
};

type Detail = {
  readonly trace: { span_count: number; cost?: { total_cost: number } };
  readonly spans: readonly unknown[];
  readonly scores?: readonly unknown[];
  readonly feedback?: readonly unknown[];
  readonly logs?: readonly unknown[];
};

const post = async (url: string, entry: Entry, dispatcher: Agent): Promise<number> => {
  const { statusCode, body } = await request(`${url}${entry.door === 'otlp' ? '/v1/traces' : '/v1/ingest'}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: entry.body,
    dispatcher,
  });
  const text = await body.text();
  if (statusCode !== 200) return statusCode;
  const reply = JSON.parse(text) as { partialSuccess?: { rejectedSpans?: number }; rejected?: number };
  if ((reply.partialSuccess?.rejectedSpans ?? reply.rejected ?? 0) !== 0) throw new Error(`refused signals: ${text}`);
  return statusCode;
};

const readDetail = async (url: string, traceId: string): Promise<Detail | undefined> => {
  const response = await fetch(`${url}/v1/api/traces/${traceId}?include=all&payloads=none`);
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`reading trace ${traceId} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Detail;
};

/** Says what is wrong with a stored batch, or nothing when it is whole. */
const faultOf = (entry: Entry, detail: Detail): string | undefined => {
  const cost = detail.trace.cost?.total_cost ?? 0;
  if (detail.spans.length !== entry.spans) return `${detail.spans.length} of ${entry.spans} spans`;
  if (detail.trace.span_count !== entry.spans) return `the summary counts ${detail.trace.span_count} of ${entry.spans}`;
  if (Math.abs(cost - entry.spans * COST_PER_SPAN) > 1e-9) return `a total cost of ${cost}`;
  if (entry.door === 'otlp') return undefined;
  for (const part of ['scores', 'feedback', 'logs'] as const)
    if (detail[part]?.length !== 1) return `${detail[part]?.length ?? 'no'} ${part} instead of one`;
  return undefined;
};

/** @throws Error that names the seed, the cycle and the batch on the first promise that does not hold */
export const killLoop = async (options: {
  readonly cycles: number;
  readonly seed: number;
  readonly folder: string;
  readonly onCycle?: (cycle: number) => void;
}): Promise<KillFigures> => {
  const random = seededRandom(options.seed);
  const ledger: Entry[] = [];
  let unknownKept = 0;
  let unknownLost = 0;

  const check = async (daemon: Daemon, entry: Entry, cycle: number): Promise<void> => {
    const fail = (what: string) => new Error(`seed ${options.seed}, cycle ${cycle}, batch ${entry.traceId}: ${what}`);
    const detail = await readDetail(daemon.url, entry.traceId);
    const fault = detail === undefined ? undefined : faultOf(entry, detail);
    if (fault !== undefined) throw fail(`${entry.outcome}, but ${fault}`);
    if (entry.outcome === 'acknowledged') {
      if (detail === undefined) throw fail('acknowledged, but not there');
      return;
    }
    if (detail === undefined) unknownLost += 1;
    else unknownKept += 1;
    // An unknown outcome is resent. A keyed batch and spans with ids are then there exactly once.
    const dispatcher = new Agent();
    const status = await post(daemon.url, entry, dispatcher);
    await dispatcher.close();
    if (status !== 200) throw fail(`the resend answered ${status}`);
    entry.outcome = 'acknowledged';
    const again = await readDetail(daemon.url, entry.traceId);
    const faultAgain = again === undefined ? 'is not there' : faultOf(entry, again);
    if (faultAgain !== undefined) throw fail(`after the resend it holds ${faultAgain}`);
  };

  let daemon = await startDaemon(options.folder);
  for (let cycle = 0; cycle < options.cycles; cycle += 1) {
    const entries: Entry[] = [];
    const dispatcher = new Agent({ connections: WRITERS });
    let stopped = false;
    const writer = async (): Promise<void> => {
      while (!stopped) {
        const spans = 1 + Math.floor(random() * MAX_SPANS_PER_BATCH);
        const now = BigInt(Date.now()) * 1_000_000n;
        const entry = random() < 0.5 ? otlpEntry(spans, now) : nativeEntry(spans, now);
        entries.push(entry);
        try {
          const status = await post(daemon.url, entry, dispatcher);
          if (status === 200) entry.outcome = 'acknowledged';
          else if (status !== 429 && status !== 503) throw new Error(`an ingest call answered ${status}`);
        } catch (error) {
          if (!stopped) throw error;
        }
      }
    };
    const writers = Array.from({ length: WRITERS }, writer);
    await sleep(100 + Math.floor(random() * 300));
    stopped = true;
    await daemon.stop('SIGKILL');
    await Promise.all(writers);
    await dispatcher.destroy();
    daemon = await startDaemon(options.folder);
    for (const entry of entries) await check(daemon, entry, cycle);
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
  if (code !== 0) throw new Error(`seed ${options.seed}: the last stop ended with ${code}`);
  return { cycles: options.cycles, acknowledged: ledger.length, unknownKept, unknownLost, spans };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: '1000' },
      seed: { type: 'string', default: String(Date.now() % 1e6) },
    },
  });
  const folder = temporaryFolder();
  console.log(`kill loop: ${values.cycles} cycles, seed ${values.seed}`);
  try {
    const figures = await killLoop({
      cycles: Number(values.cycles),
      seed: Number(values.seed),
      folder: folder.path,
      onCycle: (cycle) => {
        if (cycle % 50 === 49) console.log(`${cycle + 1} cycles`);
      },
    });
    console.log(JSON.stringify(figures));
  } finally {
    folder.remove();
  }
}
