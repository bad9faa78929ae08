import type { Failure, FailureCode } from '../../model/failure.ts';

/** Content types of OTLP over HTTP. */
export const PROTOBUF = 'application/x-protobuf';
export const JSON_TYPE = 'application/json';

/** Field numbers and wire type of length-delimited fields. @see protobuf.dev, "Encoding" */
const VARINT = 0;
const LENGTH_DELIMITED = 2;

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return bytes;
};

const varintField = (field: number, value: number): Buffer =>
  value === 0 ? Buffer.alloc(0) : Buffer.from([(field << 3) | VARINT, ...varint(value)]);

const bytesField = (field: number, content: Buffer): Buffer =>
  content.length === 0
    ? content
    : Buffer.concat([Buffer.from([(field << 3) | LENGTH_DELIMITED, ...varint(content.length)]), content]);

const textField = (field: number, text: string): Buffer => bytesField(field, Buffer.from(text, 'utf8'));

/**
 * An `ExportTraceServiceResponse`. Nothing refused is the empty message, as the protocol wants it: a partial success
 * without a count and without words is the same as none.
 * @see opentelemetry-proto, `collector/trace/v1/trace_service.proto`
 */
export const encodeTraceResponse = (rejectedSpans: number, errorMessage: string): Buffer =>
  bytesField(1, Buffer.concat([varintField(1, rejectedSpans), textField(2, errorMessage)]));

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
  const errorInfo = textField(1, code);
  const detail = Buffer.concat([textField(1, 'type.googleapis.com/google.rpc.ErrorInfo'), bytesField(2, errorInfo)]);
  return Buffer.concat([varintField(1, canonicalCode(code)), textField(2, message), bytesField(3, detail)]);
};
