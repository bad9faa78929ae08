import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeOtlpJson } from '../../../src/ingest/otlp/json.ts';
import { decodeTracesProtobuf } from '../../../src/ingest/otlp/protobuf.ts';
import { aContext } from '../factories.ts';
import { request } from './arbitrary-request.ts';
import { encodeTraces, encodeTracesJson } from './request-codec.ts';

it('protobuf and JSON of the same request decode to the same signals', () => {
  fc.assert(
    fc.property(request, (sent) => {
      const protobuf = decodeTracesProtobuf(encodeTraces(sent), aContext());
      const json = decodeOtlpJson('traces', encodeTracesJson(sent), aContext());
      expect(json.batch).toEqual(protobuf.batch);
      expect(json.refusals.map(({ index, code, field }) => ({ index, code, field }))).toEqual(
        protobuf.refusals.map(({ index, code, field }) => ({ index, code, field })),
      );
    }),
    { numRuns: 300 },
  );
});
