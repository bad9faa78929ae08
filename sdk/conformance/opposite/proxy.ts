import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../kit/judging.ts';

/** One request that came by. */
export type Passed = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Monotonic, in milliseconds. */
  readonly at: number;
  /** Absent while the service has not answered; 0 for a request that never reached it. */
  status?: number;
  /** What the service answered, where it was no stream. */
  answer?: string;
  /** When the connection to the caller was over, by whomever. */
  closedAt?: number;
};

/** A call on a lease, made by itself or in a batch. */
export type StepCall = {
  readonly verb: 'started' | 'heartbeat' | 'complete' | 'fail';
  readonly leaseId: string;
  readonly body: { readonly [member: string]: unknown };
  readonly at: number;
  /** Of this call; absent while it has no answer. */
  readonly status: number | undefined;
};

/** What goes wrong with a request. */
export type Fault =
  /** The connection breaks, and the service has seen nothing. */
  | { readonly kind: 'cut before' }
  /** The service has answered, and the connection breaks in place of the answer. */
  | { readonly kind: 'cut after' }
  | { readonly kind: 'delay'; readonly ms: number }
  /** The answer comes in small pieces. */
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number }
  /** The connection breaks within the answer. */
  | { readonly kind: 'truncate'; readonly bytes: number }
  | { readonly kind: 'refuse'; readonly status: number; readonly headers?: Readonly<Record<string, string>> };

type Rule = { readonly matches: (call: Passed) => boolean; readonly fault: Fault; left: number };

const pathOf = (call: { readonly path: string }): string => call.path.split('?')[0] ?? '';

const parse = (text: string | undefined): { readonly [member: string]: unknown } => {
  try {
    return Object(JSON.parse(text ?? '')) as { readonly [member: string]: unknown };
  } catch {
    return {};
  }
};

const lists = { started: 'started', heartbeats: 'heartbeat', completes: 'complete', fails: 'fail' } as const;
type Item = { readonly lease_id: string };

/** The calls on leases in what came by, those within batches too, in the order in which they came. */
const stepCallsIn = (passed: readonly Passed[]): StepCall[] =>
  passed.flatMap((call): StepCall[] => {
    const { at, status } = call;
    const single = /^\/v1\/api\/steps\/([^/]+)\/(started|heartbeat|complete|fail)$/.exec(pathOf(call));
    const [, leaseId, verb] = single ?? [];
    if (leaseId !== undefined)
      return [
        { verb: verb as StepCall['verb'], leaseId: decodeURIComponent(leaseId), body: parse(call.text), at, status },
      ];
    if (pathOf(call) !== '/v1/api/steps/batch') return [];
    const body = parse(call.text);
    const answer = parse(call.answer);
    return Object.entries(lists).flatMap(([list, verb]) =>
      ((body[list] ?? []) as Item[]).map((item, index) => {
        const answered = (answer[list] as { status?: number }[] | undefined)?.[index]?.status;
        return { verb, leaseId: item.lease_id, body: item, at, status: status === 200 ? answered : status };
      }),
    );
  });

/** Whether a request makes a call of this verb, by itself or in a batch. */
export const makes =
  (verb: StepCall['verb']) =>
  (call: Passed): boolean =>
    stepCallsIn([call]).some((each) => each.verb === verb);

export const isCallTo =
  (method: string, path: string | RegExp) =>
  (call: Passed): boolean =>
    call.method === method && (typeof path === 'string' ? pathOf(call) === path : path.test(pathOf(call)));

const readText = async (stream: IncomingMessage): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
};

/** Stands before a service, notes what comes by, and breaks what it is told to. */
export const startProxy = async (target: string) => {
  let upstream = new URL(target);
  let isDown = false;
  const passed: Passed[] = [];
  const rules: Rule[] = [];
  const open = new Set<ServerResponse>();

  const faultFor = (call: Passed): Fault | undefined => {
    const rule = rules.find((each) => each.left > 0 && each.matches(call));
    if (rule === undefined) return undefined;
    rule.left -= 1;
    return rule.fault;
  };

  const ask = (call: Passed, body: Buffer, response: ServerResponse): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: upstream.hostname,
          port: upstream.port,
          method: call.method,
          path: call.path,
          headers: { ...call.headers, host: upstream.host },
          agent: false,
        },
        resolve,
      );
      outgoing.on('error', reject);
      // Who hangs up here has hung up there.
      response.on('close', () => outgoing.destroy());
      outgoing.end(body);
    });

  const relay = async (call: Passed, body: Buffer, response: ServerResponse): Promise<void> => {
    const fault = faultFor(call);
    if (fault?.kind === 'cut before' || isDown) {
      call.status = 0;
      response.destroy();
      return;
    }
    if (fault?.kind === 'refuse') {
      call.status = fault.status;
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
      response.end('{"code":"overloaded","message":"the proxy refuses"}');
      return;
    }
    if (fault?.kind === 'delay') await sleep(fault.ms);
    const answer = await ask(call, body, response);
    const status = answer.statusCode ?? 0;
    if (fault === undefined && answer.headers['content-type']?.startsWith('text/event-stream') === true) {
      call.status = status;
      response.writeHead(status, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
      return;
    }
    const bytes = await readText(answer);
    call.answer = bytes.toString();
    call.status = status;
    if (fault?.kind === 'cut after') {
      response.destroy();
      return;
    }
    response.writeHead(status, answer.headers);
    if (fault?.kind === 'truncate') {
      response.write(bytes.subarray(0, fault.bytes), () => response.destroy());
      return;
    }
    if (fault?.kind === 'drip') {
      for (let from = 0; from < bytes.length && !response.destroyed; from += fault.bytes) {
        response.write(bytes.subarray(from, from + fault.bytes));
        // oxlint-disable-next-line eslint/no-await-in-loop
        await sleep(fault.everyMs);
      }
      response.end();
      return;
    }
    response.end(bytes);
  };

  const take = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const at = performance.now();
    const body = await readText(incoming);
    const call: Passed = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      text: body.toString(),
      at,
    };
    passed.push(call);
    open.add(response);
    response.on('close', () => {
      open.delete(response);
      call.closedAt = performance.now();
    });
    await relay(call, body, response);
  };
  const server = createServer((incoming, response) => void take(incoming, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const cutAll = (): void => {
    for (const response of open) response.destroy();
  };

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    stepCalls: (verb?: StepCall['verb']): StepCall[] =>
      stepCallsIn(passed).filter((call) => verb === undefined || call.verb === verb),
    /** Calls to a path, in the order in which they came. */
    callsTo: (method: string, path: string | RegExp): Passed[] => passed.filter(isCallTo(method, path)),
    /** Breaks the next requests that match. */
    break: (matches: (call: Passed) => boolean, fault: Fault, times = 1): void => {
      rules.push({ matches, fault, left: times });
    },
    /** Breaks every connection that is open. */
    cutAll,
    /** Nothing reaches the service until `up`. */
    down: (): void => {
      isDown = true;
      cutAll();
    },
    up: (): void => {
      isDown = false;
    },
    /** From now on another service is behind it. */
    swap: (next: string): void => {
      upstream = new URL(next);
    },
    /** Waits until so many requests match. */
    seen: (what: string, matches: (call: Passed) => boolean, count = 1): Promise<Passed> =>
      until(`request: ${what}`, undefined, () => passed.filter(matches)[count - 1]),
    stop: async (): Promise<void> => {
      cutAll();
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
};

export type Proxy = Awaited<ReturnType<typeof startProxy>>;
