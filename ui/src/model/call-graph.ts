import type { SpanKind } from './status.ts';
import type { TraceRows } from './trace.ts';

/** A box of the picture: a call, or all calls of one name and kind. */
export type CallNode = {
  readonly id: string;
  readonly name: string;
  readonly kind: SpanKind;
  /** Rows that it stands for, in their order. */
  readonly rows: readonly number[];
  readonly errors: number;
  /** Time of all of its calls, in nanoseconds; of calls that ended. */
  readonly totalNs: number;
};

/**
 * `recorded`: the span names its parent, so one called the other. `inferred`: nothing says that one led to the other; it was the
 * next call of the same parent, begun when the one before had ended.
 */
export type CallEdge = {
  readonly from: string;
  readonly to: string;
  readonly how: 'recorded' | 'inferred';
  readonly count: number;
};

export type CallGraph = {
  readonly nodes: readonly CallNode[];
  readonly edges: readonly CallEdge[];
  /** Calls or names that are left out. */
  readonly left: number;
  /** Edges that are left out: the rarest, and inferred ones before recorded ones. */
  readonly leftEdges: number;
};

/** A picture of more is none; and dagre takes 150 ms for so many. */
export const MOST_NODES = 150;
/** More lines are a thicket, and take seconds to place. */
export const MOST_EDGES = 300;

/** How much of a graph is taken: what a picture can show, or all of it for tables. */
type Most = { readonly nodes: number; readonly edges: number };
const DRAWN: Most = { nodes: MOST_NODES, edges: MOST_EDGES };
export const ALL_CALLS: Most = { nodes: Number.POSITIVE_INFINITY, edges: Number.POSITIVE_INFINITY };

/**
 * The calls of a trace, or of a part of it, as a graph.
 * @param by `name` makes one box of all calls of a name and kind, `call` one of each
 * @param root the row whose subtree is drawn; all rows without it
 * @param most of it; what a picture can show, unless it says otherwise
 */
export const callGraph = (rows: TraceRows, by: 'name' | 'call', root?: number, most = DRAWN): CallGraph => {
  const from = root ?? 0;
  const to = root === undefined ? rows.spans.length : root + (rows.size[root] ?? 1);
  type Held = { id: string; name: string; kind: SpanKind; rows: number[]; errors: number; totalNs: number };
  const nodes = new Map<string, Held>();
  const idOf: (string | undefined)[] = [];
  let left = 0;
  const leftNames = new Set<string>();
  for (let row = from; row < to; row += 1) {
    const span = rows.spans[row];
    if (span === undefined || rows.isMissing[row] === 1) continue;
    const id = by === 'call' ? String(row) : `${span.kind} ${span.name}`;
    let node = nodes.get(id);
    if (node === undefined) {
      if (nodes.size >= most.nodes) {
        if (by === 'call') left += 1;
        else leftNames.add(id);
        continue;
      }
      node = { id, name: span.name, kind: span.kind, rows: [], errors: 0, totalNs: 0 };
      nodes.set(id, node);
    }
    idOf[row] = id;
    node.rows.push(row);
    node.errors += rows.isError[row] ?? 0;
    if (rows.isOpenEnded[row] === 0) node.totalNs += (rows.end[row] ?? 0) - (rows.start[row] ?? 0);
  }
  const edges = new Map<string, { from: string; to: string; how: CallEdge['how']; count: number }>();
  const connect = (a: number, b: number, how: CallEdge['how']): void => {
    const source = idOf[a];
    const target = idOf[b];
    if (source === undefined || target === undefined) return;
    const key = `${how} ${source.length} ${source} ${target}`;
    const edge = edges.get(key);
    if (edge === undefined) edges.set(key, { from: source, to: target, how, count: 1 });
    else edge.count += 1;
  };
  // Children of one parent in the order of their start, to see which began when another had ended.
  const children = new Map<number, number[]>();
  for (let row = from; row < to; row += 1) {
    if (idOf[row] === undefined) continue;
    const above = row === root ? -1 : (rows.parent[row] ?? -1);
    if (above >= from && rows.isMissing[above] === 0) connect(above, row, 'recorded');
    const list = children.get(above);
    if (list === undefined) children.set(above, [row]);
    else list.push(row);
  }
  for (const list of children.values()) {
    const byStart = list.toSorted((a, b) => (rows.start[a] ?? 0) - (rows.start[b] ?? 0) || a - b);
    for (const [at, row] of byStart.entries()) {
      const before = byStart[at - 1];
      if (before === undefined || rows.isOpenEnded[before] === 1) continue;
      if ((rows.end[before] ?? 0) <= (rows.start[row] ?? 0)) connect(before, row, 'inferred');
    }
  }
  const ranked = [...edges.values()].toSorted((a, b) =>
    a.how === b.how ? b.count - a.count : a.how === 'recorded' ? -1 : 1,
  );
  return {
    nodes: [...nodes.values()],
    edges: ranked.slice(0, most.edges),
    left: left + leftNames.size,
    leftEdges: Math.max(0, ranked.length - most.edges),
  };
};

export type PlacedCall = CallNode & {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
};
export type PlacedEdge = CallEdge & { readonly points: readonly { readonly x: number; readonly y: number }[] };

export type CallLayout = {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly PlacedCall[];
  readonly edges: readonly PlacedEdge[];
};

/** Below that names are not read any more: a picture that needs it is looked at in parts. */
const LEAST_SCALE = 0.55;

export type Room = { readonly width: number; readonly height: number };
export const scaleIn = ({ width, height }: Room, room: Room): number =>
  Math.min(1, room.width / width, room.height / height);

/** How a picture is first seen: all of it where it is readable so, else its beginning. */
export const firstView = (
  layout: Room,
  room: Room,
): { readonly x: number; readonly y: number; readonly zoom: number } => {
  const zoom = Math.max(LEAST_SCALE, scaleIn(layout, room));
  const centre = (size: number, within: number): number => Math.max(0, (within - size * zoom) / 2);
  return { x: centre(layout.width, room.width), y: centre(layout.height, room.height), zoom };
};

/** The boxes by which an edge runs, as a path of straight lines. */
export const pathOf = (points: PlacedEdge['points']): string =>
  points.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
