/**
 * Stops the daemon again and again while clients of every kind are at work: requests that are under way, heads and bodies that come
 * after the signal, connections that rest between requests, connections that the kernel has accepted and the process has not seen,
 * and readers of a long answer. A request on a connection that stood before the signal is answered; none meets a reset.
 * Run as a command: `node test/faults/stops.ts --stops 500 --seed 1`. Its exit status is 1 where such a request was not answered or a
 * stop did not end with 0.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { seededRandom } from '../crash/ledger.ts';
import { quantile } from './figures.ts';

/** Clients of each kind at one stop. */
const CLIENTS = 8;
/** Connections that are opened in one burst right before the signal: more than one turn of the event loop takes in. */
const BURST = 60;
/** After the signal, late parts of requests are sent within this time. */
const LATEST_PART_MS = 250;
/** Spans of the trace that is read slowly; its answer is some megabytes. */
const SPANS = 1500;
const PATIENCE_MS = 40_000;

export const kinds = [
  'short',
  'keep-alive',
  'burst',
  'rested',
  'late head',
  'split head',
  'late body',
  'refused body',
  'reader',
] as const;
export type Kind = (typeof kinds)[number];
/** `ended`: the connection was closed in order, without an answer. */
export const outcomes = ['answered', 'ended', 'reset', 'refused', 'silent'] as const;
export type Outcome = (typeof outcomes)[number];

export type StopFigures = {
  readonly seed: number;
  readonly stops: number;
  /** Requests on connections that stood before the signal. */
  readonly before: Record<Kind, Record<Outcome, number>>;
  /** Those on connections made after it, which nobody promised an answer. */
  readonly after: Record<Outcome, number>;
  readonly exitCodes: readonly (number | null)[];
  readonly stopMs: { readonly p50: number; readonly max: number };
};

const nothing = (): Record<Outcome, number> => ({ answered: 0, ended: 0, reset: 0, refused: 0, silent: 0 });

/** What has come of one answer: whether it is complete. */
const isComplete = (text: string): boolean => {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head + 2))?.[1];
  return length === undefined ? text.endsWith('0\r\n\r\n') : text.length - head - 4 >= Number(length);
};

type Client = {
  readonly socket: Socket;
  readonly opened: Promise<boolean>;
  /** Waits for the answer to what was sent since the last one. */
  readonly answer: () => Promise<{ outcome: Outcome; text: string }>;
};

const openClient = (port: number): Client => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let text = '';
  let end: Outcome | undefined;
  let look: () => void = () => {};
  socket.setEncoding('latin1');
  socket.on('data', (more: string) => {
    text += more;
    look();
  });
  const over = (outcome: Outcome): void => {
    end ??= outcome;
    look();
  };
  socket.on('error', ({ code }: NodeJS.ErrnoException) => over(code === 'ECONNREFUSED' ? 'refused' : 'reset'));
  socket.on('end', () => over('ended'));
  socket.on('close', () => over('ended'));
  const opened = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return {
    socket,
    opened,
    answer: async () => {
      const patience = setTimeout(() => over('silent'), PATIENCE_MS);
      await new Promise<void>((resolve) => {
        look = () => {
          if (end !== undefined || isComplete(text)) resolve();
        };
        look();
      });
      clearTimeout(patience);
      const got = { outcome: isComplete(text) ? ('answered' as const) : (end ?? 'silent'), text };
      text = '';
      return got;
    },
  };
};

const bodyOf = (id: string): string =>
  JSON.stringify({
    scores: [
      {
        score_id: '',
        trace_id: '0af7651916cd43dd8448eb211c80319c',
        scorer_id: id,
        value: 0.5,
        timestamp: new Date().toISOString(),
      },
    ],
  });
const headOf = (length: number, contentType = 'application/json'): string =>
  `POST /v1/ingest HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${contentType}\r\ncontent-length: ${length}\r\n`;
const health = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';

const seedTrace = async (url: string, traceId: string): Promise<void> => {
  const spans = Array.from({ length: SPANS }, (_, n) => ({
    trace_id: traceId,
    span_id: (n + 1).toString(16).padStart(16, '0'),
    name: 'span',
    kind: 'custom',
    start_time: '2026-01-01T00:00:00Z',
    end_time: '2026-01-01T00:00:01Z',
    attributes: { text: 'x'.repeat(2000) },
  }));
  const answer = await fetch(`${url}/v1/ingest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ spans }),
  });
  if (!answer.ok) throw new Error(`the trace was answered ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
};

/** One start, load and stop. @returns the status of the process, and how long it took */
const stopOnce = async (
  folder: string,
  random: () => number,
  note: (kind: Kind, wasBefore: boolean, outcome: Outcome) => void,
): Promise<{ code: number | null; ms: number }> => {
  const daemon = await startDaemon(folder);
  const port = Number(new URL(daemon.url).port);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  await seedTrace(daemon.url, traceId);
  let stopped = false;
  let signal: () => void = () => {};
  const signalled = new Promise<void>((resolve) => {
    signal = resolve;
  });
  const late = async (): Promise<void> => {
    await signalled;
    await sleep(random() * LATEST_PART_MS);
  };
  const body = bodyOf('stop');

  const short = async (): Promise<void> => {
    for (let goes = true; goes; ) {
      const client = openClient(port);
      await client.opened;
      const wasBefore = !stopped;
      client.socket.write(`${headOf(body.length)}connection: close\r\n\r\n${body}`);
      const { outcome } = await client.answer();
      note('short', wasBefore, outcome);
      client.socket.destroy();
      goes = outcome === 'answered' || !stopped;
    }
  };
  const keepAlive = async (): Promise<void> => {
    for (let goes = true; goes; ) {
      const client = openClient(port);
      await client.opened;
      const wasBefore = !stopped;
      for (let isOpen = true; isOpen; ) {
        client.socket.write(random() < 0.5 ? health : `${headOf(body.length)}\r\n${body}`);
        const { outcome, text } = await client.answer();
        note('keep-alive', wasBefore, outcome);
        isOpen = outcome === 'answered' && !/\r\nconnection: close/i.test(text);
        goes = outcome === 'answered' || !stopped;
        if (isOpen) await sleep(random() * 20);
      }
      client.socket.destroy();
    }
  };
  /** A connection that is opened before the signal; `play` sends its request and says when it may be sent no more. */
  const prepared = async (
    kind: Kind,
    play: (client: Client, ready: () => void) => Promise<void>,
  ): Promise<() => Promise<void>> => {
    const client = openClient(port);
    await client.opened;
    let done: Promise<void> = Promise.resolve();
    await new Promise<void>((resolve) => {
      done = (async () => {
        await play(client, resolve);
        const { outcome } = await client.answer();
        note(kind, true, outcome);
        client.socket.destroy();
      })();
    });
    return () => done;
  };
  const plays: Record<
    Exclude<Kind, 'short' | 'keep-alive' | 'burst'>,
    (client: Client, ready: () => void) => Promise<void>
  > = {
    rested: async (client, ready) => {
      client.socket.write(health);
      await client.answer();
      ready();
      await late();
      client.socket.write(`${headOf(body.length)}\r\n${body}`);
    },
    'late head': async (client, ready) => {
      ready();
      await late();
      client.socket.write(`${headOf(body.length)}\r\n${body}`);
    },
    'split head': async (client, ready) => {
      const head = `${headOf(body.length)}\r\n`;
      client.socket.write(head.slice(0, 30));
      ready();
      await late();
      client.socket.write(head.slice(30) + body);
    },
    'late body': async (client, ready) => {
      client.socket.write(`${headOf(body.length)}\r\n${body.slice(0, 10)}`);
      ready();
      await late();
      client.socket.write(body.slice(10));
    },
    'refused body': async (client, ready) => {
      const part = 'x'.repeat(20_000);
      client.socket.write(`${headOf(20 * part.length, 'text/xml')}\r\n`);
      // Refused at once; this client reads its answer when all is sent, as simple ones do.
      client.socket.pause();
      ready();
      await late();
      for (let n = 0; n < 20; n += 1) {
        if (!client.socket.destroyed) client.socket.write(part);
        await sleep(5);
      }
      client.socket.resume();
    },
    reader: async (client, ready) => {
      client.socket.pause();
      client.socket.write(`GET /v1/api/traces/${traceId}?limit=1000 HTTP/1.1\r\nhost: localhost\r\n\r\n`);
      await sleep(50);
      ready();
      await late();
      client.socket.resume();
    },
  };

  const working = Array.from({ length: CLIENTS }, () => [short(), keepAlive()]).flat();
  const waiting = await Promise.all(
    Object.entries(plays).flatMap(([kind, play]) =>
      Array.from({ length: kind === 'reader' ? 2 : CLIENTS }, () => prepared(kind as Kind, play)),
    ),
  );
  await sleep(100 + random() * 200);
  const burst = Array.from({ length: BURST }, () => openClient(port));
  await Promise.all(burst.map(({ opened }) => opened));
  const from = performance.now();
  stopped = true;
  const ended = daemon.stop();
  signal();
  await Promise.all([
    ...working,
    ...waiting.map((done) => done()),
    ...burst.map(async (client) => {
      client.socket.write(`${headOf(body.length)}connection: close\r\n\r\n${body}`);
      note('burst', true, (await client.answer()).outcome);
      client.socket.destroy();
    }),
  ]);
  return { code: await ended, ms: performance.now() - from };
};

export const stopUnderLoad = async (options: {
  readonly stops: number;
  readonly seed: number;
  readonly folder: string;
  /** No further stop after so long. */
  readonly minutes?: number;
}): Promise<StopFigures> => {
  const random = seededRandom(options.seed);
  const before = Object.fromEntries(kinds.map((kind) => [kind, nothing()])) as Record<Kind, Record<Outcome, number>>;
  const after = nothing();
  const exitCodes = new Set<number | null>();
  const times: number[] = [];
  const until = performance.now() + (options.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  while (times.length < options.stops && performance.now() < until) {
    const { code, ms } = await stopOnce(options.folder, random, (kind, wasBefore, outcome) => {
      (wasBefore ? before[kind] : after)[outcome] += 1;
    });
    exitCodes.add(code);
    times.push(ms);
  }
  return {
    seed: options.seed,
    stops: times.length,
    before,
    after,
    exitCodes: [...exitCodes],
    stopMs: { p50: Math.round(quantile(times, 0.5)), max: Math.round(Math.max(...times)) },
  };
};

/** Requests on connections that stood before the signal and were not answered, by kind and outcome, and exits that were not clean. */
export const violationsOf = ({ before, exitCodes }: Pick<StopFigures, 'before' | 'exitCodes'>): string[] => [
  ...kinds.flatMap((kind) =>
    outcomes
      .filter((outcome) => outcome !== 'answered' && before[kind][outcome] > 0)
      .map((outcome) => `${kind}: ${before[kind][outcome]} ${outcome}`),
  ),
  ...exitCodes.filter((code) => code !== 0).map((code) => `exit ${code}`),
];

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      stops: { type: 'string', default: '500' },
      seed: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '60' },
    },
  });
  const folder = temporaryFolder();
  try {
    const figures = await stopUnderLoad({
      stops: Number(values.stops),
      seed: Number(values.seed),
      minutes: Number(values.minutes),
      folder: folder.path,
    });
    const { before, ...rest } = figures;
    const violations = violationsOf(figures);
    console.table(before);
    console.log(JSON.stringify({ ...rest, violations }));
    if (violations.length > 0) process.exitCode = 1;
  } finally {
    folder.remove();
  }
}
