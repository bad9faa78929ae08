/**
 * The signal store by itself: acknowledged writes, full text included, against the limit of the machine, which is the same
 * rows with the trace projection and no full text, inserted by a loop in this process. Alternated in one run.
 * Run: `node bench/store-limit.ts [pairs] [seconds]`.
 */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { decodeTracesProtobuf } from '../src/ingest/otlp/protobuf.ts';
import { emptyBatch, type SignalBatch } from '../src/model/signal.ts';
import type { Span } from '../src/model/span.ts';
import type { SignalStore } from '../src/store/signals/signal-store.ts';
import { openDataFile } from '../src/store/sqlite/connection.ts';
import { encodeUnit } from '../src/store/sqlite/signals/encode.ts';
import { openSqliteSignalStore } from '../src/store/sqlite/signals/open.ts';
import { SIGNALS_FILE } from '../src/store/sqlite/signals/schema.ts';
import { searchPath } from '../src/store/sqlite/signals/search-file.ts';
import { transactionsOf } from '../src/store/sqlite/transaction.ts';
import { unitWriterOf } from '../src/store/sqlite/signals/write-unit.ts';
import { measurePairs, percent, quantile, spread } from './pairs.ts';
import { benchFolder } from './serve.ts';
import { makeTraceBodies } from './spans.ts';

const SPANS_PER_BATCH = 512;
const CACHE_MIB = 64;

/** Decoded batches of realistic spans, and the protobuf bytes that one span took on the wire. */
export const realisticBatches = (count = 8): { batches: readonly SignalBatch[]; wireBytesPerSpan: number } => {
  const bodies = Array.from({ length: count }, (_, seed) => makeTraceBodies(SPANS_PER_BATCH, seed + 1).protobuf);
  const context = { receivedAt: 1_790_000_000_000_000_000n, defaultProject: 'default', maxSignals: 10_000 };
  const batches = bodies.map((body) => {
    const decoded = decodeTracesProtobuf(body, context);
    return 'batch' in decoded ? decoded.batch : emptyBatch;
  });
  const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
  return { batches, wireBytesPerSpan: bytes / (count * SPANS_PER_BATCH) };
};

/** Starts anew in each process, so that a second run on the same file does not replace the rows of the first. */
let serial = 0x8000_0000 + (Date.now() % 0x4000_0000);
let turns = 0;
/** The same spans under trace ids that no other batch has, a second later each time. */
const renewed = (batch: SignalBatch): SignalBatch => {
  serial++;
  const prefix = serial.toString(16).padStart(8, '0');
  const later = BigInt(turns++) * 1_000_000_000n;
  return {
    ...batch,
    spans: batch.spans.map(
      (span): Span => ({
        ...span,
        traceId: prefix + span.traceId.slice(8),
        startTime: span.startTime + later,
        ...(span.endTime === undefined ? {} : { endTime: span.endTime + later }),
      }),
    ),
  };
};

/**
 * The limit: spans per second that a loop in this process inserts and commits, 512 a transaction, each fsynced, with the
 * trace projection and without full text. Making the rows is not counted.
 * @param seconds how long it inserts; long enough for checkpoints to be in it
 */
export const measureInsertLimit = (folder: string, batches: readonly SignalBatch[], seconds: number): number => {
  const path = join(folder, 'limit.db');
  const { db } = openDataFile(path, CACHE_MIB, SIGNALS_FILE);
  const transactions = transactionsOf(db);
  const writer = unitWriterOf(db, transactions.unit);
  let spent = 0;
  let spans = 0;
  for (let turn = 0; spent < seconds * 1000; turn++) {
    const batch = renewed(batches[turn % batches.length] as SignalBatch);
    const pieces = [...encodeUnit({ batch }, 0n)].map(({ rows }) => rows);
    const from = performance.now();
    transactions.run(() => {
      writer.write(pieces, spans + 1);
      writer.finish();
    });
    spent += performance.now() - from;
    spans += batch.spans.length;
  }
  const from = performance.now();
  db.close(); // copies what is left of the log into the file
  spent += performance.now() - from;
  rmSync(path);
  return (spans * 1000) / spent;
};

export type StoreFigures = {
  readonly spans: number;
  readonly spansPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

/** Spans per second that the store acknowledges, and the time to an answer. */
export const measureStore = async (
  store: Pick<SignalStore, 'write'>,
  batches: readonly SignalBatch[],
  seconds: number,
  concurrency: number,
): Promise<StoreFigures> => {
  const waits: number[] = [];
  let spans = 0;
  const started = performance.now();
  const until = started + seconds * 1000;
  let turn = 0;
  const sender = async (): Promise<void> => {
    while (performance.now() < until) {
      const batch = renewed(batches[turn++ % batches.length] as SignalBatch);
      const from = performance.now();
      await store.write({ batch });
      waits.push(performance.now() - from);
      spans += batch.spans.length;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sender));
  const elapsed = performance.now() - started;
  return { spans, spansPerSecond: (spans * 1000) / elapsed, p50Ms: quantile(waits, 0.5), p99Ms: quantile(waits, 0.99) };
};

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

if (import.meta.main) {
  const pairs = Number(process.argv[2] ?? 3);
  const seconds = Number(process.argv[3] ?? 3);
  const { batches, wireBytesPerSpan } = realisticBatches();
  const folder = benchFolder();
  const ends = [...(batches[0]?.spans ?? [])].map((span): SignalBatch => ({ ...emptyBatch, spans: [span] }));
  try {
    const p99s: number[] = [];
    const bytes: number[] = [];
    let opened = 0;
    const withStore = async (work: (store: SignalStore) => Promise<StoreFigures>): Promise<number> => {
      const path = join(folder.path, `store-${opened++}.db`);
      const store = await openSqliteSignalStore({ path });
      const figures = await work(store);
      await store.close();
      p99s.push(figures.p99Ms);
      bytes.push((sizeOf(path) + sizeOf(searchPath(path))) / figures.spans);
      rmSync(path);
      rmSync(searchPath(path));
      return figures.spansPerSecond;
    };
    const limit = (): number => measureInsertLimit(folder.path, batches, seconds);
    const big = await measurePairs(pairs, () => withStore((store) => measureStore(store, batches, seconds, 8)), limit);
    console.log(`limit: insert with trace projection, no full text   ${spread(big.b)} spans/s`);
    console.log(`store.write, 512 spans x 8 at once, full text       ${spread(big.a)} spans/s`);
    console.log(`  of the limit: ${percent(big.ratio)} (floor 45 %, aim 60 %); p99 ${spread(p99s)} ms`);
    const perSpan = bytes.toSorted((a, b) => a - b)[bytes.length >> 1] ?? 0;
    console.log(
      `  bytes on disk a span: ${perSpan.toFixed(0)} = ${(perSpan / wireBytesPerSpan).toFixed(2)} x its protobuf of ${wireBytesPerSpan.toFixed(0)} (aim 0.75)`,
    );
    const small = await measurePairs(
      pairs,
      () => withStore((store) => measureStore(store, ends, seconds, 32)),
      () => withStore((store) => measureStore(store, ends, seconds, 1)),
    );
    console.log(`store.write, 1 span x 32 at once                    ${spread(small.a)} spans/s`);
    console.log(`store.write, 1 span x 1                             ${spread(small.b)} spans/s`);
  } finally {
    folder.remove();
  }
}
