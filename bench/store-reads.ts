/**
 * Reads of the signal store over many spans: every filter of the trace list, searches, a long trace, analytics; and ingest
 * into the full store against an empty one. Run: `node bench/store-reads.ts [spans] [sqlite | postgres | clickhouse]`.
 *
 * - `--keep folder` keeps the store there (PostgreSQL's is not kept): it is filled once, a filling that is interrupted goes on the next
 *   time, and each later run reads it.
 * - `--only words` takes the reads whose names hold them.
 * - `--random-ids` gives traces the ids that tracing libraries draw, rather than ids in the order of time.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { builtinPriceBook } from '../src/ingest/price-book.ts';
import { emptyBatch, type SignalBatch } from '../src/model/signal.ts';
import type { Span } from '../src/model/span.ts';
import type { TraceFilter, TraceQuery } from '../src/store/signals/query.ts';
import type { SignalStore } from '../src/store/signals/signal-store.ts';
import { openClickHouseSignalStore } from '../src/store/clickhouse/signals/open.ts';
import { openPostgresSignalStore } from '../src/store/postgres/signals/open.ts';
import { openSqliteSignalStore } from '../src/store/sqlite/signals/open.ts';
import { startClickHouse } from '../test/clickhouse.ts';
import { startPostgres } from '../test/postgres.ts';
import { quantile } from './pairs.ts';
import { SAID } from './prose.ts';
import { benchFolder } from './serve.ts';
import { measureStore, realisticBatches } from './store-limit.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: 'string' }, only: { type: 'string' }, 'random-ids': { type: 'boolean' } },
});
const [spanCount, engine] = [Number(positionals[0] ?? 100_000), engineOf(positionals[1] ?? 'sqlite')];
const hasRandomIds = values['random-ids'] === true;
const ROUNDS = 20;
const LONG_TRACE = 'f'.repeat(32);
const drawnId = (seed: string): string => createHash('md5').update(seed).digest('hex');
const START = 1_790_000_000_000_000_000n;

const { batches } = realisticBatches();

const folder = values.keep === undefined ? benchFolder() : { path: values.keep, remove: () => undefined };
mkdirSync(folder.path, { recursive: true });
/** Holds how many batches the store has, and that it has all. */
const progressFile = join(folder.path, 'filled.json');
type Progress = { readonly batches: number; readonly isFull: boolean };
const progress: Progress = existsSync(progressFile)
  ? (JSON.parse(readFileSync(progressFile, 'utf8')) as Progress)
  : { batches: 0, isFull: false };
const saveProgress = (reached: Progress): void => writeFileSync(progressFile, JSON.stringify(reached));
let isInterrupted = false;

/**
 * Traces as a service in use has them: eight to ten spans each, spread over seven days, thousands of users, a few kinds of
 * failure, words that are in every span, in one of a hundred, and in a handful.
 */
const fill = async (store: SignalStore): Promise<number> => {
  let written = 0;
  let turn = 0;
  const step = (7n * 86_400n * 1_000_000_000n) / BigInt(Math.ceil(spanCount / 8));
  let traces = 0;
  const next = (): SignalBatch => {
    const batch = batches[turn % batches.length] as SignalBatch;
    const prefix = (turn++).toString(16).padStart(8, '0');
    let lastTrace = '';
    let shift = 0n;
    const spans = batch.spans.map((span): Span => {
      if (span.traceId !== lastTrace) {
        lastTrace = span.traceId;
        traces++;
        shift = START + BigInt(traces) * step - span.startTime;
      }
      const rare = traces % 5_000 === 0 ? ' rareword' : '';
      const some = traces % 100 === 0 ? ' someword' : '';
      const user = `user-${(traces * 7919) % 5_000}`;
      return {
        ...span,
        traceId: hasRandomIds ? drawnId(prefix + span.traceId) : prefix + span.traceId.slice(8),
        startTime: span.startTime + shift,
        ...(span.endTime === undefined ? {} : { endTime: span.endTime + shift + BigInt((traces % 997) * 1_000_000) }),
        ...(typeof span.input === 'string' ? { input: `${span.input} ${SAID}${some}${rare}` } : {}),
        ...(span.model === undefined || span.usage === undefined
          ? {}
          : { cost: { totalCost: ((traces % 1_000) + 1) / 1e5, currency: 'USD', isEstimated: true } }),
        correlation: {
          ...span.correlation,
          userId: user,
          sessionId: `session-${traces >> 2}`,
          runId: `run-${traces}`,
          environment: traces % 50 === 0 ? 'staging' : 'production',
        },
      };
    });
    return { ...emptyBatch, spans };
  };
  while (turn < progress.batches) written += next().spans.length;
  const before = written;
  const interrupt = (): void => {
    isInterrupted = true;
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
  const sender = async (): Promise<void> => {
    while (written < spanCount && !isInterrupted) {
      const batch = next();
      written += batch.spans.length;
      await store.write({ batch });
    }
  };
  await Promise.all(Array.from({ length: 8 }, sender));
  saveProgress({ batches: turn, isFull: false });
  if (isInterrupted) return written - before;
  const model = batches[0]?.spans[1] as Span;
  for (let part = 0; part < 20; part++)
    await store.write({
      batch: {
        ...emptyBatch,
        spans: Array.from({ length: 500 }, (_, i) => ({
          ...model,
          traceId: LONG_TRACE,
          spanId: (part * 500 + i + 1).toString(16).padStart(16, '0'),
          parentSpanId: '0'.repeat(15) + '1',
        })),
      },
    });
  saveProgress({ batches: turn, isFull: true });
  return written - before;
};

type Opened = {
  /** Opens an empty store. */
  readonly open: () => Promise<SignalStore>;
  /** Does what the server of a team does by itself in time. */
  readonly settle: () => Promise<unknown>;
  readonly remove: () => Promise<void>;
};
const engines = {
  sqlite: async (): Promise<Opened> => {
    let opened = 0;
    return {
      open: () => openSqliteSignalStore({ path: join(folder.path, opened++ === 0 ? 'reads.db' : 'empty.db') }),
      settle: async () => {},
      remove: async () => {
        for (const file of globSync('empty.db*', { cwd: folder.path })) rmSync(join(folder.path, file));
      },
    };
  },
  postgres: async (): Promise<Opened> => {
    if (values.keep !== undefined) throw new Error('the store of PostgreSQL is not kept');
    const started = await startPostgres({ isDurable: true });
    const urls: string[] = [];
    return {
      open: () => {
        urls.push(started.create());
        return openPostgresSignalStore({ url: urls.at(-1) as string });
      },
      // Autovacuum is off there, and plans need statistics.
      settle: async () => started.run('VACUUM ANALYZE', urls[0]),
      remove: started.remove,
    };
  },
  clickhouse: async (): Promise<Opened> => {
    const started = await startClickHouse(values.keep === undefined ? undefined : join(folder.path, 'clickhouse'));
    let opened = 0;
    return {
      open: async () => {
        const address = started.create();
        if (opened++ > 0) await started.run(`DROP DATABASE IF EXISTS ${address.database}`);
        return openClickHouseSignalStore({ address });
      },
      settle: async () => {},
      remove: started.remove,
    };
  },
} as const;
function engineOf(name: string): keyof typeof engines {
  if (name === 'sqlite' || name === 'postgres' || name === 'clickhouse') return name;
  throw new Error(`no engine has the name ${name}: sqlite, postgres or clickhouse`);
}

const started = await engines[engine]();
const store = await started.open();
try {
  if (!progress.isFull) {
    const from = performance.now();
    const spans = await fill(store);
    const seconds = (performance.now() - from) / 1000;
    console.log(
      `${isInterrupted ? 'interrupted' : 'filled'} after ${spans} spans at ${(spans / seconds).toFixed(0)} spans/s`,
    );
    const settling = performance.now();
    await started.settle();
    console.log(`settled in ${((performance.now() - settling) / 1000).toFixed(0)} s`);
  }
  const isAsked = (name: string): boolean =>
    !isInterrupted && (values.only === undefined || name.includes(values.only));
  const time = async (name: string, work: (round: number) => Promise<unknown>): Promise<void> => {
    if (!isAsked(name)) return;
    const waits: number[] = [];
    let detail = '';
    for (let round = 0; round < ROUNDS; round++) {
      const from = performance.now();
      const found = await work(round);
      waits.push(performance.now() - from);
      if (round === 0 && typeof found === 'object' && found !== null && 'items' in found)
        detail = `${(found.items as unknown[]).length} rows`;
    }
    console.log(
      `${name.padEnd(44)} p50 ${quantile(waits, 0.5).toFixed(1).padStart(7)} ms  p95 ${quantile(waits, 0.95).toFixed(1).padStart(7)} ms  ${detail}`,
    );
  };
  const base: TraceQuery = { projects: ['default'], limit: 50, sort: 'start_time', order: 'desc' };
  // A server that was started for these reads has read nothing yet, unlike one that was just filled, and code of ours is not compiled yet.
  for (let round = 0; round < ROUNDS; round++) await store.listTraces(base);
  const list = (filter: TraceFilter & Partial<TraceQuery>) => () => store.listTraces({ ...base, ...filter });
  const day = 86_400n * 1_000_000_000n;
  const filters: Record<string, TraceFilter & Partial<TraceQuery>> = {
    'no filter': {},
    'limit 1000': { limit: 1000 },
    'status error': { status: 'error' },
    name: { name: 'invoke_agent refund-agent' },
    'name nobody has': { name: 'nothing' },
    model: { model: 'gpt-4.1' },
    provider: { provider: 'openai' },
    entity_name: { entityName: 'refund-agent' },
    kind: { kind: 'tool_call' },
    user_id: { userId: 'user-17' },
    session_id: { sessionId: 'session-1000' },
    run_id: { runId: 'run-100' },
    'environment (most)': { environment: 'production' },
    'environment (2 %)': { environment: 'staging' },
    service_name: { serviceName: 'refunds' },
    tag: { tag: 'bench' },
    has_error: { hasError: true },
    'has_error false': { hasError: false },
    'min_cost (few)': { minCost: 0.0398 },
    'min_cost (most)': { minCost: 0.000001 },
    max_cost: { maxCost: 0.001 },
    'min_duration (few)': { minDurationMs: 1240 },
    max_duration: { maxDurationMs: 300 },
    'one day': { from: START + day, to: START + 2n * day },
    'five filters': {
      userId: 'user-17',
      environment: 'production',
      kind: 'tool_call',
      model: 'gpt-4.1',
      hasError: false,
    },
    'two common, none both': { environment: 'staging', userId: 'user-3' },
    'sort duration': { sort: 'duration' },
    'sort cost': { sort: 'cost' },
    'sort cost asc, user': { sort: 'cost', order: 'asc', userId: 'user-17' },
    'sort cost, environment (2 %)': { sort: 'cost', environment: 'staging' },
    'sort span_count': { sort: 'span_count' },
    'q every span': { q: 'refund' },
    'q two common words': { q: 'refund model' },
    'q common phrase': { q: '"the agent"' },
    'q prefix': { q: 'ref*' },
    'q 1 in 100': { q: 'someword' },
    'q rare': { q: 'rareword' },
    'q nobody wrote': { q: 'xyzzy' },
    'q common and rare': { q: 'refund rareword' },
    'q common, user': { q: 'refund', userId: 'user-17' },
    'q common, sort cost': { q: 'refund', sort: 'cost' },
    'q 1 in 100, sort cost': { q: 'someword', sort: 'cost' },
    'q 1 in 100, status error': { q: 'someword', status: 'error' },
  };
  for (const [name, filter] of Object.entries(filters)) await time(`list: ${name}`, list(filter));
  await time('long trace of 10,000 spans, no payloads', () => store.findTrace(LONG_TRACE, 'all', false));
  const bookModels = [...builtinPriceBook.rates.keys()];
  const week = { projects: ['default'], from: START, to: START + 8n * day, bookModels } as const;
  await time('analytics: cost by model, 7 days', () => store.costReport({ ...week, groupBy: 'model' }));
  await time('analytics: cost by model, 7 days, hourly', () =>
    store.costReport({ ...week, groupBy: 'model', bucketSeconds: 3600 }),
  );
  await time('analytics: cost by user, 7 days', () => store.costReport({ ...week, groupBy: 'user_id' }));
  await time('analytics: summary, 7 days', () => store.summaryReport(week));
  await time('analytics: summary by model, 7 days', () => store.summaryReport({ ...week, groupBy: 'model' }));
  await time('roll-up: users', () => store.listRollUps({ projects: ['default'], limit: 50, of: 'user' }));
  await time('roll-up: sessions', () => store.listRollUps({ projects: ['default'], limit: 50, of: 'session' }));
  await time('projects', () => store.listProjects({ projects: 'all', limit: 50 }));
  const spans = (query: object) => () =>
    store.listSpans({ projects: ['default'], limit: 50, order: 'desc', payloads: false, ...query });
  await time('spans: newest', spans({}));
  await time('spans: user', spans({ userId: 'user-17' }));
  await time('spans: status error', spans({ status: 'error' }));
  await time('spans: name nobody has', spans({ name: 'nothing' }));
  if (isAsked('ingest')) {
    const full = await measureStore(store, batches, 3, 8);
    const empty = await started.open();
    const fresh = await measureStore(empty, batches, 3, 8);
    await empty.close();
    console.log(
      `ingest into the full store ${full.spansPerSecond.toFixed(0)}, into an empty one ${fresh.spansPerSecond.toFixed(0)} spans/s: ${(full.spansPerSecond / fresh.spansPerSecond).toFixed(2)} (aim 0.75)`,
    );
  }
} finally {
  await store.close();
  await started.remove();
  folder.remove();
}
