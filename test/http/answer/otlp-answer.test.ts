import protobuf from 'protobufjs';
import { describe, expect, it } from 'vitest';
import { encodeStatus, encodeExportResponse } from '../../../src/http/answer/otlp-answer.ts';

// The messages as their own .proto files declare them, read with the library's own reader.
const { root } = protobuf.parse(`
  syntax = "proto3";
  message ExportTraceServiceResponse { ExportTracePartialSuccess partial_success = 1; }
  message ExportTracePartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message Any { string type_url = 1; bytes value = 2; }
  message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
`);

const decode = (type: string, bytes: Uint8Array): Record<string, unknown> => {
  const message = root.lookupType(type);
  return message.toObject(message.decode(bytes), { longs: Number });
};

describe('OTLP answers in protobuf', () => {
  it('are empty when nothing was refused', () => expect(encodeExportResponse(0, '')).toHaveLength(0));

  it('say why when every span was kept', () =>
    expect(decode('ExportTraceServiceResponse', encodeExportResponse(0, 'kept, with remarks'))).toEqual({
      partialSuccess: { errorMessage: 'kept, with remarks' },
    }));

  it.each([1, 127, 128, 10_000])('count %i rejected spans, with the reason', (rejected) => {
    const errorMessage = `größe ${'x'.repeat(300)}`;
    expect(decode('ExportTraceServiceResponse', encodeExportResponse(rejected, errorMessage))).toEqual({
      partialSuccess: { rejectedSpans: rejected, errorMessage },
    });
  });

  it('are a google.rpc.Status when the request was refused, with the code of the service in its ErrorInfo', () => {
    const status = decode('Status', encodeStatus({ code: 'payload_too_large', message: 'too large' })) as {
      code: number;
      message: string;
      details: { typeUrl: string; value: Uint8Array }[];
    };
    expect(status).toMatchObject({
      code: 8,
      message: 'too large',
      details: [{ typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo' }],
    });
    expect(decode('ErrorInfo', status.details[0]?.value ?? new Uint8Array())).toEqual({ reason: 'payload_too_large' });
  });
});
