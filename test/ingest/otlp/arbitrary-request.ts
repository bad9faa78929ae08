import * as fc from 'fast-check';
import { anyCharacter } from '../../any-character.ts';
import { rows } from '../../../src/ingest/mapping/table.ts';
import type { WireAttribute, WireRequest, WireSpan, WireValue } from './request-codec.ts';

/** Trace requests of every shape: mapped and unmapped names, valid and invalid ids, all kinds of values. */
const names = [
  ...new Set(rows.flatMap((row) => row.keys)),
  'llm.input_messages.0.message.content',
  'gen_ai.prompt.1.role',
  'openinference.span.kind',
  'gen_ai.operation.name',
  '__proto__',
  '',
];
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: anyCharacter, maxLength: 60 }),
  fc.constantFrom('chat', 'LLM', '{"input":5}', 'a "quoted"\n\\ text'),
);
const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((list) => Buffer.from(list).toString('hex'));
const nanos = fc.bigInt({ min: 0n, max: 18_446_744_073_709_551_615n }).map(String);

const { attribute } = fc.letrec<{ value: WireValue; attribute: WireAttribute }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text.map((stringValue): WireValue => ({ stringValue })),
    fc.boolean().map((boolValue): WireValue => ({ boolValue })),
    fc
      .bigInt({ min: -9_223_372_036_854_775_808n, max: 9_223_372_036_854_775_807n })
      .map((whole): WireValue => ({ intValue: String(whole) })),
    fc.nat(100_000).map((whole): WireValue => ({ intValue: String(whole) })),
    // JSON has no negative zero, NaN or infinity.
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((double): WireValue => ({ doubleValue: double + 0 })),
    fc.uint8Array({ maxLength: 8 }).map((bytes): WireValue => ({ bytesValue: Buffer.from(bytes).toString('base64') })),
    fc.array(tie('value'), { maxLength: 3 }).map((values): WireValue => ({ arrayValue: { values } })),
    fc.array(tie('attribute'), { maxLength: 3 }).map((values): WireValue => ({ kvlistValue: { values } })),
    fc.constant<WireValue>({}),
  ),
  attribute: fc.record({ key: fc.oneof(fc.constantFrom(...names), text), value: tie('value') }),
}));

const attributes = fc.array(attribute, { maxLength: 8 });
const span = fc.record<WireSpan>(
  {
    traceId: fc.oneof(hex(16), hex(15), fc.constant('0'.repeat(32))),
    spanId: fc.oneof(hex(8), hex(9), fc.constant('0'.repeat(16))),
    parentSpanId: fc.oneof(hex(8), fc.constant('')),
    name: text,
    kind: fc.nat(5),
    startTimeUnixNano: nanos,
    endTimeUnixNano: nanos,
    attributes,
    events: fc.array(
      fc.record({
        timeUnixNano: nanos,
        name: fc.oneof(text, fc.constantFrom('exception', 'gen_ai.choice')),
        attributes,
      }),
      { maxLength: 2 },
    ),
    links: fc.array(fc.record({ traceId: hex(16), spanId: hex(8), attributes }), { maxLength: 2 }),
    status: fc.record({ code: fc.nat(3), message: text }),
  },
  { requiredKeys: ['traceId', 'spanId'] },
);
export const request: fc.Arbitrary<WireRequest> = fc.record({
  resourceSpans: fc.array(
    fc.record({
      resource: fc.record({ attributes }),
      scopeSpans: fc.array(
        fc.record({ scope: fc.record({ name: text, attributes }), spans: fc.array(span, { maxLength: 3 }) }),
        { maxLength: 2 },
      ),
    }),
    { maxLength: 2 },
  ),
});
