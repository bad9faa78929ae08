import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startRuns } from '../../src/actors/runs.ts';
import { statusOf } from '../../src/http/problem.ts';
import type { Failure, Result } from '../../src/model/failure.ts';
import type { Json, JsonObject } from '../../src/model/json.ts';
import type { ReportedUsage, RunStatus } from '../../src/model/run.ts';
import type { Span } from '../../src/model/span.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import { createPrices } from '../actors/run-prices.ts';

/** What callers wrote, and nobody respells. */
const payloads = new Set([
  'input',
  'output',
  'state',
  'data',
  'correlation',
  'steps',
  'lastDetails',
  'latest',
  'document',
]);

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A value of the service in wire spelling; times become RFC 3339. */
const wire = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(wire);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (payloads.has(key)) return [snake(key), inner];
      if (typeof inner === 'number' && /(?:^at|At)$/.test(key)) return [snake(key), new Date(inner).toISOString()];
      return [snake(key), wire(inner)];
    }),
  );
};

const respell = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(respell);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camel(key), respell(inner)]));
};

const readBody = async (request: IncomingMessage): Promise<Record<string, Json>> => {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  const text = Buffer.concat(pieces).toString();
  return text === '' ? {} : (JSON.parse(text) as Record<string, Json>);
};

/**
 * The real core of durable runs, on a store in memory, behind just enough HTTP for the library to talk to: no keys, no
 * validation, no audit. It shows that library and core agree; the daemon's own routes are tested as such.
 * @param timing leases short enough for a test to see one expire
 */
export const startRunsOverHttp = async (timing: { leaseTtlMs?: number; reclaimWindowMs?: number } = {}) => {
  // Kept open across restarts, as a file would be.
  const store = { ...createMemoryRunStore(), close: () => Promise.resolve() };
  const spans: Span[] = [];
  const faults: unknown[] = [];
  const all = { reach: 'all' } as const;
  const open = () =>
    startRuns({
      store,
      writeSpans: async (batch) => {
        spans.push(...batch);
      },
      price: createPrices(),
      onFault: (error) => faults.push(error),
      ...timing,
    });
  let runs = await open();

  const usageOf = (usage: Json | undefined): { usage?: readonly ReportedUsage[] } =>
    usage === undefined ? {} : { usage: [respell(usage)].flat() as ReportedUsage[] };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://host');
    const [, , , resource = '', id = '', verb = '', step = ''] = pathname.split('/');
    const body = await readBody(request);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const send = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const refuse = (failure: Failure): void =>
      send(statusOf[failure.code], { code: failure.code, message: failure.message });
    const answer = (result: Result<unknown>, status = 200): void => {
      if (result.ok) send(status, wire(result.value));
      else refuse(result.failure);
    };
    const text = (name: string): string => {
      const value = body[name];
      if (typeof value !== 'string') throw new TypeError(`${name} is not a text`);
      return value;
    };
    // Typed as nothing, so that it fits any field: what the core does with a wrong type is not asked here.
    const optional = <K extends string>(name: string, as: K): { readonly [N in K]?: never } => {
      const found: object = body[name] === undefined ? {} : { [as]: body[name] };
      return found;
    };
    const lease = (): { reach: 'all'; leaseId: string; workerId: string } => ({
      ...all,
      leaseId: id,
      workerId: text('worker_id'),
    });

    switch (
      `${request.method} ${resource} ${resource === 'runs' && id !== '' ? verb : resource === 'steps' && id !== 'claim' ? verb : id}`.trim()
    ) {
      case 'POST ingest':
      case 'POST':
        return send(200, { accepted: 0, rejected: 0, duplicate: 0, errors: [] });
      case 'POST workers register':
        return answer(
          await runs.registerWorker({
            workerId: text('worker_id'),
            definitions: body['definitions'] as readonly Json[],
          }),
        );
      case 'POST steps claim': {
        const claimed = await runs.claim(
          {
            ...all,
            workerId: text('worker_id'),
            max: Number(body['max']),
            waitMs: Number(body['wait_ms']),
            ...optional('run_id', 'runId'),
          },
          gone.signal,
        );
        if (claimed.ok && gone.signal.aborted) return runs.giveBack(claimed.value.map((each) => each.leaseId));
        return claimed.ok ? send(200, { leases: wire(claimed.value) }) : refuse(claimed.failure);
      }
      case 'POST steps started':
        return answer(await runs.started(lease()));
      case 'POST steps heartbeat':
        return answer(await runs.heartbeat({ ...lease(), ...optional('details', 'details') }));
      case 'POST steps complete':
        return answer(
          await runs.complete({
            ...lease(),
            ...optional('output', 'output'),
            ...optional('state_patch', 'statePatch'),
            ...usageOf(body['usage']),
          }),
        );
      case 'POST steps fail':
        return answer(
          await runs.fail({
            ...lease(),
            error: body['error'] as { class: string; message: string },
            ...optional('retry_after_ms', 'retryAfterMs'),
            ...usageOf(body['usage']),
          }),
        );
      case 'POST runs': {
        const started = await runs.startRun({
          ...all,
          project: 'default',
          definitionId: text('definition_id'),
          input: body['input'] ?? null,
          ...optional('idempotency_key', 'idempotencyKey'),
          ...optional('correlation', 'correlation'),
        });
        return started.ok ? send(started.value.created ? 201 : 200, wire(started.value.run)) : refuse(started.failure);
      }
      case 'GET runs':
        return answer(await runs.getRun({ ...all, runId: id }));
      case 'POST runs cancel':
        return answer(await runs.cancelRun({ ...all, runId: id }));
      case 'POST runs signal':
        return answer(
          await runs.signalRun({
            ...all,
            runId: id,
            event: text('event'),
            payload: body['payload'] ?? null,
            ...optional('event_id', 'eventId'),
          }),
        );
      case 'POST events':
        return answer(
          await runs.publishEvent({
            ...all,
            project: 'default',
            event: text('event'),
            key: text('key'),
            payload: body['payload'] as JsonObject,
            ...optional('event_id', 'eventId'),
          }),
        );
      case 'GET runs steps':
        return answer(await runs.stepCause({ ...all, runId: id, stepId: step }));
      case 'GET runs events': {
        const last = request.headers['last-event-id'] ?? searchParams.get('after') ?? '-1';
        const query = { ...all, runId: id, after: Number(last) };
        if (request.headers.accept !== 'text/event-stream') return answer(await runs.journal({ ...query, limit: 100 }));
        const followed = await runs.followJournal(query, gone.signal);
        if (!followed.ok) return refuse(followed.failure);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': open\n\n');
        for await (const page of followed.value)
          for (const entry of page) response.write(`id: ${entry.seq}\ndata: ${JSON.stringify(wire(entry))}\n\n`);
        response.end();
        return;
      }
      default:
        return send(404, { code: 'not_found', message: `${request.method} ${pathname}` });
    }
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      faults.push(error);
      response.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    faults,
    statusOf: async (runId: string): Promise<RunStatus | undefined> => {
      const run = await runs.getRun({ ...all, runId });
      return run.ok ? run.value.status : undefined;
    },
    flushOutbox: (): Promise<void> => runs.flushOutbox(),
    /** Ends the service and starts another one on the same store; every connection breaks. */
    restart: async (): Promise<void> => {
      server.closeAllConnections();
      await runs.close();
      runs = await open();
    },
    stop: async (): Promise<void> => {
      server.closeAllConnections();
      server.close();
      await runs.close();
    },
  };
};

export type RunsOverHttp = Awaited<ReturnType<typeof startRunsOverHttp>>;
