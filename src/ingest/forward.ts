import { setTimeout as wait } from 'node:timers/promises';
import protobuf from 'protobufjs/minimal.js';
import type { Counters } from '../model/counters.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { Span } from '../model/span.ts';
import { encodeSpans } from './otlp/encode-spans.ts';
import { createOutbound, type Outbound, OutboundError, type OutboundReply } from './outbound.ts';

export type ForwardTarget = {
  /** Base address of an OTLP/HTTP receiver. `/v1/traces` is appended unless the path ends in it. */
  readonly endpoint: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** What the forwarder reports when it cannot deliver: never a payload or a header, and of the address only the origin. */
export type ForwardLog = { readonly warn: (facts: object, message: string) => void };

export type ForwardOptions = {
  /** Spans that may wait; more are dropped and counted. */
  readonly maxQueuedSpans?: number;
  /** Bytes that may wait, as a rough measure of what the spans hold in memory. */
  readonly maxQueuedBytes?: number;
  readonly maxSpansPerRequest?: number;
  readonly concurrency?: number;
  /** Tries of one request, the first included. */
  readonly maxAttempts?: number;
  readonly timeoutMs?: number;
  /** Longest that `close` waits for what is queued. */
  readonly drainMs?: number;
  /** Waits between tries; rejects when the signal aborts. */
  readonly delay?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** From 0 to 1, for the jitter. */
  readonly random?: () => number;
};

export type Forwarder = {
  /** Takes accepted spans, sampled and redacted. Returns at once and never throws; what does not fit is dropped and counted. */
  readonly forward: (spans: readonly Span[]) => void;
  /** Takes no more spans, delivers what is queued within the bound, then drops and counts the rest. */
  readonly close: () => Promise<void>;
};

const DEFAULTS = {
  maxQueuedSpans: 50_000,
  maxQueuedBytes: 64 * 1024 * 1024,
  maxSpansPerRequest: 256,
  concurrency: 2,
  maxAttempts: 6,
  timeoutMs: 10_000,
  drainMs: 5_000,
} as const;

/** A receiver's own limit is often 4 MiB. */
const MAX_REQUEST_BYTES = 3 * 1024 * 1024;
const MAX_REPLY_BYTES = 64 * 1024;
const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
const MAX_RETRY_AFTER_MS = 60_000;

const TRACES_PATH = '/v1/traces';
const PROTOBUF = { 'content-type': 'application/x-protobuf' };

const tracesUrl = (endpoint: string): string => {
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith(TRACES_PATH) ? path : path + TRACES_PATH;
  return url.href;
};

const SPAN_OVERHEAD_BYTES = 512;
const VALUE_OVERHEAD_BYTES = 16;

/** Roughly what a value takes, never less than its text. */
const sizeOf = (value: Json | undefined): number => {
  if (typeof value === 'string') return VALUE_OVERHEAD_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return VALUE_OVERHEAD_BYTES;
  let size = VALUE_OVERHEAD_BYTES;
  if (Array.isArray(value)) for (const item of value as readonly Json[]) size += sizeOf(item);
  else for (const [key, member] of Object.entries(value as JsonObject)) size += key.length + sizeOf(member);
  return size;
};

const sizeOfSpan = (span: Span): number => {
  let size =
    SPAN_OVERHEAD_BYTES +
    sizeOf(span.attributes) +
    sizeOf(span.sharedAttributes) +
    sizeOf(span.input) +
    sizeOf(span.output);
  for (const event of span.events) size += event.name.length + sizeOf(event.attributes);
  for (const link of span.links) size += sizeOf(link.attributes);
  if (span.error !== undefined) size += span.error.message.length + (span.error.stack?.length ?? 0);
  return size;
};

const retryAfterMs = (reply: OutboundReply): number => {
  const seconds = Number(reply.headers['retry-after'] ?? Number.NaN);
  return seconds > 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER_MS) : 0;
};

/** Spans that an accepting reply says it refused. An unreadable reply says nothing. @see OTLP specification, "Partial Success" */
const rejectedSpans = (reply: OutboundReply): number => {
  try {
    const type = reply.headers['content-type'] ?? '';
    if (type.includes('json')) {
      const answer = JSON.parse(reply.body.toString()) as {
        partialSuccess?: { rejectedSpans?: string | number };
      } | null;
      return Number(answer?.partialSuccess?.rejectedSpans ?? 0) || 0;
    }
    const reader = protobuf.Reader.create(reply.body);
    const PARTIAL_SUCCESS = 0x0a;
    const REJECTED_SPANS = 0x08;
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag !== PARTIAL_SUCCESS) {
        reader.skipType(tag & 7);
        continue;
      }
      const end = reader.uint32() + reader.pos;
      while (reader.pos < end) {
        const inner = reader.uint32();
        if (inner === REJECTED_SPANS) return reader.uint32();
        reader.skipType(inner & 7);
      }
    }
  } catch {
    // The spans were accepted; the rest of the reply is for people.
  }
  return 0;
};

type Attempt =
  | { readonly kind: 'delivered'; readonly rejected: number }
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs: number }
  | { readonly kind: 'hopeless'; readonly reason: string };

/** What a reply, or its absence, means for the batch: 429 and 5xx may pass later, as may a connection that failed. */
const judgeReply = (reply: OutboundReply): Attempt => {
  const { status } = reply;
  if (status >= 200 && status < 300) return { kind: 'delivered', rejected: rejectedSpans(reply) };
  if (status === 429 || status >= 500)
    return { kind: 'retry', reason: `status ${status}`, afterMs: retryAfterMs(reply) };
  return { kind: 'hopeless', reason: status >= 300 && status < 400 ? `redirect (${status})` : `status ${status}` };
};

const judgeError = ({ reason, message, status = 0 }: OutboundError): Attempt => {
  if (reason === 'timeout' || reason === 'network') return { kind: 'retry', reason: message, afterMs: 0 };
  if (reason === 'reply_too_large' && status >= 200 && status < 300) return { kind: 'delivered', rejected: 0 };
  return { kind: 'hopeless', reason: message };
};

const sendOnce = async (
  outbound: Outbound,
  target: ForwardTarget,
  body: Uint8Array,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Attempt> => {
  try {
    const reply = await outbound.post(tracesUrl(target.endpoint), {
      headers: { ...target.headers, ...PROTOBUF },
      body,
      timeoutMs,
      maxReplyBytes: MAX_REPLY_BYTES,
      ...(signal !== undefined && { signal }),
    });
    return judgeReply(reply);
  } catch (error) {
    if (error instanceof OutboundError) return judgeError(error);
    throw error;
  }
};

/**
 * Posts an OTLP batch with no spans, once, to see whether the receiver answers.
 * @returns `ok`, or why not, in words that name the origin at most
 * @see Interface specification, "Deployment check", forwarding
 */
export const probeForwarding = async (
  target: ForwardTarget,
  timeoutMs: number = DEFAULTS.timeoutMs,
): Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: string }> => {
  const outbound = createOutbound({ maxConnections: 1 });
  try {
    const attempt = await sendOnce(outbound, target, encodeSpans([]), timeoutMs);
    return attempt.kind === 'delivered' ? { ok: true } : { ok: false, reason: attempt.reason };
  } finally {
    outbound.close();
  }
};

/**
 * Sends accepted spans on to another OTLP receiver, beside ingest and without ever holding it up: spans wait in a queue
 * bounded by count and bytes, are written as protobuf when their turn comes, and are sent by connections of their own.
 * 429, 5xx and failed connections are tried again with growing, jittered pauses, or those that `Retry-After` asks for;
 * anything else is given up. A retried request may arrive twice; receivers know a span by its ids.
 *
 * Delivery is at most what the process lives to do: the queue is memory. Every span that is dropped, refused by the
 * receiver or left at the end is counted.
 * @see Interface decisions, "5. Ingest policy", Forwarding
 */
export const createForwarder = (
  target: ForwardTarget,
  counters: Pick<Counters, 'forwardDropped'>,
  log?: ForwardLog,
  options: ForwardOptions = {},
): Forwarder => {
  const { maxQueuedSpans, maxQueuedBytes, maxSpansPerRequest, concurrency, maxAttempts, timeoutMs, drainMs } = {
    ...DEFAULTS,
    ...options,
  };
  const delay = options.delay ?? ((ms, signal) => wait(ms, undefined, { signal, ref: false }));
  const random = options.random ?? Math.random;
  const outbound = createOutbound({ maxConnections: concurrency });
  const stop = new AbortController();

  // A list with a moving head: taking from the front of an array would copy the rest each time.
  let queue: { readonly span: Span; readonly bytes: number }[] = [];
  let head = 0;
  let queuedBytes = 0;
  let sending = 0;
  let isClosed = false;
  let isOverflowing = false;
  let wakes = false;
  let whenIdle: (() => void) | undefined;

  const queuedSpans = (): number => queue.length - head;

  const drop = (spans: number, reason: string): void => {
    counters.forwardDropped += spans;
    log?.warn({ spans, reason }, 'spans were not forwarded');
  };

  const takeBatch = (): Span[] => {
    const batch: Span[] = [];
    let bytes = 0;
    while (head < queue.length && batch.length < maxSpansPerRequest) {
      const next = queue[head];
      if (next === undefined || (batch.length > 0 && bytes + next.bytes > MAX_REQUEST_BYTES)) break;
      batch.push(next.span);
      bytes += next.bytes;
      head += 1;
    }
    queuedBytes -= bytes;
    if (head > 1024 && head * 2 > queue.length) {
      queue = queue.slice(head);
      head = 0;
    }
    if (queuedSpans() * 2 < maxQueuedSpans && queuedBytes * 2 < maxQueuedBytes) isOverflowing = false;
    return batch;
  };

  const deliver = async (batch: readonly Span[]): Promise<void> => {
    const body = encodeSpans(batch);
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await sendOnce(outbound, target, body, timeoutMs, stop.signal);
      if (outcome.kind === 'delivered') {
        if (outcome.rejected > 0) drop(Math.min(outcome.rejected, batch.length), 'refused by the receiver');
        return;
      }
      if (outcome.kind === 'hopeless' || attempt >= maxAttempts) return drop(batch.length, outcome.reason);
      const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - 1), MAX_BACKOFF_MS) * random();
      try {
        await delay(Math.max(backoffMs, outcome.afterMs), stop.signal);
      } catch {
        return drop(batch.length, `${outcome.reason}, and the service stops`);
      }
    }
  };

  const pump = (): void => {
    wakes = false;
    if (sending < concurrency && queuedSpans() > 0) {
      const batch = takeBatch();
      sending += 1;
      void deliver(batch)
        // A bug of ours must not end the process, nor the forwarding of other batches.
        .catch((error: unknown) => drop(batch.length, error instanceof Error ? error.name : 'failed'))
        .finally(() => {
          sending -= 1;
          wake();
        });
      wake();
    } else if (sending === 0) {
      whenIdle?.();
    }
  };

  /** One batch a turn of the loop, so that requests in between are answered. */
  const wake = (): void => {
    if (wakes) return;
    wakes = true;
    setImmediate(pump);
  };

  return {
    forward: (spans) => {
      let refused = 0;
      for (const span of spans) {
        const bytes = sizeOfSpan(span);
        if (isClosed || queuedSpans() >= maxQueuedSpans || queuedBytes + bytes > maxQueuedBytes) {
          refused += 1;
          continue;
        }
        queue.push({ span, bytes });
        queuedBytes += bytes;
      }
      if (refused > 0) {
        // While the queue is full this happens with every batch: it is counted each time, and logged once.
        if (isOverflowing) counters.forwardDropped += refused;
        else drop(refused, isClosed ? 'the service stops' : 'the queue is full');
        isOverflowing = true;
      }
      if (queuedSpans() > 0) wake();
    },
    close: async () => {
      isClosed = true;
      const idle = new Promise<void>((resolve) => {
        whenIdle = resolve;
        wake();
      });
      const deadline = setTimeout(() => {
        const left = queuedSpans();
        queue = [];
        head = 0;
        queuedBytes = 0;
        if (left > 0) drop(left, 'the service stops');
        stop.abort();
      }, drainMs);
      await idle;
      clearTimeout(deadline);
      outbound.close();
    },
  };
};
