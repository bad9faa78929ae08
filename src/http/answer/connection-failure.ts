import type { ConnectionError } from 'fastify';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Counters } from '../../model/counters.ts';
import type { Failure } from '../../model/failure.ts';
import { newRecordId } from '../../model/ids.ts';
import { countServerError } from '../counting.ts';
import { problemBody, statusOf } from './problem.ts';

// Not imported: an import reads every name that `node:http` exports, and one of them loads all of fetch, 16 MiB.
const { maxHeaderSize } = process.getBuiltinModule('node:http');

/** The parser's code for a connection that opens with the preface of HTTP/2. */
const HTTP_2 = 'HPE_PAUSED_H2_UPGRADE';
/** The default port is that of OTLP over gRPC, so that exporters left on gRPC arrive here. */
const EXPORTER_HINT =
  'OTLP comes over HTTP/1.1: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json (traces also as http/protobuf)';

export const headTooLarge = (): Failure => ({
  code: 'invalid_parameter',
  message: `path and headers of the request are over ${maxHeaderSize} bytes`,
});

/** Why a connection was given up before it brought a complete request. */
const failureOf = (code: string | undefined): Failure => {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { code: 'request_timeout', message: 'the request did not arrive in time' };
    case 'HPE_HEADER_OVERFLOW':
      return headTooLarge();
    case HTTP_2:
      return {
        code: 'invalid_parameter',
        message: `HTTP/2 and gRPC are not served here (--otlp-grpc off); ${EXPORTER_HINT}`,
      };
    default:
      return { code: 'invalid_parameter', message: 'this is not a well-formed HTTP request' };
  }
};

/**
 * Answers a connection that brought no request that could be read, in the shape of every other refusal, and closes it.
 * There is no request yet, so nothing of the framework can write this answer.
 */
export const createConnectionErrorHandler = (
  counters: Counters,
  log: Logger,
): ((error: ConnectionError, socket: Socket) => void) => {
  let hasLoggedHttp2 = false;
  return (error, socket) => {
    // Such an exporter shows its user nothing of this answer, and retries without end: the log says it once.
    if (error.code === HTTP_2 && !hasLoggedHttp2) {
      hasLoggedHttp2 = true;
      log.warn(
        { remote_address: socket.remoteAddress },
        `a client speaks HTTP/2 or gRPC, which is not served here (--otlp-grpc off); ${EXPORTER_HINT}`,
      );
    }
    const failure = failureOf(error.code);
    countServerError(counters, statusOf[failure.code]);
    const body = JSON.stringify(problemBody(failure));
    if (socket.writable)
      socket.write(
        `HTTP/1.1 ${statusOf[failure.code]} Refused\r\ncontent-type: application/json\r\nx-request-id: ${newRecordId()}\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      );
    socket.destroySoon();
  };
};
