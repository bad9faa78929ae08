import {
  asSent,
  attributeOf,
  filled,
  type HostileBody,
  inputOf,
  lines,
  MEBIBYTE,
  native,
  nativeSpan,
  noise,
  numbered,
  spansWith,
  words,
  zipped,
} from './shapes.ts';

/** Bodies of nested values, and of text that inflates. */
export const valuesBodies: readonly HostileBody[] = [
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
];
