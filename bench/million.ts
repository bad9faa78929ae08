/**
 * Reads and ingest at a large file: 1,000,000 spans in 100,000 traces over 30 days, and one trace of 10,000 spans.
 * Every read goes over HTTP to the daemon in a process of its own. Ingest there is set against an empty file, alternated.
 * Run: `node bench/million.ts [spans] [pairs]`.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { priceSpans } from '../src/ingest/price.ts';
import { builtinPriceBook } from '../src/ingest/price-book.ts';
import { emptyBatch, type SignalBatch } from '../src/model/signal.ts';
import type { Span } from '../src/model/span.ts';
import { openSqliteSignalStore } from '../src/store/sqlite/signals/open.ts';
import { type Daemon, startDaemon } from '../test/daemon.ts';
import { measurePairs, quantile, spread } from './pairs.ts';
import { benchFolder, load, residentMiB } from './serve.ts';
import { realisticBatches } from './store-limit.ts';

const totalSpans = Number(process.argv[2] ?? 1_000_000);
const pairs = Number(process.argv[3] ?? 3);
const SPANS_PER_TRACE = 10;
const LONG_TRACE_SPANS = 10_000;
const DAYS = 30;
const READS = 40;
const BATCH = 1_000;
const NANOS_PER_DAY = 86_400_000_000_000n;

const random = (() => {
  let state = 12_345;
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
})();
const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

const { batches } = realisticBatches();
const samples: readonly Span[] = batches.flatMap((batch) => batch.spans);
const now = BigInt(Date.now()) * 1_000_000n;
const LONG_TRACE = `ffff${'0'.repeat(27)}1`;

/** One span of the large file: a realistic one under another identity, with users, sessions and tags to filter by. */
const spanOf = (traceId: string, trace: number, index: number, start: bigint): Span => {
  const sample = samples[(trace * SPANS_PER_TRACE + index) % samples.length] as Span;
  const { parentSpanId: _parent, endTime: _end, correlation, ...rest } = sample;
  const rare = trace % 5_000 === 7;
  return {
    ...rest,
    traceId,
    spanId: hex(index + 1, 16),
    ...(index === 0 ? {} : { parentSpanId: hex(1, 16) }),
    startTime: start + BigInt(index) * 1_000_000n,
    endTime: start + BigInt(index + 1) * (10_000_000n + BigInt(trace % 977) * 1_000_000n),
    ...(rare && index === 1 ? { input: `a needle${trace % 7} in the haystack` } : {}),
    ...(trace % 20 === 3 && index === 2 ? { status: 'error', error: { message: 'card declined' } } : {}),
    ...(rare && index === 1 ? { model: 'rare-model', entityName: 'rare-agent' } : {}),
    correlation: {
      ...correlation,
      userId: `user-${trace % 9_973}`,
      sessionId: `session-${trace % 33_331}`,
      environment: trace % 50 === 0 ? 'staging' : 'production',
      ...(rare ? { tags: ['rare'], release: 'rare-release' } : {}),
    },
  };
};

const fill = async (path: string): Promise<number> => {
  const store = await openSqliteSignalStore({ path });
  const traces = Math.floor(totalSpans / SPANS_PER_TRACE);
  const write = (spans: Span[]): Promise<unknown> => {
    const batch: SignalBatch = { ...emptyBatch, spans: priceSpans(spans, builtinPriceBook) };
    return store.write({ batch });
  };
  const started = performance.now();
  let spans: Span[] = [];
  let inFlight: Promise<unknown>[] = [];
  for (let trace = 0; trace < traces; trace += 1) {
    const start = now - BigInt(DAYS) * NANOS_PER_DAY + (BigInt(DAYS) * NANOS_PER_DAY * BigInt(trace)) / BigInt(traces);
    for (let index = 0; index < SPANS_PER_TRACE; index += 1)
      spans.push(spanOf(hex(trace + 1, 32), trace, index, start));
    if (spans.length < BATCH) continue;
    inFlight.push(write(spans));
    spans = [];
    if (inFlight.length === 8) {
      await Promise.all(inFlight);
      inFlight = [];
    }
  }
  const long = Array.from({ length: LONG_TRACE_SPANS }, (_, index) =>
    spanOf(LONG_TRACE, 1, index, now - NANOS_PER_DAY),
  );
  await Promise.all([...inFlight, write([...spans, ...long])]);
  const seconds = (performance.now() - started) / 1000;
  await store.close();
  return (traces * SPANS_PER_TRACE + LONG_TRACE_SPANS) / seconds;
};

const timeReads = async (daemon: Daemon, what: string, pathOf: () => string, reads = READS): Promise<void> => {
  const times: number[] = [];
  let rows = 0;
  for (let read = 0; read < reads; read += 1) {
    const path = pathOf();
    const asked = performance.now();
    const response = await fetch(`${daemon.url}${path}`);
    const body = (await response.json()) as { traces?: readonly unknown[]; spans?: readonly unknown[] };
    times.push(performance.now() - asked);
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(body)}`);
    rows += (body.traces ?? body.spans ?? []).length;
  }
  console.log(
    `${what.padEnd(44)} p50 ${quantile(times, 0.5).toFixed(1).padStart(7)} ms   p95 ${quantile(times, 0.95).toFixed(1).padStart(7)} ms   ${(rows / reads).toFixed(0)} rows`,
  );
};

const folder = benchFolder();
try {
  const path = join(folder.path, 'svc.db');
  console.log(
    `filled at ${Math.round(await fill(path))} spans/s; ${(statSync(path).size / totalSpans).toFixed(0)} bytes a span`,
  );
  const opened = performance.now();
  const daemon = await startDaemon(folder.path);
  console.log(`start to listening: ${(performance.now() - opened).toFixed(0)} ms`);
  await sleep(2_000);
  console.log(`idle memory: ${residentMiB(daemon.process.pid ?? 0).toFixed(0)} MiB`);
  const list = (query: () => string) => () => `/v1/api/traces?limit=50&${query()}`;
  const lists: readonly (readonly [string, () => string])[] = [
    ['no filter', () => ''],
    ['oldest first', () => 'order=asc'],
    ['a window of an hour', () => `from=-${24 + random(600)}h&to=-23h`],
    ['user_id', () => `user_id=user-${random(9_973)}`],
    ['session_id', () => `session_id=session-${random(33_331)}`],
    ['status=error', () => 'status=error'],
    ['has_error=true', () => 'has_error=true'],
    ['environment=staging', () => 'environment=staging'],
    ['model, common', () => 'model=gpt-4o-mini'],
    ['model, rare', () => 'model=rare-model'],
    ['model, none', () => `model=no-model-${random(1e9)}`],
    ['provider', () => 'provider=openai'],
    ['kind=tool_call', () => 'kind=tool_call'],
    ['entity_name, rare', () => 'entity_name=rare-agent'],
    ['tag, rare', () => 'tag=rare'],
    ['release, rare', () => 'release=rare-release'],
    ['min_cost', () => 'min_cost=0.000001'],
    ['min_cost, none so dear', () => 'min_cost=1000'],
    ['max_cost', () => 'max_cost=0.5'],
    ['min_duration_ms, few', () => 'min_duration_ms=9800'],
    ['has_feedback, none', () => 'has_feedback=thumbs'],
    ['has_score, none', () => 'has_score=quality&score_below=0.5'],
    ['environment and model, rare pair', () => 'environment=staging&model=rare-model'],
    ['user and error', () => `user_id=user-${random(9_973)}&status=error`],
    ['sort=duration', () => 'sort=duration'],
    ['sort=cost', () => 'sort=cost'],
    ['sort=span_count', () => 'sort=span_count'],
    ['sort=cost, environment=staging', () => 'sort=cost&environment=staging'],
    ['q, rare word', () => `q=needle${random(7)}`],
    ['q, common word', () => 'q=refund'],
    ['q, two common words', () => 'q=customers%20policy'],
    ['q, common and rare', () => `q=haystack%20needle${random(7)}`],
    ['q, phrase', () => 'q=%22in%20the%20haystack%22'],
    ['q, common phrase', () => 'q=%22the%20agent%22'],
    ['q, prefix', () => 'q=needl*'],
    ['q, no match', () => `q=zzz${random(1e9)}`],
    ['q and user_id', () => `q=refund&user_id=user-${random(9_973)}`],
  ];
  await timeReads(
    daemon,
    '(warm up)',
    list(() => ''),
  );
  for (const [what, query] of lists) await timeReads(daemon, `list: ${what}`, list(query));
  await timeReads(daemon, 'spans: model=rare-model', () => '/v1/api/spans?limit=50&model=rare-model');
  await timeReads(
    daemon,
    'a trace of 10 spans',
    () => `/v1/api/traces/${hex(1 + random(totalSpans / SPANS_PER_TRACE), 32)}`,
  );
  await timeReads(daemon, 'a trace of 10,000 spans', () => `/v1/api/traces/${LONG_TRACE}`, 5);
  await timeReads(daemon, 'the same without payloads', () => `/v1/api/traces/${LONG_TRACE}?payloads=none`, 5);
  await timeReads(daemon, 'analytics/cost, 7 days by model', () => '/v1/api/analytics/cost?from=-7d', 10);
  await timeReads(
    daemon,
    'analytics/cost, 7 days by user, buckets',
    () => '/v1/api/analytics/cost?from=-7d&group_by=user_id&bucket=1d',
    10,
  );
  await timeReads(daemon, 'analytics/summary, 7 days', () => '/v1/api/analytics/summary?from=-7d', 10);
  await timeReads(daemon, 'sessions', () => '/v1/api/sessions', 10);
  await timeReads(daemon, 'users', () => '/v1/api/users', 10);

  const door = { encoding: 'protobuf', spansPerBody: 512, connections: 8, seconds: 6 } as const;
  const emptyFile = async (): Promise<number> => {
    const other = benchFolder();
    const fresh = await startDaemon(other.path);
    try {
      return (await load(other.path, fresh.url, door)).signalsPerSecond;
    } finally {
      await fresh.stop();
      other.remove();
    }
  };
  const ingest = await measurePairs(
    pairs,
    async () => (await load(folder.path, daemon.url, door)).signalsPerSecond,
    emptyFile,
  );
  console.log(
    `ingest here ${spread(ingest.a)}, into an empty file ${spread(ingest.b)} spans/s: ${ingest.ratio.toFixed(2)} (aim 0.75)`,
  );
  await daemon.stop();
} finally {
  folder.remove();
}
