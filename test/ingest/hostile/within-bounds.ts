import {
  type HostileBody,
  id,
  inputOf,
  json,
  namesOf,
  native,
  nativeSpan,
  noise,
  numbered,
  otlpSpan,
  spansWith,
  textAttribute,
  times,
  tracesWith,
  words,
  zipped,
} from './shapes.ts';

const judged = (k: number): string =>
  `${textAttribute(`annotations.${k}.annotation.name`, 'q')},{"key":"annotations.${k}.annotation.score","value":{"doubleValue":0.5}}`;

/** Bodies just within the bounds: what is taken costs more than what is refused. */
export const withinBoundsBodies: readonly HostileBody[] = [
  // Just within the bounds: what is taken costs more than what is refused.
  zipped({
    ...native,
    name: 'input of 1,850,000 numbers',
    answer: 200,
    make: () => numbered(`{"spans":[${nativeSpan(0, ',"input":[').slice(0, -1)}`, () => '1', ',', ']}]}', 1_850_000),
  }),
  zipped({
    ...native,
    name: 'input of 480,000 empty lists',
    answer: 200,
    make: () => numbered(`{"spans":[${nativeSpan(0, ',"input":[').slice(0, -1)}`, () => '[]', ',', ']}]}', 480_000),
  }),
  spansWith('7,500 spans with 80 numbers', 200, 7500, () => `,"attributes":{"k":[${times(80, () => '1')}]}`),
  spansWith('9,000 spans with 380 numbers', 413, 9000, () => `,"attributes":{"k":[${times(380, () => '1')}]}`),
  spansWith('9,000 spans with 16 attributes', 200, 9000, () => `,"attributes":{${times(16, (k) => `"k${k}":0`)}}`),
  spansWith(
    '2,000 spans with 35 events',
    200,
    2000,
    () => `,"events":[${times(35, () => '{"name":"e","time":"2026-11-20T09:00:00Z"}')}]`,
  ),
  tracesWith('10 spans with 9,900 events', 200, 10, {}, (n) =>
    otlpSpan(n, '', `,"events":[${times(9900, () => '{"name":"e","timeUnixNano":"1"}')}]`),
  ),
  tracesWith('10 spans with 9,900 links', 200, 10, {}, (n) =>
    otlpSpan(n, '', `,"links":[${times(9900, () => `{"traceId":"${id(1, 32)}","spanId":"${id(1, 16)}"}`)}]`),
  ),
  tracesWith('a list of values, as far as 1 MiB may grow', 413, 8001, {}, (n) =>
    n === 0
      ? otlpSpan(n, `{"key":"k","value":{"arrayValue":{"values":[${times(480_000, () => '{"intValue":"1"}')}]}}}`)
      : otlpSpan(n, textAttribute('k', noise(n, 180) + words(2000))),
  ),
  tracesWith('2,100 bytes of text in a scope of 9,000 spans', 200, 9000, { ofScope: textAttribute('k', words(2100)) }),
  tracesWith('25 attributes of a resource of 9,000 spans', 200, 9000, {
    ofResource: times(25, (k) => textAttribute(`k${k}`, `v${k}`)),
  }),
  zipped({
    path: '/v1/logs',
    ...json,
    name: '9,500 records with texts, inflated',
    answer: 200,
    make: () => {
      const record = `{"timeUnixNano":"1795000000000000000","body":{"stringValue":"${words(780)}"}}`;
      return numbered('{"resourceLogs":[{"scopeLogs":[{"logRecords":[', () => record, ',', ']}]}]}', 9500);
    },
  }),
  zipped({
    path: '/v1/metrics',
    ...json,
    name: '6,500 histograms of 100 buckets',
    answer: 200,
    make: () => {
      const point = `{"timeUnixNano":"1795000000000000000","count":"100","sum":1,"bucketCounts":[${times(100, () => '"1"')}],"explicitBounds":[${times(99, String)}]}`;
      return numbered(
        '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"h","histogram":{"aggregationTemporality":2,"dataPoints":[',
        () => point,
        ',',
        ']}}]}]}]}',
        6500,
      );
    },
  }),
  // Some of everything.
  ...(
    [
      ['3,600 spans with names, numbers, attributes and text', 3600, 2, 30, 500, 200],
      ['9,000 spans with names, numbers, attributes and text, as far as 1 MiB may grow', 9000, 2, 400, 2000, 413],
    ] as const
  ).map(([name, spans, names, numbers, bytes, answer]) =>
    spansWith(
      name,
      answer,
      spans,
      (n) =>
        `,"attributes":{${namesOf(n, names)},${times(7, (k) => `"k${k}":0`)},"list":[${times(numbers, () => '1')}]}` +
        inputOf(noise(n, 120) + words(bytes)),
    ),
  ),
  // Judgements that spans carry.
  ...(
    [
      ['5,000 spans that carry a judgement each', 5000, 1, 200],
      ['100 spans that carry 500 judgements each', 100, 500, 413],
    ] as const
  ).map(([name, spans, each, answer]) =>
    tracesWith(name, answer, spans, {}, (n) => otlpSpan(n, Array.from({ length: each }, (_, k) => judged(k)).join())),
  ),
];
