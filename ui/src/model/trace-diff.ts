import { durationOf, type Span, type TraceRows } from './trace.ts';

/** Two traces side by side: a row of one, of the other, or of both where the structure is the same. */
export type DiffRow = {
  readonly id: string;
  readonly depth: number;
  readonly a: number | undefined;
  readonly b: number | undefined;
  readonly changes: readonly Change[];
};
export type Change = 'only in A' | 'only in B' | 'status' | 'model' | 'slower' | 'faster' | 'dearer' | 'cheaper';

/** A time within that of the other, or a difference that nobody waits for, is no change. */
const TIME_FACTOR = 1.5;
const LEAST_TIME_NS = 5e6;
const COST_FACTOR = 1.1;

const compareTimes = (a: number | undefined, b: number | undefined): Change | undefined => {
  if (a === undefined || b === undefined || Math.abs(a - b) < LEAST_TIME_NS) return undefined;
  if (b > a * TIME_FACTOR) return 'slower';
  return a > b * TIME_FACTOR ? 'faster' : undefined;
};
/** Unknown is not free: where one of them has no cost, nothing is said. */
const compareCosts = (a: Span['cost'], b: Span['cost']): Change | undefined => {
  if (a === undefined || b === undefined || a.currency !== b.currency) return undefined;
  if (b.total_cost > a.total_cost * COST_FACTOR) return 'dearer';
  return a.total_cost > b.total_cost * COST_FACTOR ? 'cheaper' : undefined;
};

const changesOf = (a: TraceRows, rowA: number, b: TraceRows, rowB: number): readonly Change[] => {
  const spanA = a.spans[rowA];
  const spanB = b.spans[rowB];
  if (spanA === undefined || spanB === undefined) return [];
  return [
    spanA.status === spanB.status ? undefined : ('status' as const),
    spanA.model === spanB.model ? undefined : ('model' as const),
    compareTimes(durationOf(a, rowA), durationOf(b, rowB)),
    compareCosts(spanA.cost, spanB.cost),
  ].filter((change) => change !== undefined);
};

const NONE = -1;

type Node = { a: number | undefined; b: number | undefined; depth: number; first: number; last: number; next: number };

/**
 * Aligns two traces by structure. Two spans belong together when they have the same name and kind, the same place among siblings of
 * that name, and parents that belong together. The order is that of the first; what only the second has stands behind what it follows
 * there. Nothing here recurses, and each span is looked at once.
 */
export const diffTraces = (a: TraceRows, b: TraceRows): readonly DiffRow[] => {
  // Node 0 holds the roots.
  const nodes: Node[] = [{ a: undefined, b: undefined, depth: NONE, first: NONE, last: NONE, next: NONE }];
  const byPlace = new Map<string, number>();
  const counts = new Map<string, number>();
  /** Where a span belongs: under its parent's node, the n-th of its name and kind. */
  const placeOf = (rows: TraceRows, row: number, parent: number, side: 'a' | 'b'): string => {
    const span = rows.spans[row];
    const name = rows.isMissing[row] === 1 ? 'missing' : `${span?.kind} ${span?.name}`;
    const key = `${parent} ${name}`;
    const nth = (counts.get(side + key) ?? 0) + 1;
    counts.set(side + key, nth);
    return `${nth} ${key}`;
  };
  const insert = (parent: number, after: number, node: Node): number => {
    const index = nodes.length;
    const held = nodes[parent];
    nodes.push(node);
    if (held === undefined) return index;
    const before = nodes[after];
    if (before === undefined) {
      node.next = held.first;
      held.first = index;
    } else {
      node.next = before.next;
      before.next = index;
    }
    if (after === held.last) held.last = index;
    return index;
  };

  const nodeOfA = new Int32Array(a.spans.length);
  for (let row = 0; row < a.spans.length; row += 1) {
    const above = a.parent[row] ?? NONE;
    const parent = above === NONE ? 0 : (nodeOfA[above] ?? 0);
    const depth = (nodes[parent]?.depth ?? NONE) + 1;
    const index = insert(parent, nodes[parent]?.last ?? NONE, {
      a: row,
      b: undefined,
      depth,
      first: NONE,
      last: NONE,
      next: NONE,
    });
    nodeOfA[row] = index;
    byPlace.set(placeOf(a, row, parent, 'a'), index);
  }
  const nodeOfB = new Int32Array(b.spans.length);
  const reached = new Map<number, number>();
  for (let row = 0; row < b.spans.length; row += 1) {
    const above = b.parent[row] ?? NONE;
    const parent = above === NONE ? 0 : (nodeOfB[above] ?? 0);
    const found = byPlace.get(placeOf(b, row, parent, 'b'));
    const depth = (nodes[parent]?.depth ?? NONE) + 1;
    const index =
      found ??
      insert(parent, reached.get(parent) ?? NONE, { a: undefined, b: row, depth, first: NONE, last: NONE, next: NONE });
    const node = nodes[index];
    if (node !== undefined) node.b = row;
    nodeOfB[row] = index;
    reached.set(parent, index);
  }

  const found: DiffRow[] = [];
  const work = [nodes[0]?.first ?? NONE];
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    const node = nodes[at];
    if (node === undefined) continue;
    const changes: readonly Change[] =
      node.a === undefined ? ['only in B'] : node.b === undefined ? ['only in A'] : changesOf(a, node.a, b, node.b);
    found.push({ id: String(at), depth: node.depth, a: node.a, b: node.b, changes });
    work.push(node.next, node.first);
  }
  return found;
};

/** How many rows have each change, the commonest first. */
export const countChanges = (rows: readonly DiffRow[]): readonly (readonly [Change, number])[] => {
  const counts = new Map<Change, number>();
  for (const { changes } of rows) for (const change of changes) counts.set(change, (counts.get(change) ?? 0) + 1);
  return [...counts].toSorted(([, x], [, y]) => y - x);
};
