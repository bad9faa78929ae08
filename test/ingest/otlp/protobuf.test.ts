import { describe, expect, it } from 'vitest';
import { BudgetExceeded, decodeTracesProtobuf } from '../../../src/ingest/otlp/protobuf.ts';
import { MOST_VALUE_DEPTH } from '../../../src/ingest/otlp/bounds.ts';
import { Refusal } from '../../../src/model/failure.ts';
import { aContext, RECEIVED_AT } from '../factories.ts';
import {
  A_SPAN_ID,
  A_TRACE_ID,
  aRequest,
  attributesOf,
  aWireSpan,
  encodeTraces,
  TraceRequest,
  type WireValue,
} from './request-codec.ts';

const refusalOf = (run: () => unknown): Refusal => {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('it was not refused');
};

const decode = (body: Uint8Array, changes = {}) => decodeTracesProtobuf(body, aContext(changes));
const field = (tag: number, content: Uint8Array): Buffer => {
  const length: number[] = [];
  let rest = content.length;
  while (rest > 127) {
    length.push((rest & 127) | 128);
    rest >>>= 7;
  }
  length.push(rest);
  return Buffer.concat([Buffer.from([tag]), Buffer.from(length), content]);
};
/** A request around the bytes of one span's fields. */
const around = (...spanFields: Buffer[]): Buffer => field(0x0a, field(0x12, field(0x12, Buffer.concat(spanFields))));
const ids = [field(0x0a, Buffer.from(A_TRACE_ID, 'hex')), field(0x12, Buffer.from(A_SPAN_ID, 'hex'))];

describe('OTLP traces in protobuf', () => {
  it('decodes an empty request', () => {
    expect(decode(Buffer.alloc(0)).batch.spans).toEqual([]);
  });

  it('decodes every part of a span', () => {
    const body = encodeTraces(
      aRequest(
        [
          aWireSpan(
            { text: 'tëxt ✓', truth: true, whole: -3, part: 0.5, list: [1, 'a', [true]], map: { deep: { er: 1 } } },
            {
              parentSpanId: '00f067aa0ba902b7',
              events: [{ name: 'e', timeUnixNano: '1700000000000000003', attributes: attributesOf({ at: 1 }) }],
              links: [{ traceId: A_TRACE_ID, spanId: '00f067aa0ba902b8', attributes: attributesOf({ why: 'x' }) }],
            },
          ),
        ],
        { 'service.name': 'shop' },
        'my-scope',
      ),
    );
    expect(decode(body).batch.spans).toEqual([
      {
        traceId: A_TRACE_ID,
        spanId: A_SPAN_ID,
        parentSpanId: '00f067aa0ba902b7',
        name: 'a span',
        kind: 'generic',
        status: 'ok',
        startTime: 1_700_000_000_000_000_001n,
        endTime: 1_700_000_001_000_000_002n,
        isEvent: false,
        receivedAt: RECEIVED_AT,
        correlation: { project: 'the-default', serviceName: 'shop' },
        sharedAttributes: { 'service.name': 'shop' },
        attributes: {
          text: 'tëxt ✓',
          truth: true,
          whole: -3,
          part: 0.5,
          list: [1, 'a', [true]],
          map: { deep: { er: 1 } },
        },
        events: [{ name: 'e', time: 1_700_000_000_000_000_003n, attributes: { at: 1 } }],
        links: [{ traceId: A_TRACE_ID, spanId: '00f067aa0ba902b8', attributes: { why: 'x' } }],
        scopeName: 'my-scope',
      },
    ]);
  });

  it('finds the resource and the scope also when they stand behind the spans', () => {
    const span = field(0x12, Buffer.concat(ids));
    const scope = field(0x0a, field(0x0a, Buffer.from('late')));
    const resource = field(
      0x0a,
      field(
        0x0a,
        Buffer.concat([field(0x0a, Buffer.from('service.name')), field(0x12, field(0x0a, Buffer.from('shop')))]),
      ),
    );
    const body = field(0x0a, Buffer.concat([field(0x12, Buffer.concat([span, scope])), resource]));
    expect(decode(body).batch.spans[0]).toMatchObject({ scopeName: 'late', correlation: { serviceName: 'shop' } });
  });

  it('a span without a start began when it ended, or when it came', () => {
    const start = (rest: object) => decode(encodeTraces(aRequest([aWireSpan({}, rest)]))).batch.spans[0]?.startTime;
    expect(start({ startTimeUnixNano: '0' })).toBe(1_700_000_001_000_000_002n);
    expect(start({ startTimeUnixNano: '0', endTimeUnixNano: '0' })).toBe(RECEIVED_AT);
  });

  it('an event without a time happened when its span began', () => {
    const body = encodeTraces(aRequest([aWireSpan({}, { events: [{ name: 'e' }, { name: 'f', timeUnixNano: '5' }] })]));
    expect(decode(body).batch.spans[0]?.events.map((event) => event.time)).toEqual([1_700_000_000_000_000_001n, 5n]);
  });

  it('keeps int64 exactly: as a number where a double holds it, else as its digits', () => {
    const values: WireValue[] = [
      '0',
      '127',
      '128',
      '-1',
      '9007199254740991',
      '9007199254740992',
      '-9007199254740993',
      '9223372036854775807',
      '-9223372036854775808',
    ].map((intValue) => ({ intValue }));
    const body = encodeTraces(
      aRequest([aWireSpan({}, { attributes: [{ key: 'n', value: { arrayValue: { values } } }] })]),
    );
    expect(decode(body).batch.spans[0]?.attributes['n']).toEqual([
      0,
      127,
      128,
      -1,
      9007199254740991,
      '9007199254740992',
      '-9007199254740993',
      '9223372036854775807',
      '-9223372036854775808',
    ]);
  });

  it('words doubles that JSON cannot write, and keeps bytes as base64', () => {
    const body = encodeTraces(
      aRequest([
        aWireSpan(
          {},
          {
            attributes: [
              { key: 'nan', value: { doubleValue: Number.NaN } },
              { key: 'far', value: { doubleValue: Number.NEGATIVE_INFINITY } },
              { key: 'bytes', value: { bytesValue: '+/8=' } },
              { key: 'none', value: {} },
            ],
          },
        ),
      ]),
    );
    expect(decode(body).batch.spans[0]?.attributes).toEqual({
      nan: 'NaN',
      far: '-Infinity',
      bytes: '+/8=',
      none: null,
    });
  });

  it('takes __proto__ and its kind as plain keys', () => {
    const body = encodeTraces(aRequest([aWireSpan({ ['__proto__']: 'p', constructor: 'c', toString: 't' })]));
    const attributes = decode(body).batch.spans[0]?.attributes ?? {};
    expect(Object.keys(attributes).toSorted()).toEqual(['__proto__', 'constructor', 'toString']);
    expect(JSON.stringify(attributes)).toContain('"__proto__":"p"');
    expect(decode(encodeTraces(aRequest([aWireSpan()]))).batch.spans[0]?.attributes['hasOwnProperty']).toBeUndefined();
  });

  it('NUL becomes U+FFFD', () => {
    const body = encodeTraces(aRequest([aWireSpan({ a: 'x\0y', b: `${'long '.repeat(20)}\0` }, { name: '\0' })]));
    const [span] = decode(body).batch.spans;
    expect(span?.name).toBe('\ufffd');
    expect(span?.attributes).toEqual({ a: 'x\ufffdy', b: `${'long '.repeat(20)}\ufffd` });
  });

  it('a U+FFFD that was sent is no fault', () => {
    const body = encodeTraces(aRequest([aWireSpan({ a: 'x\ufffdy' })]));
    expect(decode(body).batch.spans[0]?.attributes).toEqual({ a: 'x\ufffdy' });
  });

  it('skips unknown fields and groups', () => {
    const group = Buffer.from([0xa3, 0x06, 0x08, 0x01, 0xa3, 0x06, 0xa4, 0x06, 0xa4, 0x06]);
    const fixed32 = Buffer.from([0xa5, 0x06, 1, 2, 3, 4]);
    const fixed64 = Buffer.from([0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8]);
    const unknown = field(0xaa, Buffer.alloc(0));
    const body = around(
      ...ids,
      group,
      fixed32,
      fixed64,
      Buffer.concat([Buffer.from([0xaa, 0x06]), unknown.subarray(1)]),
    );
    expect(decode(body).batch.spans).toHaveLength(1);
  });

  it('a known field of another wire type is passed over', () => {
    expect(decode(around(...ids, Buffer.from([0x28, 0x05]))).batch.spans[0]?.name).toBe('');
  });
});

describe('what refuses the whole protobuf body', () => {
  const body = encodeTraces(aRequest([aWireSpan({ a: 'b' })], { 'service.name': 's' }));

  it('a body cut anywhere inside', () => {
    for (let length = 1; length < body.length; length++)
      expect(refusalOf(() => decode(body.subarray(0, length))).failure.code, `at ${length}`).toBe('invalid_body');
  });
  it('a length beyond the message around it', () => {
    expect(refusalOf(() => decode(Buffer.from([0x0a, 0x05, 0x12, 0x7f, 1, 2, 3]))).failure.code).toBe('invalid_body');
  });
  it('a varint of eleven bytes, field number 0, an end without a group, wire types 6 and 7', () => {
    for (const bytes of [[0x0a, ...Array<number>(11).fill(0xff)], [0x00], [0x0c], [0x0e], [0x0f]])
      expect(refusalOf(() => decode(Buffer.from(bytes))).failure.code).toBe('invalid_body');
  });
  it('groups without end, however deep', () => {
    expect(refusalOf(() => decode(Buffer.alloc(100_000, 0x0b))).failure.code).toBe('invalid_body');
  });
  it('JSON', () => {
    expect(refusalOf(() => decode(Buffer.from('{"resourceSpans":[]}'))).failure.code).toBe('invalid_body');
  });
  it('text of a resource or scope that is not UTF-8', () => {
    const bad = field(
      0x0a,
      Buffer.concat([field(0x0a, Buffer.from([0xff, 0xfe])), field(0x12, field(0x0a, Buffer.alloc(1)))]),
    );
    expect(refusalOf(() => decode(field(0x0a, field(0x0a, bad)))).failure).toMatchObject({
      code: 'invalid_body',
      message: 'a resource has text that is not UTF-8',
    });
  });
});

describe('what refuses one span, while "the rest of the batch is written"', () => {
  const good = aWireSpan({}, { spanId: '00f067aa0ba902b7' });
  const refused = (span: object) => {
    const body = encodeTraces(aRequest([good, { ...aWireSpan(), ...span }, { ...good, spanId: '00f067aa0ba902b8' }]));
    const { batch, refusals } = decode(body);
    expect(batch.spans.map((kept) => kept.spanId)).toEqual(['00f067aa0ba902b7', '00f067aa0ba902b8']);
    expect(refusals).toHaveLength(1);
    expect(refusals[0]).toMatchObject({ batch: 0, signal: 'spans', index: 1 });
    return refusals[0];
  };

  it('missing, wrong-length or all-zero ids', () => {
    for (const traceId of ['', '0af7651916cd43dd', `${A_TRACE_ID}00`, '0'.repeat(32)])
      expect(refused({ traceId })).toMatchObject({ code: 'invalid_id', field: 'trace_id' });
    for (const spanId of ['', '0af7651916cd43', `${A_SPAN_ID}00`, '0'.repeat(16)])
      expect(refused({ spanId })).toMatchObject({ code: 'invalid_id', field: 'span_id' });
    for (const parentSpanId of ['0af7', '0'.repeat(16)])
      expect(refused({ parentSpanId })).toMatchObject({ code: 'invalid_id', field: 'parent_span_id' });
  });
  it('times after the year 2262; the last moment before is kept', () => {
    expect(refused({ startTimeUnixNano: '9223372036854775808' })).toMatchObject({ field: 'start_time' });
    expect(refused({ endTimeUnixNano: '18446744073709551615' })).toMatchObject({ field: 'end_time' });
    const last = encodeTraces(aRequest([aWireSpan({}, { endTimeUnixNano: '9223372036854775807' })]));
    expect(decode(last).batch.spans[0]?.endTime).toBe(9_223_372_036_854_775_807n);
  });
  it('text that is not UTF-8, short or long', () => {
    for (const length of [2, 200]) {
      const bad = field(0x2a, Buffer.concat([Buffer.alloc(length, 0x61), Buffer.from([0xc3])]));
      const scope = field(
        0x12,
        Buffer.concat([field(0x12, Buffer.concat([...ids, bad])), field(0x12, Buffer.concat(ids))]),
      );
      const { batch, refusals } = decode(field(0x0a, scope));
      expect(batch.spans).toHaveLength(1);
      expect(refusals).toMatchObject([
        { index: 0, code: 'invalid_body', message: 'the span has text that is not UTF-8' },
      ]);
    }
  });
  it('names that are not UTF-8, each time they come', () => {
    const key = Buffer.concat([Buffer.from('a.name.with.'), Buffer.from([0xff, 0xfe])]);
    const bad = field(0x4a, Buffer.concat([field(0x0a, key), field(0x12, field(0x0a, Buffer.from('v')))]));
    for (let time = 0; time < 3; time++) expect(decode(around(...ids, bad)).refusals).toHaveLength(1);
  });
  it(`values nested deeper than ${MOST_VALUE_DEPTH}`, () => {
    // Built by hand: the library that encodes for us has a bound of its own.
    const nested = (depth: number): Buffer =>
      depth === 0 ? Buffer.from([0x18, 1]) : field(0x2a, field(0x0a, nested(depth - 1)));
    const decodeNested = (depth: number) =>
      decode(around(...ids, field(0x4a, Buffer.concat([field(0x0a, Buffer.from('n')), field(0x12, nested(depth))]))));
    expect(decodeNested(MOST_VALUE_DEPTH).batch.spans).toHaveLength(1);
    expect(decodeNested(MOST_VALUE_DEPTH + 1).refusals).toMatchObject([{ index: 0, code: 'invalid_body' }]);
  });
  it('links that name no trace are left out, and the span is kept', () => {
    const links = [
      { traceId: '', spanId: '' },
      { traceId: A_TRACE_ID, spanId: A_SPAN_ID },
    ];
    const [span] = decode(encodeTraces(aRequest([aWireSpan({}, { links })]))).batch.spans;
    expect(span?.links).toEqual([{ traceId: A_TRACE_ID, spanId: A_SPAN_ID, attributes: {} }]);
  });
});

describe('bounds', () => {
  const spans = (count: number) => {
    const one = TraceRequest.encode(
      TraceRequest.fromObject({
        resourceSpans: [{ scopeSpans: [{ spans: Array.from({ length: count }, () => ({})) }] }],
      }),
    ).finish();
    return Buffer.from(one);
  };

  it('10,000 signals are taken, 10,001 are refused whole, naming both numbers', () => {
    expect(decode(spans(10_000)).refusals).toHaveLength(10_000);
    const refusal = refusalOf(() => decode(spans(10_001)));
    expect(refusal.failure.code).toBe('payload_too_large');
    expect(refusal.message).toContain('10001');
    expect(refusal.message).toContain('10000');
  });

  it('a budget of nodes counts attributes, nested values, events and links, and is no refusal', () => {
    const body = encodeTraces(
      aRequest([
        aWireSpan(
          { a: 1, b: [1, 2] },
          { events: [{ name: 'e' }], links: [{ traceId: A_TRACE_ID, spanId: A_SPAN_ID }] },
        ),
      ]),
    );
    expect(decodeTracesProtobuf(body, aContext(), 6).batch.spans).toHaveLength(1);
    expect(() => decodeTracesProtobuf(body, aContext(), 5)).toThrow(BudgetExceeded);
  });

  it('as many attributes as the size of the body allows are taken, one more is refused, naming the bound', () => {
    // An attribute without key or value takes two bytes.
    const attributes = (count: number) => around(...ids, Buffer.alloc(count * 2, Buffer.from([0x4a, 0x00])));
    expect(decode(attributes(50), { maxKeys: 50 }).batch.spans).toHaveLength(1);
    const refusal = refusalOf(() => decode(attributes(51), { maxKeys: 50 }));
    expect(refusal.failure).toMatchObject({ code: 'payload_too_large' });
    expect(refusal.message).toContain('more than 50 attributes');
    expect(decode(attributes(10_000)).batch.spans).toHaveLength(1);
    expect(refusalOf(() => decode(attributes(10_001))).message).toContain('more than 10000 members or attributes');
  });
});
