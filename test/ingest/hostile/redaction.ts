import {
  attributeOf,
  filled,
  type HostileBody,
  inTraces,
  native,
  nativeSpan,
  numbered,
  otlpSpan,
  textAttribute,
  times,
  traces,
  zipped,
} from './shapes.ts';

const inOneAttribute = (unit: string, end: string) => (bytes: number) => {
  const [head = '', tail = ''] = `{"spans":[${nativeSpan(0, attributeOf('#'))}]}`.split('#');
  return filled(head, unit, '', end + tail, bytes);
};
const namesInText = (nameOf: (n: number) => string, names: number) => () => {
  const [head = '', tail = ''] = `{"spans":[${nativeSpan(0, attributeOf('{#}'))}]}`.split('#');
  return numbered(head, (n) => `\\"${nameOf(n)}\\":0`, ',', tail, names);
};
/** An escape in escapes: each of eight passes over a text undoes one. */
const NESTED_ESCAPE = `\\\\${'u005c'.repeat(9)}u0061`;
/** One character more than V8 hashes of a text: of each of these it hashes the length alone. */
const unhashed = (n: number): string => 'a'.repeat(16_380) + String(1000 + n);

/** Bodies that make redaction compare, split or read again what it is to go through once. */
export const redactionBodies: readonly HostileBody[] = [
  zipped({
    ...native,
    name: 'redacted: 3,000 tags, each held against 8,000 events',
    answer: 200,
    make: () =>
      numbered(
        `{"spans":[${nativeSpan(0, `,"correlation":{"tags":[${times(3000, (n) => `"${n.toString(36)}"`)}]},"events":[`).slice(0, -1)}`,
        () => '{"attributes":{"token":"x"}}',
        ',',
        ']}]}',
        8000,
      ),
  }),
  ...(
    [
      ['20 dots', 270_000, (n: number) => n.toString(36) + '.'.repeat(20)],
      ['250 dots', 32_000, (n: number) => n.toString(36) + '.'.repeat(250)],
      ['125 segments', 32_000, (n: number) => n.toString(36) + '.A'.repeat(125)],
      ['250 letters that are lowered as a whole', 16_000, (n: number) => n.toString(36) + 'é'.repeat(250)],
    ] as const
  ).map(([what, names, nameOf]) =>
    zipped({
      ...native,
      name: `redacted: ${names / 1000},000 names of ${what} in text`,
      answer: 200,
      make: namesInText(nameOf, names),
    }),
  ),
  ...(
    [
      ['runs of 1 backslash', '\\\\x'],
      ['runs of 200 backslashes', `${'\\\\'.repeat(200)}x`],
      ['nothing but backslashes', '\\\\'],
    ] as const
  ).map(([what, unit]) =>
    zipped({
      ...native,
      name: `redacted: ${what} before an escape in escapes`,
      answer: 200,
      make: inOneAttribute(unit, NESTED_ESCAPE),
    }),
  ),
  ...['[],', '{},', '0,'].map((unit) =>
    zipped({
      ...traces,
      name: `redacted: 120 texts with a token and a list of ${unit}`,
      answer: 200,
      make: () => {
        const list = unit.repeat(Math.floor(65_000 / unit.length)).slice(0, -1);
        const text = `{\\"token\\":0,\\"a\\":[${list}]}`;
        return Buffer.from(
          inTraces(
            otlpSpan(
              0,
              times(120, (n) => textAttribute(`k.${n}`, text)),
            ),
          ),
        );
      },
    }),
  ),
  zipped({
    ...native,
    name: 'redacted: a token of 470,000 numbers',
    answer: 200,
    make: () =>
      numbered(
        `{"spans":[${nativeSpan(0, ',"attributes":{"token":[').slice(0, -1)}`,
        (n) => String(1_000_000 + n),
        ',',
        ']}}]}',
        470_000,
      ),
  }),
  zipped({
    ...native,
    name: 'redacted: a token of 500 texts that V8 hashes alike',
    answer: 200,
    make: () =>
      numbered(
        `{"spans":[${nativeSpan(0, ',"attributes":{"token":[').slice(0, -1)}`,
        (n) => `"${unhashed(n)}"`,
        ',',
        ']}}]}',
        500,
      ),
  }),
];
