import { createHash, timingSafeEqual } from 'node:crypto';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { urlToHttpOptions } from 'node:url';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IngestLimits } from '../ingest/limits.ts';
import { Refusal } from '../model/failure.ts';
import { sendContinue } from './body/continue.ts';
import { discardBody } from './body/incoming-body.ts';
import { isEmptyBody } from './body/json-body.ts';
import type { Caller, Route } from './route.ts';

/** Where the runs are, of several services on one database. */
export type Peers = {
  /** Whether this service owns the runs now. */
  readonly isOwner: () => boolean;
  /** The address of the service that owns them, empty where it does not say how it is reached; `undefined` where none owns them. */
  readonly ownerAddress: () => string | undefined;
  /** Calls back when the runs have another owner, before anything is passed on to that one. Requests that were passed on to the previous one may get no answer there. */
  readonly onOwnerChange: (changed: () => void) => void;
  /** A secret that only the services on one database know. A request that presents it comes from another of them. */
  readonly secret: string;
};

export type Relay = {
  /**
   * Passes a request whose caller is known on to the owner of the runs, and its answer back.
   * @returns `undefined` where this service answers by itself
   * @throws Refusal `store_unavailable` where nobody owns the runs or the owner cannot be reached: a retry helps
   */
  readonly pass: (route: Route, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> | undefined;
  /**
   * Who called another service that passed the request on, which decided that this caller may use the route.
   * @returns `undefined` where no service did
   * @throws Refusal `unauthorized` from others; `forbidden` where it was decided about another route
   */
  readonly callerOf: (route: Route, request: FastifyRequest) => Caller | undefined;
  /** Ends what is passed on and waits for something to happen: the service stops. */
  readonly endAll: () => void;
};

/** Shown by another service that shares the runs. */
export const PEER = 'x-svc-peer';
const CALLER = 'x-svc-caller';
/** Of one connection to the next, and not of the request. @see RFC 9110, section 7.6.1 */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'host', PEER, CALLER],
]);
/**
 * The same of a request. Its body is framed anew: one that is not passed on must not stand where the next request begins. What the client
 * shows for itself has been judged here, and goes no further.
 */
const NOT_PASSED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...['content-length', 'authorization', 'x-svc-key', 'cookie'],
]);
/** What a request line may have before its path, as the router reads it. @see RFC 9112, section 3.2.2 */
const ORIGIN = /^https?:\/\/.*?\//;
/** Far below the time after which the other side ends a connection that is quiet. */
const QUIET_MS = 2_000;
const CONNECT_MS = 2_000;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const unavailable = (message: string): Refusal =>
  new Refusal({ code: 'store_unavailable', message, retryAfterSeconds: 1 });

/** What was decided about a request before it was passed on. */
type Passed = { readonly operation: string; readonly caller: Caller };

/**
 * The path as it was sent. It is not resolved as a URL: that would let a request line name another host, and `..` another route than
 * the one that the caller may use.
 */
const pathOf = ({ raw: { url = '/' } }: FastifyRequest): string => url.replace(ORIGIN, '/');

const framingOf = ({ headers }: FastifyRequest, hasBody: boolean): string[] => {
  if (!hasBody) return ['content-length', '0'];
  const length = headers['content-length'];
  return length === undefined ? ['transfer-encoding', 'chunked'] : ['content-length', length];
};

const headersFor = (request: FastifyRequest, hasBody: boolean, operation: string, secret: string): string[] => {
  const { rawHeaders } = request.raw;
  const named = new Set((request.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  const sent: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    if (!NOT_PASSED.has(name) && !named.has(name)) sent.push(rawHeaders[at] as string, rawHeaders[at + 1] as string);
  }
  const passed: Passed = { operation, caller: request.caller };
  const decided = Buffer.from(JSON.stringify(passed)).toString('base64url');
  // First: of very many headers the other side reads only those.
  return [PEER, secret, CALLER, decided, ...framingOf(request, hasBody), ...sent];
};

/** Passes requests about runs on to the service that owns them. @param limits of a body: what is left of one is read on within them */
export const createRelay = ({ isOwner, ownerAddress, onOwnerChange, secret }: Peers, limits: IngestLimits): Relay => {
  // Only services that share runs load it: the import loads all of fetch, too.
  const { Agent, request: ask } = process.getBuiltinModule('node:http');
  const { Agent: SecureAgent, request: askSecurely } = process.getBuiltinModule('node:https');
  const agents = {
    plain: new Agent({ keepAlive: true, timeout: QUIET_MS }),
    secure: new SecureAgent({ keepAlive: true, timeout: QUIET_MS }),
  };
  const own = digest(secret);
  /** What ends each that is under way, and whether that one waits for something to happen. */
  const underWay = new Map<() => void, boolean>();
  onOwnerChange(() => {
    for (const end of underWay.keys()) end();
  });

  let isStopping = false;
  const mayWait = ({ holds, streams }: Route): boolean => holds === true || streams === true;

  const send = async (
    route: Route,
    request: FastifyRequest,
    reply: FastifyReply,
    address: string,
  ): Promise<FastifyReply> => {
    const hasBody = route.body !== undefined && !isEmptyBody(request.headers);
    let outgoing: ClientRequest | undefined;
    const end = (): void => void outgoing?.destroy();
    underWay.set(end, mayWait(route));
    request.abandoned.addEventListener('abort', end);
    try {
      request.abandoned.throwIfAborted();
      const url = new URL(address);
      const isSecure = url.protocol === 'https:';
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = (isSecure ? askSecurely : ask)({
          ...urlToHttpOptions(url),
          path: pathOf(request),
          method: request.method,
          headers: ['host', url.host, ...headersFor(request, hasBody, route.operationId, secret)],
          agent: isSecure ? agents.secure : agents.plain,
          setHost: false,
        });
        outgoing = sent;
        const late = setTimeout(() => sent.destroy(new Error('no connection in time')), CONNECT_MS);
        sent.on('socket', (socket) => {
          if (!socket.connecting) clearTimeout(late);
          else socket.once('connect', () => clearTimeout(late));
        });
        sent.on('response', resolve);
        sent.on('error', reject);
        sent.on('close', () => {
          clearTimeout(late);
          reject(new Error('the connection ended'));
          // Answered, or given up, before the body had come: its connection would take no further request.
          if (!hasBody) return;
          request.raw.unpipe(sent);
          discardBody(request, limits);
        });
        if (hasBody) {
          sendContinue(request.raw);
          request.raw.pipe(sent);
        } else sent.end();
      });
      for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
        const name = (answer.rawHeaders[at] as string).toLowerCase();
        if (!HOP_BY_HOP.has(name)) reply.header(name, answer.rawHeaders[at + 1]);
      }
      answer.once('close', () => {
        underWay.delete(end);
      });
      reply.raw.once('close', end);
      return reply.code(answer.statusCode ?? 502).send(answer);
    } catch {
      underWay.delete(end);
      throw unavailable('the service that owns the runs did not answer; what was asked may have happened');
    }
  };

  return {
    pass: (route, request, reply) => {
      if (route.atOwner !== true || isOwner()) return undefined;
      if (isStopping && mayWait(route)) return Promise.reject(unavailable('this service is stopping; ask again'));
      if (request.headers[PEER] !== undefined)
        return Promise.reject(unavailable('the runs have another owner since a moment ago'));
      const address = ownerAddress();
      if (address === undefined) return Promise.reject(unavailable('no service owns the runs at the moment'));
      if (address === '')
        return Promise.reject(
          unavailable('the service that owns the runs does not say how it is reached: start it with --peer-url'),
        );
      return send(route, request, reply, address);
    },
    callerOf: (route, { headers }) => {
      const presented = headers[PEER];
      if (presented === undefined) return undefined;
      const decided = headers[CALLER];
      if (typeof presented !== 'string' || typeof decided !== 'string' || !timingSafeEqual(digest(presented), own))
        throw new Refusal({ code: 'unauthorized', message: `${PEER} is for services that share their runs` });
      const { operation, caller } = JSON.parse(Buffer.from(decided, 'base64url').toString()) as Passed;
      // A proxy between the services may read a path in another way than they do.
      if (operation !== route.operationId || route.atOwner !== true)
        throw new Refusal({
          code: 'forbidden',
          message: `this was passed on as another call than ${route.operationId}`,
        });
      return caller;
    },
    endAll: () => {
      isStopping = true;
      // The others are answered. Connections that rest do not keep the process.
      for (const [end, waits] of underWay) if (waits) end();
    },
  };
};
