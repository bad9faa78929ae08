/**
 * Clients that reach the service through a proxy which cuts their connections: before the request has arrived, in the middle of it, or after it
 * has arrived and before its answer has gone back. A client does not know which, and sends again with the same key, as the documents say. Each
 * batch, run, event and report must then be there exactly once.
 * Run as a command: `node test/faults/cutting-proxy.ts --requests 2000 --seed 7`.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { seededRandom } from '../crash/ledger.ts';
import { startDaemon, temporaryFolder } from '../daemon.ts';

type Answer = { readonly status: number; readonly json: Record<string, unknown> };
export type ProxyFigures = {
  readonly seed: number;
  readonly requests: number;
  readonly cutBefore: number;
  readonly cutWithin: number;
  readonly cutAfter: number;
  readonly resends: number;
  readonly batches: number;
  readonly runs: number;
};

const definition = {
  id: 'order',
  version: 1,
  steps: [
    { id: 'charge', kind: 'task', delivery: 'at_most_once', retry: { max_attempts: 1 } },
    { id: 'paid', kind: 'wait_event', event: 'paid', key: '${input.n}', accept_parked: true },
  ],
};
/** A request that has not come through after so many tries never will. */
const MOST_TRIES = 60;

/** @throws Error that names the seed on the first promise that does not hold */
export const cutConnections = async (options: {
  readonly requests: number;
  readonly seed: number;
  readonly folder: string;
}): Promise<ProxyFigures> => {
  const { seed } = options;
  const random = seededRandom(seed);
  const fail = (what: string): Error => new Error(`seed ${seed}: ${what}`);
  const daemon = await startDaemon(options.folder, ['--offer-ttl-ms', '2000']);
  const { hostname, port } = new URL(daemon.url);
  const cuts = { before: 0, within: 0, after: 0 };
  let requests = 0;
  let resends = 0;

  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const draw = random();
    sockets.add(client);
    client.on('error', () => {}).once('close', () => sockets.delete(client));
    if (draw < 0.15) {
      cuts.before += 1;
      client.resetAndDestroy();
      return;
    }
    const server = connect(Number(port), hostname);
    sockets.add(server);
    server.on('error', () => client.destroy()).once('close', () => sockets.delete(server));
    client.once('close', () => server.destroy());
    if (draw < 0.3) {
      let room = Math.floor(random() * 400);
      client.on('data', (chunk: Buffer) => {
        if (chunk.length <= room) server.write(chunk);
        else {
          cuts.within += 1;
          server.write(chunk.subarray(0, room));
          client.resetAndDestroy();
          server.end();
        }
        room -= Math.min(room, chunk.length);
      });
      server.pipe(client);
      return;
    }
    client.pipe(server);
    if (draw < 0.5) {
      // The request has arrived and was answered; of the answer only a part comes through, or nothing.
      server.once('data', (chunk: Buffer) => {
        cuts.after += 1;
        client.write(chunk.subarray(0, Math.floor(random() * 2) * 20), () => client.resetAndDestroy());
      });
      return;
    }
    server.pipe(client);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

  /** Sends until there is an answer: one connection for each try. */
  const send = async (path: string, body: object): Promise<Answer & { readonly tries: number }> => {
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      requests += 1;
      try {
        const answer = await fetch(url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', connection: 'close' },
          body: JSON.stringify(body),
        });
        return { status: answer.status, json: (await answer.json()) as Record<string, unknown>, tries };
      } catch {
        resends += 1;
      }
    }
    throw fail(`${path} did not come through in ${MOST_TRIES} tries`);
  };
  const taken = async (
    path: string,
    body: object,
    statuses: readonly number[],
  ): Promise<Answer & { tries: number }> => {
    const answer = await send(path, body);
    if (!statuses.includes(answer.status))
      throw fail(`${path} answered ${answer.status} ${JSON.stringify(answer.json)} at try ${answer.tries}`);
    return answer;
  };

  const traces: string[] = [];
  const runs = new Map<string, string>();
  const client = async (name: string): Promise<void> => {
    const worker = { worker_id: `worker-${name}` };
    await taken('/v1/api/workers/register', { ...worker, definitions: [definition] }, [200, 201]);
    for (let n = 0; requests < options.requests; n += 1) {
      const traceId = randomBytes(16).toString('hex');
      const batch = {
        ingest_key: traceId,
        spans: [{ trace_id: traceId, span_id: traceId.slice(16), name: 'call', start_time: new Date().toISOString() }],
        logs: [{ message: `log of ${traceId}`, trace_id: traceId }],
        scores: [{ trace_id: traceId, scorer_id: 'quality', value: 1 }],
      };
      await taken('/v1/ingest', batch, [200]);
      traces.push(traceId);

      const key = `${name}-${n}`;
      const start = { definition_id: 'order', input: { n: key }, idempotency_key: key };
      const { json: run } = await taken('/v1/api/runs', start, [200, 201]);
      const runId = String(run['run_id']);
      runs.set(key, runId);
      // A claim has no key: an offer whose answer was cut goes back to the queue after its time, and comes with a later claim.
      let lease: string | undefined;
      while (lease === undefined) {
        const claimed = await taken('/v1/api/steps/claim', { ...worker, max: 1, wait_ms: 500 }, [200]);
        const [offered] = claimed.json['leases'] as { lease_id: string }[];
        if (offered === undefined) continue;
        const started = await taken(`/v1/api/steps/${offered.lease_id}/started`, worker, [200, 409]);
        if (started.status === 200) lease = offered.lease_id;
        else if (started.json['code'] !== 'fenced') throw fail(`started answered ${JSON.stringify(started.json)}`);
      }
      const ended = await send(`/v1/api/steps/${lease}/complete`, { ...worker, output: { charged: key } });
      if (
        ended.status !== 200 &&
        !(ended.status === 409 && ended.json['code'] === 'already_applied' && ended.tries > 1)
      )
        throw fail(`complete answered ${ended.status} ${JSON.stringify(ended.json)} at try ${ended.tries}`);
      await taken('/v1/api/events', { event: 'paid', key, payload: {}, event_id: `paid-${key}` }, [200, 201, 202]);
    }
  };
  await Promise.all(['a', 'b', 'c', 'd'].map(client));

  const read = async (path: string): Promise<Record<string, unknown>> =>
    (await (await fetch(daemon.url + path)).json()) as Record<string, unknown>;
  for (const traceId of traces) {
    const { trace, spans, logs, scores } = await read(`/v1/api/traces/${traceId}?include=all`);
    const counts = [spans, logs, scores].map((list) => (list as unknown[] | undefined)?.length);
    if (trace === undefined || counts.some((count) => count !== 1))
      throw fail(`batch ${traceId} is there ${JSON.stringify(counts)} times: spans, logs, scores`);
  }
  const claimed = new Set<string>();
  for (const [key, runId] of runs) {
    let run = await read(`/v1/api/runs/${runId}`);
    for (let tries = 0; run['status'] !== 'succeeded' && tries < 200; tries += 1) {
      await sleep(50);
      run = await read(`/v1/api/runs/${runId}`);
    }
    if (run['status'] !== 'succeeded') throw fail(`run ${key} is ${JSON.stringify(run['status'])}`);
    const { events } = (await read(`/v1/api/runs/${runId}/events?limit=1000`)) as {
      events: { seq: number; kind: string }[];
    };
    if (events.some(({ seq }, place) => seq !== place)) throw fail(`the journal of run ${key} has a gap`);
    for (const kind of ['run.started', 'step.finished', 'event.delivered', 'run.finished'])
      if (events.filter((entry) => entry.kind === kind).length !== 1)
        throw fail(`run ${key} has ${kind} other than once: ${JSON.stringify(events.map((entry) => entry.kind))}`);
    claimed.add(runId);
  }
  if (claimed.size !== runs.size) throw fail('two keys got one run');
  const { runs: listed } = (await read('/v1/api/runs?limit=1000')) as { runs: unknown[] };
  if (runs.size < 1000 && listed.length !== runs.size)
    throw fail(`${listed.length} runs are stored, ${runs.size} were started`);

  for (const socket of sockets) socket.destroy();
  proxy.close();
  const exit = await daemon.stop('SIGTERM');
  if (exit !== 0) throw fail(`the stop ended with ${exit}`);
  return {
    ...{ seed, requests, resends, batches: traces.length, runs: runs.size },
    ...{ cutBefore: cuts.before, cutWithin: cuts.within, cutAfter: cuts.after },
  };
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: { requests: { type: 'string', default: '2000' }, seed: { type: 'string', default: '20261122' } },
  });
  const folder = temporaryFolder();
  try {
    const options = { requests: Number(values.requests), seed: Number(values.seed), folder: folder.path };
    console.log(JSON.stringify(await cutConnections(options)));
  } finally {
    folder.remove();
  }
}
