/**
 * The door of OTLP over gRPC against the one over HTTP: the same protobuf bodies, sent as fast as they are answered, each to a daemon of
 * its own on an empty file. Alternated in one run.
 * Run: `node bench/grpc.ts [pairs] [seconds]`.
 */
import { startDaemon } from '../test/daemon.ts';
import type { LoadFigures } from './load.ts';
import { measurePairs, percent, spread } from './pairs.ts';
import { benchFolder, type Door, load } from './serve.ts';

const pairs = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 6);

const loadEmptyFile = async (door: Door): Promise<LoadFigures> => {
  const folder = benchFolder();
  const daemon = await startDaemon(folder.path);
  try {
    return await load(folder.path, daemon.url, door);
  } finally {
    await daemon.stop();
    folder.remove();
  }
};

const compare = async (title: string, door: Omit<Door, 'grpc'>): Promise<void> => {
  const latest: Record<'grpc' | 'http', LoadFigures[]> = { grpc: [], http: [] };
  const measure = (name: 'grpc' | 'http', more: Pick<Door, 'grpc'>) => async (): Promise<number> => {
    const figures = await loadEmptyFile({ ...door, ...more });
    if (figures.refused > 0) throw new Error(`${figures.refused} requests over ${name} were refused`);
    latest[name].push(figures);
    return figures.signalsPerSecond;
  };
  const { a, b, ratio } = await measurePairs(pairs, measure('grpc', { grpc: true }), measure('http', {}));
  const p99 = (name: 'grpc' | 'http'): string => spread(latest[name].map(({ p99Ms }) => p99Ms));
  console.log(`${title}: gRPC ${spread(a)}, HTTP ${spread(b)} spans/s; p99 ${p99('grpc')}, ${p99('http')} ms`);
  console.log(`  gRPC of HTTP  ${percent(ratio)} (bar 90 %)`);
};

const protobuf = { encoding: 'protobuf', connections: 8, seconds } as const;
await compare('512 spans a body, 8 connections', { ...protobuf, spansPerBody: 512 });
await compare('32 spans a body, 8 connections', { ...protobuf, spansPerBody: 32 });
