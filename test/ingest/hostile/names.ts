import {
  asSent,
  filled,
  type HostileBody,
  inTraces,
  json,
  KEYS_400,
  keysInOneMap,
  lines,
  namesOf,
  native,
  nativeSpan,
  numbered,
  otlpSpan,
  spansWith,
  times,
  traces,
  tracesWith,
  zipped,
} from './shapes.ts';

/** Bodies of names: keys of maps, names in JSON that redaction judges, and escapes behind which one may hide. */
export const namesBodies: readonly HostileBody[] = [
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
];
