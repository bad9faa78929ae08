/**
 * Asks for a large trace with many clients that do not read its answer, or that do. Writes what that cost, and what others saw of it.
 * Run as a command: `node test/faults/slow-readers.ts --clients 500 --seconds 60`, with `--read` for clients that read.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { peakMebibytes, quantile } from './figures.ts';

const TRACE = 'a'.repeat(32);
const SPANS = 5_000;
const SPANS_PER_BODY = 2_500;
/** Stands in the answer twice: as the input, and as the attribute that it came in. */
const INPUT = 'refund order status '.repeat(100);
/** A client that does not read gives up after this time, and asks again. */
const PATIENCE_MS = 15_000;

export type SlowReadersFigures = {
  readonly clients: number;
  readonly seconds: number;
  readonly answerMebibytes: number;
  /** Answers that were read to their end, and how many were refused with 429, by clients that read. */
  readonly read: number;
  readonly refused: number;
  /** Answers that took longer than the request timeout to read. */
  readonly cut: number;
  /** Counted by the service. */
  readonly answersRefused: number;
  readonly slowReadersCut: number;
  readonly peakMebibytes: number;
  readonly healthP50Ms: number;
  readonly healthP99Ms: number;
  readonly healthMaxMs: number;
  readonly listsServed: number;
  readonly listsRefused: number;
  readonly batchesTaken: number;
};

const bodyOf = (from: number): string => {
  const spans = Array.from({ length: SPANS_PER_BODY }, (_, n) => ({
    traceId: TRACE,
    spanId: (from + n + 1).toString(16).padStart(16, '0'),
    ...(from + n === 0 ? {} : { parentSpanId: '1'.padStart(16, '0') }),
    name: 'a span',
    kind: 1,
    startTimeUnixNano: '1790000000000000000',
    endTimeUnixNano: '1790000001000000000',
    attributes: [{ key: 'input.value', value: { stringValue: INPUT } }],
  }));
  return JSON.stringify({ resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans }] }] });
};

/**
 * @param read whether clients read their answers; those that do ask again after a refusal, and after an answer
 * @throws Error when something is answered that is neither complete nor refused with a retry, or when others are not served
 */
export const slowReaders = async (options: {
  readonly clients: number;
  readonly seconds: number;
  readonly folder: string;
  readonly read: boolean;
  readonly flags?: readonly string[];
}): Promise<SlowReadersFigures> => {
  const daemon = await startDaemon(options.folder, options.flags);
  const { hostname, port } = new URL(daemon.url);
  for (let from = 0; from < SPANS; from += SPANS_PER_BODY) {
    const sent = await fetch(`${daemon.url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: bodyOf(from),
    });
    if (sent.status !== 200) throw new Error(`the trace was answered ${sent.status}: ${await sent.text()}`);
  }
  const path = `/v1/api/traces/${TRACE}`;
  const whole = await (await fetch(daemon.url + path)).text();
  if ((JSON.parse(whole) as { spans: unknown[] }).spans.length !== SPANS) throw new Error('the trace is not complete');

  const until = performance.now() + options.seconds * 1000;
  const isOver = (): boolean => performance.now() >= until;
  const agent = new Agent({ connections: options.clients, headersTimeout: 120_000, bodyTimeout: 120_000 });
  let read = 0;
  let refused = 0;
  let cut = 0;

  const reader = async (): Promise<void> => {
    while (!isOver()) {
      const { statusCode, headers, body } = await request(daemon.url + path, { dispatcher: agent });
      let bytes = 0;
      try {
        for await (const piece of body) bytes += (piece as Buffer).length;
      } catch {
        // Sending counts against --request-timeout-seconds, and all these clients share one process.
        cut += 1;
        continue;
      }
      if (statusCode === 200) {
        if (bytes !== Buffer.byteLength(whole)) throw new Error(`an answer has ${bytes} bytes of ${whole.length}`);
        read += 1;
        continue;
      }
      const wait = Number(headers['retry-after']);
      if (statusCode !== 429 || !(wait > 0)) throw new Error(`a read was answered ${statusCode}, retry after ${wait}`);
      refused += 1;
      await sleep(wait * 1000);
    }
  };

  const sockets = new Set<Socket>();
  const nonReader = async (): Promise<void> => {
    while (!isOver()) {
      const socket = connect(Number(port), hostname).on('error', () => {});
      sockets.add(socket);
      socket.pause().write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
      await sleep(Math.min(PATIENCE_MS, Math.max(0, until - performance.now())));
      socket.destroy();
      sockets.delete(socket);
    }
  };

  // Each waits for itself alone: a shared pool would queue a ping behind a list.
  const pinger = new Agent({ connections: 1 });
  const healthMs: number[] = [];
  const health = async (): Promise<void> => {
    while (!isOver()) {
      const asked = performance.now();
      const { statusCode, body } = await request(`${daemon.url}/healthz`, { dispatcher: pinger });
      await body.dump();
      if (statusCode !== 200) throw new Error(`/healthz answered ${statusCode}`);
      healthMs.push(performance.now() - asked);
      await sleep(10);
    }
  };
  const lister = new Agent({ connections: 1 });
  let listsServed = 0;
  let listsRefused = 0;
  const lists = async (): Promise<void> => {
    while (!isOver()) {
      const { statusCode, body } = await request(`${daemon.url}/v1/api/traces?limit=50`, { dispatcher: lister });
      await body.dump();
      if (statusCode === 200) listsServed += 1;
      else if (statusCode === 429) listsRefused += 1;
      else throw new Error(`a list was answered ${statusCode}`);
      await sleep(50);
    }
  };
  const sender = new Agent({ connections: 1 });
  let batchesTaken = 0;
  const batches = async (): Promise<void> => {
    while (!isOver()) {
      const { statusCode, body } = await request(`${daemon.url}/v1/ingest`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          logs: [{ severity: 'info', message: 'beside them', timestamp: '2026-11-20T12:00:00Z' }],
        }),
        dispatcher: sender,
      });
      await body.dump();
      if (statusCode !== 200) throw new Error(`a batch was answered ${statusCode}`);
      batchesTaken += 1;
      await sleep(50);
    }
  };

  await Promise.all([
    ...Array.from({ length: options.clients }, options.read ? reader : nonReader),
    health(),
    lists(),
    batches(),
  ]);
  for (const socket of sockets) socket.destroy();
  const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
  const counter = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(metrics)?.[1]);
  const peak = peakMebibytes(daemon.process.pid);
  await Promise.all([agent, pinger, lister, sender].map((one) => one.destroy()));
  const code = await daemon.stop();
  if (code !== 0) throw new Error(`the stop ended with ${code}`);
  return {
    clients: options.clients,
    seconds: options.seconds,
    answerMebibytes: Math.round(whole.length / 1024 / 1024),
    read,
    refused,
    cut,
    answersRefused: counter('svc_answers_refused_total'),
    slowReadersCut: counter('svc_slow_readers_cut_total'),
    peakMebibytes: peak,
    healthP50Ms: quantile(healthMs, 0.5),
    healthP99Ms: quantile(healthMs, 0.99),
    healthMaxMs: quantile(healthMs, 1),
    listsServed,
    listsRefused,
    batchesTaken,
  };
};

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: {
      clients: { type: 'string', default: '500' },
      seconds: { type: 'string', default: '60' },
      read: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const folder = temporaryFolder();
  try {
    const figures = await slowReaders({
      clients: Number(values.clients),
      seconds: Number(values.seconds),
      read: values.read,
      folder: folder.path,
      flags: positionals,
    });
    console.log(JSON.stringify(figures));
  } finally {
    folder.remove();
  }
}
