import {
  json,
  numbered,
  otlpNames,
  otlpSpan,
  textAttribute,
  times,
  tracesWith,
  type HostileBody,
  zipped,
} from './shapes.ts';

/** Bodies that say once, in a resource or a scope, what is kept at each signal. */
export const saidOnceBodies: readonly HostileBody[] = [
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
      ['8,000 tags', 'svc.tags', `[${times(8000, (k) => `\\"${k.toString(36)}\\"`)}]`, 700, 'traces', 413],
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
];
