import type { Server } from 'node:http';
import pino from 'pino';
import { administrationRoutes } from '../../src/http/routes/administration.ts';
import { analyticsRoutes } from '../../src/http/routes/analytics.ts';
import { type AuditLog, createAuditLog } from '../../src/http/access/audit-log.ts';
import { type ConfiguredKeys, createAuthenticator } from '../../src/http/access/auth.ts';
import { datasetRoutes } from '../../src/http/routes/datasets.ts';
import { experimentRoutes } from '../../src/http/routes/experiments.ts';
import { type DoctorDeps, doctorRoutes } from '../../src/http/routes/doctor.ts';
import { judgementRoutes } from '../../src/http/routes/judgements.ts';
import { type MonitorDeps, monitorRoutes } from '../../src/http/routes/monitors.ts';
import { operationsRoutes, type Probe } from '../../src/http/routes/operations.ts';
import type { BuiltInterface } from '../../src/http/page/built-interface.ts';
import { pageRoutes } from '../../src/http/routes/page.ts';
import { parseTrustedRanges } from '../../src/http/access/peer.ts';
import type { QueryDeps } from '../../src/http/routes/query-deps.ts';
import { rollUpRoutes } from '../../src/http/routes/rollups.ts';
import type { Peers } from '../../src/http/relay.ts';
import type { Route } from '../../src/http/route.ts';
import { scoringRoutes } from '../../src/http/routes/scoring.ts';
import { signalRoutes } from '../../src/http/routes/signals.ts';
import { createAnswerRoom, type AnswerRoom } from '../../src/http/answer/answer-room.ts';
import type { ConnectionBounds } from '../../src/http/connections.ts';
import { createStreamRegistry, type StreamRegistry } from '../../src/http/answer/streams.ts';
import { refusalRoutes } from '../../src/http/routes/refusals.ts';
import { createRefusalLog, type RefusalLog } from '../../src/http/answer/refusal-log.ts';
import { savedViewRoutes } from '../../src/http/routes/saved-views.ts';
import { traceRoutes } from '../../src/http/routes/traces.ts';
import { createAdmission } from '../../src/ingest/admission.ts';
import { type Counters, createCounters } from '../../src/model/counters.ts';
import { type UnixNano, unixNanoFromMillis } from '../../src/model/time.ts';
import { spanToWire } from '../../src/http/codec/span.ts';
import type { AuditEntry, StoredSpan } from '../../src/store/signals/query.ts';
import type { SignalCapabilities } from '../../src/store/signals/capabilities.ts';
import type { SignalStore } from '../../src/store/signals/signal-store.ts';
import { createWatchHarness } from '../watch/watch-harness.ts';
import { type Answer, listeningApp, readAnswer } from './listening-app.ts';

/** Every call of the store, in order: the method and what it was asked. */
export type StoreCall = { readonly method: string; readonly arguments: readonly unknown[] };

/** Spans as an engine hands them to an answer. */
export async function* written(spans: readonly StoredSpan[], payloads: boolean): AsyncGenerator<Uint8Array> {
  for (const span of spans) yield Buffer.from(`,${JSON.stringify(spanToWire(span, payloads))}`);
}

/** Of no engine: each is the weaker promise. */
const fakeCapabilities: SignalCapabilities = {
  deletes: 'deferred',
  idempotency: 'converging',
  atomicity: 'converging',
  fullText: { longestWordBytes: 1_000 },
  order: 'identity',
};

/** A store that answers with nothing, except where a test gives a method; it notes every call. */
export const aStore = (given: Partial<SignalStore> = {}) => {
  const calls: StoreCall[] = [];
  const audited: AuditEntry[] = [];
  const nothing = async () => ({ items: [] });
  const answers: Omit<SignalStore, 'kind' | 'capabilities' | 'moving'> = {
    write: async () => 'written',
    isWritten: async () => false,
    listTraces: nothing,
    countFacets: async () => ({ traces: 0, isComplete: true, facets: [] }),
    findTrace: async () => undefined,
    findSpan: async () => undefined,
    listSpans: nothing,
    // As an engine does it, out of what the test says is stored.
    readTrace: async (traceId, reach, payloads, expect) => {
      const detail = await given.findTrace?.(traceId, reach, payloads);
      if (detail === undefined) return undefined;
      expect(detail.spans.length);
      const projects = [...new Set([detail.trace.project, ...detail.spans.map((span) => span.correlation.project)])];
      return { trace: detail.trace, projects, spans: written(detail.spans, payloads) };
    },
    projectsOfTrace: async (traceId, reach) => {
      const detail = await given.findTrace?.(traceId, reach, false);
      return detail === undefined
        ? []
        : [...new Set([detail.trace.project, ...detail.spans.map((span) => span.correlation.project)])];
    },
    readSpans: async (query) => {
      const { items, ...next } = (await given.listSpans?.(query)) ?? { items: [] };
      return { spans: written(items, query.payloads), ...next };
    },
    deleteTraces: async () => ({ deleted: 1, pending: false }),
    listLogs: nothing,
    listMetricNames: nothing,
    listMetricPoints: nothing,
    listScores: nothing,
    listFeedback: nothing,
    listAspectNotes: nothing,
    listRollUps: nothing,
    listProjects: nothing,
    costReport: async () => ({ groups: [] }),
    summaryReport: async () => ({
      traceCount: 0,
      errorCount: 0,
      cancelledCount: 0,
      inputTokens: 0,
      outputTokens: 0,
      groups: [],
    }),
    runTotals: async () => ({ runs: 0, failed: 0, cancelled: 0 }),
    latencyPercentile: async () => ({ runs: 0 }),
    scoreSample: async () => ({ scores: 0 }),
    appendAudit: async (entries) => void audited.push(...entries),
    listAudit: async () => ({ items: audited.toReversed() }),
    putDataset: async (dataset) => ({ ...dataset, itemCount: 0 }),
    listDatasets: nothing,
    findDataset: async () => undefined,
    deleteDataset: async () => ({ deleted: 0, pending: false }),
    putItems: async () => 'written',
    findItem: async () => undefined,
    listItems: nothing,
    deleteItem: async () => ({ deleted: 0, pending: false }),
    findExpected: async () => undefined,
    putExperiment: async (experiment) => experiment,
    listExperiments: nothing,
    findExperiment: async () => undefined,
    scoreStatistics: async () => [],
    putView: async ({ userId: _named, ...view }) => view,
    listViews: nothing,
    findView: async () => undefined,
    deleteView: async () => ({ deleted: 1, pending: false }),
    deleteViewsOfUser: async () => ({ deleted: 0, pending: false }),
    trim: async () => 0,
    trimRecords: async () => {},
    ping: async () => {},
    probe: async () => ({ kind: 'survived' }),
    close: async () => {},
    ...given,
  };
  const noted = Object.fromEntries(
    Object.entries(answers).map(([method, answer]) => [
      method,
      (...args: unknown[]) => {
        calls.push({ method, arguments: args });
        return (answer as (...given: unknown[]) => unknown)(...args);
      },
    ]),
  );
  const store = { kind: 'fake', capabilities: fakeCapabilities, ...noted } as unknown as SignalStore;
  return { store, calls, audited };
};

/** 2026-11-20T09:00:00Z. */
export const NOW: UnixNano = unixNanoFromMillis(Date.UTC(2026, 10, 20, 9));

export type ServiceOptions = {
  readonly keys?: ConfiguredKeys;
  readonly store?: Partial<SignalStore>;
  readonly pipeline?: Partial<QueryDeps['pipeline']>;
  readonly probes?: readonly Probe[];
  readonly watchers?: MonitorDeps['watchers'];
  readonly built?: BuiltInterface;
  readonly moreRoutes?: readonly Route[];
  readonly requestTimeoutSeconds?: number;
  readonly corsOrigins?: readonly string[];
  readonly trustedRanges?: readonly string[];
  readonly maxBodyBytes?: number;
  readonly maxAnswerBytes?: number;
  readonly readerTakesNothingMs?: number;
  readonly quietMs?: number;
  readonly connections?: ConnectionBounds;
  readonly peers?: Peers;
  readonly now?: () => UnixNano;
};

export type Service = {
  readonly url: string;
  /** What listens there. */
  readonly server: Server;
  readonly counters: Counters;
  readonly calls: StoreCall[];
  readonly audited: AuditEntry[];
  readonly audit: AuditLog;
  readonly streams: StreamRegistry;
  readonly logged: string[];
  /** Asks the service over its socket; `key` goes into the Authorization header. */
  readonly ask: (path: string, init?: RequestInit & { readonly key?: string }) => Promise<Answer>;
  readonly close: () => Promise<void>;
};

/** Tests that score have a service of their own. */
const noScoring = { score: async () => ({ scores: [], scoresWritten: 0, skipped: [], isCutShort: false }) };

const aDoctorReport = (windowDays: number): Awaited<ReturnType<DoctorDeps['examine']>> => ({
  checked_at: '2026-11-20T09:00:00Z',
  version: '1.2.3',
  window_days: windowDays,
  offline: true,
  read_only: true,
  groups: [],
  summary: { ok: 0, skipped: 0, warning: 0, fault: 0 },
});

/** Every route of the query API and of operations, as the composition root mounts them. */
export const allRoutes = (
  query: QueryDeps,
  counters: Counters,
  probes: readonly Probe[],
  watchers: MonitorDeps['watchers'] = createWatchHarness().watchers,
  answers: AnswerRoom = createAnswerRoom(counters),
  built?: BuiltInterface,
  refusals: RefusalLog = createRefusalLog(() => NOW),
): Route[] => [
  ...traceRoutes(query),
  ...refusalRoutes(refusals),
  ...signalRoutes(query),
  ...judgementRoutes(query),
  ...scoringRoutes({ ...query, scoring: noScoring, requestTimeoutSeconds: 30 }),
  ...datasetRoutes({ ...query, redactRecord: (record) => record }),
  ...experimentRoutes({ ...query, redactRecord: (record) => record }),
  ...rollUpRoutes(query),
  ...analyticsRoutes(query),
  ...monitorRoutes({ ...query, watchers }),
  ...savedViewRoutes(query),
  ...administrationRoutes(query),
  ...doctorRoutes({ examine: async (windowDays) => aDoctorReport(windowDays) }),
  ...operationsRoutes({
    counters,
    answers,
    probes,
    store: query.store,
    version: '1.2.3',
    uptimeSeconds: () => 61.9,
  }),
  ...pageRoutes(built),
];

/** A door of our own under an operation of the document, to see what the app does around a handler. */
export const anIngestDoor = (handler: Route['handler'], more: Partial<Route> = {}): Route => ({
  method: 'POST',
  path: '/v1/ingest',
  scope: 'ingest',
  operationId: 'ingestBatch',
  surface: 'ingest',
  body: 'raw',
  handler,
  ...more,
});

const unexpected = async (): Promise<never> => {
  throw new Error('this test did not expect a write');
};

/** The service on a free port of this machine, over a store that notes what it is asked. */
export const startService = async (options: ServiceOptions = {}): Promise<Service> => {
  const { store, calls, audited } = aStore(options.store);
  const counters = createCounters();
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const authenticator = createAuthenticator(options.keys ?? { topLevel: {} });
  const audit = createAuditLog(store, counters, log);
  const streams = createStreamRegistry({ perKey: 2, total: 3 });
  const answers = createAnswerRoom(counters, options.maxAnswerBytes);
  const clock = options.now ?? (() => NOW);
  const refusals = createRefusalLog(clock);
  const query: QueryDeps = {
    store,
    pipeline: { ingestScore: unexpected, ingestFeedback: unexpected, ...options.pipeline },
    authenticator,
    audit,
    defaultProject: 'default',
    priceBook: {
      id: 'test',
      currency: 'USD',
      asOf: '2026-01-01',
      rates: new Map([['m-small', { input: 1, output: 2 }]]),
    },
    version: '1.2.3',
    clock,
  };
  const maxBodyBytes = options.maxBodyBytes ?? 1024 * 1024;
  const limits = { maxBodyBytes, maxInflatedBytes: 4 * maxBodyBytes, maxSignals: 10_000 };
  const { app, url } = await listeningApp({
    routes: [
      ...allRoutes(query, counters, options.probes ?? [], options.watchers, answers, options.built, refusals),
      ...(options.moreRoutes ?? []),
    ],
    authenticator,
    audit,
    counters,
    body: { limits, admission: createAdmission(64 * 1024 * 1024, 100) },
    answers,
    streams,
    log,
    refusals,
    ...(options.peers === undefined ? {} : { peers: options.peers }),
    options: {
      requestTimeoutSeconds: options.requestTimeoutSeconds ?? 30,
      corsOrigins: options.corsOrigins ?? ['*'],
      auditTrustedRanges: parseTrustedRanges(options.trustedRanges ?? []),
      ...(options.readerTakesNothingMs === undefined ? {} : { readerTakesNothingMs: options.readerTakesNothingMs }),
      ...(options.quietMs === undefined ? {} : { quietMs: options.quietMs }),
      ...(options.connections === undefined ? {} : { connections: options.connections }),
    },
    clock,
  });
  return {
    url,
    server: app.server,
    counters,
    calls,
    audited,
    audit,
    streams,
    logged,
    ask: async (path, { key, ...init } = {}) => {
      const headers = new Headers(init.headers);
      if (key !== undefined) headers.set('authorization', `Bearer ${key}`);
      return readAnswer(await fetch(url + path, { ...init, headers }));
    },
    close: () => app.close(),
  };
};

/** A request with headers that `fetch` would not send: a Host of its own, headers twice. */
export { request as rawRequest } from 'undici';
