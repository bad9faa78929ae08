/**
 * Signals in PostgreSQL beside signals in the file: the same daemon and the same load, in turn, each on a store of its own; then reads of what was
 * stored. Run: `node bench/engines.ts [pairs] [seconds]`. The server is Debian's, with what it syncs by default and without autovacuum.
 */
import Database from 'better-sqlite3';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from '../test/daemon.ts';
import { type PostgresServer, startPostgres } from '../test/postgres.ts';
import type { LoadFigures } from './load.ts';
import { median, percent, quantile, spread } from './pairs.ts';
import { benchFolder, type Door, load } from './serve.ts';

const pairs = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 6);
const READS = 40;

const doors: readonly (readonly [name: string, door: Door])[] = [
  ['512 spans a body, 8 connections', { encoding: 'protobuf', spansPerBody: 512, connections: 8, seconds }],
  ['8 spans a body, 32 connections', { encoding: 'protobuf', spansPerBody: 8, connections: 32, seconds }],
];
const reads: readonly (readonly [name: string, path: string])[] = [
  ['a page of traces', '/v1/api/traces?limit=50'],
  ['status=error', '/v1/api/traces?status=error'],
  ['sort=duration', '/v1/api/traces?sort=duration'],
  ['q, common word', '/v1/api/traces?q=refund'],
  ['q, two common words', '/v1/api/traces?q=customers%20policy'],
  ['q, prefix', '/v1/api/traces?q=ref*'],
  ['q, no match', '/v1/api/traces?q=zebrafish'],
  ['cost by model', '/v1/api/analytics/cost?group_by=model'],
];

type Reading = { readonly p50Ms: number; readonly p95Ms: number };
type Run = LoadFigures & { readonly bytesPerSpan: number; readonly reads: ReadonlyMap<string, Reading> };

const timeReads = async (url: string): Promise<Map<string, Reading>> => {
  const found = new Map<string, Reading>();
  for (const [name, path] of reads) {
    const times: number[] = [];
    for (let read = 0; read < READS; read += 1) {
      const at = performance.now();
      const answer = await fetch(url + path);
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
      times.push(performance.now() - at);
    }
    found.set(name, { p50Ms: quantile(times, 0.5), p95Ms: quantile(times, 0.95) });
  }
  return found;
};

const COUNT = 'SELECT count(*) FROM spans';
const bytesOf = (server: PostgresServer, database: string | undefined): number =>
  Number(server.run('SELECT pg_database_size(current_database())', database)) / Number(server.run(COUNT, database));
const bytesOfFile = (folder: string): number => {
  const path = join(folder, 'svc.db');
  const file = new Database(path, { readonly: true });
  const spans = file.prepare(COUNT).pluck().get() as number;
  file.close();
  return (statSync(path).size + statSync(`${path}.fts`).size) / spans;
};

/** Loads a daemon on an empty store. @param server where there is none, the store is a file */
const measure = async (door: Door, server: PostgresServer | undefined): Promise<Run> => {
  const folder = benchFolder();
  const database = server?.create();
  const daemon = await startDaemon(folder.path, [], database === undefined ? {} : { SVCD_SQLSTORE_URL: database });
  try {
    const figures = await load(folder.path, daemon.url, door);
    const timed = await timeReads(daemon.url);
    await daemon.stop();
    const bytesPerSpan = server === undefined ? bytesOfFile(folder.path) : bytesOf(server, database);
    return { ...figures, bytesPerSpan, reads: timed };
  } finally {
    await daemon.stop();
    folder.remove();
  }
};

const server = await startPostgres({ isDurable: true });
try {
  for (const [name, door] of doors) {
    const of = { file: [] as Run[], postgres: [] as Run[] };
    for (let pair = 0; pair < pairs; pair += 1) {
      of.file.push(await measure(door, undefined));
      of.postgres.push(await measure(door, server));
    }
    const both = (value: (run: Run) => number): string =>
      `file ${spread(of.file.map(value))}, PostgreSQL ${spread(of.postgres.map(value))}`;
    const ratio = median(
      of.postgres.map((run, pair) => run.signalsPerSecond / (of.file[pair]?.signalsPerSecond ?? Number.NaN)),
    );
    console.log(`${name}:`);
    console.log(`  spans/s              ${both((run) => run.signalsPerSecond)}: ${percent(ratio)}`);
    console.log(`  answer p50 ms        ${both((run) => run.p50Ms)}`);
    console.log(`  answer p99 ms        ${both((run) => run.p99Ms)}`);
    console.log(`  bytes a span         ${both((run) => run.bytesPerSpan)}`);
    for (const [read] of reads)
      console.log(
        `  ${read}, p50 and p95 ms  ${both((run) => run.reads.get(read)?.p50Ms ?? Number.NaN)}; ${both((run) => run.reads.get(read)?.p95Ms ?? Number.NaN)}`,
      );
  }
} finally {
  await server.remove();
}
