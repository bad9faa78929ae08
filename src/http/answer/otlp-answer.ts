import protobuf from 'protobufjs/minimal.js';
import type { Failure, FailureCode } from '../../model/failure.ts';

const { Writer } = protobuf;
type Writer = protobuf.Writer;

/** Content types of OTLP over HTTP. */
export const PROTOBUF = 'application/x-protobuf';
export const JSON_TYPE = 'application/json';

/** Tag of a protobuf field: its number and the type of its wire form. @see protobuf.dev, "Encoding" */
const varint = (field: number): number => field << 3;
const bytes = (field: number): number => (field << 3) | 2;

const bytesOf = (writer: Writer): Buffer => Buffer.from(writer.finish());

/**
 * An `ExportTraceServiceResponse`; those of logs and metrics have the same fields. Nothing refused is the empty message, as the protocol wants it: a partial success
 * without a count and without words is the same as none.
 * @see opentelemetry-proto, `collector/trace/v1/trace_service.proto`
 */
export const encodeExportResponse = (rejected: number, errorMessage: string): Buffer => {
  const writer = Writer.create();
  if (rejected === 0 && errorMessage === '') return bytesOf(writer);
  writer.uint32(bytes(1)).fork(); // partial_success
  if (rejected !== 0) writer.uint32(varint(1)).int64(rejected);
  if (errorMessage !== '') writer.uint32(bytes(2)).string(errorMessage);
  return bytesOf(writer.ldelim());
};

/** The canonical code nearest to each of ours; OTLP clients read the HTTP status, these are for people and logs. */
const canonicalCode = (code: FailureCode): number => {
  switch (code) {
    case 'payload_too_large':
    case 'overloaded':
    case 'over_quota':
      return 8; // RESOURCE_EXHAUSTED
    case 'unauthorized':
      return 16; // UNAUTHENTICATED
    case 'forbidden':
      return 7; // PERMISSION_DENIED
    case 'store_unavailable':
      return 14; // UNAVAILABLE
    case 'request_timeout':
      return 4; // DEADLINE_EXCEEDED
    case 'internal':
      return 13; // INTERNAL
    default:
      return 3; // INVALID_ARGUMENT
  }
};

/**
 * A refusal as `google.rpc.Status`, which is what OTLP gives a protobuf client beside a 4xx or 5xx. The service's own code
 * travels as the `reason` of an `ErrorInfo` detail, so that clients may branch on it here as in JSON.
 * @see OTLP specification, "Failures"; googleapis, `google/rpc/status.proto`, `google/rpc/error_details.proto`
 */
export const encodeStatus = ({ code, message }: Pick<Failure, 'code' | 'message'>): Buffer => {
  const writer = Writer.create().uint32(varint(1)).int32(canonicalCode(code)).uint32(bytes(2)).string(message);
  writer.uint32(bytes(3)).fork(); // details
  writer.uint32(bytes(1)).string('type.googleapis.com/google.rpc.ErrorInfo');
  writer.uint32(bytes(2)).fork().uint32(bytes(1)).string(code).ldelim();
  return bytesOf(writer.ldelim());
};
