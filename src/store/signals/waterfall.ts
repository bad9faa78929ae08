/** How a waterfall reads a span, whatever form an engine has it in. */
export type WaterfallReader<T> = {
  readonly id: (span: T) => string;
  readonly parent: (span: T) => string | null;
  readonly start: (span: T) => bigint;
};

/** Spans as columns: what a waterfall reads of the span at each place. */
export type WaterfallColumns = {
  readonly ids: readonly string[];
  readonly parents: readonly (string | null)[];
  /** Compares the starts of the spans at two places. */
  readonly compareStarts: (a: number, b: number) => number;
};

/** No span: where a list of children ends, and the parent of one that stands at the top. */
const NONE = -1;

/**
 * Orders spans so that a waterfall can be drawn line by line: a parent before its children, siblings by start and then by
 * id; a span whose parent is missing stands at the top level. Spans in a ring of parents begin with the earliest of them.
 *
 * Inside, a span is its rank among all by their ids. Parents are searched for in that order: a `Map` would look each id up in a table
 * of all strings first, and engines mostly hand spans over in this order.
 * @returns the places of the spans, line by line
 */
export const waterfallOrder = ({ ids, parents, compareStarts }: WaterfallColumns): number[] => {
  const places = Array.from(ids, (_, place) => place).sort((a, b) => compareTexts(ids[a] as string, ids[b] as string));
  const ranks = Array.from(places, (_, rank) => rank);
  const idOf = (rank: number): string => ids[places[rank] as number] as string;
  const bearerOf = firstBearers(ranks.map(idOf));
  const byStart = ranks.sort((a, b) => compareStarts(places[a] as number, places[b] as number));

  // The children of a span are a list from the last to the first: each names the one before it.
  const lastChild = new Int32Array(ids.length).fill(NONE);
  const childBefore = new Int32Array(ids.length).fill(NONE);
  const tops: number[] = [];
  const parentOf = searchOf(ids.length, idOf);
  for (const rank of byStart) {
    const above = parents[places[rank] as number] ?? null;
    const parent = above === null ? NONE : parentOf(above);
    if (parent === NONE) tops.push(rank);
    else {
      childBefore[rank] = lastChild[parent] as number;
      lastChild[parent] = rank;
    }
  }

  const lines: number[] = [];
  const isDrawn = new Uint8Array(ids.length);
  // A stack of our own: a chain of ten thousand spans would overflow that of the engine.
  const stack: number[] = [];
  const drawFrom = (top: number): void => {
    stack.push(top);
    for (let rank = stack.pop(); rank !== undefined; rank = stack.pop()) {
      if (isDrawn[rank] === 1) continue;
      isDrawn[rank] = 1;
      lines.push(places[rank] as number);
      // Children of an id are drawn once, under the bearer that is drawn first.
      const bearer = bearerOf[rank] as number;
      for (let child = lastChild[bearer] as number; child !== NONE; child = childBefore[child] as number)
        stack.push(child);
      lastChild[bearer] = NONE;
    }
  };
  for (const top of tops) drawFrom(top);
  for (const rank of byStart) if (isDrawn[rank] === 0) drawFrom(rank);
  return lines;
};

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Of each rank the first that has the same id. Two projects may have a span of one id each; its children are under one of them. */
const firstBearers = (sortedIds: readonly string[]): Int32Array => {
  const first = new Int32Array(sortedIds.length);
  for (let rank = 1; rank < first.length; rank++)
    first[rank] = sortedIds[rank] === sortedIds[rank - 1] ? (first[rank - 1] as number) : rank;
  return first;
};

/** @returns a search for the first rank that has an id. Neighbours mostly ask for the same one */
const searchOf = (count: number, idOf: (rank: number) => string) => {
  let lastId: string | undefined;
  let lastFound = NONE;
  return (id: string): number => {
    if (id === lastId) return lastFound;
    let [low, high] = [0, count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (idOf(middle) < id) low = middle + 1;
      else high = middle;
    }
    lastId = id;
    lastFound = low < count && idOf(low) === id ? low : NONE;
    return lastFound;
  };
};

/** The same of spans in any form. */
export const waterfall = <T>(spans: readonly T[], { id, parent, start }: WaterfallReader<T>): T[] => {
  const starts = spans.map(start);
  const compareStarts = (a: number, b: number): number => {
    const [startA, startB] = [starts[a] as bigint, starts[b] as bigint];
    return startA < startB ? -1 : startA > startB ? 1 : 0;
  };
  const order = waterfallOrder({ ids: spans.map(id), parents: spans.map(parent), compareStarts });
  return order.map((place) => spans[place] as T);
};
