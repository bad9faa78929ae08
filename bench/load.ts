/**
 * A load generator in a process of its own: posts the same bodies in turn over kept-alive connections, for a bounded time,
 * to a server on loopback, and prints one line of JSON. Started by the benches: `node bench/load.ts` with the plan on standard input.
 */
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { Pool } from 'undici';
import { quantile } from './pairs.ts';

export type LoadPlan = {
  readonly url: string;
  readonly path: string;
  readonly contentType: string;
  readonly contentEncoding?: string;
  /** OTLP over gRPC, a connection of HTTP/2 for each of `connections`, one call at a time; else HTTP/1.1. */
  readonly grpc?: true;
  /** Files, each one whole request body. */
  readonly bodies: readonly string[];
  readonly signalsPerBody: number;
  readonly connections: number;
  /** How long requests are sent before they count: a daemon that has just started is still compiling. */
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** Where the trace ids stand in each body. Their first half is rewritten in each request, so that it stores new rows. */
  readonly traceIdOffsets: readonly (readonly number[])[];
  /** Protobuf holds an id as bytes, JSON as hex text. */
  readonly traceIdsAre: 'bytes' | 'hex';
};

export type LoadFigures = {
  readonly signalsPerSecond: number;
  readonly requests: number;
  readonly refused: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

/** Posts one body. @returns whether it was taken */
type Post = (body: Buffer) => Promise<boolean>;
type Client = { readonly connect: () => Promise<Post>; readonly close: () => Promise<void> };

const overHttp = (plan: LoadPlan): Client => {
  const pool = new Pool(plan.url, { connections: plan.connections, pipelining: 1 });
  const headers = {
    'content-type': plan.contentType,
    ...(plan.contentEncoding === undefined ? {} : { 'content-encoding': plan.contentEncoding }),
  };
  const post: Post = async (body) => {
    const response = await pool.request({ path: plan.path, method: 'POST', headers, body });
    await response.body.dump();
    return response.statusCode === 200;
  };
  return { connect: async () => post, close: () => pool.close() };
};

/** What exporters do, without their libraries: a connection each, a unary call at a time, windows large enough for a body. */
const overGrpc = (plan: LoadPlan): Client => {
  const sessions: ReturnType<typeof connect>[] = [];
  const headers = { ':method': 'POST', ':path': plan.path, 'content-type': 'application/grpc', te: 'trailers' };
  return {
    connect: async () => {
      const session = connect(plan.url);
      sessions.push(session);
      await once(session, 'connect');
      return async (body) => {
        const stream = session.request(headers);
        let status: unknown;
        const note = (found: Record<string, unknown>): void => {
          status = found['grpc-status'] ?? status;
        };
        stream.on('response', note).on('trailers', note).resume();
        const head = Buffer.alloc(5);
        head.writeUInt32BE(body.length, 1);
        stream.write(head);
        stream.end(body);
        await once(stream, 'close');
        return status === '0';
      };
    },
    close: async () => {
      for (const session of sessions) session.destroy();
    },
  };
};

const run = async (plan: LoadPlan): Promise<LoadFigures> => {
  const { hostname } = new URL(plan.url);
  if (hostname !== '127.0.0.1') throw new Error(`load goes to 127.0.0.1 only, not to ${hostname}`);
  const client = plan.grpc === true ? overGrpc(plan) : overHttp(plan);
  const templates = plan.bodies.map((file) => readFileSync(file));
  const latencies: number[] = [];
  let requests = 0;
  let refused = 0;
  let turn = 0;
  // Ids differ between runs on one file as well, so that no run replaces the rows of another.
  const seed = BigInt(Date.now()) << 20n;
  const started = performance.now() + plan.warmUpSeconds * 1000;
  const until = started + plan.seconds * 1000;
  const worker = async (): Promise<void> => {
    const post = await client.connect();
    while (performance.now() < until) {
      const index = turn % templates.length;
      const serial = seed + BigInt(turn);
      turn += 1;
      const body = Buffer.from(templates[index] ?? Buffer.alloc(0));
      const half = serial.toString(16).padStart(16, '0');
      for (const offset of plan.traceIdOffsets[index] ?? [])
        body.write(half, offset, plan.traceIdsAre === 'hex' ? 'latin1' : 'hex');
      const sent = performance.now();
      const taken = await post(body);
      if (sent < started) continue;
      if (taken) {
        requests += 1;
        latencies.push(performance.now() - sent);
      } else refused += 1;
    }
  };
  await Promise.all(Array.from({ length: plan.connections }, worker));
  const seconds = (performance.now() - started) / 1000;
  await client.close();
  return {
    signalsPerSecond: (requests * plan.signalsPerBody) / seconds,
    requests,
    refused,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  };
};

if (import.meta.main) {
  const plan = JSON.parse(readFileSync(0, 'utf8')) as LoadPlan;
  console.log(JSON.stringify(await run(plan)));
}
