/**
 * Sends more than the daemon can hold: large bodies of many clients, senders and readers that move a byte a second, and
 * connections that announce much and send nothing. Writes what the others saw of it.
 * Run as a command: `node test/faults/overload.ts --clients 40 --seconds 60`.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { seededRandom } from '../crash/ledger.ts';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { peakMebibytes, quantile } from './figures.ts';

const MEBIBYTE = 1024 * 1024;
const SPANS_PER_BODY = 10_000;
const BODIES = 4;
/** Pause of a sensible client after a 429, in milliseconds. */
const RETRY_MS = 1_000;

/** As large as a body may be: ten thousand spans that fill the bound but for a few bytes. */
const bodyOf = (random: () => number): { readonly text: Buffer; readonly idOffsets: readonly number[] } => {
  const words = Array.from({ length: 500 }, () => Math.floor(random() * 1e9).toString(36));
  const room = Math.floor((32 * MEBIBYTE - 20) / SPANS_PER_BODY) - 155;
  const spans = Array.from({ length: SPANS_PER_BODY }, (_, n) => {
    let input = '';
    while (input.length < room) input += `${words[Math.floor(random() * words.length)] ?? ''} `;
    return `{"trace_id":"${'0'.repeat(24)}${(Math.floor(n / 100) + 1).toString(16).padStart(8, '0')}","span_id":"${(n + 1).toString(16).padStart(16, '0')}","name":"a span","start_time":"2026-11-20T12:00:00Z","input":"${input.slice(0, room - 20)}"}`;
  });
  const text = Buffer.from(`{"spans":[${spans.join()}]}`);
  const idOffsets: number[] = [];
  for (let at = text.indexOf('"trace_id":"'); at !== -1; at = text.indexOf('"trace_id":"', at + 1))
    idOffsets.push(at + 12);
  return { text, idOffsets };
};

export type OverloadFigures = {
  readonly clients: number;
  readonly seconds: number;
  readonly taken: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly accepted: number;
  readonly stored: number;
  readonly peakMebibytes: number;
  readonly healthP50Ms: number;
  readonly healthP99Ms: number;
  readonly healthMaxMs: number;
  readonly smallTaken: number;
  readonly smallRefused: number;
  readonly smallP99Ms: number;
};

/**
 * @param slow connections of each slow kind
 * @throws Error when something is answered that is neither accepted nor refused with a retry, or when accepted and stored differ
 */
export const overload = async (options: {
  readonly clients: number;
  readonly slow: number;
  readonly seconds: number;
  readonly folder: string;
  readonly flags?: readonly string[];
}): Promise<OverloadFigures> => {
  const random = seededRandom(7);
  const bodies = Array.from({ length: BODIES }, () => bodyOf(random));
  const daemon = await startDaemon(options.folder, options.flags);
  const { hostname, port } = new URL(daemon.url);
  const until = performance.now() + options.seconds * 1000;
  const agent = new Agent({ connections: options.clients, headersTimeout: 120_000, bodyTimeout: 120_000 });
  // Each waits for itself alone: a shared pool would queue a ping behind a batch.
  const pinger = new Agent({ connections: 1 });
  const quick = new Agent({ connections: 1 });
  const refused: Record<string, number> = {};
  let serial = 0;
  let taken = 0;
  let accepted = 0;

  const large = async (n: number): Promise<void> => {
    const { text, idOffsets } = bodies[n % BODIES] ?? bodyOf(random);
    const body = Buffer.from(text);
    while (performance.now() < until) {
      const half = (++serial).toString(16).padStart(16, '0');
      for (const offset of idOffsets) body.write(half, offset, 'latin1');
      let answer: Awaited<ReturnType<typeof request>>;
      try {
        answer = await request(`${daemon.url}/v1/ingest`, {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json' },
          dispatcher: agent,
        });
      } catch (error) {
        // A refused body is read on for ten seconds, so that its client sees the answer; then it is cut.
        if ((error as { code?: string }).code !== 'ECONNRESET') throw error;
        refused['cut'] = (refused['cut'] ?? 0) + 1;
        await sleep(RETRY_MS);
        continue;
      }
      const reply = (await answer.body.json()) as { accepted?: number; code?: string };
      if (answer.statusCode === 200) {
        taken += 1;
        accepted += reply.accepted ?? 0;
        continue;
      }
      const why = `${answer.statusCode} ${reply.code}`;
      refused[why] = (refused[why] ?? 0) + 1;
      if (answer.statusCode !== 429 && answer.statusCode !== 503) throw new Error(`a large body was answered ${why}`);
      if (answer.headers['retry-after'] === undefined) throw new Error(`${why} says no Retry-After`);
      await sleep(RETRY_MS);
    }
  };

  const healthMs: number[] = [];
  const health = async (): Promise<void> => {
    while (performance.now() < until) {
      const asked = performance.now();
      const { statusCode, body } = await request(`${daemon.url}/healthz`, { dispatcher: pinger });
      await body.dump();
      if (statusCode !== 200) throw new Error(`/healthz answered ${statusCode}`);
      healthMs.push(performance.now() - asked);
      await sleep(10);
    }
  };

  const smallMs: number[] = [];
  let smallRefused = 0;
  const small = async (): Promise<void> => {
    while (performance.now() < until) {
      const trace = (++serial).toString(16).padStart(16, '0');
      const asked = performance.now();
      const { statusCode, body } = await request(`${daemon.url}/v1/ingest`, {
        method: 'POST',
        body: `{"spans":[{"trace_id":"${trace}${'f'.repeat(16)}","span_id":"00000000000000ff","name":"s","start_time":"2026-11-20T12:00:00Z"}]}`,
        headers: { 'content-type': 'application/json' },
        dispatcher: quick,
      });
      await body.dump();
      if (statusCode === 200) {
        accepted += 1;
        smallMs.push(performance.now() - asked);
      } else smallRefused += 1;
      await sleep(20);
    }
  };

  /** Sends a head, and then a byte a second. */
  const sockets: Socket[] = [];
  const slowSender = async (): Promise<void> => {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.on('error', () => {}).resume();
    socket.write(
      'POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 33554432\r\n\r\n',
    );
    while (performance.now() < until && !socket.destroyed) {
      socket.write('[');
      await sleep(1_000);
    }
  };
  /** Asks for a large answer, and reads a little of it each second. */
  const slowReader = async (): Promise<void> => {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.on('error', () => {}).pause();
    socket.write('GET /v1/api/spans?limit=1000 HTTP/1.1\r\nhost: localhost\r\n\r\n');
    while (performance.now() < until && !socket.destroyed) {
      await sleep(1_000);
      socket.read(1);
    }
  };

  await Promise.all([
    ...Array.from({ length: options.clients }, (_, n) => large(n)),
    ...Array.from({ length: options.slow }, slowSender),
    ...Array.from({ length: options.slow }, slowReader),
    health(),
    small(),
  ]);
  for (const socket of sockets) socket.destroy();
  const metrics = await (await fetch(`${daemon.url}/metrics`)).text();
  const stored = Number(/^svc_signals_accepted_total (\d+)$/m.exec(metrics)?.[1]);
  if (stored !== accepted) throw new Error(`clients got success for ${accepted} signals, the service counts ${stored}`);
  const peak = peakMebibytes(daemon.process.pid);
  await agent.close();
  await quick.close();
  await pinger.close();
  const code = await daemon.stop();
  if (code !== 0) throw new Error(`the stop ended with ${code}`);
  return {
    clients: options.clients,
    seconds: options.seconds,
    taken,
    refused,
    accepted,
    stored,
    peakMebibytes: peak,
    healthP50Ms: quantile(healthMs, 0.5),
    healthP99Ms: quantile(healthMs, 0.99),
    healthMaxMs: quantile(healthMs, 1),
    smallTaken: smallMs.length,
    smallRefused,
    smallP99Ms: quantile(smallMs, 0.99),
  };
};

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: {
      clients: { type: 'string', default: '40' },
      slow: { type: 'string', default: '100' },
      seconds: { type: 'string', default: '60' },
    },
    allowPositionals: true,
  });
  const folder = temporaryFolder();
  try {
    const figures = await overload({
      clients: Number(values.clients),
      slow: Number(values.slow),
      seconds: Number(values.seconds),
      folder: folder.path,
      flags: positionals,
    });
    console.log(JSON.stringify(figures));
  } finally {
    folder.remove();
  }
}
