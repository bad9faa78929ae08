import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { checkBodyHeaders, readBody } from '../../ingest/body.ts';
import type { OtlpSignal } from '../../ingest/decode.ts';
import type { Pipeline } from '../../ingest/pipeline.ts';
import type { Counters } from '../../model/counters.ts';
import { type Failure, Refusal } from '../../model/failure.ts';
import { newRecordId } from '../../model/ids.ts';
import type { Authenticator, Presented } from '../access/auth.ts';
import { readPresentedKey } from '../access/auth.ts';
import { plainAddress } from '../access/open-surfaces.ts';
import { encodeExportResponse } from '../answer/otlp-answer.ts';
import { statusOf } from '../answer/problem.ts';
import type { RefusalLog } from '../answer/refusal-log.ts';
import { partialSuccessText } from '../answer/refusals.ts';
import { countRequest, countServerError } from '../counting.ts';
import { frame, messageOf } from './message.ts';
import { encodeMessage, grpcStatus, grpcStatusOf, retryInfo, statusDetails } from './status.ts';

export type GrpcDeps = {
  readonly pipeline: Pipeline;
  readonly authenticator: Authenticator;
  /** Counts a failed authentication. @throws Refusal `overloaded` when the peer has failed too often */
  readonly countFailure: (remoteAddress: string) => void;
  readonly counters: Counters;
  readonly refusals: Pick<RefusalLog, 'note' | 'noteSignals'>;
  readonly log: Logger;
  readonly requestTimeoutSeconds: number;
};

/** The OTLP services, each of one unary method. @see opentelemetry-proto, `collector/` */
const methods: ReadonlyMap<string, OtlpSignal> = new Map([
  ['/opentelemetry.proto.collector.trace.v1.TraceService/Export', 'traces'],
  ['/opentelemetry.proto.collector.logs.v1.LogsService/Export', 'logs'],
  ['/opentelemetry.proto.collector.metrics.v1.MetricsService/Export', 'metrics'],
]);

/** Calls that one connection may have open. Exporters have one to three. */
const MOST_STREAMS = 100;
/** Bytes of headers of one call; keys and tracing headers are a few hundred. */
const MOST_HEADER_BYTES = 16 * 1024;
/** What a sender may have on its way before it is read, on a connection and on a call, in bytes. */
const WINDOW_BYTES = 1024 * 1024;
/** Memory of the protocol's own for one connection (headers, frames that wait), in MB as Node takes it. */
const MOST_SESSION_MEGABYTES = 4;
/** Frames that break the protocol, and calls that are refused by it, before a connection is cut. */
const MOST_BAD_FRAMES = 50;
const MOST_REJECTED_STREAMS = 100;
/** Calls that a client may open and reset at once, and each second after it. */
const RESET_BURST = 200;
const RESETS_PER_SECOND = 50;
/** A connection without a call for this long is closed; exporters of metrics call each minute. */
const IDLE_CONNECTION_MS = 180_000;

/** An answer has this long to leave before the rest of its call is cut; a client that reads it stops by itself. */
const ANSWER_FIRST_MS = 1000;

const GRPC = 'application/grpc';
/** Messages in protobuf, which is what gRPC means where it says nothing; gRPC-Web and others are framed otherwise. */
const GRPC_PROTOBUF = /^application\/grpc(?:\+proto)?(?:\s*;|$)/i;
/** A connection that was ended has this long to be closed by its peer. */
const CLOSE_WITHIN_MS = 1000;

const internal: Failure = { code: 'internal', message: 'the service failed; the request id is in its log' };

/** The method of a call, where it is one of ours: any other path is its sender's own words. */
const doorOf = (headers: IncomingHttpHeaders): string => {
  const path = String(headers[constants.HTTP2_HEADER_PATH] ?? '');
  return methods.has(path) ? path : 'gRPC';
};

/** A connection, and how many of its calls are under way. */
type Connection = { readonly socket: Socket; calls: number };

/** Serves OTLP over gRPC on connections of HTTP/2 that somebody else accepted. */
export type GrpcServer = {
  readonly take: (socket: Socket) => void;
  /** No further calls; resolves when those under way are answered. */
  readonly close: () => void;
};

/**
 * The doors of OTLP over gRPC: unary `Export` of traces, logs and metrics, through the same pipeline and under the same bounds
 * as over HTTP. A message is read only after its caller is known and the pipeline has let it in.
 * @see Interface decisions, "OTLP over gRPC, on the same port"
 */
export const createGrpcServer = (deps: GrpcDeps): GrpcServer => {
  const { pipeline, authenticator, counters, log } = deps;
  const { limits } = pipeline;
  const sessions = new Map<ServerHttp2Session, Connection>();
  let isClosing = false;
  /** The connection whose session is being made. */
  let accepted: Socket | undefined;

  const server = createServer({
    maxSessionMemory: MOST_SESSION_MEGABYTES,
    maxSessionInvalidFrames: MOST_BAD_FRAMES,
    maxSessionRejectedStreams: MOST_REJECTED_STREAMS,
    streamResetBurst: RESET_BURST,
    streamResetRate: RESETS_PER_SECOND,
    settings: {
      maxConcurrentStreams: MOST_STREAMS,
      maxHeaderListSize: MOST_HEADER_BYTES,
      initialWindowSize: WINDOW_BYTES,
      enablePush: false,
    },
  });

  const callerOf = (stream: ServerHttp2Stream, rawHeaders: readonly string[]) => {
    const presented: Presented = readPresentedKey(rawHeaders);
    const decision = authenticator.authorize('ingest', presented);
    if (decision.kind === 'allowed') return decision;
    if (decision.failure.code === 'unauthorized')
      deps.countFailure(plainAddress(stream.session?.socket.remoteAddress ?? ''));
    throw new Refusal(decision.failure);
  };

  /** The signal of a call. @throws Refusal for a method or an encoding that is not served */
  const signalOf = (headers: IncomingHttpHeaders): OtlpSignal => {
    const path = String(headers[constants.HTTP2_HEADER_PATH] ?? '');
    const signal = methods.get(path);
    if (signal === undefined)
      throw new Refusal({
        code: 'not_found',
        message: 'this method is not served; OTLP is: Export of the trace, logs and metrics services',
      });
    const encoding = headers['grpc-encoding'];
    if (encoding !== undefined && encoding !== 'gzip' && encoding !== 'identity')
      throw new Refusal({
        code: 'unsupported_content_encoding',
        message: `grpc-encoding ${JSON.stringify(String(encoding).slice(0, 64))} is not supported; use gzip or identity`,
      });
    return signal;
  };

  const serve = async (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    signal: AbortSignal,
  ): Promise<Buffer> => {
    const { reach } = callerOf(stream, rawHeaders);
    const kind = signalOf(headers);
    const encoding = headers['grpc-encoding'];
    const message = await messageOf(stream, encoding === undefined ? undefined : String(encoding), signal);
    checkBodyHeaders(message, limits);
    const result = await pipeline.ingest(
      { reach, ...(message.contentLength === undefined ? {} : { announcedBytes: message.contentLength }) },
      async (intake) => {
        const body = await readBody(message, limits, intake.reservation, signal);
        await intake.add([{ kind: 'otlp_protobuf', signal: kind, body }]);
      },
    );
    deps.refusals.noteSignals(doorOf(headers), result.refusals);
    if (result.refusedByQuota !== undefined) throw new Refusal(result.refusedByQuota);
    return encodeExportResponse(result.refusals.length, partialSuccessText(result));
  };

  const answer = (stream: ServerHttp2Stream, message: Buffer): void => {
    stream.respond(
      { ':status': 200, 'content-type': GRPC, 'grpc-accept-encoding': 'gzip, identity' },
      { waitForTrailers: true },
    );
    stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(grpcStatus.ok) }));
    stream.end(frame(message));
  };

  /** Ends a call that was answered before its message had arrived completely: the stream is closed after the answer has left. */
  const closeAfterAnswer = (stream: ServerHttp2Stream): void => {
    if (stream.readableEnded) return;
    stream.unpipe();
    stream.resume();
    setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), ANSWER_FIRST_MS).unref();
  };

  /** Headers and trailers in one: nothing but a status. What the client still sends is not taken. */
  const refuse = (stream: ServerHttp2Stream, failure: Failure): void => {
    const retry = retryInfo(failure);
    stream.respond(
      {
        ':status': 200,
        'content-type': GRPC,
        'grpc-accept-encoding': 'gzip, identity',
        'grpc-status': String(grpcStatusOf(failure.code)),
        'grpc-message': encodeMessage(failure.message),
        'grpc-status-details-bin': statusDetails(failure).toString('base64'),
        ...(retry === undefined ? {} : { 'google.rpc.retryinfo-bin': retry.toString('base64') }),
      },
      { endStream: true },
    );
    closeAfterAnswer(stream);
  };

  const failureOf = (error: unknown, requestId: string): Failure => {
    if (error instanceof Refusal) {
      if (error.failure.code === 'store_unavailable')
        log.warn({ err: error, request_id: requestId }, 'the store did not answer');
      return error.failure;
    }
    log.error({ err: error, request_id: requestId }, 'a gRPC call failed');
    return internal;
  };

  const onStream = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    rawHeaders: readonly string[],
  ): void => {
    const { session } = stream;
    const connection = session === undefined ? undefined : sessions.get(session as ServerHttp2Session);
    if (connection !== undefined) connection.calls += 1;
    stream.once('close', () => {
      if (connection === undefined) return;
      connection.calls -= 1;
      if (connection.calls === 0 && session?.closed === true) cutSoon(connection);
    });
    stream.on('error', () => {}); // its close follows, and aborts the work through the signal
    if (!GRPC_PROTOBUF.test(headers['content-type'] ?? '') || headers[':method'] !== 'POST') {
      stream.respond({ ':status': 415 }, { endStream: true });
      closeAfterAnswer(stream);
      return;
    }
    countRequest(counters, 'ingest');
    const abandoned = new AbortController();
    let isLate = false;
    const deadline = setTimeout(() => {
      isLate = true;
      abandoned.abort();
      fail({
        code: 'request_timeout',
        message: `the call was not done within ${deps.requestTimeoutSeconds} seconds (--request-timeout-seconds); send less at once`,
        retryAfterSeconds: 1,
      });
    }, deps.requestTimeoutSeconds * 1000);
    stream.once('close', () => {
      clearTimeout(deadline);
      abandoned.abort();
    });
    const finish = (send: () => void): void => {
      clearTimeout(deadline);
      if (stream.destroyed || stream.closed || stream.headersSent) return;
      send();
    };
    const fail = (failure: Failure): void => {
      deps.refusals.note(doorOf(headers), failure);
      countServerError(counters, statusOf[failure.code]);
      finish(() => refuse(stream, failure));
    };
    serve(stream, headers, rawHeaders, abandoned.signal).then(
      (message) => finish(() => answer(stream, message)),
      (error: unknown) => {
        if (!isLate) fail(failureOf(error, newRecordId()));
      },
    );
  };

  /** A peer that never closes its side would hold the connection, and a place among those there may be. */
  const cutSoon = ({ socket }: Connection): void => void setTimeout(() => socket.destroy(), CLOSE_WITHIN_MS).unref();

  /** Takes no further call; the connection ends with those under way. */
  const end = (session: ServerHttp2Session): void => {
    session.close();
    const connection = sessions.get(session);
    if (connection?.calls === 0) cutSoon(connection);
  };

  server.on('session', (session) => {
    if (accepted === undefined) throw new Error('a session of HTTP/2 began without a connection');
    sessions.set(session, { socket: accepted, calls: 0 });
    session.on('error', () => {}); // a peer that breaks the protocol; its close follows
    session.once('close', () => sessions.delete(session));
    session.once('goaway', () => end(session));
    session.setLocalWindowSize(WINDOW_BYTES);
    session.setTimeout(IDLE_CONNECTION_MS, () => end(session));
    if (isClosing) end(session);
  });
  server.on('stream', onStream);
  server.on('sessionError', () => {});

  return {
    take: (socket) => {
      accepted = socket;
      server.emit('connection', socket); // its session begins within this call
      accepted = undefined;
    },
    close: () => {
      isClosing = true;
      for (const session of sessions.keys()) end(session);
    },
  };
};
