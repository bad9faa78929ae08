import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Counters } from '../model/counters.ts';
import { type Failure, Refusal } from '../model/failure.ts';
import { newRecordId } from '../model/ids.ts';
import { holdContinue } from './body/continue.ts';
import { countServerError } from './counting.ts';
import { createConnectionErrorHandler, headTooLarge } from './answer/connection-failure.ts';
import { answerError } from './answer/problem.ts';
import { parseQueryString } from './contract/query-string.ts';
import { PEER } from './relay.ts';

export type ServerOptions = {
  readonly requestTimeoutSeconds: number;
  /** After this time without taking a byte of what waits for it, a reader is cut; 10,000 where absent. */
  readonly readerTakesNothingMs?: number;
  /** A stop keeps connections without a request for this long; 500 where absent. */
  readonly quietMs?: number;
};

// Not imported: an import reads every name that `node:http` exports, and one of them loads all of fetch, 16 MiB.
const { maxHeaderSize } = process.getBuiltinModule('node:http');
/** The same of a request that another service passed on: beside the head of the client it says who calls, which may be a long list of projects. */
const PASSED_HEAD_BYTES = 8 * maxHeaderSize;
/** A connection that moves no byte for this long is cut. Streams send a comment, and long polls answer, well within it. */
const IDLE_CONNECTION_MS = 120_000;
/** Path and headers of a request arrive within this time, counted from the connection or from the request before. */
const LONGEST_HEAD_MS = 10_000;
/** Connections are looked at this often. */
const LOOK_EVERY_MS = 1_000;
/** Headers and body of one request arrive within the deadline and this much; a slower sender is cut. */
const SLOW_SENDER_MARGIN_MS = 10_000;

const setHeaders = (request: FastifyRequest, reply: FastifyReply): void => {
  reply.headers({
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cache-control': 'no-store',
  });
};

/** @see RFC 9112, sections 2.3, 3.2 and 6.1 */
const refusals: readonly ((raw: FastifyRequest['raw']) => Failure | undefined)[] = [
  // The parser leaves room for what services pass on to each other. Who says to be one without knowing their secret is refused later.
  (raw) => (raw.headers[PEER] === undefined && headBytes(raw) >= maxHeaderSize ? headTooLarge() : undefined),
  ({ httpVersion }) =>
    httpVersion === '1.1' || httpVersion === '1.0'
      ? undefined
      : { code: 'invalid_parameter', message: `a request line of HTTP/${httpVersion} is no HTTP/1.1: send that` },
  ({ rawHeaders, httpVersion }) => {
    const hosts = rawHeaders.filter((name, place) => place % 2 === 0 && name.toLowerCase() === 'host').length;
    if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined;
    return { code: 'invalid_parameter', message: 'a request over HTTP/1.1 needs one Host header', field: 'host' };
  },
  ({ url, method }) =>
    url === '*' && method !== 'OPTIONS'
      ? { code: 'invalid_parameter', message: `${method} takes a path; * stands for the server in OPTIONS alone` }
      : undefined,
  // What Node has taken the frames off is still in the other coding.
  ({ headers: { 'transfer-encoding': coding } }) =>
    coding === undefined || coding.trim().toLowerCase() === 'chunked'
      ? undefined
      : {
          code: 'invalid_parameter',
          message: 'the transfer-encoding may be chunked alone; say with content-encoding that a body is compressed',
          field: 'transfer-encoding',
        },
];
/** Path and headers, as the parser counts them. */
const headBytes = ({ url = '', rawHeaders }: FastifyRequest['raw']): number =>
  rawHeaders.reduce((sum, { length }) => sum + length, url.length);

/** @returns why the head of a request is refused, whatever it asks for */
const findHeadFailure = (raw: FastifyRequest['raw']): Failure | undefined => {
  for (const refusal of refusals) {
    const failure = refusal(raw);
    if (failure !== undefined) return failure;
  }
  return undefined;
};

const noCompiler = (): never => {
  throw new Error('a route has a schema of its own; spec/openapi.yaml is the place for it');
};

/**
 * A server without routes: its bounds, the headers of every answer, and the answers to requests that cannot be read or that fail.
 * Bodies stay on the wire until a route reads its own.
 * @param hasPeers whether other services pass requests on to this one
 */
export const createServer = (
  options: ServerOptions,
  counters: Counters,
  log: Logger,
  hasPeers: boolean,
): FastifyInstance => {
  const app = Fastify({
    logger: false,
    // Requests are judged by the contract and answered by `answer/`; the framework's compilers are not even loaded.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    genReqId: () => newRecordId(),
    // The contract bounds each parameter.
    routerOptions: { querystringParser: parseQueryString, maxParamLength: maxHeaderSize },
    connectionTimeout: IDLE_CONNECTION_MS,
    requestTimeout: options.requestTimeoutSeconds * 1000 + SLOW_SENDER_MARGIN_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // A request without Host is refused below, with a body and an id like any other.
    http: {
      requireHostHeader: false,
      headersTimeout: LONGEST_HEAD_MS,
      connectionsCheckingInterval: LOOK_EVERY_MS,
      ...(hasPeers ? { maxHeaderSize: PASSED_HEAD_BYTES } : {}),
    },
    frameworkErrors: (error, request, reply) => {
      setHeaders(request, reply);
      answerError(error, request.id, 'none', reply, log); // not the URL: it holds what people search for
      countServerError(counters, reply.statusCode); // no hook runs here
    },
    clientErrorHandler: createConnectionErrorHandler(counters, log),
  });
  // An unknown expectation may be ignored (RFC 9110, 10.1.1); left to Node, its answer would have no body and no id.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  // Invited to go on when the body is wanted, and not before it is known that it may come.
  app.server.on('checkContinue', (request, response) => {
    holdContinue(request, response);
    app.server.emit('request', request, response);
  });

  // No default: each request gets its own before anything reads them.
  app.decorateRequest('caller');
  app.decorateRequest('audit');
  app.decorateRequest('answer');
  app.decorateRequest('abandoned');
  app.decorateRequest('released');

  // A route reads its body after it is known who sends and whether the rest of the request is good, and under the deadline.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));

  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply);
    const failure = findHeadFailure(request.raw);
    done(failure === undefined ? undefined : new Refusal(failure));
  });
  app.setErrorHandler((error, request, reply) =>
    answerError(error, request.id, request.routeOptions.url ?? '', reply, log),
  );
  return app;
};
