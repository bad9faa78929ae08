import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';

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

/** The first digits of the ids of traces, which are zeros as the bodies are made. */
const ROUND_DIGITS = 4;
const WITH_ROUND = new RegExp(`"(trace_?id)":"0{${ROUND_DIGITS}}`, 'gi');
/** The same with traces of its own. @param round below 65,536; with zero it is as it was */
export const ofRound = (bytes: Buffer, round: number): Buffer => {
  const digits = round.toString(16).padStart(ROUND_DIGITS, '0');
  return Buffer.from(bytes.toString('latin1').replaceAll(WITH_ROUND, `"$1":"${digits}`), 'latin1');
};
/** A body as sent, with traces of its own. */
export const sentInRound = ({ make, gzip }: HostileBody, round: number): Buffer =>
  gzip ? gzipSync(ofRound(gunzipSync(make()), round)) : ofRound(make(), round);

export const MOST_BYTES = 1024 * 1024;
export const MEBIBYTE = 1024 * 1024;

/** `head`, as many `unit`s as give `bytes`, `tail`. */
export const filled = (head: string, unit: string, separator: string, tail: string, bytes: number): Buffer => {
  const times = Math.floor((bytes - head.length - tail.length) / (unit.length + separator.length));
  const units = Buffer.alloc(times * (unit.length + separator.length), unit + separator);
  return Buffer.concat([Buffer.from(head), units.subarray(0, units.length - separator.length), Buffer.from(tail)]);
};
export const numbered = (
  head: string,
  unit: (n: number) => string,
  separator: string,
  tail: string,
  times: number,
): Buffer => Buffer.from(head + Array.from({ length: times }, (_, n) => unit(n)).join(separator) + tail);

export const times = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join();
export const id = (n: number, digits: number): string => (n + 1).toString(16).padStart(digits, '0');
export const nativeSpan = (n: number, more = ''): string =>
  `{"trace_id":"${id(n, 32)}","span_id":"${id(n, 16)}","name":"s","kind":"generic","status":"ok","start_time":"2026-11-20T09:00:00Z"${more}}`;
export const otlpSpan = (n: number, attributes: string, more = ''): string =>
  `{"traceId":"${id(n, 32)}","spanId":"${id(n, 16)}","name":"s","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[${attributes}]${more}}`;
export const inTraces = (spans: string): string => `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`;
export const words = (bytes: number): string =>
  'the quick brown fox jumps over the lazy dog '.repeat(Math.ceil(bytes / 44));

export const keysInOneMap = (keys: number): Buffer =>
  numbered(
    `{"spans":[${nativeSpan(0, ',"attributes":{').slice(0, -1)}`,
    (n) => `"${n.toString(36)}":0`,
    ',',
    '}}]}',
    keys,
  );
/** Names that no other span has. */
export const namesOf = (n: number, each: number): string => times(each, (k) => `"${(n * each + k).toString(36)}":0`);
export const KEYS_400 = `,"attributes":{${times(400, (k) => `"k${k}":0`)}}`;

/** Text that does not compress to less than half. */
export const noise = (seed: number, characters: number): string =>
  createHash('shake256', { outputLength: characters / 2 })
    .update(String(seed))
    .digest('hex');

export const textAttribute = (key: string, value: string): string =>
  `{"key":"${key}","value":{"stringValue":"${value}"}}`;
export const inputOf = (text: string): string => `,"input":"${text}"`;
export const attributeOf = (text: string): string => `,"attributes":{"k":"${text}"}`;
export const idFields = 'user_id session_id thread_id environment service_name service_version release run_id'.split(
  ' ',
);

/**
 * What a service sends of the requests that it serves, as a collector passes it on: it compresses to a twentieth, and further with more
 * attributes that are the same at each.
 */
export const webSpan = (n: number, more: string): string => {
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

export type Plain = Omit<HostileBody, 'gzip'>;
export const asSent = (body: Plain): HostileBody => ({ ...body, gzip: false });
/** As much as any body may inflate to, however few bytes are sent. */
export const FREE_BYTES = 8 * MEBIBYTE;
/** Compressed: small as sent, and not more when inflated than any body may be. */
export const zipped = (body: Omit<Plain, 'make'> & { readonly make: (bytes: number) => Buffer }): HostileBody => ({
  ...body,
  gzip: true,
  make: () => {
    const sent = gzipSync(body.make(FREE_BYTES));
    if (sent.length > MOST_BYTES) throw new Error(`${body.name} is ${sent.length} bytes as sent`);
    return sent;
  },
});

export const json = { contentType: 'application/json' } as const;
export const lines = { path: '/v1/ingest', contentType: 'application/x-ndjson' } as const;
export const native = { path: '/v1/ingest', ...json } as const;
export const traces = { path: '/v1/traces', ...json } as const;
export const protobuf = { path: '/v1/traces', contentType: 'application/x-protobuf' } as const;

export type Answer = HostileBody['answer'];
/** Native spans, each with members of its own behind those that it must have. */
export const spansWith = (name: string, answer: Answer, spans: number, more: (n: number) => string): HostileBody =>
  zipped({
    ...native,
    name,
    answer,
    make: () => numbered('{"spans":[', (n) => nativeSpan(n, more(n)), ',', ']}', spans),
  });
/** OTLP spans beneath what their resource and scope say. */
export const tracesWith = (
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
export const otlpNames = [
  { path: '/v1/traces', resources: 'resourceSpans', scopes: 'scopeSpans', records: 'spans' },
  { path: '/v1/logs', resources: 'resourceLogs', scopes: 'scopeLogs', records: 'logRecords' },
  { path: '/v1/metrics', resources: 'resourceMetrics', scopes: 'scopeMetrics', records: 'metrics' },
] as const;
