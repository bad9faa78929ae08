/**
 * Reads and ingest at a large file: 1,000,000 spans in 100,000 traces over 30 days, and one trace of 10,000 spans.
 * Every read goes over HTTP to the daemon in a process of its own; large traces stand beside what SQLite takes to read the same rows
 * and a bare server to send the same bytes. Ingest there is set against an empty file, alternated.
 * Run: `node bench/million.ts [spans] [pairs] [folder to keep the file in] [part of a name …]`; with a folder the next run reads the same
 * file, with 0 pairs nothing is written, and with parts of names only the reads are made whose name has one of them.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { priceSpans } from '../src/ingest/price.ts';
import { builtinPriceBook } from '../src/ingest/price-book.ts';
import { emptyBatch, type SignalBatch } from '../src/model/signal.ts';
import type { Span } from '../src/model/span.ts';
import { openForReading } from '../src/store/sqlite/connection.ts';
import { openSqliteSignalStore } from '../src/store/sqlite/signals/open.ts';
import { type Daemon, startDaemon } from '../test/daemon.ts';
import { measurePairs, median, quantile, spread } from './pairs.ts';
import { SAID } from './prose.ts';
import { benchFolder, load, processorSeconds, residentMiB } from './serve.ts';
import { realisticBatches } from './store-limit.ts';

const totalSpans = Number(process.argv[2] ?? 1_000_000);
const pairs = Number(process.argv[3] ?? 3);
const kept = process.argv[4];
const wanted = process.argv.slice(5);
const isWanted = (what: string): boolean => wanted.length === 0 || wanted.some((part) => what.includes(part));
const SPANS_PER_TRACE = 10;
const LONG_TRACE_SPANS = 10_000;
const DAYS = 30;
const READS = 40;
/** Reads of the long trace: the first ones, while the daemon compiles, stand apart; of the others every second has `/healthz` asked beside it. */
const LONG_READS = { first: 8, then: 24 } as const;
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
    ...(typeof rest.input === 'string' ? { input: `${rest.input} ${SAID}` } : {}),
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

const processorMs = (daemon: Daemon): number => processorSeconds(daemon.process.pid ?? 0) * 1000;

/** Times reads one after the other. `pathsOf` names what is asked at once; the processor time is that of the whole daemon. */
const timeReads = async (
  daemon: Daemon,
  what: string,
  pathsOf: () => string | readonly string[],
  reads = READS,
): Promise<void> => {
  if (!isWanted(what)) return;
  const times: number[] = [];
  let rows = 0;
  const processorBefore = processorMs(daemon);
  for (let read = 0; read < reads; read += 1) {
    const paths = [pathsOf()].flat();
    const asked = performance.now();
    const bodies = await Promise.all(
      paths.map(async (path) => {
        const response = await fetch(`${daemon.url}${path}`);
        const body = (await response.json()) as { traces?: readonly unknown[] | number; spans?: readonly unknown[] };
        if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(body)}`);
        return body;
      }),
    );
    times.push(performance.now() - asked);
    for (const { traces, spans } of bodies) rows += (Array.isArray(traces) ? traces : (spans ?? [])).length;
  }
  print(what, times, (processorMs(daemon) - processorBefore) / reads, `${(rows / reads).toFixed(0)} rows`);
};

const print = (what: string, times: readonly number[], processor: number, detail: string): void =>
  console.log(
    `${what.padEnd(44)} p50 ${quantile(times, 0.5).toFixed(1).padStart(7)} ms   p95 ${quantile(times, 0.95).toFixed(1).padStart(7)} ms   processor ${processor.toFixed(1).padStart(6)} ms   ${detail}`,
  );

/** Bytes of an answer, taken as they come and thrown away. */
const takeBytes = (url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    get(url, (response) => {
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
      });
      response.on('error', reject);
      response.on('end', () => resolve(bytes));
    }).on('error', reject);
  });

/** A server that has the bytes in memory and does nothing but send them, as fast as they are taken. */
const SENDER = `
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
const piece = Buffer.alloc(262144, 'x');
createServer((request, response) => {
  let left = Number(request.url.slice(1));
  const read = function () {
    const size = Math.min(left, piece.length);
    left -= size;
    this.push(size === 0 ? null : piece.subarray(0, size));
  };
  new Readable({ read }).pipe(response);
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

/** The long trace to its last byte, in turn with its rows read bare and with its bytes sent by a bare server. */
const timeLongTrace = async (daemon: Daemon, path: string): Promise<void> => {
  if (!isWanted('a trace of 10,000 spans')) return;
  const sender = spawn(process.execPath, ['--input-type=module', '-e', SENDER], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = (await once(sender.stdout, 'data')) as [Buffer];
  const db = openForReading(path, 16);
  const bare = {
    '?payloads=none': db.prepare('SELECT * FROM spans WHERE trace = (SELECT trace FROM traces WHERE trace_id = ?)'),
    '': db.prepare(
      `SELECT * FROM spans JOIN span_payloads USING (span) WHERE trace = (SELECT trace FROM traces WHERE trace_id = ?)`,
    ),
  } as const;
  for (const [query, statement] of Object.entries(bare)) {
    const rows = statement.raw();
    const first: number[] = [];
    const times: number[] = [];
    const limits: number[] = [];
    const waits: number[] = [];
    let bytes = 0;
    let processor = 0;
    const timeOne = async (): Promise<number> => {
      const before = processorMs(daemon);
      const asked = performance.now();
      bytes = await takeBytes(`${daemon.url}/v1/api/traces/${LONG_TRACE}${query}`);
      const took = performance.now() - asked;
      processor += processorMs(daemon) - before;
      return took;
    };
    for (let read = 0; read < LONG_READS.first; read += 1) first.push(await timeOne());
    processor = 0;
    for (let read = 0; read < LONG_READS.then; read += 2) {
      const limited = performance.now();
      for (const _row of rows.iterate(LONG_TRACE));
      await takeBytes(`http://127.0.0.1:${Number(port)}/${bytes}`);
      limits.push(performance.now() - limited);
      times.push(await timeOne());
      let isOver = false;
      const health = (async () => {
        while (!isOver) {
          const asked = performance.now();
          await takeBytes(`${daemon.url}/healthz`);
          waits.push(performance.now() - asked);
          await sleep(5);
        }
      })();
      await takeBytes(`${daemon.url}/v1/api/traces/${LONG_TRACE}${query}`);
      isOver = true;
      await health;
    }
    const what = `a trace of 10,000 spans${query === '' ? '' : ', no payloads'}`;
    print(what, times, processor / times.length, `${(bytes / 1e6).toFixed(1)} MB`);
    console.log(
      `${''.padEnd(44)} the first ${LONG_READS.first} of the daemon p50 ${median(first).toFixed(1)} ms; bare rows and bytes ${median(limits).toFixed(1)} ms: ${(median(times) / median(limits)).toFixed(2)} times; /healthz beside it p99 ${quantile(waits, 0.99).toFixed(1)} ms`,
    );
  }
  db.close();
  sender.kill();
};

const folder = kept === undefined ? benchFolder() : { path: kept, remove: () => undefined };
mkdirSync(folder.path, { recursive: true });
try {
  const path = join(folder.path, 'svc.db');
  if (!existsSync(path))
    console.log(
      `filled at ${Math.round(await fill(path))} spans/s; ${(statSync(path).size / totalSpans).toFixed(0)} bytes a span`,
    );
  const opened = performance.now();
  const daemon = await startDaemon(folder.path);
  console.log(`load before: ${loadavg()[0]?.toFixed(1)}`);
  console.log(`start to listening: ${(performance.now() - opened).toFixed(0)} ms`);
  await sleep(6_000);
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
    ['q, common prefix', () => 'q=ref*'],
    ['q, two short prefixes', () => 'q=re*%20cu*'],
    ['q, common prefix, sort=cost', () => 'q=ref*&sort=cost'],
    ['q, common prefix, environment=staging', () => 'q=ref*&environment=staging'],
    ['q, no match', () => `q=zzz${random(1e9)}`],
    ['q and user_id', () => `q=refund&user_id=user-${random(9_973)}`],
  ];
  await timeReads(
    daemon,
    '(warm up)',
    list(() => ''),
  );
  await timeReads(daemon, 'list: limit=1000, first', () => '/v1/api/traces?limit=1000', 1);
  await timeReads(daemon, 'list: limit=1000', () => '/v1/api/traces?limit=1000');
  for (const [what, query] of lists) await timeReads(daemon, `list: ${what}`, list(query));
  await timeReads(daemon, 'spans: model=rare-model', () => '/v1/api/spans?limit=50&model=rare-model');
  await timeReads(
    daemon,
    'a trace of 10 spans',
    () => `/v1/api/traces/${hex(1 + random(totalSpans / SPANS_PER_TRACE), 32)}`,
  );
  await timeLongTrace(daemon, path);
  for (const filter of ['', 'environment=staging', 'status=error', 'q=refund', 'q=ref*'])
    await timeReads(daemon, `facets${filter && `: ${filter}`}`, () => `/v1/api/traces/facets?${filter}`, 10);
  await timeReads(
    daemon,
    'overview, 7 days: its reads at once',
    () => [
      '/v1/api/analytics/summary?from=-7d',
      '/v1/api/analytics/cost?from=-7d&group_by=model&bucket=1h',
      '/v1/api/analytics/summary?from=-24h&to=-0s',
      '/v1/api/analytics/summary?from=-8d&to=-24h',
      '/v1/api/traces?from=-7d&has_error=true&limit=10',
    ],
    10,
  );
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
  if (pairs > 0) {
    const ingest = await measurePairs(
      pairs,
      async () => (await load(folder.path, daemon.url, door)).signalsPerSecond,
      emptyFile,
    );
    console.log(
      `ingest here ${spread(ingest.a)}, into an empty file ${spread(ingest.b)} spans/s: ${ingest.ratio.toFixed(2)} (aim 0.75)`,
    );
  }
  await daemon.stop();
} finally {
  folder.remove();
}
