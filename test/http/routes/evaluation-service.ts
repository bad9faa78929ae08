import { join } from 'node:path';
import pino from 'pino';
import { createAuditLog } from '../../../src/http/access/audit-log.ts';
import { type ConfiguredKeys, createAuthenticator } from '../../../src/http/access/auth.ts';
import { datasetRoutes } from '../../../src/http/routes/datasets.ts';
import { experimentRoutes } from '../../../src/http/routes/experiments.ts';
import { ingestRoutes } from '../../../src/http/routes/ingest.ts';
import { judgementRoutes } from '../../../src/http/routes/judgements.ts';
import { scoringRoutes } from '../../../src/http/routes/scoring.ts';
import { createAdmission } from '../../../src/ingest/admission.ts';
import { createOutbound } from '../../../src/ingest/outbound.ts';
import { createPipeline } from '../../../src/ingest/pipeline.ts';
import { builtinPriceBook } from '../../../src/ingest/price-book.ts';
import { createQuota, type QuotaPolicy } from '../../../src/ingest/quota.ts';
import type { RedactionSettings } from '../../../src/ingest/redact.ts';
import { createSampler } from '../../../src/ingest/sample.ts';
import { createCounters } from '../../../src/model/counters.ts';
import { createJudge, type JudgeSettings } from '../../../src/scoring/judge.ts';
import { createRecordRedactor } from '../../../src/scoring/redact-item.ts';
import { createScoring } from '../../../src/scoring/score-runs.ts';
import { openSqliteSignalStore } from '../../../src/store/sqlite/signals/open.ts';
import { temporaryFolder } from '../../daemon.ts';
import { type Answer, listeningApp, readAnswer } from '../listening-app.ts';

export type EvaluationOptions = {
  readonly keys?: ConfiguredKeys;
  readonly quota?: QuotaPolicy;
  readonly redaction?: RedactionSettings;
  readonly judge?: JudgeSettings;
  readonly requestTimeoutSeconds?: number;
};

/** 2026-11-20T09:00:00Z. */
export const NOW_MS = Date.UTC(2026, 10, 20, 9);
/** So many seconds before now. */
export const ago = (seconds: number): string => new Date(NOW_MS - seconds * 1000).toISOString();

export const traceIdOf = (n: number): string => n.toString(16).padStart(32, '0');
export const spanIdOf = (n: number): string => n.toString(16).padStart(16, '0');

/** A native span of run `n` (from 1), a root unless said otherwise, that started `n` seconds ago. */
export const aRootSpan = (n: number, given: object = {}): object => ({
  trace_id: traceIdOf(n),
  span_id: spanIdOf(n),
  name: 'answer ticket',
  kind: 'agent_run',
  start_time: ago(n),
  end_time: ago(n - 0.5),
  input: { question: `question ${n}` },
  output: `answer ${n}`,
  ...given,
});

export type EvaluationService = {
  readonly url: string;
  readonly ask: (
    path: string,
    init?: { method?: string; key?: string; body?: unknown; raw?: string },
  ) => Promise<Answer>;
  /** Sends spans through the native door. */
  readonly send: (spans: readonly object[], more?: object) => Promise<void>;
  readonly store: Awaited<ReturnType<typeof openSqliteSignalStore>>;
  readonly logged: readonly string[];
  /** Rows of the audit, oldest first: operation, project, outcome. */
  readonly audited: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
};

/** Everything behind these routes is real: HTTP, doors, pipeline, and the embedded store on a file. */
export const startEvaluation = async (options: EvaluationOptions = {}): Promise<EvaluationService> => {
  const folder = temporaryFolder();
  const store = await openSqliteSignalStore({ path: join(folder.path, 'svc.db') });
  const counters = createCounters();
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
  const limits = { maxBodyBytes: 32 << 20, maxInflatedBytes: 128 << 20, maxSignals: 10_000 };
  const admission = createAdmission(256 << 20);
  const redaction = options.redaction ?? {};
  const clock = () => BigInt(NOW_MS) * 1_000_000n;
  const pipeline = createPipeline({
    store,
    counters,
    limits,
    admission,
    defaultProject: 'default',
    sample: createSampler({ default: 1, projects: {} }),
    quota: createQuota(options.quota ?? { projects: {} }),
    finish: { redaction },
    clock,
  });
  const outbound = createOutbound({ maxConnections: 4 });
  const requestTimeoutSeconds = options.requestTimeoutSeconds ?? 30;
  const scoring = createScoring({
    store,
    pipeline,
    ...(options.judge === undefined
      ? {}
      : { judge: createJudge(options.judge, { outbound, priceBook: builtinPriceBook }) }),
    clock,
    requestTimeoutSeconds,
  });
  const authenticator = createAuthenticator(options.keys ?? { topLevel: {} });
  const audit = createAuditLog(store, counters, log);
  const query = {
    ...{ store, pipeline, authenticator, audit, defaultProject: 'default' },
    ...{ priceBook: builtinPriceBook, version: '1', clock },
  };
  const evaluation = { ...query, redactRecord: createRecordRedactor(redaction) };
  const { app, url } = await listeningApp({
    routes: [
      ...ingestRoutes({ pipeline, log }),
      ...judgementRoutes(query),
      ...scoringRoutes({ ...query, scoring, requestTimeoutSeconds }),
      ...datasetRoutes(evaluation),
      ...experimentRoutes(evaluation),
    ],
    authenticator,
    audit,
    counters,
    body: { limits, admission },
    log,
    options: { requestTimeoutSeconds },
    clock,
  });

  const ask: EvaluationService['ask'] = async (path, { method, key, body, raw } = {}) => {
    const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(url + path, {
      method: method ?? (text === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(text === undefined ? {} : { body: text }),
    });
    return readAnswer(response);
  };
  return {
    url,
    ask,
    send: async (spans, more = {}) => {
      const answer = await ask('/v1/ingest', { body: { spans, ...more } });
      if (answer.status !== 200 || answer.body.rejected !== 0) throw new Error(`not taken: ${answer.text}`);
    },
    store,
    logged,
    audited: async () => {
      await audit.flush();
      const { items } = await store.listAudit({ projects: 'all', limit: 1000 });
      return items.toReversed().map(({ operation, project, outcome }) => `${operation} ${project} ${outcome}`);
    },
    close: async () => {
      await app.close();
      outbound.close();
      await pipeline.close();
      await store.close();
      folder.remove();
    },
  };
};
