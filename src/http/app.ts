import cors from '@fastify/cors';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Counters } from '../model/counters.ts';
import { type Failure, Refusal } from '../model/failure.ts';
import { newRecordId } from '../model/ids.ts';
import { nowUnixNano, type UnixNano } from '../model/time.ts';
import type { AuditEntry } from '../store/signals/query.ts';
import { accepts, asksForStream, sendJson } from './answer/send-json.ts';
import type { AuditLog } from './access/audit-log.ts';
import { type Authenticator, type Presented, readPresentedKey } from './access/auth.ts';
import { apiOperations, type CompiledOperation } from './contract/contract.ts';
import { createFailureLimit } from './access/failure-limit.ts';
import { type BodyReading, boundedBy, readJsonBody } from './body/json-body.ts';
import { isLoopbackAddress, plainAddress } from './access/open-surfaces.ts';
import { isForeignOrigin, isRebound } from './access/origin.ts';
import { readSubject, type TrustedRanges } from './access/peer.ts';
import { answerError, problemBody, sendFailure, statusOf } from './answer/problem.ts';
import type { Route } from './route.ts';
import type { StreamRegistry } from './answer/streams.ts';

// Not imported: an import reads every name that `node:http` exports, and one of them loads all of fetch, 16 MiB.
const { maxHeaderSize } = process.getBuiltinModule('node:http');

export type AppOptions = {
  readonly requestTimeoutSeconds: number;
  /** Origins that may read the query API from a page of theirs; `*` is every one. */
  readonly corsOrigins: readonly string[];
  /** The header that names the person behind a request, lower case. */
  readonly auditSubjectHeader: string;
  /** From where that header is believed. */
  readonly auditTrustedRanges: TrustedRanges;
  /** The project of a request that names none. */
  readonly defaultProject: string;
  /** Host names under which this machine is reached over its loopback, beside addresses and local names; lower case. */
  readonly allowedHosts?: readonly string[];
  /** Connections at one time; further ones are closed as they come. */
  readonly maxConnections?: number;
};

export type AppDeps = {
  /** All routes of the service, from every `xxxRoutes(deps)`. */
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly audit: AuditLog;
  readonly counters: Counters;
  readonly body: BodyReading;
  readonly streams: StreamRegistry;
  readonly log: Logger;
  readonly options: AppOptions;
  readonly clock?: () => UnixNano;
};

/** Under this prefix pages of other origins may read. */
const CORS_PREFIX = '/v1/api';
const ALL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
/** Names in paths (metrics, users) may be long; the HTTP parser bounds the path as a whole. */
const MAX_PATH_PARAMETER_CHARACTERS = 4096;
/** A connection that moves no byte for this long is cut. Streams send a comment, and long polls answer, well within it. */
const IDLE_CONNECTION_MS = 120_000;
/** Far more than the workers and clients of one process, far less than would exhaust its memory. */
const MAX_CONNECTIONS = 10_000;
/** While the service stops, connections that fall idle are closed this often. */
const IDLE_SWEEP_MS = 20;
/** Headers and body of one request arrive within the deadline and this much; a slower sender is cut. */
const SLOW_SENDER_MARGIN_MS = 10_000;

/** `/v1/api/traces/:trace_id` as the document spells it: `/v1/api/traces/{trace_id}`. */
const inDocumentSpelling = (path: string): string => path.replace(/:([A-Za-z_]+)/g, '{$1}');

/**
 * Compares routes and document.
 * @returns one line a fault: `routes` that the document does not describe as they are, `operations` that no route serves
 */
export const findRouteFaults = (
  routes: readonly Route[],
): { readonly routes: string[]; readonly operations: string[] } => {
  const operations = apiOperations();
  const faults: string[] = [];
  const served = new Set<string>();
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    const operation = operations.get(route.operationId);
    if (route.scope === undefined) faults.push(`${name} declares no scope`);
    if (operation === undefined) {
      faults.push(`${name} names the operation "${route.operationId}", which spec/openapi.yaml does not have`);
      continue;
    }
    if (served.has(route.operationId))
      faults.push(`${name} serves "${route.operationId}", which another route serves already`);
    served.add(route.operationId);
    const path = inDocumentSpelling(route.path);
    if (operation.method !== route.method || operation.path !== path)
      faults.push(
        `${name} serves "${route.operationId}", which is ${operation.method} ${operation.path} in spec/openapi.yaml`,
      );
    if (operation.scope !== route.scope)
      faults.push(`${name} declares the scope ${route.scope}, spec/openapi.yaml says ${operation.scope}`);
    if (operation.takesBody !== (route.body !== undefined))
      faults.push(`${name} and spec/openapi.yaml disagree on whether there is a body`);
  }
  return {
    routes: faults,
    operations: [...operations.values()]
      .filter((operation) => !served.has(operation.operationId))
      .map((operation) => `${operation.method} ${operation.path} ("${operation.operationId}") has no route`),
  };
};

/** What a query string holds; a repeated parameter is a list, so that it can be refused. */
const parseQueryString = (text: string): Record<string, string | string[]> => {
  const values: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    const before = values[name];
    values[name] = before === undefined ? value : [before, value].flat();
  }
  return values;
};

/** The parser's code for a connection that opens with the preface of HTTP/2. */
const HTTP_2 = 'HPE_PAUSED_H2_UPGRADE';
/** The default port is that of OTLP over gRPC, so that exporters left on gRPC arrive here. */
const EXPORTER_HINT =
  'OTLP comes over HTTP/1.1: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json (traces also as http/protobuf)';

/** Why a connection was given up before it brought a whole request. */
const connectionFailure = (code: string | undefined): Failure => {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'request_timeout', message: 'the request did not arrive in time' };
    case 'HPE_HEADER_OVERFLOW':
      return { code: 'invalid_parameter', message: `path and headers of the request are over ${maxHeaderSize} bytes` };
    case HTTP_2:
      return { code: 'invalid_parameter', message: `HTTP/2 and gRPC are not served here; ${EXPORTER_HINT}` };
    default:
      return { code: 'invalid_parameter', message: 'this is not a well-formed HTTP request' };
  }
};

const noCompiler = (): never => {
  throw new Error('a route has a schema of its own; spec/openapi.yaml is the place for it');
};

/** A deadline that can be lost against, and the signal that work can watch. */
const startDeadline = (controller: AbortController, seconds: number) => {
  let timer: NodeJS.Timeout | undefined;
  const lost = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const refusal = new Refusal({
        code: 'request_timeout',
        message: `the request was not done within ${seconds} seconds (--request-timeout-seconds); ask for less, or try again`,
        retryAfterSeconds: 1,
      });
      reject(refusal);
      controller.abort(refusal);
    }, seconds * 1000);
  });
  return { lost, clear: () => clearTimeout(timer) };
};

/**
 * Builds the HTTP service out of route tables.
 *
 * To add endpoints: describe them in `spec/openapi.yaml` (each operation with `operationId` and `x-scope`, reusing
 * `components`), run `npm run codegen`, write a file `src/http/<resource>-routes.ts` that exports
 * `<resource>Routes(deps): Route[]`, and give its rows to `buildApp` in the composition root. A handler finds its query in
 * `request.query` and its path in `request.params`, both checked against the document, read as numbers and booleans, and
 * filled with defaults (`QueryOf<'operationId'>`, `PathOf<...>`, `BodyOf<...>` are their types), its body in `request.body`,
 * and who asks in `request.caller`. It returns an object, which is sent as JSON, or throws a `Refusal`. A route with `audit`
 * sets `request.audit` as soon as it knows the project of what it reads.
 *
 * Closing waits for requests in flight, ends registered streams and held requests, and writes waiting audit rows.
 * @throws Error when a route has no scope, no operation, or another one than the document says: such a service does not start
 */
export const buildApp = (deps: AppDeps): FastifyInstance => {
  const { routes, authenticator, audit, counters, streams, log, options, clock = nowUnixNano } = deps;
  const faults = findRouteFaults(routes).routes;
  if (faults.length > 0) throw new Error(`routes and document disagree:\n${faults.join('\n')}`);

  let toldOfHttp2 = false;
  const app = Fastify({
    logger: false,
    // Requests are judged by the contract and answers written by `answer.ts`; the framework's compilers are not even loaded.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    genReqId: () => newRecordId(),
    routerOptions: { querystringParser: parseQueryString, maxParamLength: MAX_PATH_PARAMETER_CHARACTERS },
    connectionTimeout: IDLE_CONNECTION_MS,
    requestTimeout: options.requestTimeoutSeconds * 1000 + SLOW_SENDER_MARGIN_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // A request without Host is refused below, with a body and an id like any other.
    http: { requireHostHeader: false },
    frameworkErrors: (error, request, reply) => {
      setHeaders(request, reply);
      answerError(error, request.id, 'none', reply, log); // not the URL: it holds what people search for
    },
    clientErrorHandler: (error, socket) => {
      // Such an exporter tells its user nothing of this answer, and comes again and again: the log says it once.
      if (error.code === HTTP_2 && !toldOfHttp2) {
        toldOfHttp2 = true;
        log.warn(
          { remote_address: socket.remoteAddress },
          `a client speaks HTTP/2 or gRPC, which is not served here; ${EXPORTER_HINT}`,
        );
      }
      const failure = connectionFailure(error.code);
      const body = JSON.stringify(problemBody(failure));
      if (socket.writable)
        socket.write(
          `HTTP/1.1 ${statusOf[failure.code]} Refused\r\ncontent-type: application/json\r\nx-request-id: ${newRecordId()}\r\n` +
            `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
        );
      socket.destroySoon();
    },
  });
  // An expectation that nobody knows may be ignored (RFC 9110, 10.1.1); left to Node, its answer would have no body and no id.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.maxConnections = options.maxConnections ?? MAX_CONNECTIONS;
  const operations = apiOperations();
  const failureLimit = createFailureLimit();
  const allowedHosts = new Set(options.allowedHosts);
  const holds = new Set<AbortController>();
  let stopping = false;
  const isIngestOpen = authenticator.describeScopes().some(({ scope, open }) => scope === 'ingest' && open);

  // No default: each request gets its own before anything reads them.
  app.decorateRequest('caller');
  app.decorateRequest('audit');
  app.decorateRequest('abandoned');
  app.decorateRequest('released');

  // Bodies are left on the wire: a route reads its own, after it is known who sends and whether the rest of the request
  // is good, and under the deadline.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
    reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
    });
  }
  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply);
    const { rawHeaders, httpVersion } = request.raw;
    const hosts = rawHeaders.filter((name, place) => place % 2 === 0 && name.toLowerCase() === 'host').length;
    if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) done();
    else
      done(
        new Refusal({
          code: 'invalid_parameter',
          message: 'a request over HTTP/1.1 needs one Host header',
          field: 'host',
        }),
      );
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (reply.statusCode >= 500) counters.requestErrors += 1;
    // A connection that its client would keep alive must not keep the process alive.
    if (stopping) reply.header('connection', 'close');
    done();
  });
  app.setErrorHandler((error, request, reply) =>
    answerError(error, request.id, request.routeOptions.url ?? '', reply, log),
  );
  app.setNotFoundHandler((_request, reply) =>
    sendFailure(reply, {
      code: 'not_found',
      message: 'there is nothing at this path; /openapi.json lists what there is',
    }),
  );

  const writeAudit = (request: FastifyRequest, operation: string, outcome: AuditEntry['outcome']): void => {
    const { keyFingerprint, subject, remoteAddress } = request.caller;
    for (const project of request.audit.projects)
      audit.append({
        auditId: newRecordId(),
        at: clock(),
        operation,
        project,
        ...(subject === undefined ? {} : { subject }),
        ...(keyFingerprint === undefined ? {} : { keyFingerprint }),
        remoteAddress,
        resource: request.audit.resource,
        outcome,
      });
  };

  const askedProject = (request: FastifyRequest): string => {
    const asked = (request.query as Record<string, unknown>)['project'];
    return typeof asked === 'string' && asked !== '' ? asked.slice(0, 256) : options.defaultProject;
  };

  /** Counts a failed authentication. @throws Refusal `overloaded` when the peer has failed too often */
  const holdBackGuesses = (remoteAddress: string): void => {
    if (failureLimit.allow(remoteAddress, Date.now())) return;
    throw new Refusal({
      code: 'overloaded',
      message: 'too many requests of this address failed to authenticate within a second',
      retryAfterSeconds: 1,
    });
  };

  /** Decides who calls. @throws Refusal `unauthorized`, `forbidden`, `overloaded` */
  const identify = async (route: Route, request: FastifyRequest): Promise<void> => {
    const remoteAddress = plainAddress(request.socket.remoteAddress ?? '');
    const subject = options.auditTrustedRanges.includes(remoteAddress)
      ? readSubject(request.headers[options.auditSubjectHeader])
      : undefined;
    const peer = { remoteAddress, ...(subject === undefined ? {} : { subject }) };
    request.audit = { projects: [askedProject(request)], resource: request.url.split('?', 1)[0] ?? '' };
    if (route.scope === 'open') {
      request.caller = { scopes: [], reach: [], ...peer };
      return;
    }
    const presented: Presented = readPresentedKey(request.raw.rawHeaders);
    const decision = authenticator.authorize(route.scope, presented);
    if (decision.kind === 'allowed') {
      const { scopes, reach, keyFingerprint } = decision;
      request.caller = { scopes, reach, ...(keyFingerprint === undefined ? {} : { keyFingerprint }), ...peer };
      // Nobody but this machine's own programs should get in without a key over its loopback: not a page that a browser on
      // it has open under a stranger's name.
      if (
        keyFingerprint === undefined &&
        isLoopbackAddress(request.socket.localAddress ?? '') &&
        isRebound(request.headers.host, allowedHosts)
      ) {
        if (route.audit !== undefined) writeAudit(request, route.audit, 'refused');
        throw new Refusal({
          code: 'forbidden',
          message:
            'this Host is not a name of this machine, and no key guards what was asked for: ' +
            'use localhost or an address, or configure a key for this scope',
        });
      }
      return;
    }
    const { failure, keyFingerprint } = decision;
    request.caller = { scopes: [], reach: [], ...(keyFingerprint === undefined ? {} : { keyFingerprint }), ...peer };
    if (failure.code === 'unauthorized') holdBackGuesses(remoteAddress);
    if (route.audit !== undefined) {
      const owner = failure.code === 'forbidden' ? await ownerOf(route, request) : undefined;
      if (owner !== undefined) request.audit.projects = [owner];
      writeAudit(request, route.audit, 'refused');
    }
    throw new Refusal(failure);
  };

  /** Asked only to tell the audit where a refused read would have gone; that it fails must not change the refusal. */
  const ownerOf = async (route: Route, request: FastifyRequest): Promise<string | undefined> => {
    try {
      return await route.ownerOf?.(request);
    } catch (error) {
      log.warn({ err: error, operation: route.operationId }, 'the owner of a refused read could not be found');
      return undefined;
    }
  };

  const answer = async (
    route: Route,
    operation: CompiledOperation,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    await identify(route, request);
    if (route.surface === 'ingest' && isIngestOpen && isForeignOrigin(request.headers.origin, request.headers.host))
      throw new Refusal({
        code: 'forbidden',
        message: 'signals are not taken from pages of other origins while no ingest key is configured (--ingest-key)',
      });
    request.params = operation.readPath(request.params);
    request.query = operation.readQuery(request.query);
    if ((route.surface === 'query' || route.surface === 'runs') && !accepts(request.headers.accept, operation.produces))
      throw new Refusal({ code: 'not_acceptable', message: `this call answers in ${operation.produces.join(' or ')}` });
    if (route.body === 'json' || route.body === 'typed')
      request.body = await readJsonBody(request, operation, route.body, boundedBy(deps.body, route.maxBodyBytes));

    let result: unknown;
    try {
      result = await route.handler(request, reply);
    } catch (error) {
      if (error instanceof Refusal && error.failure.code === 'unauthorized')
        holdBackGuesses(request.caller.remoteAddress);
      if (route.audit !== undefined && error instanceof Refusal && error.failure.code === 'forbidden')
        writeAudit(request, route.audit, 'refused');
      throw error;
    }
    if (route.audit !== undefined) writeAudit(request, route.audit, 'allowed');
    if (result === reply || reply.sent) return reply;
    if (typeof result !== 'object' || result === null)
      throw new Error(`${route.operationId} answered with nothing to send`);
    return sendJson(request, reply, result);
  };

  const mount = (instance: FastifyInstance, route: Route, prefix: string): void => {
    const operation = operations.get(route.operationId);
    if (operation === undefined) throw new Error(`${route.operationId} is not in the document`); // checked above
    const counter =
      route.surface === 'ingest' ? 'ingestRequests' : route.surface === 'operations' ? undefined : 'queryRequests';
    instance.route({
      method: route.method,
      url: route.path.slice(prefix.length),
      handler: async (request, reply) => {
        if (counter !== undefined) counters[counter] += 1;
        const controller = new AbortController();
        request.abandoned = controller.signal;
        reply.raw.once('close', () => {
          if (!reply.raw.writableFinished) controller.abort();
        });
        if (route.streams === true && asksForStream(request)) return answer(route, operation, request, reply);
        if (route.holds === true) {
          const hold = new AbortController();
          request.released = hold.signal;
          controller.signal.addEventListener('abort', () => hold.abort());
          holds.add(hold);
          try {
            return await answer(route, operation, request, reply);
          } finally {
            holds.delete(hold);
          }
        }
        const deadline = startDeadline(controller, options.requestTimeoutSeconds);
        try {
          const work = answer(route, operation, request, reply);
          work.catch(() => {}); // after the deadline its outcome is nobody's
          return await Promise.race([work, deadline.lost]);
        } finally {
          deadline.clear();
        }
      },
    });
  };

  /** Methods that a path is not served with are refused by name; a preflight is the query API's own affair. */
  const mountRefusals = (instance: FastifyInstance, mounted: readonly Route[], prefix: string): void => {
    const methods = new Map<string, Set<string>>();
    for (const route of mounted) {
      const served = methods.get(route.path) ?? new Set();
      served.add(route.method);
      if (route.method === 'GET') served.add('HEAD');
      methods.set(route.path, served);
    }
    for (const [path, served] of methods) {
      const allow = [...served].toSorted().join(', ');
      const others = ALL_METHODS.filter((method) => !served.has(method) && !(prefix !== '' && method === 'OPTIONS'));
      instance.route({
        method: others,
        url: path.slice(prefix.length),
        handler: (request, reply) =>
          sendFailure(reply.header('allow', allow), {
            code: 'method_not_allowed',
            message: `${request.method} is not served at this path; it takes ${allow}`,
          }),
      });
    }
  };

  const underPrefix = routes.filter((route) => route.path.startsWith(`${CORS_PREFIX}/`));
  const others = routes.filter((route) => !route.path.startsWith(`${CORS_PREFIX}/`));
  for (const route of others) mount(app, route, '');
  mountRefusals(app, others, '');
  app.register(
    async (api) => {
      await api.register(cors, {
        origin: options.corsOrigins.includes('*') ? '*' : [...options.corsOrigins],
        credentials: false,
        methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
        allowedHeaders: ['Authorization', 'X-Svc-Key', 'Content-Type', 'Last-Event-ID'],
        exposedHeaders: ['X-Request-Id', 'Retry-After'],
        maxAge: 600,
        strictPreflight: false,
      });
      for (const route of underPrefix) mount(api, route, CORS_PREFIX);
      mountRefusals(api, underPrefix, CORS_PREFIX);
      api.setNotFoundHandler((_request, reply) =>
        sendFailure(reply, {
          code: 'not_found',
          message: 'there is nothing at this path; /openapi.json lists what there is',
        }),
      );
    },
    { prefix: CORS_PREFIX },
  );

  app.addHook('preClose', (done) => {
    stopping = true;
    streams.endAll();
    for (const hold of holds) hold.abort();
    // A connection whose request was answered before the stop, and which is still sending its body, falls idle later.
    const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
    app.server.once('close', () => clearInterval(sweep));
    done();
  });
  app.addHook('onClose', async () => audit.flush());
  return app;
};
