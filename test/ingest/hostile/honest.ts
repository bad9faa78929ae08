import {
  type HostileBody,
  id,
  inputOf,
  lines,
  native,
  nativeSpan,
  numbered,
  spansWith,
  textAttribute,
  times,
  tracesWith,
  webSpan,
  words,
  zipped,
} from './shapes.ts';

/** Words of which no two are alike, drawn anew for each round. */
const ownWords = (n: number, count: number, round: number): string =>
  Array.from({ length: count }, (_, k) =>
    ((n * 7_919 + k * 104_729 + round * 1_299_709) % 1_000_003).toString(36),
  ).join(' ');
const spansOf = (count: number, text: (n: number) => string): Buffer =>
  numbered('{"spans":[', (n) => nativeSpan(n, inputOf(text(n))), ',', ']}', count);

/** Bodies that honest senders bring at most, to read the others against, and what is added to traces that are there. */
export const honestBodies: readonly HostileBody[] = [
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
  ...(
    [
      ['700 bytes of text', 7_500, (_, round) => `${round} ${words(700)}`],
      ['110 words of their own', 2_900, (n, round) => ownWords(n, 110, round)],
    ] satisfies [string, number, (n: number, round: number) => string][]
  ).map(([what, count, text]) => ({
    ...zipped({
      ...native,
      name: `${count.toLocaleString('en')} spans that are there, with another ${what}`,
      answer: 200,
      make: () => spansOf(count, (n) => text(n, 1)),
    }),
    before: () => spansOf(count, (n) => text(n, 0)),
  })),
  spansWith('1,000 spans of 4 KiB', 200, 1000, () => inputOf(words(4096))),
];
