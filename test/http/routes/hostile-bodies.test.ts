import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MOST_KEYS_OF_ONE, MOST_NAMES, mostKeys } from '../../../src/ingest/keys.ts';
import { MOST_SHARED_ATTRIBUTES, MOST_SHARED_BYTES } from '../../../src/ingest/otlp/bounds.ts';
import { type HostileBody, hostileBodies, MOST_BYTES, noise } from '../../ingest/hostile-bodies.ts';
import { type Door, openDoor } from './ingest-door.ts';

// What these bodies cost is measured by `node bench/hostile-bodies.ts`; here it is held to what refuses them.

let door: Door;
beforeAll(async () => {
  door = await openDoor();
});
afterAll(() => door.close());

type Sent = Pick<HostileBody, 'path' | 'contentType' | 'gzip'> & { readonly bytes: Buffer | string };
const send = async ({ path, contentType, gzip, bytes }: Sent, at = door) => {
  const before = at.store.signals();
  const answer = await fetch(at.url + path, {
    method: 'POST',
    headers: { 'content-type': contentType, ...(gzip ? { 'content-encoding': 'gzip' } : {}) },
    body: new Uint8Array(Buffer.from(bytes)),
  });
  const text = await answer.text();
  return { status: answer.status, text, stored: at.store.signals() - before };
};

describe('bodies of at most 1 MiB that are built to cost more than they mean', () => {
  it.each(hostileBodies)('$path: $name is answered $answer', async (body) => {
    const bytes = body.make();
    expect(bytes.length).toBeLessThanOrEqual(MOST_BYTES);
    const { status, text, stored } = await send({ ...body, bytes });
    expect([status, text.slice(0, 300), door.heldBytes()]).toEqual([body.answer, expect.anything(), 0]);
    if (body.answer !== 413) return;
    expect(text).toContain('payload_too_large');
    expect(text).toContain('--max-body-bytes');
    expect(stored).toBe(0);
  });
});

const id = (n: number, digits: number): string => (n + 1).toString(16).padStart(digits, '0');
const aSpan = (n: number, attributes = ''): string =>
  `{"trace_id":"${id(n, 32)}","span_id":"${id(n, 16)}","name":"s","kind":"generic","status":"ok","start_time":"2026-11-20T09:00:00Z","attributes":{${attributes}}}`;
const times = (count: number, text: (n: number) => string, between = ','): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(between);

describe('lines and batches without a signal count as one each', () => {
  const lines = { path: '/v1/ingest', contentType: 'application/x-ndjson', gzip: false } as const;
  const list = { path: '/v1/ingest', contentType: 'application/json', gzip: false } as const;
  it.each([
    ['10,000 lines {}', lines, '{}\n'.repeat(10_000), 200],
    ['10,001 lines {}', lines, '{}\n'.repeat(10_001), 413],
    ['10,000 lines {}, the last without its end', lines, times(10_000, () => '{}', '\n'), 200],
    ['10,000 blank lines', lines, '\n'.repeat(10_000), 200],
    ['10,001 blank lines', lines, ' \r\n'.repeat(10_001), 413],
    ['9,999 blank lines and a line of one span', lines, `${'\n'.repeat(9999)}{"spans":[${aSpan(0)}]}`, 200],
    [
      '9,999 blank lines and a line of two spans',
      lines,
      `${'\n'.repeat(9999)}{"spans":[${aSpan(0)},${aSpan(1)}]}`,
      413,
    ],
    [
      'a line of two spans and 9,999 blank lines',
      lines,
      `{"spans":[${aSpan(0)},${aSpan(1)}]}\n${'\n'.repeat(9999)}`,
      413,
    ],
    ['a list of 10,000 batches without a signal', list, `[${times(10_000, () => '{}')}]`, 200],
    ['a list of 10,001', list, `[${times(10_001, () => '{}')}]`, 413],
    [
      'a list of 9,998 and a batch of two spans',
      list,
      `[${times(9998, () => '{}')},{"spans":[${aSpan(0)},${aSpan(1)}]}]`,
      200,
    ],
    [
      'a list of 9,999 and a batch of two spans',
      list,
      `[${times(9999, () => '{}')},{"spans":[${aSpan(0)},${aSpan(1)}]}]`,
      413,
    ],
  ])('%s', async (_name, how, bytes, status) => {
    const answer = await send({ ...how, bytes });
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([status, expect.anything()]);
    if (status === 413) expect([answer.stored, answer.text]).toEqual([0, expect.stringContaining('10000 signals')]);
  });
});

describe('a resource or scope without a signal counts as one', () => {
  const names = [
    ['/v1/traces', 'resourceSpans', 'scopeSpans', 'spans', '{}'],
    ['/v1/logs', 'resourceLogs', 'scopeLogs', 'logRecords', '{}'],
    ['/v1/metrics', 'resourceMetrics', 'scopeMetrics', 'metrics', '{"name":"m","gauge":{"dataPoints":[{"asInt":1}]}}'],
  ] as const;
  const cases = names.flatMap(([path, resources, scopes, records, record]) => {
    const empties = (count: number, rest = ''): string => `{"${resources}":[${times(count, () => '{}')}${rest}]}`;
    const inScopes = (count: number): string =>
      `{"${resources}":[{"${scopes}":[${times(count, () => '{}')},{"${records}":[${record}]}]}]}`;
    const withRecords = (count: number): string => `,{"${scopes}":[{"${records}":[${times(count, () => record)}]}]}`;
    return [
      { path, what: '10,000 empty resources', body: empties(10_000), status: 200 },
      { path, what: '10,001 empty resources', body: empties(10_001), status: 413 },
      { path, what: '9,999 empty resources and one record', body: empties(9999, withRecords(1)), status: 200 },
      { path, what: '9,999 empty resources and two records', body: empties(9999, withRecords(2)), status: 413 },
      { path, what: '9,999 empty scopes beside one record', body: inScopes(9999), status: 200 },
      { path, what: '10,000 empty scopes beside one record', body: inScopes(10_000), status: 413 },
      {
        path,
        what: '5,000 resources with an empty scope each',
        body: `{"${resources}":[${times(5000, () => `{"${scopes}":[{}]}`)}]}`,
        status: 200,
      },
      {
        path,
        what: '5,001 resources with an empty scope each',
        body: `{"${resources}":[${times(5001, () => `{"${scopes}":[{}]}`)}]}`,
        status: 413,
      },
    ];
  });
  it.each(cases)('$path: $what: $status', async ({ path, body, status }) => {
    const answer = await send({ path, contentType: 'application/json', gzip: false, bytes: body });
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([status, expect.anything()]);
  });
  it.each([
    [10_000, [0x0a, 0], 200],
    [10_001, [0x0a, 0], 413],
    [5000, [0x0a, 2, 0x12, 0], 200],
    [5001, [0x0a, 2, 0x12, 0], 413],
  ])('the same in protobuf: %i times %j', async (count, message, status) => {
    const bytes = Buffer.alloc(count * message.length, Buffer.from(message));
    expect((await send({ path: '/v1/traces', contentType: 'application/x-protobuf', gzip: false, bytes })).status).toBe(
      status,
    );
  });
});

describe('what a resource says counts at each of its signals', () => {
  const traces = { path: '/v1/traces', contentType: 'application/json', gzip: false } as const;
  const request = (attributes: string, spans: number): string =>
    `{"resourceSpans":[{"resource":{"attributes":[${attributes}]},"scopeSpans":[{"spans":[${times(spans, () => '{}')}]}]}]}`;
  const anAttribute = (n: number): string => `{"key":"k${n}","value":{"intValue":"1"}}`;
  const spans = 1000;
  it.each([
    [MOST_SHARED_ATTRIBUTES / spans, 200],
    [MOST_SHARED_ATTRIBUTES / spans + 1, 413],
  ])('%i attributes for 1,000 spans: %i', async (attributes, status) => {
    expect((await send({ ...traces, bytes: request(times(attributes, anAttribute), spans) })).status).toBe(status);
  });
  it.each([
    [-100, 200],
    [100, 413],
  ])('a text of as many bytes as 1,000 spans may hold, and %i: %i', async (more, status) => {
    const text = 'a'.repeat(Math.floor(MOST_SHARED_BYTES / spans) + more);
    const answer = await send({ ...traces, bytes: request(`{"key":"k","value":{"stringValue":"${text}"}}`, spans) });
    expect(answer.status).toBe(status);
  });
  it('takes room of --max-inflight-bytes while the request is under way', async () => {
    const own = await openDoor();
    const text = 'a'.repeat(20_000);
    const answer = await send(
      { ...traces, bytes: request(`{"key":"k","value":{"stringValue":"${text}"}}`, spans) },
      own,
    );
    await own.close();
    expect([answer.status, own.mostHeldBytes() >= 4 * spans * 20_000]).toEqual([200, true]);
  });
});

describe('keys count against a bound that grows with the bytes received', () => {
  const ofSpans = (spans: number, each: number): string =>
    `{"spans":[${times(spans, (n) =>
      aSpan(
        n,
        times(each, (k) => `"k${k}":0`),
      ),
    )}]}`;
  const native = { path: '/v1/ingest', contentType: 'application/json' } as const;

  it('so a small body may bring 150,000 and one for each 8 bytes, and no more', async () => {
    const within = gzipSync(ofSpans(375, 400));
    expect(mostKeys(within.length)).toBeLessThan(155_000);
    expect((await send({ ...native, gzip: true, bytes: within })).status).toBe(200);
    const over = gzipSync(ofSpans(390, 400));
    const refused = await send({ ...native, gzip: true, bytes: over });
    expect([refused.status, refused.stored]).toEqual([413, 0]);
    expect(refused.text).toContain(`more than ${mostKeys(over.length)} attributes`);
  });
  it('and the same keys are taken of a body that is not compressed', async () => {
    expect((await send({ ...native, gzip: false, bytes: ofSpans(390, 400) })).status).toBe(200);
  });
  it.each(['application/json', 'application/x-ndjson'] as const)(
    '%s: members that the protocol names are free',
    async (contentType) => {
      const bytes = gzipSync(
        contentType === 'application/json' ? ofSpans(10_000, 0) : times(10_000, (n) => `{"spans":[${aSpan(n)}]}`, '\n'),
      );
      expect((await send({ ...native, contentType, gzip: true, bytes })).status).toBe(200);
    },
  );
  it('over all lines of a stream', async () => {
    const bytes = gzipSync(
      times(
        390,
        (n) =>
          `{"spans":[${aSpan(
            n,
            times(400, (k) => `"k${k}":0`),
          )}]}`,
        '\n',
      ),
    );
    const refused = await send({ path: '/v1/ingest', contentType: 'application/x-ndjson', gzip: true, bytes });
    expect([refused.status, refused.stored]).toEqual([413, 0]);
  });
  it.each([
    [MOST_KEYS_OF_ONE, 200],
    [MOST_KEYS_OF_ONE + 1, 413],
  ])('%i in one map: %i', async (keys, status) => {
    expect((await send({ ...native, gzip: false, bytes: ofSpans(1, keys) })).status).toBe(status);
  });
  it.each([
    [MOST_NAMES / 10, 200],
    [MOST_NAMES / 10 + 1, 413],
  ])('%i spans of 10 names of their own: %i', async (spans, status) => {
    const bytes = `{"spans":[${times(spans, (n) =>
      aSpan(
        n,
        times(10, (k) => `"n${n}x${k}":0`),
      ),
    )}]}`;
    expect((await send({ ...native, gzip: false, bytes })).status).toBe(status);
  });
});

describe('a name of an attribute or a member has at most 16,383 characters', () => {
  const attribute = (key: string): string => `{"key":"${key}","value":{"intValue":"1"}}`;
  const otlp = (resources: string, scopes: string, records: string, record: string) => (name: string) =>
    `{"${resources}":[{"${scopes}":[{"${records}":[${record.replace('#', name)}]}]}]}`;
  const ids = '"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708"';
  const doors: [string, HostileBody['path'], (name: string) => string][] = [
    ['an attribute', '/v1/ingest', (name) => `{"spans":[${aSpan(0, `"${name}":0`)}]}`],
    [
      'a member of an input',
      '/v1/ingest',
      (name) => `{"spans":[${aSpan(0).replace('"attributes"', `"input":[{"${name}":0}],"attributes"`)}]}`,
    ],
    [
      'an attribute in OTLP',
      '/v1/traces',
      otlp('resourceSpans', 'scopeSpans', 'spans', `{${ids},"name":"s","attributes":[${attribute('#')}]}`),
    ],
    [
      'an attribute of an event in OTLP',
      '/v1/traces',
      otlp('resourceSpans', 'scopeSpans', 'spans', `{${ids},"name":"s","events":[{"attributes":[${attribute('#')}]}]}`),
    ],
    [
      'an attribute of a log',
      '/v1/logs',
      otlp('resourceLogs', 'scopeLogs', 'logRecords', `{"attributes":[${attribute('#')}]}`),
    ],
  ];
  it.each(doors)('%s', async (_what, path, body) => {
    const sendName = (characters: number) =>
      send({ path, contentType: 'application/json', gzip: false, bytes: body('n'.repeat(characters)) });
    expect((await sendName(16_383)).status).toBe(200);
    const refused = await sendName(16_384);
    expect([refused.status, refused.stored]).toEqual([413, 0]);
    expect(refused.text).toContain(
      'of 16384 characters, and a name has at most 16383: put what it says into the value',
    );
  });
});

describe('the work of a request is bounded, and the bound grows with the bytes received', () => {
  const words = 'the quick brown fox '.repeat(35);
  const withText = (n: number): string =>
    aSpan(n).replace('"attributes"', `"input":"${noise(n, 64)}${words}","attributes"`);
  const bodies = [
    ['application/json', 7500, (spans: number): string => `{"spans":[${times(spans, withText)}]}`],
    ['application/x-ndjson', 6700, (spans: number): string => times(spans, (n) => `{"spans":[${withText(n)}]}`, '\n')],
  ] as const;

  it.each(bodies)(
    '%s: as many spans with text as are half a second, %i, and 350 more',
    async (contentType, within, body) => {
      const over = within + 350;
      const ways = { path: '/v1/ingest', contentType } as const;
      const taken = await send({ ...ways, gzip: true, bytes: gzipSync(body(within)) });
      expect([taken.status, taken.stored]).toEqual([200, within]);
      const refused = await send({ ...ways, gzip: true, bytes: gzipSync(body(over)) });
      expect([refused.status, refused.stored]).toEqual([413, 0]);
      expect(refused.text).toContain(
        'more processor time than one of its size may, by its signals, attributes and text',
      );
      expect((await send({ ...ways, gzip: false, bytes: body(over) })).status).toBe(200);
    },
  );
});

describe('a body may inflate to 8 MiB, and to 24 times what was received', () => {
  const native = { path: '/v1/ingest', contentType: 'application/json', gzip: true } as const;
  const text = (bytes: number): string => `{"spans":[${aSpan(0, `"t":"${'a'.repeat(bytes)}"`)}]}`;
  it.each([
    [8 * 1024 * 1024 - 1000, 200],
    [9 * 1024 * 1024, 413],
  ])('%i bytes of one letter: %i', async (bytes, status) => {
    const answer = await send({ ...native, bytes: gzipSync(text(bytes)) });
    expect(answer.status).toBe(status);
    if (status === 413) expect(answer.text).toContain('8388608 bytes (8 MiB) and 24 times what was received');
  });
  it('so 20 MiB of which a twentieth is left are taken', async () => {
    const words = times(80_000, (n) => noise(n, 20).padEnd(250, 'word '), '');
    const bytes = gzipSync(text(0).replace('"t":""', `"t":"${words}"`));
    expect([words.length / bytes.length > 12, words.length / bytes.length < 22]).toEqual([true, true]);
    expect((await send({ ...native, bytes })).status).toBe(200);
  });
});
