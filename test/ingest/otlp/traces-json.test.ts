import { describe, expect, it } from 'vitest';
import { decodeOtlpJson } from '../../../src/ingest/otlp/json.ts';
import { Refusal } from '../../../src/model/failure.ts';
import { aContext } from '../factories.ts';
import { A_SPAN_ID, A_TRACE_ID, aRequest, aWireSpan } from './request-codec.ts';

const decode = (body: unknown, changes = {}) =>
  decodeOtlpJson('traces', Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), aContext(changes));
const decodeSpan = (span: object) => decode({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
const refusalOf = (run: () => unknown): Refusal => {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('it was not refused');
};
const ids = { traceId: A_TRACE_ID, spanId: A_SPAN_ID };

describe('"OTLP/JSON ids may arrive as hex or base64; they are stored as hex"', () => {
  const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64');

  it('hex in either case, base64 with and without padding', () => {
    const forms = [
      [A_TRACE_ID, A_SPAN_ID],
      [A_TRACE_ID.toUpperCase(), A_SPAN_ID.toUpperCase()],
      [base64(A_TRACE_ID), base64(A_SPAN_ID)],
      [base64(A_TRACE_ID).replace(/=+$/, ''), base64(A_SPAN_ID).replace(/=+$/, '')],
    ];
    for (const [traceId, spanId] of forms)
      expect(decodeSpan({ traceId, spanId, parentSpanId: spanId }).batch.spans[0]).toMatchObject({
        traceId: A_TRACE_ID,
        spanId: A_SPAN_ID,
        parentSpanId: A_SPAN_ID,
      });
  });

  it('missing, wrong-length or all-zero ids refuse the span', () => {
    const zero = { traceId: base64('0'.repeat(32)), spanId: base64('0'.repeat(16)) };
    for (const traceId of [
      undefined,
      null,
      '',
      'abc',
      A_TRACE_ID.slice(1),
      'g'.repeat(32),
      '0'.repeat(32),
      zero.traceId,
    ])
      expect(decodeSpan({ ...ids, traceId }).refusals).toMatchObject([{ code: 'invalid_id', field: 'trace_id' }]);
    for (const spanId of [undefined, null, '', 'abc', A_SPAN_ID.slice(1), '!'.repeat(12), '0'.repeat(16), zero.spanId])
      expect(decodeSpan({ ...ids, spanId }).refusals).toMatchObject([{ code: 'invalid_id', field: 'span_id' }]);
    expect(decodeSpan({ ...ids, parentSpanId: '0'.repeat(16) }).refusals).toMatchObject([{ field: 'parent_span_id' }]);
    expect(decodeSpan({ ...ids, parentSpanId: '' }).batch.spans[0]).not.toHaveProperty('parentSpanId');
  });
});

describe('"nanoseconds since the Unix epoch, sent as strings and parsed as strings (never floating point)"', () => {
  const start = (text: string) =>
    decode(
      `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${A_TRACE_ID}","spanId":"${A_SPAN_ID}",` +
        `"startTimeUnixNano":${text}}]}]}]}`,
    );

  it('as a string, and exactly as well as a number', () => {
    expect(start('"1700000000000000001"').batch.spans[0]?.startTime).toBe(1_700_000_000_000_000_001n);
    expect(start('1700000000000000001').batch.spans[0]?.startTime).toBe(1_700_000_000_000_000_001n);
    expect(start('1700').batch.spans[0]?.startTime).toBe(1700n);
  });
  it('anything else refuses the span', () => {
    for (const text of ['"2026-01-01T00:00:00Z"', '"1e18"', '"-5"', '-5', '1.5', '1.7e18', 'true', '[]', '"0x10"'])
      expect(start(text).refusals, text).toMatchObject([{ code: 'invalid_body', field: 'start_time' }]);
  });
});

describe('OTLP/JSON values', () => {
  const valueOf = (value: string) =>
    decode(
      `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${A_TRACE_ID}","spanId":"${A_SPAN_ID}",` +
        `"attributes":[{"key":"a.key","value":${value}}]}]}]}]}`,
    ).batch.spans[0]?.attributes['a.key'];

  it('int64 as string or number, exactly', () => {
    expect(valueOf('{"intValue":"42"}')).toBe(42);
    expect(valueOf('{"intValue":42}')).toBe(42);
    expect(valueOf('{"intValue":"-9007199254740993"}')).toBe('-9007199254740993');
    expect(valueOf('{"intValue":-9007199254740993}')).toBe('-9007199254740993');
    expect(valueOf('{"intValue":9223372036854775807}')).toBe('9223372036854775807');
  });
  it('doubles as numbers or words, integers beyond int64 and half ones refused', () => {
    expect(valueOf('{"doubleValue":0.5}')).toBe(0.5);
    expect(valueOf('{"doubleValue":"0.5"}')).toBe(0.5);
    expect(valueOf('{"doubleValue":"NaN"}')).toBe('NaN');
    for (const value of [
      '{"intValue":1.5}',
      '{"intValue":9223372036854775808}',
      '{"intValue":"x"}',
      '{"doubleValue":"x"}',
    ])
      expect(valueOf(value), value).toBeUndefined();
  });
  it('text, truth, lists, maps, bytes, nothing', () => {
    expect(valueOf('{"stringValue":"a\\n\\u00e9\\ud83d\\ude00\\"\\\\"}')).toBe('a\né😀"\\');
    expect(valueOf('{"boolValue":false}')).toBe(false);
    expect(valueOf('{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"b"}]}}')).toEqual([1, 'b']);
    expect(valueOf('{"kvlistValue":{"values":[{"key":"__proto__","value":{"boolValue":true}}]}}')).toEqual(
      JSON.parse('{"__proto__":true}'),
    );
    expect(valueOf('{"bytesValue":"-_8"}')).toBe('+/8=');
    expect(valueOf('{}')).toBe(null);
  });
  it('lone surrogates and NUL become U+FFFD', () => {
    expect(valueOf('{"stringValue":"a\\ud800b\\u0000c"}')).toBe('a\ufffdb\ufffdc');
  });
  it('a space anywhere, and members in any order', () => {
    expect(valueOf(' { "stringValue" : "b" } ')).toBe('b');
    const spaced = decode(
      `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"value":{"stringValue":"v"},"key":"k"}],` +
        `"spanId":"${A_SPAN_ID}","traceId":"${A_TRACE_ID}"}],"scope":{"name":"late"}}],` +
        `"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]}}]}`,
    );
    expect(spaced.batch.spans[0]).toMatchObject({
      scopeName: 'late',
      attributes: { k: 'v' },
      correlation: { serviceName: 'shop' },
    });
  });
  it('enums as numbers or names', () => {
    expect(decodeSpan({ ...ids, status: { code: 'STATUS_CODE_ERROR' } }).batch.spans[0]?.status).toBe('error');
    expect(decodeSpan({ ...ids, status: { code: 2 } }).batch.spans[0]?.status).toBe('error');
    expect(decodeSpan({ ...ids, status: { code: '1' } }).batch.spans[0]?.status).toBe('ok');
    expect(decodeSpan({ ...ids, status: { code: 'NEW' } }).batch.spans[0]?.status).toBe('unset');
  });
  it('names of the protobuf files mean the same; unknown names are passed over; null is absent', () => {
    const { batch } = decode({
      resource_spans: [
        {
          scope_spans: [
            {
              spans: [
                {
                  trace_id: A_TRACE_ID,
                  span_id: A_SPAN_ID,
                  start_time_unix_nano: '5',
                  status: null,
                  events: null,
                  newer: [{}],
                },
              ],
            },
          ],
        },
      ],
    });
    expect(batch.spans[0]).toMatchObject({ traceId: A_TRACE_ID, startTime: 5n });
  });
  it('names written with escapes mean the same', () => {
    expect(decode('{"resource\\u0053pans":[{"scopeSpans":[{"spans":[{}]}]}]}').refusals).toHaveLength(1);
  });
});

describe('what is refused', () => {
  it('a body that is not JSON, or protobuf: "body is not valid JSON"', () => {
    for (const body of [
      '',
      '{',
      'nope',
      '{"a":1}x',
      '[1,]',
      '{"a":01}',
      '{"a":+1}',
      "{'a':1}",
      '{"a":"\n"}',
      '{"a":"\\x"}',
      '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"\\u12"}]}]}]}',
      '\u0000',
    ])
      expect(refusalOf(() => decode(body)).message, body).toMatch(/^body is not valid JSON/);
    expect(
      refusalOf(() => decodeOtlpJson('traces', Buffer.from([0x0a, 0x02, 0x12, 0x00]), aContext())).failure,
    ).toMatchObject({
      code: 'invalid_body',
      message: expect.stringMatching(/^body is not valid JSON/) as string,
    });
  });
  it('invalid UTF-8, also inside of a string', () => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]);
    expect(refusalOf(() => decodeOtlpJson('traces', body, aContext())).message).toMatch(
      /^body is not valid JSON: .*UTF-8/,
    );
  });
  it('JSON that is no request', () => {
    for (const body of [
      '[]',
      '"x"',
      '5',
      'null',
      '{"resourceSpans":5}',
      '{"resourceSpans":[5]}',
      '{"resourceSpans":[{"scopeSpans":{}}]}',
      '{"resourceSpans":[{"scopeSpans":[5,{"spans":[{}]}]}]}',
      '{"resourceSpans":[5,{"scopeSpans":[{"spans":[{}]}]}]}',
      '{"resourceSpans":[{"resource":{"attributes":[{"key":5}]}}]}',
    ])
      expect(refusalOf(() => decode(body)).failure.code, body).toBe('invalid_body');
  });
  it('a member of a wrong type refuses its span alone', () => {
    for (const wrong of [
      { name: 5 },
      { attributes: {} },
      { attributes: [5] },
      { events: ['x'] },
      { status: 'x' },
      { attributes: [{ key: 'a', value: 'b' }] },
    ]) {
      const { batch, refusals } = decode({
        resourceSpans: [{ scopeSpans: [{ spans: [{ ...ids, ...wrong }, ids] }] }],
      });
      expect(batch.spans, JSON.stringify(wrong)).toHaveLength(1);
      expect(refusals).toMatchObject([{ index: 0, code: 'invalid_body' }]);
    }
  });
  it('an item of `spans` that is no object is refused and counted, null included, wherever it stands; the others are taken', () => {
    for (const wrong of [null, 5, 'x', []])
      for (const index of [0, 1, 2]) {
        const spans: unknown[] = [ids, { ...ids, spanId: 'eee19b7ec3c1b175' }];
        spans.splice(index, 0, wrong);
        const { batch, refusals } = decode({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
        expect(batch.spans, JSON.stringify(wrong)).toHaveLength(2);
        expect(refusals).toMatchObject([{ index, code: 'invalid_body', message: 'the span must be a JSON object' }]);
      }
  });
  it('a time that is none, telling what it must be', () => {
    for (const [name, field] of [
      ['startTimeUnixNano', 'start_time'],
      ['endTimeUnixNano', 'end_time'],
    ] as const)
      for (const wrong of ['abc', '-5', '2026-01-31T12:00:00Z', 1.5, true]) {
        const { refusals } = decode({ resourceSpans: [{ scopeSpans: [{ spans: [{ ...ids, [name]: wrong }] }] }] });
        expect(refusals).toMatchObject([{ index: 0, field }]);
        expect(refusals[0]?.message).toBe(
          `${field} must be nanoseconds since the epoch, as a string of decimal digits, at most 9223372036854775807`,
        );
      }
  });
  it('nesting of 129 levels; 128 are taken', () => {
    // The span itself stands on the seventh level.
    const nested = (depth: number) =>
      `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${A_TRACE_ID}","spanId":"${A_SPAN_ID}","x":${'['.repeat(depth - 7)}${']'.repeat(depth - 7)}}]}]}]}`;
    expect(decode(nested(128)).batch.spans).toHaveLength(1);
    const refusal = refusalOf(() => decode(nested(129)));
    expect(refusal.failure.code).toBe('invalid_body');
    expect(refusal.message).toContain('128');
  });
  it('10,001 signals, naming both numbers; 10,000 are taken', () => {
    const many = (count: number) => ({
      resourceSpans: [{ scopeSpans: [{ spans: Array.from({ length: count }, () => ({})) }] }],
    });
    expect(decode(many(10_000)).refusals).toHaveLength(10_000);
    const refusal = refusalOf(() => decode(many(10_001)));
    expect(refusal.failure.code).toBe('payload_too_large');
    expect(refusal.message).toMatch(/10001.*10000/);
  });
  it('more than 1,000,000 objects and arrays', () => {
    const body = `{"x":[${'[],'.repeat(1_000_000)}[]]}`;
    expect(refusalOf(() => decode(body)).failure).toMatchObject({ code: 'payload_too_large' });
  });
  it('attributes read four bytes at a time are counted like all others, and those that wait for their scope once', () => {
    const attributes = (count: number) => Array(count).fill('{"key":"kkkk","value":{"stringValue":"v"}}').join(',');
    const spans = (count: number) =>
      `"spans":[{"traceId":"${A_TRACE_ID}","spanId":"${A_SPAN_ID}","attributes":[${attributes(count)}]}]`;
    for (const scoped of [
      (count: number) => `"scope":{},${spans(count)}`,
      (count: number) => `${spans(count)},"scope":{}`,
    ]) {
      const body = (count: number) => `{"resourceSpans":[{"resource":{},"scopeSpans":[{${scoped(count)}}]}]}`;
      expect(decode(body(20), { maxKeys: 20 }).batch.spans).toHaveLength(1);
      const refusal = refusalOf(() => decode(body(21), { maxKeys: 20 }));
      expect(refusal.failure).toMatchObject({ code: 'payload_too_large' });
      expect(refusal.message).toContain('more than 20 attributes');
      expect(decode(body(10_000)).batch.spans).toHaveLength(1);
      expect(refusalOf(() => decode(body(10_001))).message).toContain('more than 10000 members or attributes');
    }
  });
});

it('a request in the shape of every exporter decodes as expected', () => {
  const { batch } = decode(aRequest([aWireSpan({ 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 3 })]));
  expect(batch.spans[0]).toMatchObject({ model: 'm', usage: { inputTokens: 3 } });
});

describe('an attribute with members behind its text', () => {
  const attributesOf = (attributes: string) =>
    decode(
      `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${A_TRACE_ID}","spanId":"${A_SPAN_ID}","name":"s","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[${attributes}]}]}]}]}`,
    ).batch.spans[0]?.attributes;

  it('has the same value as without them, and the last value where it has several', () => {
    const text = String.raw`a\u0041\n`;
    const value = 'aA\n';
    for (const [tail, expected] of [
      ['}}', value],
      [' }}', value],
      ['} }', value],
      [',"x":0}}', value],
      ['},"x":0}', value],
      [',"stringValue":"b"}}', 'b'],
      ['},"value":{"stringValue":"b"}}', 'b'],
      [`},"value":{"stringValue":"${text}"}}`, value],
      [',"stringValue":null}}', ''],
      ['},"key":"l"}', undefined],
    ] as const)
      for (const before of ['', '{"key":"j","value":{"stringValue":"j","x":0}},'])
        expect(attributesOf(`${before}{"key":"k","value":{"stringValue":"${text}"${tail}`)?.['k']).toBe(expected);
  });
});
