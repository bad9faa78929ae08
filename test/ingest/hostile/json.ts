import { filled, type HostileBody, id, native, nativeSpan, otlpSpan, textAttribute, traces, zipped } from './shapes.ts';

const inSpan = (member: string): string => `{"spans":[${nativeSpan(0, member).slice(0, -1)}`;
const [BEFORE_ATTRIBUTES, BEHIND_ATTRIBUTES] = otlpSpan(0, '#').split('#') as [string, string];
/** The spans stand before what their scope and resource say, so that they are passed over twice before they are read. */
const late = (attribute: string): string =>
  `{"resourceSpans":[{"scopeSpans":[{"spans":[${BEFORE_ATTRIBUTES}${attribute}${BEHIND_ATTRIBUTES}],"scope":{"name":"x"}}],"resource":{}}]}`;
const filledAt = (text: string, unit: string, separator: string, bytes: number): Buffer => {
  const [head, tail] = text.split('#') as [string, string];
  return filled(head, unit, separator, tail, bytes);
};

/** More values are refused by their count, or by their work. */
const MOST_VALUES = { small: 1_800_000, inInput: { '0.1': 740_000, '1e99': 735_000 } as Record<string, number> };
const mostOf = (number: string, bytes: number, values = MOST_VALUES.small): number =>
  Math.min(bytes, values * (number.length + 1));

/** Bodies of what is dear to read in JSON itself: escapes, and numbers that are no short integers. */
export const jsonBodies: readonly HostileBody[] = [
  ...(
    [
      ['letters', '\\u0041'],
      ['NUL', '\\u0000'],
      ['lone surrogates', '\\ud800'],
      ['pairs of surrogates', '\\ud83d\\ude00'],
      ['line ends', '\\n'],
      ['quotes', '\\"'],
      ['letters of two bytes', 'éé'],
    ] as const
  ).flatMap(([what, unit]) => [
    zipped({
      ...native,
      name: `JSON: an input of escapes, ${what}`,
      answer: 200,
      make: (bytes) => filled(inSpan(',"input":"'), unit, '', '"}]}', bytes),
    }),
    zipped({
      ...traces,
      name: `JSON: an attribute of escapes, ${what}`,
      answer: 200,
      make: (bytes) => filledAt(late(textAttribute('k', '#')), unit, '', bytes),
    }),
  ]),
  zipped({
    ...traces,
    name: 'JSON: an attribute of escapes with a member behind it',
    answer: 200,
    make: (bytes) => filledAt(late('{"key":"k","value":{"stringValue":"#","x":0}}'), '\\u0041', '', bytes),
  }),
  zipped({
    ...traces,
    name: 'JSON: members that are not known, their names of escapes',
    answer: 200,
    make: (bytes) =>
      filledAt(
        `{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"${id(0, 16)}",#}]}]}]}`,
        '"\\u0061":0',
        ',',
        bytes,
      ),
  }),
  ...['0.1', '1e5', '1e99', '0.12345678901234567'].flatMap((number) => [
    zipped({
      ...native,
      name: `JSON: an input of ${number}`,
      answer: 200,
      make: (bytes) =>
        filled(inSpan(',"input":['), number, ',', ']}]}', mostOf(number, bytes, MOST_VALUES.inInput[number])),
    }),
    zipped({
      ...traces,
      name: `JSON: ${number} in a member that is not known`,
      answer: 200,
      make: (bytes) => filledAt('{"resourceSpans":[],"x":[#]}', number, ',', mostOf(number, bytes)),
    }),
  ]),
  ...Object.entries(MOST_VALUES.inInput).map(([number, most]) =>
    zipped({
      ...native,
      name: `JSON: an input of ${number}, more than are taken`,
      answer: 413,
      make: (bytes) => filled(inSpan(',"input":['), number, ',', ']}]}', mostOf(number, bytes, most + 30_000)),
    }),
  ),
];
