/**
 * Where spans are found, in the order in which they are answered. It crosses between threads with each question: numbers and one text
 * do so several times as fast as a list of ids.
 */
export type SpanPlaces = {
  /** The row number of the trace of each, or the one that all of them have. */
  readonly traces: number | readonly number[];
  /** Their row numbers. A span that is sent again has another one: then it is found by its trace and its id. */
  readonly spans: Float64Array;
  /** Their ids, one after the other. */
  readonly ids: string;
};

/** Characters of the id of a span. @see isSpanId in model/ids.ts */
const ID_CHARACTERS = 16;

export const placesOf = (
  traces: number | readonly number[],
  spans: readonly number[],
  ids: readonly string[],
): SpanPlaces => ({ traces, spans: Float64Array.from(spans), ids: ids.join('') });

/** Those from one place up to another. */
export const somePlaces = ({ traces, spans, ids }: SpanPlaces, from: number, to: number): SpanPlaces => ({
  traces: typeof traces === 'number' ? traces : traces.slice(from, to),
  spans: spans.slice(from, to),
  ids: ids.slice(from * ID_CHARACTERS, to * ID_CHARACTERS),
});

/** What the span at a place is found by when its row number is gone. */
export const idAt = ({ traces, ids }: SpanPlaces, place: number): [trace: number | undefined, spanId: string] => [
  typeof traces === 'number' ? traces : traces[place],
  ids.slice(place * ID_CHARACTERS, (place + 1) * ID_CHARACTERS),
];
