import {
  type HostileBody,
  id,
  idFields,
  native,
  nativeSpan,
  noise,
  numbered,
  spansWith,
  times,
  tracesWith,
  words,
  zipped,
} from './shapes.ts';

/** Bodies of values by which traces are found. */
export const foundByBodies: readonly HostileBody[] = [
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
];
