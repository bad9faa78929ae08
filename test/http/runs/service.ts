import { promisify } from 'node:util';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { createActorDirectory } from '../../../src/actors/service/actor-directory.ts';
import { type RunningRuns, type RunsOptions, startRuns } from '../../../src/actors/start.ts';
import { priceReport } from '../../../src/cli/open-runs.ts';
import { createAuditLog } from '../../../src/http/access/audit-log.ts';
import { type ConfiguredKeys, createAuthenticator } from '../../../src/http/access/auth.ts';
import { createRefusalLog } from '../../../src/http/answer/refusal-log.ts';
import { type StreamTiming, streamTiming } from '../../../src/http/answer/event-stream.ts';
import { runsSurface } from '../../../src/http/routes/runs-surface.ts';
import { createStreamRegistry, type StreamBounds } from '../../../src/http/answer/streams.ts';
import { createAdmission } from '../../../src/ingest/admission.ts';
import { createCounters } from '../../../src/model/counters.ts';
import type { components } from '../../../src/model/generated/openapi.ts';
import type { Span } from '../../../src/model/span.ts';
import { unixNanoFromMillis } from '../../../src/model/time.ts';
import { createMemoryRunStore } from '../../../src/store/runs/memory-run-store.ts';
import { openSqliteRunStore } from '../../../src/store/sqlite/runs/open.ts';
import { createFakeClock } from '../../actors/run-harness.ts';
import { type Answer, listeningApp, readAnswer } from '../listening-app.ts';
import { aStore } from '../service.ts';

export type WireLease = components['schemas']['Lease'];
export type WireRun = components['schemas']['RunDetail'];
export type WireEntry = components['schemas']['JournalEntry'];

/** A gate that is open unless a test holds it. */
const createGate = () => {
  let closed: Promise<void> | undefined;
  let waiting = 0;
  return {
    pass: async (): Promise<void> => {
      waiting += 1;
      await closed;
      waiting -= 1;
    },
    waiting: () => waiting,
    hold: (): (() => void) => {
      let open = (): void => {};
      closed = new Promise((resolve) => {
        open = () => {
          closed = undefined;
          resolve();
        };
      });
      return open;
    },
  };
};

export type RunsServiceOptions = {
  readonly keys?: ConfiguredKeys;
  readonly definitions?: readonly object[];
  readonly requestTimeoutSeconds?: number;
  readonly streamBounds?: StreamBounds;
  readonly streamTiming?: Partial<StreamTiming>;
  /** Off: as with `--runs-data off`. */
  readonly enabled?: boolean;
  readonly runs?: Partial<RunsOptions>;
};

type Ask = { readonly key?: string; readonly headers?: Record<string, string>; readonly signal?: AbortSignal };

/** The surface of durable runs on a free port of this machine, over the real kernel and a file of its own. */
export const startRunsService = async (options: RunsServiceOptions = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-runs-'));
  const enabled = options.enabled ?? true;
  const store = enabled ? await openSqliteRunStore({ path: join(folder, 'runs.db') }) : createMemoryRunStore();
  const commits = createGate();
  // It stands still unless a test moves it, so that the seconds which a busy machine takes count for nothing.
  const time = createFakeClock(Date.now());
  const spans: Span[] = [];
  const erased: string[] = [];
  const faults: unknown[] = [];
  const runs: RunningRuns = await startRuns({
    store: {
      ...store,
      commit: async (changes) => {
        await commits.pass();
        return store.commit(changes);
      },
    },
    writeSpans: async (batch) => void spans.push(...batch),
    price: priceReport,
    onFault: (error) => faults.push(error),
    clock: time.clock,
    ticks: false,
    ...options.runs,
  });
  const signals = aStore({
    deleteTraces: async (traceIds) => {
      erased.push(...traceIds);
      return { deleted: traceIds.length, pending: false };
    },
  });
  const counters = createCounters();
  const log = pino({ level: 'silent' });
  const streams = createStreamRegistry(options.streamBounds);
  const refusals = createRefusalLog(() => unixNanoFromMillis(time.clock.wall()));
  const audit = createAuditLog(signals.store, counters, log);
  const authenticator = createAuthenticator(options.keys ?? { topLevel: {} });
  const requestTimeoutSeconds = options.requestTimeoutSeconds ?? 30;
  const clock = () => unixNanoFromMillis(time.clock.wall());
  const maxBodyBytes = 32 * 1024 * 1024;
  const { app, url } = await listeningApp({
    routes: runsSurface(
      {
        runs: { ...runs, ...createActorDirectory(enabled ? runs.actors : []) },
        traces: signals.store,
        streams,
        refusals,
        defaultProject: 'default',
        clock,
        requestTimeoutSeconds,
        log,
      },
      enabled,
      { ...streamTiming, ...options.streamTiming },
    ),
    authenticator,
    audit,
    counters,
    body: {
      limits: { maxBodyBytes, maxInflatedBytes: 4 * maxBodyBytes, maxSignals: 10_000 },
      admission: createAdmission(256 * 1024 * 1024),
    },
    streams,
    log,
    options: { requestTimeoutSeconds },
    clock,
  });

  const ask = async (method: string, path: string, { key, headers = {}, signal }: Ask, body?: unknown) => {
    const response = await fetch(`${url}/v1/api${path}`, {
      method,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    return readAnswer(response);
  };
  const post = (path: string, body?: unknown, more: Ask = {}): Promise<Answer> => ask('POST', path, more, body);
  const get = (path: string, more: Ask = {}): Promise<Answer> => ask('GET', path, more);
  const must = async (answer: Promise<Answer>): Promise<Answer['body']> => {
    const { status, text, body } = await answer;
    if (status !== 200 && status !== 201) throw new Error(`${status}: ${text}`);
    return body;
  };

  const register = (worker = 'w1', definitions = options.definitions ?? [], more: object = {}, ask: Ask = {}) =>
    post('/workers/register', { worker_id: worker, definitions, ...more }, ask);
  const claim = async (worker = 'w1', more: object = {}, ask: Ask = {}): Promise<readonly WireLease[]> =>
    (await must(post('/steps/claim', { worker_id: worker, max: 1, wait_ms: 0, ...more }, ask))).leases;
  /** Claims exactly one step; its body is not declared running. */
  const offered = async (worker = 'w1', ask: Ask = {}): Promise<WireLease> => {
    const [lease] = await claim(worker, { wait_ms: 2000 }, ask);
    if (lease === undefined) throw new Error('nothing to claim');
    return lease;
  };
  const verb =
    (name: string) =>
    ({ lease_id }: Pick<WireLease, 'lease_id'>, body: object = {}, worker = 'w1', ask: Ask = {}): Promise<Answer> =>
      post(`/steps/${lease_id}/${name}`, { worker_id: worker, ...body }, ask);
  const started = verb('started');
  const fail = verb('fail');
  if (enabled && options.definitions !== undefined && options.keys === undefined) await must(register());

  return {
    url,
    runs,
    store,
    streams,
    /** What is counted of refused calls on leases. */
    refusals,
    spans,
    erased,
    faults,
    counters,
    /** Holds back every commit until the returned function is called. */
    holdCommits: commits.hold,
    heldCommits: commits.waiting,
    now: time.now,
    /** The lengths of the timers that wait for the clock, in milliseconds. */
    timers: time.timers,
    /** Connections that the service knows of at this moment. */
    connections: () => promisify(app.server.getConnections.bind(app.server))(),
    audited: async () => {
      await audit.flush();
      return signals.audited;
    },
    post,
    get,
    put: (path: string, body: unknown, more: Ask = {}): Promise<Answer> => ask('PUT', path, more, body),
    del: (path: string, more: Ask = {}): Promise<Answer> => ask('DELETE', path, more),
    must,
    register,
    claim,
    offered,
    /** Claims exactly one step and declares its body running. */
    take: async (worker = 'w1', ask: Ask = {}): Promise<WireLease> => {
      const lease = await offered(worker, ask);
      await must(started(lease, {}, worker, ask));
      return lease;
    },
    started,
    heartbeat: verb('heartbeat'),
    complete: verb('complete'),
    fail: (lease: Pick<WireLease, 'lease_id'>, errorClass: string, more: object = {}, worker = 'w1', ask: Ask = {}) =>
      fail(lease, { error: { class: errorClass, message: 'it broke' }, ...more }, worker, ask),
    start: async (definition: string, input: unknown = {}, more: object = {}, ask: Ask = {}): Promise<WireRun> =>
      must(post('/runs', { definition_id: definition, input, ...more }, ask)),
    run: async (runId: string): Promise<WireRun> => must(get(`/runs/${runId}`)),
    journal: async (runId: string): Promise<readonly WireEntry[]> =>
      (await must(get(`/runs/${runId}/events?limit=1000`))).events,
    /** Moves the clock ahead, a second at a time as the service looks at it. */
    pass: async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= 1000) {
        time.advance(Math.min(1000, left));
        await runs.tick();
      }
    },
    /** Moves the clock in one leap, after which the service looks at it once. */
    leap: async (ms: number): Promise<void> => {
      time.advance(ms);
      await runs.tick();
    },
    close: async (): Promise<void> => {
      await app.close();
      await runs.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

export type RunsHttp = Awaited<ReturnType<typeof startRunsService>>;

/** A definition of version 1. */
export const aFlow = (id: string, steps: readonly object[], more: object = {}) => ({ id, version: 1, steps, ...more });
export const aTask = (id: string, more: object = {}) => ({ id, kind: 'task', ...more });
