import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { LoadFigures, LoadPlan } from './load.ts';
import { makeTraceBodies } from './spans.ts';

/** An empty folder of one bench, removed by `remove`. */
export const benchFolder = (): { path: string; remove: () => void } => {
  const path = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
};

export type Door = {
  readonly encoding: 'protobuf' | 'json';
  readonly gzip?: boolean;
  /** Over gRPC instead of HTTP; protobuf alone. */
  readonly grpc?: true;
  readonly spansPerBody: number;
  readonly connections: number;
  readonly seconds: number;
};

/** How long a daemon is loaded before anything counts, in seconds. */
export const WARM_UP_SECONDS = 1;

/** Bodies on disk for the load process, and where the trace ids stand in them. */
const writeBodies = (folder: string, door: Door): Pick<LoadPlan, 'bodies' | 'traceIdOffsets'> => {
  const bodies: string[] = [];
  const traceIdOffsets: number[][] = [];
  for (let seed = 1; seed <= 8; seed += 1) {
    const made = makeTraceBodies(door.spansPerBody, seed);
    const body = made[door.encoding];
    const ids = new Set(
      made.request.resourceSpans.flatMap((resource) =>
        resource.scopeSpans.flatMap((scope) => scope.spans.map((span) => span.traceId ?? '')),
      ),
    );
    const offsets: number[] = [];
    for (const id of ids) {
      if (id === '') throw new Error('a span of the bench has no trace id');
      const needle = door.encoding === 'json' ? Buffer.from(id) : Buffer.from(id, 'hex');
      for (let at = body.indexOf(needle); at !== -1; at = body.indexOf(needle, at + 1)) offsets.push(at);
    }
    const file = join(folder, `body-${door.encoding}-${door.spansPerBody}-${seed}${door.gzip === true ? '.gz' : ''}`);
    writeFileSync(file, door.gzip === true ? gzipSync(body) : body);
    bodies.push(file);
    // A compressed body cannot be rewritten in place: its requests store the same rows again.
    traceIdOffsets.push(door.gzip === true ? [] : offsets);
  }
  return { bodies, traceIdOffsets };
};

/** Sends one kind of load from a process of its own. @throws Error when the load process fails */
export const load = async (folder: string, url: string, door: Door): Promise<LoadFigures> => {
  const plan: LoadPlan = {
    url,
    path: door.grpc === true ? '/opentelemetry.proto.collector.trace.v1.TraceService/Export' : '/v1/traces',
    ...(door.grpc === true ? { grpc: true } : {}),
    contentType: door.encoding === 'protobuf' ? 'application/x-protobuf' : 'application/json',
    ...(door.gzip === true ? { contentEncoding: 'gzip' } : {}),
    ...writeBodies(folder, door),
    traceIdsAre: door.encoding === 'protobuf' ? 'bytes' : 'hex',
    signalsPerBody: door.spansPerBody,
    connections: door.connections,
    warmUpSeconds: WARM_UP_SECONDS,
    seconds: door.seconds,
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'load.ts')], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(plan));
  const printed: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => printed.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the load process ended with ${code}`);
  return JSON.parse(Buffer.concat(printed).toString('utf8')) as LoadFigures;
};

/** Resident memory of a process, in MiB. @see proc(5) */
export const residentMiB = (pid: number): number => {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? Number.NaN) / 1024;
};

const TICKS_PER_SECOND = 100;
/** Processor time of a process so far, all its threads. @see proc(5) */
export const processorSeconds = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
};
