import protobuf from 'protobufjs/minimal.js';
import type { Failure, FailureCode } from '../../model/failure.ts';

/** Tags of protobuf fields: number and wire type. */
const FIRST_VARINT = 8;
const FIRST_BYTES = 10;
const SECOND_BYTES = 18;
const DETAILS = 26;

/** Status codes of gRPC. @see grpc.github.io, "Status codes and their use in gRPC" */
export const grpcStatus = {
  ok: 0,
  invalidArgument: 3,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/**
 * The gRPC status of a refusal. A request that must not be sent again gets `RESOURCE_EXHAUSTED` without retry
 * information; one that may be gets `UNAVAILABLE`.
 * @see Interface decisions, "OTLP over gRPC, on the same port"; OTLP specification, "Failures"
 */
export const grpcStatusOf = (code: FailureCode): number => {
  switch (code) {
    case 'unauthorized':
      return grpcStatus.unauthenticated;
    case 'forbidden':
      return grpcStatus.permissionDenied;
    case 'payload_too_large':
      return grpcStatus.resourceExhausted;
    case 'overloaded':
    case 'over_quota':
    case 'store_unavailable':
    case 'request_timeout':
      return grpcStatus.unavailable;
    case 'unsupported_content_encoding':
    case 'not_found':
    case 'method_not_allowed':
      return grpcStatus.unimplemented;
    case 'internal':
      return grpcStatus.internal;
    default:
      return grpcStatus.invalidArgument;
  }
};

/** Whether the client is asked to send the same again: the bounds that pass with time. */
export const mayRetry = ({ code }: Pick<Failure, 'code'>): boolean => grpcStatusOf(code) === grpcStatus.unavailable;

/** Longest message in a trailer, in characters: clients bound the headers that they take. */
const LONGEST_MESSAGE = 2000;

/** A message as `grpc-message` carries it: printable ASCII, the rest percent-encoded. @see gRPC over HTTP/2, "Responses" */
export const encodeMessage = (message: string): string =>
  Buffer.from(message.slice(0, LONGEST_MESSAGE).toWellFormed(), 'utf8').reduce(
    (text, byte) =>
      text +
      (byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`),
    '',
  );

const DEFAULT_RETRY_SECONDS = 1;

/** A `google.rpc.RetryInfo`. */
const writeRetryInfo = (writer: protobuf.Writer, seconds: number): protobuf.Writer =>
  writer.uint32(FIRST_BYTES).fork().uint32(FIRST_VARINT).int64(seconds).ldelim();

/**
 * After how long to send again, for `google.rpc.retryinfo-bin`: the exporters of Python look for it there and not in the status. Absent
 * where a second would do, which they wait anyway: a fixed second would use up their six tries sooner than their own backoff.
 */
export const retryInfo = (failure: Failure): Buffer | undefined => {
  const seconds = failure.retryAfterSeconds ?? DEFAULT_RETRY_SECONDS;
  if (!mayRetry(failure) || seconds <= DEFAULT_RETRY_SECONDS) return undefined;
  return Buffer.from(writeRetryInfo(protobuf.Writer.create(), seconds).finish());
};

/**
 * The refusal as `google.rpc.Status`, for `grpc-status-details-bin`: our own code as the `reason` of an `ErrorInfo`, and
 * where a retry can help, after how long.
 * @see googleapis, `google/rpc/status.proto`, `google/rpc/error_details.proto`
 */
export const statusDetails = (failure: Failure): Buffer => {
  const writer = protobuf.Writer.create();
  const detail = (type: string, write: (writer: protobuf.Writer) => void): void => {
    writer.uint32(DETAILS).fork().uint32(FIRST_BYTES).string(`type.googleapis.com/google.rpc.${type}`);
    writer.uint32(SECOND_BYTES).fork();
    write(writer);
    writer.ldelim().ldelim();
  };
  writer.uint32(FIRST_VARINT).int32(grpcStatusOf(failure.code)).uint32(SECOND_BYTES).string(failure.message);
  detail('ErrorInfo', (inner) => inner.uint32(FIRST_BYTES).string(failure.code));
  if (mayRetry(failure))
    detail('RetryInfo', (inner) => writeRetryInfo(inner, failure.retryAfterSeconds ?? DEFAULT_RETRY_SECONDS));
  return Buffer.from(writer.finish());
};
