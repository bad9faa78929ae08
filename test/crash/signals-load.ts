/**
 * Writers of signals, whose ledger lies outside the victim, and how what a restarted daemon has is held to it: nothing that was acknowledged is
 * lost, no batch is there in half, and all of them together count as often as they were sent.
 */
import { Agent } from 'undici';
import type { Daemon } from '../daemon.ts';
import { COST_PER_SPAN, type Entry, nativeEntry, otlpEntry } from './ledger.ts';
import { find, post } from './verify.ts';

export const WRITERS = 8;
export const MAX_SPANS_PER_BATCH = 60;
/** The daemon has four readers. */
const CHECKS_AT_ONCE = 4;

export type SignalFigures = {
  /** Batches that are acknowledged in the end: all. */
  readonly acknowledged: number;
  /** Batches without an answer that were found whole after the restart. */
  readonly unknownKept: number;
  readonly unknownLost: number;
  /** Batches sent again after a restart: all of unknown outcome, and every tenth of the others. */
  readonly resent: number;
  readonly spans: number;
};

/** Batches that are sent to one life of the daemon. */
export type Writing = {
  /** Begins no more batches; from now on the calls under way may break. */
  readonly stop: () => void;
  /**
   * All that was sent, once no call is under way.
   * @throws Error for an answer that should not be, and for a connection that broke before the stop
   */
  readonly ended: () => Promise<readonly Entry[]>;
};

export type SignalsLoad = {
  readonly write: (url: string) => Writing;
  /**
   * Looks up what was sent to the daemon before it was killed, and sends some of it again.
   * @throws Error that names the seed, the cycle and the batch on the first promise that does not hold
   */
  readonly check: (daemon: Daemon, entries: readonly Entry[], cycle: number) => Promise<void>;
  /** Everything that was checked so far at once: nothing was lost later, nothing was counted twice. @throws Error with the difference */
  readonly checkTotals: (url: string) => Promise<void>;
  readonly figures: () => SignalFigures;
  readonly close: () => Promise<void>;
};

export const createSignalsLoad = (options: {
  readonly seed: number;
  readonly random: () => number;
  /** Batches under way at one time. */
  readonly writers?: number | undefined;
  /** Most spans of one batch; large ones have half of them at least. */
  readonly spans?: number | undefined;
}): SignalsLoad => {
  const { seed, random, writers: writerCount = WRITERS, spans: most = MAX_SPANS_PER_BATCH } = options;
  const least = most > MAX_SPANS_PER_BATCH ? most / 2 : 1;
  const reader = new Agent({ connections: CHECKS_AT_ONCE });
  const ledger: Entry[] = [];
  let unknownKept = 0;
  let unknownLost = 0;
  let resent = 0;

  const write = (url: string): Writing => {
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
          const { status } = await post(url, entry, dispatcher);
          if (status === 200) entry.outcome = 'acknowledged';
          else if (status !== 429 && status !== 503) throw new Error(`seed ${seed}: an ingest call answered ${status}`);
        } catch (error) {
          if (!stopped) throw error;
        }
      }
    };
    const writers = Promise.all(Array.from({ length: writerCount }, writer));
    // Whoever awaits the end hears of it.
    writers.catch(() => {});
    return {
      stop: () => {
        stopped = true;
      },
      ended: async () => {
        await writers;
        await dispatcher.destroy();
        return entries;
      },
    };
  };

  const checkOne = async (daemon: Daemon, entry: Entry, cycle: number): Promise<void> => {
    const fail = (what: string) => new Error(`seed ${seed}, cycle ${cycle}, batch ${entry.traceId}: ${what}`);
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
  const spansSent = (): number => ledger.reduce((sum, entry) => sum + entry.spans, 0);

  return {
    write,
    check: async (daemon, entries, cycle) => {
      for (let at = 0; at < entries.length; at += CHECKS_AT_ONCE)
        await Promise.all(entries.slice(at, at + CHECKS_AT_ONCE).map((entry) => checkOne(daemon, entry, cycle)));
      ledger.push(...entries);
    },
    checkTotals: async (url) => {
      const spans = spansSent();
      const response = await fetch(`${url}/v1/api/analytics/cost?from=-1d&group_by=model`);
      type Group = { key: string; count: number; total_cost?: number };
      const report = (await response.json()) as { total_cost: number; groups: readonly Group[] };
      const counted = report.groups.find((group) => group.key === 'gpt-4o-mini')?.count;
      if (counted !== spans) throw new Error(`seed ${seed}: analytics count ${counted} calls, the ledger ${spans}`);
      // Runs have calls of a model of their own.
      const others = report.groups.filter((group) => group.key !== 'gpt-4o-mini');
      const cost = others.reduce((left, { total_cost = 0 }) => left - total_cost, report.total_cost);
      if (Math.abs(cost - spans * COST_PER_SPAN) > 1e-6)
        throw new Error(`seed ${seed}: analytics sum ${cost}, the ledger ${spans * COST_PER_SPAN}`);
    },
    figures: () => ({ acknowledged: ledger.length, unknownKept, unknownLost, resent, spans: spansSent() }),
    close: () => reader.close(),
  };
};
