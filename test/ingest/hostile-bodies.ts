import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

/** A body of at most 1 MiB as sent that is built to cost more than it means. */
export type HostileBody = {
  readonly name: string;
  readonly path: '/v1/ingest' | '/v1/traces' | '/v1/logs' | '/v1/metrics';
  readonly contentType: 'application/json' | 'application/x-ndjson' | 'application/x-protobuf';
  readonly gzip: boolean;
  /** The body as sent. */
  readonly make: () => Buffer;
  /** A native batch of the same traces that is stored before it. */
  readonly before?: () => Buffer;
  /** What it is answered. */
  readonly answer: 200 | 400 | 413;
};

export const MOST_BYTES = 1024 * 1024;
const MEBIBYTE = 1024 * 1024;

/** `head`, as many `unit`s as give `bytes`, `tail`. */
const filled = (head: string, unit: string, separator: string, tail: string, bytes: number): Buffer => {
  const times = Math.floor((bytes - head.length - tail.length) / (unit.length + separator.length));
  const units = Buffer.alloc(times * (unit.length + separator.length), unit + separator);
  return Buffer.concat([Buffer.from(head), units.subarray(0, units.length - separator.length), Buffer.from(tail)]);
};
const numbered = (head: string, unit: (n: number) => string, separator: string, tail: string, times: number): Buffer =>
  Buffer.from(head + Array.from({ length: times }, (_, n) => unit(n)).join(separator) + tail);

const times = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join();
const id = (n: number, digits: number): string => (n + 1).toString(16).padStart(digits, '0');
const nativeSpan = (n: number, more = ''): string =>
  `{"trace_id":"${id(n, 32)}","span_id":"${id(n, 16)}","name":"s","kind":"generic","status":"ok","start_time":"2026-11-20T09:00:00Z"${more}}`;
const otlpSpan = (n: number, attributes: string, more = ''): string =>
  `{"traceId":"${id(n, 32)}","spanId":"${id(n, 16)}","name":"s","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[${attributes}]${more}}`;
const inTraces = (spans: string): string => `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`;
const words = (bytes: number): string => 'the quick brown fox jumps over the lazy dog '.repeat(Math.ceil(bytes / 44));

const keysInOneMap = (keys: number): Buffer =>
  numbered(
    `{"spans":[${nativeSpan(0, ',"attributes":{').slice(0, -1)}`,
    (n) => `"${n.toString(36)}":0`,
    ',',
    '}}]}',
    keys,
  );
/** Names that no other span has. */
const namesOf = (n: number, each: number): string => times(each, (k) => `"${(n * each + k).toString(36)}":0`);
const KEYS_400 = `,"attributes":{${times(400, (k) => `"k${k}":0`)}}`;

/** Text that does not compress to less than half. */
export const noise = (seed: number, characters: number): string =>
  createHash('shake256', { outputLength: characters / 2 })
    .update(String(seed))
    .digest('hex');

const textAttribute = (key: string, value: string): string => `{"key":"${key}","value":{"stringValue":"${value}"}}`;
const inputOf = (text: string): string => `,"input":"${text}"`;
const attributeOf = (text: string): string => `,"attributes":{"k":"${text}"}`;
const idFields = 'user_id session_id thread_id environment service_name service_version release run_id'.split(' ');

/**
 * What a service sends of the requests that it serves, as a collector passes it on: it compresses to a twentieth, and further with more
 * attributes that are the same at each.
 */
const webSpan = (n: number, more: string): string => {
  const drawn = noise(100_000 + n, 40);
  const [spanId, address] = [drawn.slice(0, 16), drawn.slice(16, 24)];
  const nanos = String(Number.parseInt(drawn.slice(24, 32), 16) % 1e9).padStart(9, '0');
  const number = (key: string, value: number): string => `{"key":"${key}","value":{"intValue":"${value}"}}`;
  const attributes = [
    textAttribute('http.request.method', n % 3 === 0 ? 'POST' : 'GET'),
    textAttribute('url.path', `/api/users/${address}`),
    textAttribute('url.scheme', 'https'),
    textAttribute('server.address', 'shop.example.com'),
    number('server.port', 443),
    number('http.response.status_code', [200, 200, 404, 500][n % 4] ?? 200),
    textAttribute('http.route', '/api/users/{id}'),
    textAttribute('network.protocol.version', '1.1'),
    textAttribute('user_agent.original', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36'),
    number('thread.id', n % 64),
  ].join();
  const at = 1_795_000_000 + Math.floor(n / 1000);
  return (
    `{"traceId":"${id(n >> 2, 16)}${noise(n >> 2, 16)}","spanId":"${spanId}","name":"GET /api/users/{id}","kind":2,` +
    `"startTimeUnixNano":"${at}${nanos}","endTimeUnixNano":"${at + 1}${nanos}","attributes":[${attributes}${more}],"status":{}}`
  );
};

type Plain = Omit<HostileBody, 'gzip'>;
const asSent = (body: Plain): HostileBody => ({ ...body, gzip: false });
/** As much as any body may inflate to, however few bytes are sent. */
const FREE_BYTES = 8 * MEBIBYTE;
/** Compressed: small as sent, and not more when inflated than any body may be. */
const zipped = (body: Omit<Plain, 'make'> & { readonly make: (bytes: number) => Buffer }): HostileBody => ({
  ...body,
  gzip: true,
  make: () => {
    const sent = gzipSync(body.make(FREE_BYTES));
    if (sent.length > MOST_BYTES) throw new Error(`${body.name} is ${sent.length} bytes as sent`);
    return sent;
  },
});

const json = { contentType: 'application/json' } as const;
const lines = { path: '/v1/ingest', contentType: 'application/x-ndjson' } as const;
const native = { path: '/v1/ingest', ...json } as const;
const traces = { path: '/v1/traces', ...json } as const;
const protobuf = { path: '/v1/traces', contentType: 'application/x-protobuf' } as const;

type Answer = HostileBody['answer'];
/** Native spans, each with members of its own behind those that it must have. */
const spansWith = (name: string, answer: Answer, spans: number, more: (n: number) => string): HostileBody =>
  zipped({
    ...native,
    name,
    answer,
    make: () => numbered('{"spans":[', (n) => nativeSpan(n, more(n)), ',', ']}', spans),
  });
/** OTLP spans beneath what their resource and scope say. */
const tracesWith = (
  name: string,
  answer: Answer,
  spans: number,
  said: { readonly ofResource?: string; readonly ofScope?: string },
  span = (n: number): string => otlpSpan(n, ''),
): HostileBody =>
  zipped({
    ...traces,
    name,
    answer,
    make: () =>
      numbered(
        `{"resourceSpans":[{"resource":{"attributes":[${said.ofResource ?? ''}]},"scopeSpans":[{"scope":{"attributes":[${said.ofScope ?? ''}]},"spans":[`,
        span,
        ',',
        ']}]}]}',
        spans,
      ),
  });
const otlpNames = [
  { path: '/v1/traces', resources: 'resourceSpans', scopes: 'scopeSpans', records: 'spans' },
  { path: '/v1/logs', resources: 'resourceLogs', scopes: 'scopeLogs', records: 'logRecords' },
  { path: '/v1/metrics', resources: 'resourceMetrics', scopes: 'scopeMetrics', records: 'metrics' },
] as const;

export const hostileBodies: readonly HostileBody[] = [
  // Lines that mean nothing.
  zipped({ ...lines, name: '200,000 lines {}', answer: 413, make: () => Buffer.from('{}\n'.repeat(200_000)) }),
  asSent({ ...lines, name: 'lines {}', answer: 413, make: () => filled('', '{}', '\n', '', MOST_BYTES) }),
  zipped({ ...lines, name: 'lines {}, inflated', answer: 413, make: (bytes) => filled('', '{}', '\n', '', bytes) }),
  asSent({ ...lines, name: 'line ends', answer: 413, make: () => Buffer.alloc(MOST_BYTES, '\n') }),
  zipped({ ...lines, name: 'line ends, inflated', answer: 413, make: (bytes) => Buffer.alloc(bytes, '\n') }),
  zipped({
    ...lines,
    name: 'blank lines, inflated',
    answer: 413,
    make: (bytes) => filled('', ' \t\r', '\n', '', bytes),
  }),
  zipped({ ...lines, name: 'a line of spaces, inflated', answer: 200, make: (bytes) => Buffer.alloc(bytes, ' ') }),
  zipped({
    ...lines,
    name: 'lines with empty arrays, inflated',
    answer: 413,
    make: (bytes) => filled('', '{"spans":[],"ingest_key":"k"}', '\n', '', bytes),
  }),
  // Batches that mean nothing.
  asSent({ ...native, name: 'array of {}', answer: 413, make: () => filled('[', '{}', ',', ']', MOST_BYTES) }),
  zipped({
    ...native,
    name: 'array of {}, inflated',
    answer: 413,
    make: (bytes) => filled('[', '{}', ',', ']', bytes),
  }),
  zipped({
    ...native,
    name: 'signals [], inflated',
    answer: 413,
    make: (b) => filled('{"spans":[', '[]', ',', ']}', b),
  }),
  zipped({ ...native, name: 'signals 0, inflated', answer: 413, make: (b) => filled('{"spans":[', '0', ',', ']}', b) }),
  zipped({
    ...native,
    name: 'one key many times, inflated',
    answer: 413,
    make: (bytes) => filled('{', '"spans":[]', ',', '}', bytes),
  }),
  zipped({ ...native, name: 'spaces, inflated', answer: 400, make: (bytes) => Buffer.alloc(bytes, ' ') }),
  // Keys.
  ...[100_000, 400_000].map((keys) =>
    zipped({
      ...native,
      name: `${keys} keys in one map`,
      answer: 413,
      make: () => keysInOneMap(keys),
    }),
  ),
  asSent({
    ...native,
    name: 'keys in one map',
    answer: 413,
    make: () => keysInOneMap(110_000),
  }),
  spansWith('1,000 spans of 400 keys', 413, 1000, () => KEYS_400),
  ...(
    [
      ['24,000 names, 4 a span', 6000, 4, 200],
      ['36,000 names, 4 a span', 9000, 4, 413],
      ['100,000 names, 40 a span', 2500, 40, 413],
    ] as const
  ).map(([name, spans, each, answer]) => spansWith(name, answer, spans, (n) => `,"attributes":{${namesOf(n, each)}}`)),
  zipped({
    ...lines,
    name: '1,000 lines of a span with 400 keys',
    answer: 413,
    make: () => numbered('', (n) => `{"spans":[${nativeSpan(n, KEYS_400)}]}`, '\n', '', 1000),
  }),
  tracesWith('100,000 names of attributes, 50 a span', 413, 2000, {}, (n) =>
    otlpSpan(
      n,
      times(50, (k) => `{"key":"n${n * 50 + k}","value":{"intValue":"1"}}`),
    ),
  ),
  zipped({
    ...native,
    name: '400,000 members that are not known',
    answer: 413,
    make: () => numbered('{', (n) => `"${n.toString(36)}":0`, ',', '}', 400_000),
  }),
  tracesWith('100,000 attributes of one span', 413, 1, {}, (n) =>
    otlpSpan(
      n,
      times(100_000, (k) => `{"key":"${k.toString(36)}","value":{"intValue":"1"}}`),
    ),
  ),
  zipped({
    ...traces,
    name: 'attributes {}, inflated',
    answer: 413,
    make: (bytes) => filled(inTraces(otlpSpan(0, '#')).split('#')[0] ?? '', '{}', ',', ']}]}]}]}', bytes),
  }),
  // Nested values.
  zipped({
    ...native,
    name: 'input of [], inflated',
    answer: 413,
    make: (bytes) => filled(`{"spans":[${nativeSpan(0, ',"input":[').slice(0, -1)}`, '[]', ',', ']}]}', bytes),
  }),
  zipped({
    ...native,
    name: 'input of numbers, inflated',
    answer: 413,
    make: (bytes) => filled(`{"spans":[${nativeSpan(0, ',"input":[').slice(0, -1)}`, '1', ',', ']}]}', bytes),
  }),
  zipped({
    ...native,
    name: 'JSON in text: [[],[]...], inflated',
    answer: 200,
    make: (bytes) => filled(`{"spans":[${nativeSpan(0, ',"input":"[').slice(0, -1)}`, '[]', ',', ']"}]}', bytes),
  }),
  asSent({
    ...native,
    name: 'JSON in text: 100,000 keys',
    answer: 200,
    make: () =>
      numbered(
        `{"spans":[${nativeSpan(0, ',"input":"{').slice(0, -1)}`,
        (n) => `\\"${n.toString(36)}\\":0`,
        ',',
        '}"}]}',
        90_000,
      ),
  }),
  // Redaction judges each name of JSON in text, and puts the text together again where it takes something out.
  ...(
    [
      ['460,000 names', 200, 460_000, (n: number) => n.toString(36)],
      ['330,000 names of secrets', 200, 330_000, () => 'token'],
      ['750,000 names of secrets', 413, 750_000, () => 'token'],
    ] as const
  ).map(([what, answer, names, nameOf]) =>
    zipped({
      ...native,
      name: `JSON in text: ${what}`,
      answer,
      make: () =>
        numbered(
          `{"spans":[${nativeSpan(0, ',"input":"{').slice(0, -1)}`,
          (n) => `\\"${nameOf(n)}\\":0`,
          ',',
          '}"}]}',
          names,
        ),
    }),
  ),
  zipped({
    path: '/v1/logs',
    ...json,
    name: '9,000 records that hold names of secrets, inflated',
    answer: 413,
    make: () => {
      const record = `{"timeUnixNano":"1","body":{"stringValue":"{${times(70, () => '\\"token\\":0')}}"}}`;
      return numbered('{"resourceLogs":[{"scopeLogs":[{"logRecords":[', () => record, ',', ']}]}]}', 9000);
    },
  }),
  // What stands once and is kept at each signal.
  zipped({
    path: '/v1/metrics',
    ...json,
    name: '10,000 points of a metric with a description of 100 kB',
    answer: 413,
    make: () =>
      numbered(
        `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","description":"${'a'.repeat(100_000)}","gauge":{"dataPoints":[`,
        () => '{"asInt":"1"}',
        ',',
        ']}}]}]}]}',
        10_000,
      ),
  }),
  zipped({
    path: '/v1/logs',
    ...json,
    name: '10,000 records of a scope with a name of 100 kB',
    answer: 413,
    make: () =>
      numbered(
        `{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"${'a'.repeat(100_000)}"},"logRecords":[`,
        () => '{"timeUnixNano":"1"}',
        ',',
        ']}]}]}',
        10_000,
      ),
  }),
  // Work that one attribute of a resource gives to each of its signals.
  ...(
    [
      ['a name of 2,000 segments', 'a.'.repeat(2000), '1', 8000, 'logs', 200],
      ['16,000 tags that are one', 'svc.tags', 'a,'.repeat(16_000), 1000, 'traces', 200],
      ['8,000 tags', 'svc.tags', times(8000, (k) => k.toString(36)), 700, 'traces', 413],
      ['JSON with a secret', 'x', `{\\"token\\":0,\\"a\\":[${'[],'.repeat(20_000)}[]]}`, 510, 'traces', 200],
      ['a session of 1,600 characters', 'session.id', 's'.repeat(1600), 10_000, 'logs', 413],
    ] as const
  ).map(([what, key, value, signals, door, answer]) =>
    zipped({
      path: `/v1/${door}`,
      ...json,
      name: `${signals} ${door} of a resource with ${what}`,
      answer,
      make: () => {
        const [resources, scopes, records] =
          door === 'logs' ? ['resourceLogs', 'scopeLogs', 'logRecords'] : ['resourceSpans', 'scopeSpans', 'spans'];
        return numbered(
          `{"${resources}":[{"resource":{"attributes":[${textAttribute(key, value)}]},"${scopes}":[{"${records}":[`,
          (n) => (door === 'logs' ? '{}' : otlpSpan(n, '')),
          ',',
          ']}]}]}',
          signals,
        );
      },
    }),
  ),
  tracesWith('a span with 120 texts as Python prints them', 200, 1, {}, (n) =>
    otlpSpan(
      n,
      times(120, (k) => textAttribute(`metadata.${k}`, `[${'[],'.repeat(21_000)}[]]`)),
    ),
  ),
  // Escapes behind which a name may hide are undone, some of them again and again.
  ...(
    [
      ['controls', '\\\\u0001', 8_000_000, 200],
      ['names', '\\\\u0022jwt\\\\u0022\\\\u003a0,', 8_000_000, 413],
      ['names, as many as are taken', '\\\\u0022jwt\\\\u0022\\\\u003a0,', 2_500_000, 200],
      ['escapes', '\\\\u005cu005cu005cu005cu005cu005cu005cu005c', 8_000_000, 413],
      ['escapes, as many as are taken', '\\\\u005cu005cu005cu005cu005cu005cu005cu005c', 1_500_000, 200],
    ] as const
  ).map(([what, unit, bytes, answer]) =>
    zipped({
      ...native,
      name: `JSON in text: in escapes, ${what}`,
      answer,
      make: () => filled(`{"spans":[${nativeSpan(0, ',"input":"').slice(0, -1)}`, unit, '', '"}]}', bytes),
    }),
  ),
  // Containers of OTLP without a signal.
  ...otlpNames.flatMap(({ path, resources, scopes, records }) => [
    asSent({
      path,
      ...json,
      name: `empty ${resources}`,
      answer: 413,
      make: () => filled(`{"${resources}":[`, '{}', ',', ']}', MOST_BYTES),
    }),
    zipped({
      path,
      ...json,
      name: `empty ${resources}, inflated`,
      answer: 413,
      make: (bytes) => filled(`{"${resources}":[`, '{}', ',', ']}', bytes),
    }),
    zipped({
      path,
      ...json,
      name: `empty ${scopes}, inflated`,
      answer: 413,
      make: (bytes) => filled(`{"${resources}":[{"${scopes}":[`, `{"${records}":[]}`, ',', ']}]}', bytes),
    }),
    zipped({
      path,
      ...json,
      name: `${records} {}, inflated`,
      answer: 413,
      make: (bytes) => filled(`{"${resources}":[{"${scopes}":[{"${records}":[`, '{}', ',', ']}]}]}', bytes),
    }),
  ]),
  asSent({
    ...protobuf,
    name: 'empty ResourceSpans',
    answer: 413,
    make: () => Buffer.alloc(MOST_BYTES, Buffer.from([0x0a, 0])),
  }),
  zipped({
    ...protobuf,
    name: 'empty ResourceSpans, inflated',
    answer: 413,
    make: (bytes) => Buffer.alloc(bytes, Buffer.from([0x0a, 0])),
  }),
  zipped({
    ...protobuf,
    name: 'fields that are not known, inflated',
    answer: 200,
    make: (bytes) => Buffer.alloc(bytes, Buffer.from([0x78, 0])),
  }),
  zipped({
    ...protobuf,
    name: 'resources with a scope and a span of nothing, inflated',
    answer: 413,
    make: (bytes) => Buffer.alloc(bytes - (bytes % 6), Buffer.from([0x0a, 4, 0x12, 2, 0x12, 0])),
  }),
  // What one resource or scope says is said of each of its signals.
  ...otlpNames.slice(0, 2).map(({ path, resources, scopes, records }) =>
    zipped({
      path,
      ...json,
      name: `1,000 attributes of a resource of 9,000 ${records}`,
      answer: 413,
      make: () => {
        const attributes = Array.from({ length: 1000 }, (_, n) => `{"key":"k${n}","value":{"stringValue":"v"}}`).join();
        return numbered(
          `{"${resources}":[{"resource":{"attributes":[${attributes}]},"${scopes}":[{"${records}":[`,
          (n) => (records === 'spans' ? otlpSpan(n, '') : '{}'),
          ',',
          ']}]}]}',
          9000,
        );
      },
    }),
  ),
  tracesWith('64 KiB of text in a scope of 9,000 spans', 413, 9000, {
    ofScope: textAttribute('k', 'a'.repeat(65_536)),
  }),
  // Text that inflates.
  zipped({
    ...native,
    name: 'one span with a text, inflated',
    answer: 200,
    make: (bytes) => Buffer.from(`{"spans":[${nativeSpan(0, `,"input":"${'a'.repeat(bytes - 200)}"`)}]}`),
  }),
  ...(
    [
      ['7,500', 7500, 700, 200],
      ['9,000', 9000, 900, 413],
    ] as const
  ).map(([count, spans, bytes, answer]) =>
    spansWith(`${count} spans with ${bytes} bytes of text`, answer, spans, () => inputOf(words(bytes))),
  ),
  ...(
    [
      ['6,500', 6500, 700, 200],
      ['8,000', 8000, 700, 413],
    ] as const
  ).map(([count, spans, bytes, answer]) =>
    zipped({
      ...lines,
      name: `${count} lines of one span with ${bytes} bytes of text`,
      answer,
      make: () => numbered('', (n) => `{"spans":[${nativeSpan(n, inputOf(words(bytes)))}]}`, '\n', '', spans),
    }),
  ),
  zipped({
    ...native,
    name: 'a text that grows a thousandfold',
    answer: 413,
    make: () => Buffer.from(`{"spans":[${nativeSpan(0, inputOf('a'.repeat(127 * MEBIBYTE)))}]}`),
  }),
  spansWith('9,000 spans with texts, as far as 1 MiB may grow', 413, 9000, (n) => inputOf(noise(n, 150) + words(3000))),
  spansWith('400 spans with 55,000 bytes of text', 200, 400, (n) => inputOf(noise(n, 3600) + words(51_500))),
  spansWith('4,000 spans with 5,500 bytes of attributes', 200, 4000, (n) => attributeOf(noise(n, 360) + words(5150))),
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
  // Values by which traces are found.
  ...(
    [
      ['8,000 spans with 8 tags', 8000, 8, 200],
      ['9,000 spans with 40 tags', 9000, 40, 413],
    ] as const
  ).map(([name, spans, tags, answer]) =>
    spansWith(name, answer, spans, () => `,"correlation":{"tags":[${times(tags, (k) => `"t${k}"`)}]}`),
  ),
  ...(
    [
      ['4,000 spans with 8 ids of their own', 4000, 200],
      ['9,000 spans with 8 ids of their own', 9000, 413],
    ] as const
  ).map(([name, spans, answer]) =>
    spansWith(
      name,
      answer,
      spans,
      (n) => `,"correlation":{${idFields.map((field) => `"${field}":"${field}-${n}"`).join()}}`,
    ),
  ),
  ...(
    [
      ['2,800 names of 2,000 bytes', 2800, 2000, 200],
      ['9,000 names of 2,600 bytes', 9000, 2600, 413],
    ] as const
  ).map(([name, spans, bytes, answer]) =>
    zipped({
      ...native,
      name,
      answer,
      make: () =>
        numbered(
          '{"spans":[',
          (n) => nativeSpan(n).replace('"name":"s"', `"name":"${noise(n, 120)}${words(bytes - 120)}"`),
          ',',
          ']}',
          spans,
        ),
    }),
  ),
  zipped({
    ...native,
    name: 'a trace of 9,000 spans with a request id of their own',
    answer: 200,
    make: () =>
      numbered(
        '{"spans":[',
        (n) => nativeSpan(n, `,"correlation":{"request_id":"r${n}"}`).replace(id(n, 32), id(0, 32)),
        ',',
        ']}',
        9000,
      ),
  }),
  zipped({
    ...native,
    name: '9,000 scores with reasons, as far as 1 MiB may grow',
    answer: 413,
    make: () =>
      numbered(
        '{"scores":[',
        (n) =>
          `{"score_id":"${n}","trace_id":"${id(n, 32)}","scorer_id":"q","value":0.5,"min":0,"max":1,"source":"live","reason":"${noise(n, 140)}${words(2600)}"}`,
        ',',
        ']}',
        9000,
      ),
  }),
  tracesWith('2,000 tags of a resource of 400 spans', 413, 400, {
    ofResource: `{"key":"svc.tags","value":{"arrayValue":{"values":[${times(2000, (k) => `{"stringValue":"t${k}"}`)}]}}}`,
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
  // What the largest honest batches cost, to read the others against.
  spansWith('10,000 small spans', 200, 10_000, () => ''),
  zipped({
    ...lines,
    name: '9,000 lines of one small span with a key each',
    answer: 200,
    make: () => numbered('', (n) => `{"ingest_key":"k${n}","spans":[${nativeSpan(n)}]}`, '\n', '', 9000),
  }),
  ...(
    [
      ['four a trace', '', 0],
      ['with twenty attributes', `,${times(10, (k) => textAttribute(`app.setting.${k}`, `a value of it, ${k}`))}`, 0],
      ['with 25 attributes of a pod', '', 25],
    ] as const
  ).map(([what, more, ofResource]) =>
    tracesWith(
      `8,192 spans of web requests, ${what}`,
      200,
      8192,
      { ofResource: times(ofResource, (k) => textAttribute(`k8s.of.a.pod.${k}`, `a-value-of-it-${k}`)) },
      (n) => webSpan(n, more),
    ),
  ),
  // What is added to traces that are there already.
  ...(
    [
      ['spans', (n) => nativeSpan(n)],
      ['scores', (n) => `{"trace_id":"${id(n, 32)}","scorer_id":"q","value":0.5,"min":0,"max":1,"source":"live"}`],
      ['feedback', (n) => `{"trace_id":"${id(n, 32)}","kind":"thumbs","value":"up"}`],
    ] satisfies [string, (n: number) => string][]
  ).map(([list, item]) => ({
    ...zipped({
      ...native,
      name: `10,000 ${list} of traces that are there`,
      answer: 200,
      make: () => numbered(`{"${list}":[`, item, ',', ']}', 10_000),
    }),
    before: () =>
      numbered('{"spans":[', (n) => nativeSpan(n).replace('"span_id":"0', '"span_id":"f'), ',', ']}', 10_000),
  })),
  spansWith('1,000 spans of 4 KiB', 200, 1000, () => inputOf(words(4096))),
];
