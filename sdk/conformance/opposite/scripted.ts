import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JournalEntry, Lease, RunDetail } from '../../typescript/src/generated/wire.ts';

/** One call that reached the fake service. */
export type Call = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
  /** When all of it had come: monotonic, in milliseconds. */
  readonly at: number;
  /** Whether the connection is over before the answer was. */
  readonly isBrokenOff: () => boolean;
  readonly isAnswered: () => boolean;
  /** The body as it came. */
  readonly text: string;
};

export type Reply =
  | {
      readonly status: number;
      readonly body?: unknown;
      /** In place of `body`: the bytes themselves. */
      readonly raw?: string;
      readonly headers?: Record<string, string>;
      /** The answer is held back until then. */
      readonly after?: Promise<void>;
      /** The answer comes in pieces of so many bytes. */
      readonly drip?: { readonly bytes: number; readonly everyMs: number };
    }
  | 'hang up'
  /** Never answered. */
  | 'stall';

/** Raw text, and how the connection ends; `pieces` come before it. */
export type ScriptedStream = {
  readonly text: string;
  readonly end: 'end' | 'hang up' | 'stay';
  readonly pieces?: { readonly bytes: readonly Buffer[]; readonly everyMs: number };
};

type BatchItems = readonly ({ readonly lease_id: string } & Record<string, unknown>)[];
type Batch = { readonly worker_id: string; readonly claim?: { readonly max: number } } & Partial<
  Record<'started' | 'heartbeats' | 'completes' | 'fails', BatchItems>
>;

/** How long a claim may say that it waits, and be answered without steps at once. */
const A_MOMENT_MS = 5;

/** A refusal, in the shape of the service. */
export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Reply => ({
  status,
  body: { code, message: `${code} by the test` },
  headers,
});

export const aLease = (over: Partial<Lease> = {}): Lease => ({
  lease_id: 'lease-1',
  run_id: 'run-1',
  project: 'default',
  definition_id: 'refund',
  definition_version: 1,
  step_id: 'pay',
  visit: 1,
  attempt: 1,
  delivery: 'at_least_once',
  input: { amount: 5 },
  steps: {},
  state: {},
  correlation: {},
  step_key: 'key-1',
  trace_id: '5b8efff798038103d269b633813fc60c',
  span_id: 'eee19b7ec3c1b174',
  lease_expires_at: '2026-11-20T09:00:30Z',
  ...over,
});

export const aRun = (over: Partial<RunDetail> = {}): RunDetail => ({
  run_id: 'run-1',
  trace_id: '5b8efff798038103d269b633813fc60c',
  project: 'default',
  definition_id: 'refund',
  definition_version: 1,
  status: 'succeeded',
  created_at: '2026-11-20T09:00:00Z',
  updated_at: '2026-11-20T09:00:00Z',
  input: {},
  state: {},
  correlation: {},
  usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
  step_count: 1,
  priority: 0,
  attempts: [],
  timers: [],
  waits: [],
  children: [],
  ...over,
});

export const anEntry = (seq: number, over: Partial<JournalEntry> = {}): JournalEntry => ({
  seq,
  kind: 'cursor.moved',
  at: '2026-11-20T09:00:00Z',
  data: {},
  ...over,
});

const readText = async (request: IncomingMessage): Promise<string> => {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces).toString();
};

export type FakeServiceOptions = {
  readonly heartbeatMs?: number;
  readonly leaseTtlMs?: number;
  /** Off: as a service that is older than the batch of steps. */
  readonly batches?: boolean;
  /** Of its health document; 1.0 by default. */
  readonly specVersion?: string;
  /** Where it listens; the IPv4 loopback address by default. */
  readonly host?: string;
  /** A free one by default. */
  readonly port?: number;
};

/**
 * Speaks the worker protocol and the few reads that clients need, as a script: it offers the leases it is given, accepts
 * every report, and answers otherwise only where the test says so. It holds no rules of its own.
 */
export const startFakeService = async (options: FakeServiceOptions = {}) => {
  const calls: Call[] = [];
  const batches: Call[] = [];
  const scripted: { verb: string; reply: Reply }[] = [];
  /** What every call to a verb gets that is not answered otherwise. */
  const always = new Map<string, Reply>();
  const watchers = new Set<() => void>();
  const offers: Lease[] = [];
  let run: RunDetail = aRun();
  let journal: readonly JournalEntry[] = [];
  /** What each connection to the journal stream gets: raw text, then the end or a broken connection. */
  const streams: ScriptedStream[] = [];
  const held = new Set<ServerResponse>();

  const send = (response: ServerResponse, reply: Reply): void => {
    if (reply === 'hang up') {
      response.destroy();
      return;
    }
    if (reply === 'stall') {
      held.add(response);
      return;
    }
    response.writeHead(reply.status, {
      'content-type': 'application/json',
      'x-request-id': 'request-1',
      ...reply.headers,
    });
    const bytes = Buffer.from(reply.raw ?? (reply.body === undefined ? '' : JSON.stringify(reply.body)));
    if (reply.drip === undefined) response.end(bytes);
    else void drip(response, bytes, reply.drip);
  };

  const drip = async (
    response: ServerResponse,
    bytes: Buffer,
    pace: { readonly bytes: number; readonly everyMs: number },
  ): Promise<void> => {
    for (let from = 0; from < bytes.length && !response.destroyed; from += pace.bytes) {
      response.write(bytes.subarray(from, from + pace.bytes));
      // oxlint-disable-next-line eslint/no-await-in-loop
      await sleep(pace.everyMs);
    }
    response.end();
  };

  /** The last part of the path names what is called. */
  const verbOf = (path: string): string => path.split('/').at(-1) ?? '';

  const defaultReply = (call: Call): Reply => {
    switch (verbOf(call.path)) {
      case 'healthz':
        return {
          status: 200,
          body: {
            status: 'ok',
            version: '0.1.0',
            spec_version: options.specVersion ?? '1.0',
            uptime_seconds: 1,
            storage: 'none',
          },
        };
      case 'register':
        return {
          status: 200,
          body: {
            worker_id: call.body['worker_id'],
            lease_ttl_ms: options.leaseTtlMs ?? 30_000,
            heartbeat_ms: options.heartbeatMs ?? 10_000,
            definitions: [],
          },
        };
      case 'started':
        return { status: 200, body: { run_status: 'running', lease_expires_at: '2026-11-20T09:00:30Z' } };
      case 'heartbeat':
        return { status: 200, body: { lease_expires_at: '2026-11-20T09:00:30Z' } };
      case 'complete':
        return { status: 200, body: { run_status: 'queued' } };
      case 'fail':
        return { status: 200, body: { run_status: 'queued', will_retry: true } };
      case 'ingest':
        return { status: 200, body: { accepted: 1, rejected: 0, duplicate: 0, errors: [] } };
      case 'runs':
        return { status: 201, body: run };
      case 'signal':
      case 'cancel':
        return { status: 200, body: { outcome: 'delivered' } };
      case 'events':
        if (call.method === 'POST') return { status: 200, body: { outcome: 'parked' } };
        return { status: 200, body: { events: journal, next_after: journal.at(-1)?.seq ?? -1 } };
      default:
        return { status: 200, body: run };
    }
  };

  const claim = (call: Call, response: ServerResponse): void => {
    const give = (): boolean => {
      if (offers.length === 0 || response.destroyed) return false;
      send(response, { status: 200, body: { leases: offers.splice(0, call.body['max'] as number) } });
      return true;
    };
    if (give()) return;
    const poll = (): void => {
      if (give()) stop();
    };
    // Here no time passes: a claim that waits for a moment is answered at once, every other one by an offer alone.
    const waits = (call.body['wait_ms'] as number) > A_MOMENT_MS;
    if (!waits) {
      setImmediate(() => send(response, { status: 200, body: { leases: [] } }));
      return;
    }
    const stop = (): void => {
      watchers.delete(poll);
    };
    watchers.add(poll);
    response.on('close', stop);
  };

  const stream = (call: Call, response: ServerResponse): void => {
    const next = streams.shift() ?? { text: '', end: 'end' as const };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`: since ${String(call.headers['last-event-id'])}\n\n`);
    void play(response, next);
  };

  const play = async (response: ServerResponse, { text, end, pieces }: ScriptedStream): Promise<void> => {
    for (const piece of pieces?.bytes ?? []) {
      response.write(piece);
      // oxlint-disable-next-line eslint/no-await-in-loop
      await sleep(pieces?.everyMs);
    }
    // Written and flushed before the connection breaks: the reader must have seen it.
    response.write(text, () => {
      if (end === 'hang up') response.destroy();
      else if (end === 'end') response.end();
      else held.add(response);
    });
  };

  /** Takes what the test says of the next call to a verb. */
  const scriptFor = (verb: string): Reply | undefined => {
    const at = scripted.findIndex((each) => each.verb === verb);
    return at === -1 ? always.get(verb) : scripted.splice(at, 1)[0]?.reply;
  };

  /** Notes a call, and takes what the test says of it. */
  const receive = (call: Call): { readonly plain: string; readonly script: Reply | undefined } => {
    calls.push(call);
    for (const watcher of watchers) watcher();
    const plain = call.path.split('?')[0] ?? '';
    return { plain, script: scriptFor(verbOf(plain)) };
  };

  /** Each item is a call of its own, to the test too; what claims of a batch get is not a call. */
  const answerBatch = async (batch: Call, response: ServerResponse): Promise<void> => {
    batches.push(batch);
    const whole = scriptFor('batch');
    if (whole !== undefined) {
      send(response, whole);
      return;
    }
    const { worker_id, claim: claimed, ...lists } = batch.body as Batch;
    const answers: Record<string, object[]> = { started: [], heartbeats: [], completes: [], fails: [] };
    for (const [list, items] of Object.entries(lists))
      for (const { lease_id, ...body } of items) {
        const verb = list === 'started' ? list : list.slice(0, -1);
        const call = { ...batch, path: `/v1/api/steps/${lease_id}/${verb}`, body: { worker_id, ...body } };
        const { plain, script } = receive(call);
        const reply = script ?? defaultReply({ ...call, path: plain });
        if (reply === 'hang up' || reply === 'stall') {
          send(response, reply);
          return;
        }
        await reply.after;
        answers[list]?.push({ lease_id, status: reply.status, body: reply.body });
      }
    const leases = claimed === undefined ? [] : offers.splice(0, claimed.max);
    send(response, { status: 200, body: { ...answers, leases } });
  };

  const answerCall = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await readText(request);
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const path = request.url ?? '';
    const call: Call = {
      ...{ method: request.method ?? '', path, headers: request.headers, body },
      at: performance.now(),
      isBrokenOff: () => response.destroyed && !response.writableFinished,
      isAnswered: () => response.writableFinished,
      text,
    };
    if (path === '/v1/api/steps/batch')
      return options.batches === false ? send(response, refusal(404, 'not_found')) : answerBatch(call, response);
    const { plain, script } = receive(call);
    if (typeof script === 'object') await script.after;
    if (script !== undefined) send(response, script);
    else if (verbOf(plain) === 'claim') claim(call, response);
    else if (request.headers.accept === 'text/event-stream') stream(call, response);
    else send(response, defaultReply({ ...call, path: plain }));
  };
  // A caller that hangs up in the middle of its body is no fault of the script.
  const server = createServer(
    (request, response) => void answerCall(request, response).catch(() => response.destroy()),
  );
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve));
  const { address, port, family } = server.address() as AddressInfo;

  const callsTo = (verb: string): Call[] => calls.filter((call) => verbOf(call.path.split('?')[0] ?? '') === verb);

  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    calls,
    /** Calls that brought several. */
    batches,
    callsTo,
    /** The order in which calls came, but for claims and heartbeats, which come by the clock, and for questions for the version. */
    verbs: (): string[] =>
      calls.map((call) => verbOf(call.path)).filter((verb) => !['claim', 'heartbeat', 'healthz'].includes(verb)),
    offer: (...leases: Lease[]): void => {
      offers.push(...leases);
      for (const watcher of watchers) watcher();
    },
    /** The next call to this verb is answered so, once. With `batch`, a batch is, and none of its items is a call. */
    answer: (verb: string, ...replies: Reply[]): void => {
      scripted.push(...replies.map((reply) => ({ verb, reply })));
    },
    /** Every call to this verb is answered so, where `answer` says nothing else. */
    answerAlways: (verb: string, reply: Reply | undefined): void => {
      if (reply === undefined) always.delete(verb);
      else always.set(verb, reply);
    },
    setRun: (next: RunDetail, entries: readonly JournalEntry[] = []): void => {
      run = next;
      journal = entries;
    },
    streams,
    /** Resolves when there are so many calls to a verb. */
    seen: (verb: string, count = 1): Promise<Call> =>
      new Promise((resolve) => {
        const look = (): void => {
          const call = callsTo(verb)[count - 1];
          if (call === undefined) return;
          watchers.delete(look);
          resolve(call);
        };
        watchers.add(look);
        look();
      }),
    stop: async (): Promise<void> => {
      for (const response of held) response.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
};

export type FakeService = Awaited<ReturnType<typeof startFakeService>>;
