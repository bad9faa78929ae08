import { writeExactly } from './exact-json.ts';
import { pause, type RetryPolicy, withRetries } from './retry.ts';
import { createTextQueue, type TakenText } from './text-queue.ts';
import type { Transport } from './transport.ts';

export type SignalName = 'spans' | 'logs' | 'metrics' | 'scores' | 'feedback' | 'aspect_notes';

export type ExportOptions = {
  /** Signals held in memory while the service is slow or away; the oldest go first. */
  readonly maxQueued?: number;
  /** Of their JSON text, as UTF-8. */
  readonly maxQueuedBytes?: number;
  readonly batchSize?: number;
  /** How long a signal waits for others to travel with. */
  readonly delayMs?: number;
  readonly retry?: RetryPolicy;
};

/** What became of signals since the start. */
export type ExportCounters = {
  /** Stored by the service, or recognised by it as sent before. */
  sent: number;
  /** Pushed out by newer ones while the queue was full, or too large, or not JSON, or recorded after `close`. */
  dropped: number;
  /** Refused by the service: a 4xx, or an error of the answer. */
  refused: number;
  /** Given up after the last try. */
  failed: number;
};

const defaults = {
  maxQueued: 10_000,
  // Beside it grow the collector's nursery, to twice 16 MiB, and the batch that is being sent: together they stay below 64 MB.
  maxQueuedBytes: 8 * 1024 * 1024,
  batchSize: 500,
  delayMs: 500,
  retry: { attempts: 8, baseMs: 500, maxMs: 30_000 },
} as const satisfies Required<ExportOptions>;

/** A browser's timer is a number, and holds nothing. */
const unheld = (timer: ReturnType<typeof setTimeout>): ReturnType<typeof setTimeout> => {
  if (typeof timer === 'object') timer.unref();
  return timer;
};

const BATCH_BYTES = 4 * 1024 * 1024;
const encoder = new TextEncoder();

const joined = (parts: readonly Uint8Array[]): Uint8Array => {
  const all = new Uint8Array(parts.reduce((bytes, part) => bytes + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

/** Whether a text has more bytes as UTF-8 than the limit: it has at least one a UTF-16 unit, and at most three. */
const isLarger = (text: string, limit: number): boolean =>
  text.length > limit || (3 * text.length > limit && encoder.encode(text).length > limit);

/**
 * Sends signals in the background, in batches, one batch at a time. Adding never throws and never waits: a signal is
 * written to text at once, so that what the caller changes later does not show, and goes into a bounded queue that drops its oldest.
 */
export const createExportQueue = (
  http: Pick<Transport, 'call'>,
  options: ExportOptions,
  {
    newKey,
    beforeBatch = (): void => {},
  }: {
    /** Of a batch, unique, so that a resend after a lost answer stores nothing twice. */
    readonly newKey: () => string;
    /** Called when a batch is about to go out; returns at once and never throws. */
    readonly beforeBatch?: () => void;
  },
) => {
  const bounds = { ...defaults, ...options };
  const counters: ExportCounters = { sent: 0, dropped: 0, refused: 0, failed: 0 };
  const queue = createTextQueue<SignalName>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sending: Promise<void> | undefined;
  const givenUp = new AbortController();

  const take = (): TakenText<SignalName>[] => {
    let bytes = 0;
    const batch: TakenText<SignalName>[] = [];
    while (true) {
      bytes += queue.oldestBytes();
      if (batch.length > 0 && (batch.length >= bounds.batchSize || bytes > BATCH_BYTES)) break;
      const oldest = queue.takeOldest();
      if (oldest === undefined) break;
      batch.push(oldest);
    }
    return batch;
  };

  const comma = encoder.encode(',');
  const bodyOf = (batch: readonly TakenText<SignalName>[]): Uint8Array => {
    const bySignal = new Map<SignalName, Uint8Array[]>();
    for (const { kind, bytes } of batch) {
      const texts = bySignal.get(kind);
      if (texts === undefined) bySignal.set(kind, [bytes]);
      else texts.push(comma, bytes);
    }
    const parts: Uint8Array[] = [encoder.encode(`{"ingest_key":"${newKey()}"`)];
    for (const [signal, texts] of bySignal) parts.push(encoder.encode(`,"${signal}":[`), ...texts, encoder.encode(']'));
    parts.push(encoder.encode('}'));
    return joined(parts);
  };

  const send = async (batch: readonly TakenText<SignalName>[]): Promise<void> => {
    // Before anything else: the memory of what was taken out is soon used again.
    const body = bodyOf(batch);
    beforeBatch();
    try {
      const answer = await withRetries(
        bounds.retry,
        () => http.call<{ rejected?: number }>({ method: 'POST', path: '/v1/ingest', body }),
        givenUp.signal,
      );
      const rejected = Math.min(batch.length, answer?.rejected ?? 0);
      counters.refused += rejected;
      counters.sent += batch.length - rejected;
    } catch (error) {
      const status = (error as { status?: number }).status ?? 0;
      if (status >= 400 && status < 500 && status !== 429) counters.refused += batch.length;
      else counters.failed += batch.length;
    }
  };

  const drain = async (): Promise<void> => {
    while (queue.count() > 0) await send(take());
  };

  const start = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    sending ??= drain().finally(() => {
      sending = undefined;
    });
    return sending;
  };

  return {
    counters: counters as Readonly<ExportCounters>,

    add: (signal: SignalName, value: unknown): void => {
      if (givenUp.signal.aborted) {
        counters.dropped += 1;
        return;
      }
      let text: string | undefined;
      try {
        text = writeExactly(value);
      } catch {
        // A payload that refers to itself is not JSON.
      }
      if (text === undefined || isLarger(text, Math.min(BATCH_BYTES, bounds.maxQueuedBytes))) {
        counters.dropped += 1;
        return;
      }
      queue.push(signal, text);
      while (queue.count() > bounds.maxQueued || queue.bytes() > bounds.maxQueuedBytes) {
        queue.dropOldest();
        counters.dropped += 1;
      }
      if (sending !== undefined) return;
      if (queue.count() >= bounds.batchSize) void start();
      // This timer does not keep the process alive. A program that must not lose the last second calls `flush`.
      else timer ??= unheld(setTimeout(() => void start(), bounds.delayMs));
    },

    /** Sends what is queued. @returns whether all of it went out, or was refused, within the time */
    flush: async (timeoutMs = 5000): Promise<boolean> => {
      const late = new AbortController();
      const flushed = start().then(() => true);
      const result = await Promise.race([flushed, pause(timeoutMs, late.signal).then(() => false)]);
      late.abort();
      return result;
    },

    /** Flushes, then stops: what is still queued is given up, and nothing more is sent. */
    close: async (timeoutMs = 5000): Promise<void> => {
      const late = new AbortController();
      await Promise.race([start(), pause(timeoutMs, late.signal)]);
      late.abort();
      givenUp.abort();
      counters.failed += queue.count();
      queue.clear();
      clearTimeout(timer);
    },
  };
};
