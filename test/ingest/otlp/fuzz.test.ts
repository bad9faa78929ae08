import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonText } from '../../../src/ingest/json-text.ts';
import { decodeNativeBatch } from '../../../src/ingest/native.ts';
import { decodeOtlpJson } from '../../../src/ingest/otlp/json.ts';
import { BudgetExceeded, decodeTracesProtobuf } from '../../../src/ingest/otlp/protobuf.ts';
import { Refusal } from '../../../src/model/failure.ts';
import { aContext } from '../factories.ts';
import { request } from './arbitrary-request.ts';
import { encodeTraces, encodeTracesJson } from './request-codec.ts';

/** Whatever comes, a decoder answers with signals or with a refusal; anything else it throws is a bug. */
const survives = (decode: () => unknown): void => {
  expect(() => {
    try {
      // What was decoded is written as JSON later on: that must be possible too.
      JSON.stringify(decode(), (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof BudgetExceeded)) throw error;
    }
  }).not.toThrow();
};

const decoders: Record<string, (body: Uint8Array) => unknown> = {
  'traces in protobuf': (body) => decodeTracesProtobuf(body, aContext(), 1000),
  'traces in JSON': (body) => decodeOtlpJson('traces', body, aContext()),
  'logs in JSON': (body) => decodeOtlpJson('logs', body, aContext()),
  'metrics in JSON': (body) => decodeOtlpJson('metrics', body, aContext()),
  'native ingest': (body) => decodeNativeBatch(parseJsonText(body), 0, aContext()),
};

/** Cuts, flips, inserts, removes, repeats; `at` is a share of the length. */
type Mutation = {
  kind: 'flip' | 'cut' | 'insert' | 'remove' | 'repeat';
  at: number;
  length: number;
  bytes: Uint8Array;
};
const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom('flip', 'cut', 'insert', 'remove', 'repeat' as const),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  length: fc.nat(12),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 6 }),
});
const mutated = (body: Buffer, mutations: readonly Mutation[]): Buffer => {
  let bytes = body;
  for (const { kind, at: share, length, bytes: extra } of mutations) {
    const at = Math.floor(share * bytes.length);
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
    if (kind === 'cut') bytes = before;
    else if (kind === 'insert') bytes = Buffer.concat([before, extra, after]);
    else if (kind === 'remove') bytes = Buffer.concat([before, after.subarray(length)]);
    else if (kind === 'repeat') bytes = Buffer.concat([before, after.subarray(0, length), after]);
    else bytes = Buffer.concat([before, extra, after.subarray(extra.length)]);
  }
  return bytes;
};

/** JSON in which each place may hold a value of any other type. */
const names = [
  ...[
    'resourceSpans',
    'resource',
    'scopeSpans',
    'scope',
    'spans',
    'attributes',
    'key',
    'value',
    'stringValue',
    'intValue',
  ],
  ...[
    'doubleValue',
    'arrayValue',
    'kvlistValue',
    'bytesValue',
    'values',
    'traceId',
    'spanId',
    'events',
    'links',
    'status',
  ],
  ...['resourceLogs', 'scopeLogs', 'logRecords', 'body', 'severityNumber', 'timeUnixNano', 'resourceMetrics'],
  ...[
    'scopeMetrics',
    'metrics',
    'sum',
    'gauge',
    'histogram',
    'exponentialHistogram',
    'summary',
    'dataPoints',
    'exemplars',
  ],
  ...['explicitBounds', 'bucketCounts', 'positive', 'offset', 'scale', 'count', 'asInt', 'asDouble', 'name', 'code'],
  ...['ingest_key', 'logs', 'scores', 'feedback', 'aspect_notes', 'trace_id', 'span_id', 'start_time', 'usage', 'cost'],
  ...['correlation', 'tags', 'error', 'kind', 'type', 'bounds', 'bucket_counts', 'metadata', 'timestamp', '__proto__'],
];
const hostileJson = fc.letrec<{ any: unknown; object: unknown }>((tie) => ({
  object: fc.array(fc.tuple(fc.constantFrom(...names), tie('any')), { maxLength: 5 }).map((members) => {
    const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [name, value] of members) object[name] = value;
    return object;
  }),
  any: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom(
      null,
      true,
      0,
      -1,
      1.5,
      1e300,
      '',
      'x',
      '5',
      '0af7651916cd43dd8448eb211c80319c',
      'b7ad6b7169203331',
      '2026-01-01T00:00:00Z',
      '\ud800\0',
    ),
    tie('object'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.array(tie('object'), { maxLength: 3 }),
  ),
})).object;

/** The road to the spans, records and points, with anything at its end. */
const roads: readonly ((end: unknown) => unknown)[] = [
  (end) => end,
  (end) => ({ resourceSpans: [{ scopeSpans: [{ spans: [end, end] }] }] }),
  (end) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: [end, end] }] }] }),
  (end) => ({ resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'm', sum: { dataPoints: [end] } }, end] }] }] }),
  (end) => ({ spans: [end], logs: [end], metrics: [end], scores: [end], feedback: [end], aspect_notes: [end] }),
];

describe('nothing but signals and refusals comes out of a decoder', () => {
  for (const [name, decode] of Object.entries(decoders)) {
    it(`${name}: random bytes`, () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 200 }), (body) => survives(() => decode(body))),
        { numRuns: 1000 },
      );
    });
    it(`${name}: valid requests with mutations`, () => {
      fc.assert(
        fc.property(request, fc.array(mutation, { minLength: 1, maxLength: 4 }), (sent, mutations) => {
          const body = name.includes('protobuf') ? encodeTraces(sent) : encodeTracesJson(sent);
          survives(() => decode(mutated(body, mutations)));
        }),
        { numRuns: 400 },
      );
    });
    if (!name.includes('protobuf'))
      it(`${name}: JSON with anything anywhere`, () => {
        fc.assert(
          fc.property(hostileJson, fc.constantFrom(...roads), (end, road) => {
            survives(() => decode(Buffer.from(JSON.stringify(road(end)))));
          }),
          { numRuns: 1000 },
        );
      });
  }
});

describe('hostile bodies of a megabyte end quickly', () => {
  const MEGABYTE = 1 << 20;
  const hostile: Record<string, Buffer> = {
    'arrays inside of arrays': Buffer.alloc(MEGABYTE, '['),
    'objects inside of objects': Buffer.from('{"a":'.repeat(MEGABYTE / 5)),
    'empty arrays': Buffer.from(`[${'[],'.repeat(MEGABYTE / 3)}[]]`),
    'a string of backslashes': Buffer.from(`{"resourceSpans":"${'\\\\'.repeat(MEGABYTE / 2)}"}`),
    'a string without end': Buffer.from(`"${'a'.repeat(MEGABYTE)}`),
    digits: Buffer.alloc(MEGABYTE, '1'),
    spaces: Buffer.alloc(MEGABYTE, ' '),
    'scopes that wait for their resource': Buffer.from(
      `{"resourceSpans":[{${'"scopeSpans":[{"spans":[{}]}],'.repeat(30_000)}"resource":{}}]}`,
    ),
    'names that nobody has': Buffer.from(
      JSON.stringify({
        resourceSpans: [
          {
            scopeSpans: [
              {
                spans: [
                  {
                    attributes: Array.from({ length: 15_000 }, (_, i) => ({
                      key: `gen_ai.prompt.${i}.name-${i}`,
                      value: { stringValue: 'x' },
                    })),
                  },
                ],
              },
            ],
          },
        ],
      }),
    ),
    'groups inside of groups': Buffer.alloc(MEGABYTE, 0x0b),
    'messages inside of messages': Buffer.alloc(MEGABYTE, 0x0a),
    'empty attributes': Buffer.alloc(MEGABYTE, Buffer.from([0x4a, 0x00])),
  };
  for (const [what, body] of Object.entries(hostile))
    it(what, () => {
      for (const decode of Object.values(decoders)) survives(() => decode(body));
    });
});
