import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { RunningRuns } from '../actors/start.ts';
import { createActorDirectory } from '../actors/service/actor-directory.ts';
import { createResidentActors } from '../actors/service/resident-actors.ts';
import { createWatchActors } from '../watch/directory.ts';
import { buildApp } from '../http/app.ts';
import { administrationRoutes } from '../http/routes/administration.ts';
import { compileReads } from '../http/contract/contract.ts';
import { analyticsRoutes } from '../http/routes/analytics.ts';
import { createAuditLog } from '../http/access/audit-log.ts';
import { createAuthenticator } from '../http/access/auth.ts';
import { doctorRoutes } from '../http/routes/doctor.ts';
import { ingestRoutes } from '../http/routes/ingest.ts';
import { datasetRoutes, type EvaluationDeps } from '../http/routes/datasets.ts';
import { experimentRoutes } from '../http/routes/experiments.ts';
import { judgementRoutes } from '../http/routes/judgements.ts';
import { monitorRoutes } from '../http/routes/monitors.ts';
import { openSurfaceWarnings } from '../http/access/open-surfaces.ts';
import { operationsRoutes } from '../http/routes/operations.ts';
import { readBuiltInterface } from '../http/page/built-interface.ts';
import { pageRoutes } from '../http/routes/page.ts';
import { parseTrustedRanges } from '../http/access/peer.ts';
import type { QueryDeps } from '../http/routes/query-deps.ts';
import { rollUpRoutes } from '../http/routes/rollups.ts';
import type { Route } from '../http/route.ts';
import { scoringRoutes } from '../http/routes/scoring.ts';
import { signalRoutes } from '../http/routes/signals.ts';
import { runsSurface } from '../http/routes/runs-surface.ts';
import { createAnswerRoom } from '../http/answer/answer-room.ts';
import { createStreamRegistry } from '../http/answer/streams.ts';
import { refusalRoutes } from '../http/routes/refusals.ts';
import { savedViewRoutes } from '../http/routes/saved-views.ts';
import { traceRoutes } from '../http/routes/traces.ts';
import { createRefusalLog } from '../http/answer/refusal-log.ts';
import { createAdmission } from '../ingest/admission.ts';
import { createForwarder } from '../ingest/forward.ts';
import { createOutbound, type Outbound } from '../ingest/outbound.ts';
import { createPipeline } from '../ingest/pipeline.ts';
import { builtinPriceBook } from '../ingest/price-book.ts';
import { createQuota } from '../ingest/quota.ts';
import { createSharedQuota } from '../ingest/shared-quota.ts';
import { createSampler } from '../ingest/sample.ts';
import { createCounters } from '../model/counters.ts';
import { createJudge, type Judge } from '../scoring/judge.ts';
import { createRecordRedactor } from '../scoring/redact-item.ts';
import { createScoring } from '../scoring/score-runs.ts';
import { nowUnixNano } from '../model/time.ts';
import type { SignalStore } from '../store/signals/signal-store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { createRoomFlags, type RoomFlag } from '../store/sqlite/room.ts';
import { openSqliteSignalStore } from '../store/sqlite/signals/open.ts';
import { showAddress as showServer } from '../store/clickhouse/address.ts';
import { columnarOf } from './columnar-address.ts';
import { databaseOf } from './config.ts';
import { examineRunning } from './doctor/running.ts';
import { type Duty, ownDuty, startDuty } from './duty.ts';
import { createLogger } from './logger.ts';
import { exitNow } from './exit-now.ts';
import { listenHost } from './listen-host.ts';
import { openRuns } from './open-runs.ts';
import { retentionWindows, runRetentionPass, type Schedule, scheduleHourly } from './retention.ts';
import type { Settings } from './settings.ts';
import { EXIT_BROKEN, EXIT_START } from './exit-status.ts';
import { settleAfterStart } from './settle.ts';
import { createShutdown, type Stage } from './shutdown.ts';
import { describeStartFailure, StartRefused } from './start-failure.ts';
import { version } from './version.ts';
import { openWatchers, watchWarnings } from './watch.ts';

/** After the start's own work: threads are up, the first requests of clients that waited for the start are through. */
const SETTLE_AFTER_MS = 3_000;
/** Of the time a stop may take, what the parts after the connections get. */
const STOP_GRACE_MS = 4_000;
/** Of that, how long forwarding may try to deliver what it holds; the store comes after it. */
const FORWARD_DRAIN_MS = 2_000;
/** Of the time of a request, what a statement of it may take: the store answers a caller before its time is over. */
const STATEMENT_SHARE = 0.75;
/** Model calls of judged scoring that are open at once, over all requests. */
const JUDGE_CONNECTIONS = 16;

/** Where `npm ci` builds the interface. */
const INTERFACE_FOLDER = join(import.meta.dirname, '..', '..', 'ui', 'dist');

/** The values that one key of the `projects` block has, by project; projects without it are left out. */
const perProject = <T>(
  settings: Settings,
  read: (block: Settings['projects'][string]) => T | undefined,
): Record<string, T> =>
  Object.fromEntries(
    Object.entries(settings.projects).flatMap(([name, block]) => {
      const held = read(block);
      return held === undefined ? [] : [[name, held]];
    }),
  );

const judgeOf = (judge: NonNullable<Settings['judge']>, outbound: Outbound): Judge =>
  createJudge(
    {
      endpoint: judge.endpoint,
      model: judge.model,
      apiKey: judge.api_key,
      timeoutSeconds: judge.timeout_seconds,
      criteria: judge.criteria,
    },
    { outbound, priceBook: builtinPriceBook },
  );

/** Where signals are kept, as the log shows it. */
const storageOf = (settings: Settings): { readonly data: string } | { readonly database: string } => {
  const columnar = columnarOf(settings);
  if (columnar !== undefined) return { database: showServer(columnar) };
  return settings.sqlstoreUrl === undefined
    ? { data: resolve(settings.data) }
    : { database: databaseOf(settings.sqlstoreUrl) };
};

/** Opens the engine that the settings pick. */
const openSignalStore = async (
  settings: Settings,
  roomFlag: RoomFlag,
  onFatal: (message: string) => void,
): Promise<SignalStore> => {
  const statementMs = settings.requestTimeoutSeconds * 1000 * STATEMENT_SHARE;
  // Only a service that uses a database loads its driver, so that a start on a file need not wait for it.
  const columnar = columnarOf(settings);
  if (columnar !== undefined) {
    const { openClickHouseSignalStore } = await import('../store/clickhouse/signals/open.ts');
    return openClickHouseSignalStore({ address: columnar, statementMs });
  }
  if (settings.sqlstoreUrl === undefined)
    return openSqliteSignalStore({ path: settings.data, reserveBytes: settings.diskReserveBytes, roomFlag, onFatal });
  const { openPostgresSignalStore } = await import('../store/postgres/signals/open.ts');
  return openPostgresSignalStore({
    url: settings.sqlstoreUrl,
    statementMs,
  });
};

const urlOf = ({ address, family, port }: AddressInfo): string =>
  `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;

/** The address at which other services reach this one, where `--peer-url` does not name it; empty where it listens on every address. */
const peerUrlOf = (bound: AddressInfo): string => (/^(?:0\.0\.0\.0|::)$/.test(bound.address) ? '' : urlOf(bound));

const runsOf = ({ runsData, runsUrl }: Settings): string => {
  if (runsData === undefined) return 'off';
  return runsUrl === undefined ? resolve(runsData) : databaseOf(runsUrl);
};

/** Closes the port: no new connections, requests in flight are answered, connections past their deadline are cut. */
const closeConnections = async (app: FastifyInstance, requestTimeoutSeconds: number): Promise<void> => {
  const cut = setTimeout(() => app.server.closeAllConnections(), requestTimeoutSeconds * 1000);
  try {
    await app.close();
  } finally {
    clearTimeout(cut);
  }
};

/**
 * The hourly deletion of what is too old; a failed pass is logged, and the next one tries again. Of a store that several services share
 * the one with the duty trims the signals; runs are each service's own.
 */
const startRetention = (
  settings: Settings,
  store: SignalStore,
  runs: RunningRuns,
  duty: Duty,
  log: Logger,
): Schedule => {
  let stopping = false;
  const windows = retentionWindows(settings);
  const schedule = scheduleHourly(async () => {
    try {
      await runRetentionPass(
        {
          store: {
            trim: async (...slice) => (duty.isHeld() ? store.trim(...slice) : 0),
            trimRecords: async (...before) => (duty.isHeld() ? store.trimRecords(...before) : undefined),
          },
          runs,
          windows,
          auditRetentionDays: settings.auditRetentionDays,
          rest: (ms) => sleep(ms),
          isStopping: () => stopping,
          removed: ({ project, days }, rows) => log.info({ project, days, rows }, 'retention removed what was too old'),
        },
        nowUnixNano(),
      );
    } catch (error) {
      log.warn({ err: error }, 'the retention pass failed; the next one tries again');
    }
  });
  return {
    stop: () => {
      stopping = true;
      return schedule.stop();
    },
  };
};

/**
 * Opens everything, listens, and installs what ends it. The only place that knows which parts there are.
 * @throws StartRefused, StoreUnavailable, or an error of the system, when the start cannot be
 */
const start = async (settings: Settings, log: Logger): Promise<void> => {
  const endBroken = (fields: object, message: string): void => {
    log.fatal(fields, message);
    exitNow(EXIT_BROKEN);
  };
  const [signalsRoom, runsRoom] = createRoomFlags(settings.data, settings.runsData ?? settings.data);
  const store = await openSignalStore(settings, signalsRoom, (message) => endBroken({}, message));
  const counters = createCounters();
  const { requestTimeoutSeconds, project: defaultProject } = settings;

  const authenticator = createAuthenticator({
    topLevel: settings.keys,
    projects: perProject(settings, ({ keys }) => keys),
  });
  const audit = createAuditLog(store, counters, log, { mode: settings.audit });
  const streams = createStreamRegistry();
  const answers = createAnswerRoom(counters, settings.maxAnswerBytes);

  const limits = {
    maxBodyBytes: settings.maxBodyBytes,
    maxInflatedBytes: settings.maxInflatedBytes,
    maxSignals: settings.maxBatchSignals,
  };
  const admission = createAdmission(settings.maxInflightBytes);
  const forwarder = settings.forward && createForwarder(settings.forward, counters, log, { drainMs: FORWARD_DRAIN_MS });
  const { keys: redactedKeys, hash_identifiers, hash_key } = settings.redaction;
  const redaction = {
    ...(redactedKeys === undefined ? {} : { keys: redactedKeys }),
    ...(hash_identifiers === undefined ? {} : { hashIdentifiers: hash_identifiers }),
    ...(hash_key === undefined ? {} : { hashKey: hash_key }),
  };
  const { sharing } = store;
  const quotaPolicy = {
    ...(settings.quotaPerMinute === undefined ? {} : { perMinute: settings.quotaPerMinute }),
    projects: perProject(settings, ({ quota_per_minute }) => quota_per_minute),
  };
  // The halves do not know each other. This is how the one leaves the event loop to the other.
  let runsWantLoop = (): boolean => false;
  const pipeline = createPipeline({
    store,
    counters,
    limits,
    admission,
    defaultProject,
    sample: createSampler({ default: settings.sample, projects: perProject(settings, ({ sample }) => sample) }),
    quota: sharing === undefined ? createQuota(quotaPolicy) : createSharedQuota(quotaPolicy, sharing),
    finish: { redaction },
    loopIsWanted: () => runsWantLoop(),
    ...(forwarder === undefined ? {} : { forward: forwarder.forward }),
  });

  const hasRuns = settings.runsData !== undefined;
  const { runs, watchJournal, shared } = await openRuns(
    settings,
    runsRoom,
    pipeline,
    log,
    counters,
    (message) => endBroken({}, message),
    (traceIds, reach) => store.deleteTraces(traceIds, reach),
  ).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });

  runsWantLoop = runs.isBusy;

  let watchDuty = ownDuty;
  const watchers = await openWatchers(settings, {
    shared: sharing === undefined ? undefined : { sharing, reports: () => watchDuty.isHeld() },
    signals: store,
    runs: hasRuns ? runs : undefined,
    journal: watchJournal,
    counters,
    log,
  }).catch(async (error: unknown) => {
    await runs.close();
    await store.close();
    throw error;
  });

  const query: QueryDeps = {
    store,
    pipeline,
    authenticator,
    audit,
    defaultProject,
    priceBook: builtinPriceBook,
    redaction,
    version,
    clock: nowUnixNano,
  };
  const judgeOutbound = createOutbound({ maxConnections: JUDGE_CONNECTIONS });
  const scoring = createScoring({
    store,
    pipeline,
    ...(settings.judge === undefined ? {} : { judge: judgeOf(settings.judge, judgeOutbound) }),
    clock: nowUnixNano,
    requestTimeoutSeconds,
  });
  const evaluation: EvaluationDeps = {
    store,
    defaultProject,
    clock: nowUnixNano,
    redactRecord: createRecordRedactor(redaction),
  };
  const built = readBuiltInterface(INTERFACE_FOLDER);
  const refusals = createRefusalLog(nowUnixNano);
  const routes: Route[] = [
    ...ingestRoutes({ pipeline, log, otlpProtobuf: settings.otlpProtobuf, refusals }),
    ...refusalRoutes(refusals),
    ...traceRoutes(query),
    ...signalRoutes(query),
    ...judgementRoutes(query),
    ...scoringRoutes({ scoring, defaultProject, clock: nowUnixNano, requestTimeoutSeconds }),
    ...datasetRoutes(evaluation),
    ...experimentRoutes(evaluation),
    ...rollUpRoutes(query),
    ...analyticsRoutes(query),
    ...monitorRoutes({ watchers, defaultProject, clock: nowUnixNano }),
    ...savedViewRoutes(query),
    ...administrationRoutes(query),
    ...doctorRoutes({
      examine: (windowDays, writes) =>
        examineRunning(
          {
            settings,
            store,
            runs,
            scopes: authenticator.describeScopes(),
            clock: nowUnixNano,
            clockJumps: runs.clockJumps,
          },
          windowDays,
          writes,
        ),
    }),
    ...runsSurface(
      {
        runs: {
          ...runs,
          ...createActorDirectory([
            ...createWatchActors(watchers),
            ...createResidentActors([pipeline.actor]),
            ...(hasRuns ? runs.actors : []),
          ]),
        },
        traces: store,
        streams,
        refusals,
        defaultProject,
        clock: nowUnixNano,
        requestTimeoutSeconds,
        log,
      },
      hasRuns,
    ),
    ...operationsRoutes({
      counters,
      answers,
      version,
      store,
      probes: [
        { name: 'signal store', ping: () => store.ping() },
        ...(hasRuns ? [{ name: 'runs store', ping: () => runs.ping() }] : []),
      ],
      uptimeSeconds: () => performance.now() / 1000,
      ...(hasRuns ? { runCounts: runs.runCounts } : {}),
    }),
    ...pageRoutes(built),
  ];
  const app = buildApp({
    routes,
    authenticator,
    audit,
    counters,
    body: { limits, admission },
    answers,
    streams,
    log,
    refusals,
    ...(settings.otlpGrpc === 'on' ? { grpc: { pipeline } } : {}),
    ...(shared === undefined ? {} : { peers: shared.peers }),
    options: {
      requestTimeoutSeconds,
      corsOrigins: settings.corsOrigin,
      auditSubjectHeader: settings.auditSubjectHeader.toLowerCase(),
      auditTrustedRanges: parseTrustedRanges(settings.auditTrustedRange),
      defaultProject,
      allowedHosts: [settings.host.toLowerCase()],
    },
  });
  try {
    await app.listen({ host: await listenHost(settings.host), port: settings.port });
  } catch (error) {
    await runs.close();
    await store.close();
    throw error;
  }
  const holder = randomUUID();
  const dutyOf = (name: string, taken?: () => void): Duty =>
    sharing === undefined ? ownDuty : startDuty({ name, holder, sharing, ...(taken === undefined ? {} : { taken }) });
  const retentionDuty = dutyOf('retention');
  watchDuty = dutyOf('monitors', () => void watchers.takeOver());
  const retention = startRetention(settings, store, runs, retentionDuty, log);
  watchers.start();

  const stages: Stage[] = [
    {
      name: 'connections',
      run: () => {
        runs.stopDeadlines(); // no heartbeat arrives from now on
        // Another service may own the runs while this one still answers. Failures are shown by the stage of the runs.
        shared?.handOver().catch(() => {});
        return closeConnections(app, requestTimeoutSeconds);
      },
    },
    { name: 'monitors', run: () => watchers.close() },
    { name: 'retention', run: () => retention.stop() },
    { name: 'duties', run: async () => void (await Promise.all([watchDuty.stop(), retentionDuty.stop()])) },
    { name: 'runs', run: () => runs.stop() }, // before the pipeline and the trace store: it sends spans
    { name: 'pipeline', run: () => pipeline.close() },
    { name: 'judge', run: async () => judgeOutbound.close() },
    ...(forwarder === undefined ? [] : [{ name: 'forwarding', run: () => forwarder.close() }]),
    { name: 'store', run: () => store.close() },
  ];
  const stop = createShutdown({
    stages,
    deadlineMs: requestTimeoutSeconds * 1000 + STOP_GRACE_MS,
    log,
    exit: (code) => process.exit(code),
    exitNow,
    now: () => performance.now(),
  });
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const onBug = (error: unknown): void => {
    app.server.close();
    endBroken({ err: error }, 'a bug ended the service; what was acknowledged is stored');
  };
  process.on('uncaughtException', onBug);
  process.on('unhandledRejection', onBug);

  const bound = app.server.address() as AddressInfo;
  const peerUrl = settings.peerUrl ?? peerUrlOf(bound);
  if (shared !== undefined && peerUrl === '')
    log.warn(
      {},
      'other services on --runs-url cannot reach this one, which listens on all addresses: name it with --peer-url',
    );
  await shared?.begin(peerUrl);
  // Logged last: a program that waits for this line may send a signal the next moment.
  for (const warning of [
    ...settings.warnings,
    ...watchWarnings(settings),
    ...openSurfaceWarnings(authenticator.describeScopes(), bound.address, hasRuns),
  ])
    log.warn({}, warning);
  if (settings.otlpProtobuf !== 'all')
    log.info({}, 'over HTTP, logs and metrics are taken as JSON; --otlp-protobuf all takes them as protobuf too');
  if (built === undefined)
    log.info({}, 'the interface is not built, / shows a simpler page; npm ci, without --omit=dev, builds it');
  log.info(
    {
      address: urlOf(bound),
      storage: store.kind,
      ...storageOf(settings),
      runs: runsOf(settings),
      version,
    },
    'listening',
  );
  setTimeout(() => void compileReads().then(settleAfterStart), SETTLE_AFTER_MS).unref();
};

/**
 * The daemon.
 * @returns an exit status when the start failed, after one line that tells why; `undefined` once it serves
 */
export const serve = async (settings: Settings): Promise<number | undefined> => {
  const log = createLogger(settings.logLevel);
  try {
    await start(settings, log);
    return undefined;
  } catch (error) {
    if (error instanceof StartRefused || error instanceof StoreUnavailable) {
      process.stderr.write(`svc: ${error.message}\n`);
      return error instanceof StartRefused ? error.exitCode : EXIT_START;
    }
    const line = describeStartFailure(error);
    if (line === undefined) {
      log.fatal({ err: error }, 'a bug stopped the start');
      return EXIT_BROKEN;
    }
    process.stderr.write(`svc: ${line}\n`);
    return EXIT_START;
  }
};
