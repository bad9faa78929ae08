import type { SpanQuery } from './query.ts';

/** Where a span stands in an engine that names projects by `P`, and what it will weigh as JSON, in bytes. */
export type SpanPlace<P> = {
  readonly project: P;
  readonly traceId: string;
  readonly spanId: string;
  readonly weight: number;
};

/** What a span weighs without its payloads, its name and its message, in bytes: names of members, ids, times, correlation. */
export const ENVELOPE_BYTES = 700;

/** A piece ends with the span that brings it to so many bytes. */
export const PIECE_BYTES = 256 * 1024;
const PIECE_SPANS = 512;

/** Spans in pieces that are written one at a time. */
export function* piecesOf<P>(places: readonly SpanPlace<P>[]): Generator<SpanPlace<P>[]> {
  let piece: SpanPlace<P>[] = [];
  let bytes = 0;
  for (const place of places) {
    piece.push(place);
    bytes += place.weight;
    if (bytes < PIECE_BYTES && piece.length < PIECE_SPANS) continue;
    yield piece;
    [piece, bytes] = [[], 0];
  }
  if (piece.length > 0) yield piece;
}

/**
 * How many of the rows that were found make up a page: up to its limit, and no further than the span that brings it over `maxBytes`.
 * @param weightOf of a row, in bytes
 */
export const pageLength = <R>(
  found: readonly R[],
  { limit, maxBytes }: Pick<SpanQuery, 'limit' | 'maxBytes'>,
  weightOf: (row: R) => number,
): number => {
  const most = Math.min(found.length, limit);
  if (maxBytes === undefined) return most;
  let bytes = 0;
  for (let place = 0; place < most; place += 1) {
    bytes += weightOf(found[place] as R);
    if (bytes > maxBytes) return place + 1;
  }
  return most;
};

/** What an answer of these spans weighs, in bytes. */
export const weightOfAll = (places: readonly Pick<SpanPlace<unknown>, 'weight'>[]): number =>
  places.reduce((sum, { weight }) => sum + weight, 0);
