import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Counters } from '../model/counters.ts';
import { Refusal } from '../model/failure.ts';
import { nowUnixNano, type UnixNano } from '../model/time.ts';
import { type AccessOptions, createAccess } from './access/access.ts';
import type { AuditLog } from './access/audit-log.ts';
import { createWriteAudit } from './access/audit-rows.ts';
import type { Authenticator } from './access/auth.ts';
import { createForeignPages } from './access/foreign-pages.ts';
import type { AnswerRoom } from './answer/answer-room.ts';
import { createRefusalLog, type RefusalLog } from './answer/refusal-log.ts';
import { cutSlowReaders } from './answer/slow-readers.ts';
import type { StreamRegistry } from './answer/streams.ts';
import type { BodyReading } from './body/json-body.ts';
import { findRouteFaults } from './contract/route-faults.ts';
import { boundConnections, boundsOf, type ConnectionBounds } from './connections.ts';
import { countRequest, countServerErrors } from './counting.ts';
import { createDeadlines } from './deadline.ts';
import { mountRoutes } from './mount.ts';
import type { Route } from './route.ts';
import { createPeerDoor, mountPeerDoor, type PeerService } from './peer-calls.ts';
import { createRelay, type Peers } from './relay.ts';
import { createServeRequest } from './serve-request.ts';
import type { Pipeline } from '../ingest/pipeline.ts';
import { createGrpcServer } from './grpc/grpc.ts';
import { serveHttp2Beside } from './grpc/preface.ts';
import { createServer, type ServerOptions } from './server.ts';
import { stopInOrder } from './stop.ts';

export type AppOptions = ServerOptions &
  AccessOptions & {
    /** Origins that may read the query API from a page of theirs; `*` is every one. */
    readonly corsOrigins: readonly string[];
    readonly connections?: ConnectionBounds;
  };

export type AppDeps = {
  /** All routes of the service, from every `xxxRoutes(deps)`. */
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly audit: AuditLog;
  readonly counters: Counters;
  readonly body: BodyReading;
  readonly answers: AnswerRoom;
  readonly streams: StreamRegistry;
  readonly log: Logger;
  readonly options: AppOptions;
  readonly clock?: () => UnixNano;
  /** Where refused requests of the doors are counted. */
  readonly refusals?: RefusalLog;
  /** Where OTLP over gRPC leads; absent, the port serves HTTP/1.1 alone. */
  readonly grpc?: { readonly pipeline: Pipeline };
  /** Where several services share their runs. */
  readonly peers?: Peers & {
    /** Where their runs are cut into several shards. */
    readonly service?: PeerService;
  };
};

/**
 * Builds the HTTP service out of route tables. `route.ts` says what a row is, ARCHITECTURE.md how to add one.
 *
 * Closing waits for requests in flight, ends registered streams and held requests, and writes waiting audit rows.
 * @throws Error when a route has no scope, no operation, or another one than the document says: such a service does not start
 */
export const buildApp = (deps: AppDeps): FastifyInstance => {
  const { routes, authenticator, audit, counters, body, answers, streams, log, options, clock = nowUnixNano } = deps;
  const { refusals = createRefusalLog(clock) } = deps;
  const faults = findRouteFaults(routes).routes;
  if (faults.length > 0) throw new Error(`routes and document disagree:\n${faults.join('\n')}`);

  const app = createServer(options, counters, log, deps.peers !== undefined);
  countServerErrors(app, counters);
  cutSlowReaders(
    app.server,
    () => {
      counters.slowReadersCut += 1;
    },
    options.readerTakesNothingMs,
  );
  const deadlines = createDeadlines(options.requestTimeoutSeconds);
  const writeAudit = createWriteAudit(audit, clock);
  const foreignPages = createForeignPages(authenticator.describeScopes(), options.corsOrigins);
  const relay = deps.peers === undefined ? undefined : createRelay(deps.peers, body.limits);
  const door =
    deps.peers?.service === undefined ? undefined : createPeerDoor(deps.peers.service, deps.peers.secret, log);
  const access = createAccess(authenticator, foreignPages, writeAudit, log, clock, {
    ...options,
    ...(relay === undefined ? {} : { callerOf: relay.callerOf }),
  });
  const serve = createServeRequest({ access, audit, writeAudit, body, answers, log, relay });
  if (deps.grpc !== undefined) {
    const grpc = createGrpcServer({
      pipeline: deps.grpc.pipeline,
      authenticator,
      countFailure: access.countFailure,
      counters,
      refusals,
      log,
      requestTimeoutSeconds: options.requestTimeoutSeconds,
    });
    serveHttp2Beside(app.server, (socket) => {
      connections.hold(socket);
      grpc.take(socket);
    });
    app.addHook('preClose', (done) => {
      grpc.close();
      done();
    });
  }
  const connections = boundConnections(app.server, options.connections ?? boundsOf(), counters);
  stopInOrder(app, {
    connections,
    endWaits: () => {
      streams.endAll();
      deadlines.releaseHeld();
      relay?.endAll();
      door?.stop();
    },
    flush: () => audit.flush(),
    ...(options.quietMs === undefined ? {} : { quietMs: options.quietMs }),
  });
  if (door !== undefined) mountPeerDoor(app, door);
  const pages = { origins: options.corsOrigins, mayCall: foreignPages.mayCall };
  mountRoutes(app, routes, pages, async (route, operation, request, reply) => {
    countRequest(counters, route.surface);
    try {
      const refusal = route.surface === 'operations' ? undefined : connections.refusalOf(request.raw.socket);
      if (refusal !== undefined) throw new Refusal(refusal);
      return await deadlines.serve(route, request, reply, () => serve(route, operation, request, reply));
    } catch (error) {
      if (route.surface === 'ingest' && error instanceof Refusal) refusals.note(route.path, error.failure);
      throw error;
    }
  });
  return app;
};
