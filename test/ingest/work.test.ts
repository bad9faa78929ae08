import { describe, expect, it } from 'vitest';
import { decodePayload, type Payload } from '../../src/ingest/decode.ts';
import { jsonBounds } from '../../src/ingest/json-reader.ts';
import { jsonBoundsWithin, mostWork, WORK, WorkCount } from '../../src/ingest/work.ts';
import { Refusal } from '../../src/model/failure.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { emptyBatch, type MetricPoint, type SignalBatch } from '../../src/model/signal.ts';
import { aContext } from './factories.ts';
import { aFeedback, aLog, aScore, aSpan, noon, spanId, traceId } from './signals.ts';

/** Of a batch, beside what each is. */
const workOf = (batch: Partial<SignalBatch>, ingestKey?: string): number => {
  const element = { ...(ingestKey === undefined ? {} : { ingestKey }), batch: { ...emptyBatch, ...batch } };
  return new WorkCount().add(0, [element], Number.POSITIVE_INFINITY) - WORK.batch;
};
/** What attributes add to a span. */
const ofAttributes = (attributes: JsonObject): number =>
  workOf({ spans: [aSpan({ attributes })] }) - A_SPAN - WORK.attributes;
/** A span as the tests make it has one value by which its trace is found: its name. */
const A_SPAN = WORK.span + WORK.facet + WORK.newFacetValue + 'a span'.length * WORK.facetCharacter;
const A_SCORE = WORK.judgement + 'score-1answered'.length * WORK.indexedIdCharacter;
const A_FEEDBACK = WORK.judgement + 'feedback-1'.length * WORK.indexedIdCharacter;
const named = (name: string): number => WORK.member + WORK.newName + name.length * WORK.character;
const aPoint = (given: Partial<MetricPoint>): MetricPoint => ({
  name: 'm',
  type: 'histogram',
  timestamp: noon,
  receivedAt: noon,
  attributes: {},
  correlation: { project: 'default' },
  exemplars: [],
  ...given,
});

describe('Issue "Nothing brings it down", 6: work is bounded by what a body may mean', () => {
  it('signals are work, and a batch with a key is more', () => {
    expect(workOf({ spans: [aSpan(), aSpan()] })).toBe(A_SPAN + WORK.span);
    expect(workOf({ logs: [aLog({ message: 'four' })] })).toBe(WORK.log + 4 * WORK.indexedCharacter);
    expect(workOf({ metrics: [aPoint({ bounds: [1, 2], bucketCounts: [0, 0, 0] })] })).toBe(
      WORK.metricPoint + 'm'.length * WORK.indexedIdCharacter + 5 * WORK.bucket,
    );
    expect(workOf({ scores: [aScore()], feedback: [aFeedback({ value: 1 })] })).toBe(A_SCORE + A_FEEDBACK);
    expect(workOf({}, 'key')).toBe(WORK.keyedBatch);
    expect(new WorkCount().add(0, [{ batch: emptyBatch }, { batch: emptyBatch }], 1e9)).toBe(2 * WORK.batch);
  });
  it('attributes are work, and a name that is new is more', () => {
    expect(ofAttributes({ ab: 1 })).toBe(named('ab'));
    const twice = workOf({ spans: [aSpan({ attributes: { ab: 1 } }), aSpan({ attributes: { ab: true } })] });
    expect(twice).toBe(A_SPAN + WORK.span + 2 * WORK.attributes + named('ab') + WORK.member);
  });
  it('and each that follows it in its object', () => {
    expect(ofAttributes({ ab: 1, cd: 1 })).toBe(named('ab') + named('cd'));
    const count = (attributes: JsonObject): number =>
      workOf({ spans: [aSpan({ attributes: { known: 1 } }), aSpan({ attributes })] });
    expect(count({ new: 1, known: 1 }) - count({ known: 1, new: 1 })).toBe(WORK.newName);
  });
  it('what is inside of values is work', () => {
    expect(ofAttributes({ a: 'text' })).toBe(named('a') + 4 * WORK.character);
    expect(ofAttributes({ a: [1, [], null] })).toBe(named('a') + 2 * WORK.container + 3 * WORK.item);
    expect(ofAttributes({ a: [0.5, 2 ** 53, 2 ** 53 - 1] })).toBe(
      named('a') + WORK.container + 3 * WORK.item + 2 * WORK.decimal,
    );
    expect(ofAttributes({ a: { bc: 'x' } })).toBe(named('a') + WORK.container + named('bc') + WORK.character);
  });
  it('names in a text that holds JSON are work, wherever redaction looks at it', () => {
    const text = '{"a":1,"b":{"c":2}}';
    const names = 3 * WORK.nameInText;
    expect(ofAttributes({ a: text })).toBe(named('a') + text.length * WORK.character + names);
    const more = (text: string): number => ofAttributes({ a: text }) - named('a') - text.length * WORK.character;
    expect(more('{"a" :1,"b"\\n:2}')).toBe(2 * WORK.nameInText);
    expect(more('at 12:30:00 he said "hi: http://x"')).toBe(0);
    expect(more('\\u0022a\\u005cu0022')).toBe(2 * WORK.escape + 2 * WORK.escapedQuote + WORK.escapedBackslash);
    expect(ofAttributes({ a: text.replaceAll('"', '') })).toBe(named('a') + (text.length - 6) * WORK.character);
    expect(workOf({ spans: [aSpan({ input: text })] })).toBe(
      A_SPAN + WORK.payload + text.length * WORK.indexedCharacter + names,
    );
    const ofName = (name: string): number => workOf({ spans: [aSpan({ name })] });
    expect(ofName(text) - ofName(text.replaceAll(':', ','))).toBe(names);
    expect(workOf({ logs: [aLog({ message: text })] })).toBe(WORK.log + text.length * WORK.indexedCharacter + names);
    expect(workOf({ scores: [aScore({ reason: text })] })).toBe(
      A_SCORE + text.length * WORK.judgementCharacter + names,
    );
    const error = { message: text, stack: text };
    expect(workOf({ spans: [aSpan({ status: 'error', error })] })).toBe(
      A_SPAN + 2 * (text.length * WORK.character + names),
    );
  });
  it('inputs and outputs are work: their words are indexed', () => {
    const ofPayload = (input: SignalBatch['spans'][number]['input']): number =>
      workOf({ spans: [aSpan(input === undefined ? {} : { input })] }) - A_SPAN;
    expect(ofPayload('text')).toBe(WORK.payload + 4 * WORK.indexedCharacter);
    expect(ofPayload([1, 2])).toBe(WORK.payload + WORK.container + 2 * WORK.item);
    expect(ofPayload({ a: ['text'] })).toBe(
      WORK.payload + 2 * WORK.container + named('a') + WORK.item + 4 * WORK.indexedCharacter,
    );
    expect(workOf({ spans: [aSpan({ output: 'text' })] })).toBe(workOf({ spans: [aSpan({ input: 'text' })] }));
  });
  it('values by which traces are found are work at each trace, and new ones are more', () => {
    const of = (...given: Parameters<typeof aSpan>[0][]): number => workOf({ spans: given.map(aSpan) });
    const added = (value: string): number => WORK.facet + WORK.newFacetValue + value.length * WORK.facetCharacter;
    expect(of({ model: 'a model' })).toBe(A_SPAN + added('a model'));
    const correlation = { project: 'p', userId: 'ann', tags: ['one', 'two'] };
    const tags = 2 * WORK.tag + 6 * WORK.character;
    expect(of({ correlation })).toBe(A_SPAN + added('ann') + added('one') + added('two') + tags);
    expect(of({ correlation }, { correlation })).toBe(of({ correlation }) + WORK.span + tags);
    expect(of({ correlation }, { correlation, traceId: traceId(1) })).toBe(
      of({ correlation }) + WORK.span + 4 * WORK.facet + tags,
    );
  });
  it('ids and names in an index are work, and what a signal belongs to', () => {
    const correlation = { project: 'p', userId: 'ann', tags: ['one', 'two'] };
    const said = 3 * WORK.indexedIdCharacter + 2 * WORK.item + 6 * WORK.character;
    expect(workOf({ logs: [aLog({ correlation })] }) - workOf({ logs: [aLog()] })).toBe(said);
    expect(workOf({ metrics: [aPoint({ correlation })] }) - workOf({ metrics: [aPoint({})] })).toBe(said);
    expect(workOf({ scores: [aScore({ correlation })] })).toBe(A_SCORE + said);
    expect(workOf({ scores: [aScore({ scorerVersion: '1', experimentId: 'e' })] })).toBe(
      A_SCORE + 2 * WORK.indexedIdCharacter,
    );
    expect(workOf({ feedback: [aFeedback({ value: 1, authorId: 'ann' })] })).toBe(
      A_FEEDBACK + 3 * WORK.indexedIdCharacter,
    );
  });
  it('texts and metadata of judgements are work', () => {
    expect(workOf({ scores: [aScore({ reason: 'four', label: 'as', metadata: { ab: 1 } })] })).toBe(
      A_SCORE + 6 * WORK.judgementCharacter + WORK.attributes + named('ab'),
    );
    expect(workOf({ feedback: [aFeedback({ kind: 'comment', value: 'four', comment: 'as' })] })).toBe(
      A_FEEDBACK + 6 * WORK.judgementCharacter,
    );
  });
  it('events, links, exemplars and errors are work', () => {
    const of = (given: Parameters<typeof aSpan>[0]): number => workOf({ spans: [aSpan(given)] }) - A_SPAN;
    expect(of({ events: [{ name: 'e', time: noon, attributes: { a: 1 } }] })).toBe(
      WORK.event + WORK.character + named('a'),
    );
    expect(of({ links: [{ traceId: traceId(0), spanId: spanId(0), attributes: { a: 1 } }] })).toBe(
      WORK.link + named('a'),
    );
    expect(of({ status: 'error', error: { message: 'four', stack: 'at' } })).toBe(6 * WORK.character);
    expect(workOf({ metrics: [aPoint({ exemplars: [{ value: 1, timestamp: noon, attributes: { a: 1 } }] })] })).toBe(
      WORK.metricPoint + 'm'.length * WORK.indexedIdCharacter + WORK.event + named('a'),
    );
  });
  it('a long name is work each time that it comes', () => {
    const attributes = { ['n'.repeat(65)]: 1 };
    const short = { ['n'.repeat(64)]: 1 };
    const second = (attributes: JsonObject): number =>
      workOf({ spans: [aSpan({ attributes }), aSpan({ attributes })] }) - workOf({ spans: [aSpan({ attributes })] });
    expect(second(attributes) - second(short)).toBe(65 * WORK.character);
  });
  it('texts that stand at each signal are work', () => {
    const said = { unit: 'ms', description: 'four' };
    expect(workOf({ metrics: [aPoint(said)] }) - workOf({ metrics: [aPoint({})] })).toBe(6 * WORK.character);
    expect(workOf({ logs: [aLog({ logger: 'four' })] }) - workOf({ logs: [aLog()] })).toBe(4 * WORK.character);
    expect(workOf({ spans: [aSpan({ scopeName: 'four' })] })).toBe(A_SPAN + 4 * WORK.character);
  });

  it('any request may be half a second of it, a larger one 450 ns for each byte received', () => {
    expect([0, 1_111_111, 1_111_112, 10_000_000].map((bytes) => mostWork(bytes, 10_000))).toEqual([
      500_000_000, 500_000_000, 500_000_400, 4_500_000_000,
    ]);
  });
  it('and one that may have more signals 50 us for each', () => {
    expect([100, 10_000, 10_001, 50_000].map((signals) => mostWork(0, signals))).toEqual([
      500_000_000, 500_000_000, 500_050_000, 2_500_000_000,
    ]);
  });

  const nativeSpan = (n: number, more = ''): string =>
    `{"trace_id":"${traceId(n)}","span_id":"${spanId(n)}","name":"s","kind":"generic","status":"ok","start_time":"2026-11-20T09:00:00Z"${more}}`;
  const text = 'words '.repeat(200_000);
  const native = (body: string): Payload => ({ kind: 'native', body: Buffer.from(body) });
  const spans = `{"spans":[${nativeSpan(0, `,"input":"${text}"`)},${nativeSpan(1)}]}`;
  const wire = (n: number): string =>
    `{"traceId":"${traceId(n)}","spanId":"${spanId(n)}","name":"s","startTimeUnixNano":"1","endTimeUnixNano":"2"}`;
  const inTraces = (list: readonly string[], attributes = ''): string =>
    `{"resourceSpans":[{"resource":{"attributes":[${attributes}]},"scopeSpans":[{"spans":[${list.join()}]}]}]}`;
  const wireSpans = Array.from({ length: 1000 }, (_, n) => wire(n));
  const otlp = (body: string): Payload => ({ kind: 'otlp_json', signal: 'traces', body: Buffer.from(body) });
  const ofSpans =
    Buffer.byteLength(spans) * WORK.byte +
    WORK.batch +
    2 * WORK.span +
    2 * WORK.facet +
    WORK.newFacetValue +
    WORK.facetCharacter +
    WORK.payload +
    text.length * WORK.indexedCharacter;
  const ofWire =
    Buffer.byteLength(inTraces(wireSpans)) * WORK.byte +
    WORK.batch +
    1000 * (WORK.span + WORK.facet) +
    WORK.newFacetValue +
    WORK.facetCharacter;

  it.each([
    ['native', native(spans), ofSpans],
    ['a line', { kind: 'native_line', element: 3, body: Buffer.from(spans) } satisfies Payload, ofSpans],
    ['OTLP', otlp(inTraces(wireSpans)), ofWire],
  ] as const)('%s: as much as a payload may be is taken, and a nanosecond more is refused', (_name, payload, work) => {
    expect(decodePayload(payload, aContext({ maxWork: work }))).toHaveLength(1);
    expect(() => decodePayload(payload, aContext({ maxWork: work - 1 }))).toThrow(Refusal);
    expect(() => decodePayload(payload, aContext({ maxWork: work - 2_500_000 }))).toThrow(
      'the request would take more processor time than one of its size may, by its signals, attributes and text ' +
        '(500 ms, 50 us for each of --max-batch-signals, or 450 ns for each byte received); send smaller batches',
    );
  });
  it('what a resource says is work at each of its signals', () => {
    const attribute = `{"key":"k","value":{"stringValue":"${'v'.repeat(1000)}"}}`;
    const body = inTraces(wireSpans, attribute);
    const work =
      Buffer.byteLength(body) * WORK.byte +
      WORK.batch +
      WORK.newFacetValue +
      WORK.facetCharacter +
      1000 * (WORK.span + WORK.facet + WORK.attributes + WORK.shared * WORK.member) +
      1000 * JSON.stringify({ k: 'v'.repeat(1000) }).length * WORK.character +
      WORK.member +
      1000 * WORK.character +
      WORK.newName +
      WORK.character;
    expect(decodePayload(otlp(body), aContext({ maxWork: work }))).toHaveLength(1);
    expect(() => decodePayload(otlp(body), aContext({ maxWork: work - 1 }))).toThrow(Refusal);
  });
  it('a line says how much it was, and what was new in it is not in the next', () => {
    const line: Payload = { kind: 'native_line', element: 0, body: Buffer.from(spans) };
    const count = new WorkCount();
    const decode = () => decodePayload(line, aContext({ maxWork: 1e9 }), undefined, count)[0]?.work;
    expect(decode()).toBe(ofSpans);
    expect(decode()).toBe(ofSpans - 2 * WORK.facet - WORK.newFacetValue - WORK.facetCharacter);
  });

  it('a body in JSON is given up while it is read, where its values alone are too much', () => {
    expect(jsonBoundsWithin(1000)).toBe(jsonBounds);
    expect(jsonBoundsWithin(0, jsonBounds.values * WORK.item)).toBe(jsonBounds);
    expect(jsonBoundsWithin(0, jsonBounds.values * WORK.item - 1).values).toBe(jsonBounds.values - 1);
    expect(jsonBoundsWithin(30, 20 * WORK.item + 30 * WORK.byte).values).toBe(20);
    expect(jsonBoundsWithin(1000, 0).values).toBe(0);
    const list = native(`{"spans":[${nativeSpan(0, `,"input":[${'1,'.repeat(50_000)}1]`)}]}`);
    expect(() => decodePayload(list, aContext({ maxWork: 40_000 * WORK.item }))).toThrow(
      'the request would take more processor time than one of its size may',
    );
  });
});
