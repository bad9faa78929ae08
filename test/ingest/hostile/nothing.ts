import {
  MOST_BYTES,
  asSent,
  filled,
  json,
  lines,
  native,
  otlpNames,
  protobuf,
  type HostileBody,
  zipped,
} from './shapes.ts';

/** Bodies of what means nothing: lines, batches, containers. */
export const nothingBodies: readonly HostileBody[] = [
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
];
