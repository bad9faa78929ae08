import { Graph, layout as arrange } from '@dagrejs/dagre';
import type { Chart, ChartState, ChartTransition } from './statechart.ts';
import {
  type Box,
  type ChartLayout,
  cutText,
  type PlacedEdge,
  type PlacedStart,
  type PlacedState,
  type Point,
  scaleIn,
} from './statechart-view.ts';

const CHARACTER_PX = 6.7;
const TITLE_CHARACTER_PX = 7.4;
const LINE_PX = 16;
const NODE = { minWidth: 128, maxWidth: 260, title: 28, sub: 16, side: 12, bottom: 6 } as const;
const GROUP = { side: 18, top: 12, bottom: 18 } as const;
/** Room beside the name, for what is marked upon a state. */
const MARK_PX = 64;
const START_PX = 12;
const MAX_LABELS = 4;
const MAX_LABEL_CHARACTERS = 30;
const MAX_LOOPS = 4;

const isAbout = (guard: string, state: string): boolean => guard.includes(`to: ${state.split('.').at(-1) ?? state})`);

/** `lease.beat [mayRetry]`; a guard that names nothing but the target says nothing new. */
export const transitionText = ({ event, guard, to }: ChartTransition): string =>
  guard === undefined || (to !== undefined && isAbout(guard, to))
    ? event
    : `${event} [${guard.replace(/\(.*\)$/, '')}]`;

/** A long label stands on two lines: the event, and its guard. */
const LONG_LABEL_CHARACTERS = 20;
const labelLines = (transition: ChartTransition): readonly string[] => {
  const text = transitionText(transition);
  return text.length > LONG_LABEL_CHARACTERS ? text.split(/ (?=\[)/) : [text];
};

const several = (texts: readonly string[], most: number): readonly string[] => {
  const different = [...new Set(texts)].map((text) => cutText(text, MAX_LABEL_CHARACTERS));
  return different.length <= most
    ? different
    : [...different.slice(0, most - 1), `and ${different.length - most + 1} more`];
};

const labelSize = (lines: readonly string[]): { readonly width: number; readonly height: number } => ({
  width: Math.max(0, ...lines.map((line) => line.length)) * CHARACTER_PX + 8,
  height: lines.length * LINE_PX,
});

type Level = { readonly edges: Map<string, ChartTransition[]> };

/** Reads who is inside whom, and which of two states are drawn. */
const relations = (chart: Chart, opened: ReadonlySet<string>) => {
  const byId = new Map(chart.states.map((state) => [state.id, state]));
  const inside = new Map<string, ChartState[]>();
  for (const state of chart.states) {
    const list = inside.get(state.parent ?? '');
    if (list === undefined) inside.set(state.parent ?? '', [state]);
    else list.push(state);
  }
  const chainOf = (id: string): readonly string[] => {
    const chain: string[] = [];
    for (let at = byId.get(id); at !== undefined; at = at.parent === undefined ? undefined : byId.get(at.parent))
      chain.unshift(at.id);
    return chain;
  };
  /** From the outside in, down to the first closed state: what is drawn. */
  const drawnChain = (id: string): readonly string[] => {
    const chain = chainOf(id);
    const closed = chain.findIndex((at) => !opened.has(at));
    return closed === -1 ? chain : chain.slice(0, closed + 1);
  };
  return { inside, drawnChain };
};

/** Sorts each transition to the level on which both of its ends are neighbours, or to the state that it does not leave. */
const sortTransitions = (chart: Chart, drawnChain: (id: string) => readonly string[]) => {
  const levels = new Map<string, Level>();
  const loops = new Map<string, string[]>();
  const addLoop = (id: string, text: string): void => {
    const list = loops.get(id);
    if (list === undefined) loops.set(id, [text]);
    else list.push(text);
  };
  for (const transition of chart.transitions) {
    const from = drawnChain(transition.from);
    const own = from.at(-1) ?? '';
    const to = transition.to === undefined ? undefined : drawnChain(transition.to);
    if (to === undefined) {
      if (own === transition.from) addLoop(own, `↺ ${transitionText(transition)}`);
      continue;
    }
    const shared = from.findIndex((id, index) => id !== to[index]);
    const start = from[shared];
    const end = shared === -1 ? undefined : to[shared];
    if (start !== undefined && end !== undefined) {
      const level = from[shared - 1] ?? '';
      const { edges } = levels.get(level) ?? { edges: new Map<string, ChartTransition[]>() };
      levels.set(level, { edges });
      const key = `${start} ${end}`;
      const list = edges.get(key);
      if (list === undefined) edges.set(key, [transition]);
      else list.push(transition);
    } else if (own === transition.from || transition.from === transition.to) {
      const target = transition.to === transition.from ? '↺' : `→ ${transition.to?.split('.').at(-1) ?? ''}`;
      addLoop(own, `${target} ${transitionText(transition)}`);
    }
  }
  return { levels, loops };
};

type Arranged = ChartLayout;

const shift = (box: Arranged, by: Point): Pick<ChartLayout, 'nodes' | 'starts' | 'edges'> => ({
  nodes: box.nodes.map((node) => ({ ...node, x: node.x + by.x, y: node.y + by.y })),
  starts: box.starts.map((start) => ({ ...start, x: start.x + by.x, y: start.y + by.y })),
  edges: box.edges.map((edge) => ({
    ...edge,
    labelBox: { ...edge.labelBox, x: edge.labelBox.x + by.x, y: edge.labelBox.y + by.y },
    points: edge.points.map((point) => ({ x: point.x + by.x, y: point.y + by.y })),
  })),
});

const headSize = (state: ChartState, loops: readonly string[]): { readonly width: number; readonly height: number } => {
  const sub = state.stepKind === undefined ? 0 : NODE.sub;
  const title = Math.min(NODE.maxWidth, state.key.length * TITLE_CHARACTER_PX + 2 * NODE.side + MARK_PX);
  const widest = Math.max(0, ...loops.map((loop) => loop.length)) * CHARACTER_PX + 2 * NODE.side;
  return {
    width: Math.max(NODE.minWidth, title, widest),
    height: NODE.title + sub + loops.length * LINE_PX + (loops.length > 0 || sub > 0 ? NODE.bottom : 4),
  };
};

/**
 * Arranges a chart level by level, from the inside out: each open state is laid out by itself and is then one box for the level
 * around it. So a transition is drawn between neighbours, and a picture of 300 steps stays readable.
 * @param opened states to be drawn with what is inside them
 */
export const layoutChart = (
  chart: Chart,
  opened: ReadonlySet<string>,
  direction: 'down' | 'right' = 'down',
): ChartLayout => {
  const { inside, drawnChain } = relations(chart, opened);
  const { levels, loops } = sortTransitions(chart, drawnChain);

  const arrangeLevel = (id: string): Arranged => {
    const graph = new Graph({ multigraph: true });
    // Only the outermost level turns: what is inside a state is read from top to bottom.
    const rankdir = direction === 'right' && id === '' ? 'LR' : 'TB';
    graph.setGraph({ rankdir, nodesep: rankdir === 'LR' ? 18 : 28, ranksep: 30, edgesep: 14, marginx: 4, marginy: 4 });
    const members = inside.get(id) ?? [];
    const parts = new Map<
      string,
      { readonly head: number; readonly inner?: Arranged; readonly loops: readonly string[] }
    >();
    for (const state of members) {
      const own = several(loops.get(state.id) ?? [], MAX_LOOPS);
      const head = headSize(state, own);
      const isOpen = opened.has(state.id) && (inside.get(state.id)?.length ?? 0) > 0;
      const inner = isOpen ? arrangeLevel(state.id) : undefined;
      parts.set(state.id, { head: head.height, loops: own, ...(inner === undefined ? {} : { inner }) });
      graph.setNode(state.id, {
        width: Math.max(head.width, inner === undefined ? 0 : inner.width + 2 * GROUP.side),
        height: head.height + (inner === undefined ? 0 : inner.height + GROUP.top + GROUP.bottom),
      });
    }
    const start = `${id} start`;
    const initial = members.find(({ isInitial }) => isInitial);
    if (initial !== undefined) {
      graph.setNode(start, { width: START_PX, height: START_PX });
      graph.setEdge(start, initial.id, { width: 0, height: 0 }, start);
    }
    const edges = levels.get(id)?.edges ?? new Map<string, ChartTransition[]>();
    const labels = new Map<string, readonly string[]>();
    for (const [key, transitions] of edges) {
      const [from = '', to = ''] = key.split(' ');
      const lines = several(transitions.flatMap(labelLines), MAX_LABELS);
      labels.set(key, lines);
      graph.setEdge(from, to, { ...labelSize(lines), labelpos: 'c' }, key);
    }
    arrange(graph);

    const nodes: PlacedState[] = [];
    const starts: PlacedStart[] = [];
    const drawn: PlacedEdge[] = [];
    for (const state of members) {
      const { x = 0, y = 0, width = 0, height = 0 } = graph.node(state.id) as Partial<Box>;
      const part = parts.get(state.id);
      const left = x - width / 2;
      const top = y - height / 2;
      nodes.push({
        state,
        x: left,
        y: top,
        width,
        height,
        isOpen: part?.inner !== undefined,
        loops: part?.loops ?? [],
      });
      if (part?.inner === undefined) continue;
      const moved = shift(part.inner, { x: left + (width - part.inner.width) / 2, y: top + part.head + GROUP.top });
      nodes.push(...moved.nodes);
      starts.push(...moved.starts);
      drawn.push(...moved.edges);
    }
    if (initial !== undefined) {
      const { x = 0, y = 0 } = graph.node(start) as Partial<Point>;
      starts.push({ id: start, to: initial.id, x, y });
      const points = (graph.edge({ v: start, w: initial.id, name: start }) as { points?: Point[] }).points ?? [];
      drawn.push({
        id: start,
        from: start,
        to: initial.id,
        transitions: [],
        label: [],
        labelBox: { x, y, width: 0, height: 0 },
        points,
      });
    }
    for (const [key, transitions] of edges) {
      const [from = '', to = ''] = key.split(' ');
      const placed = graph.edge({ v: from, w: to, name: key }) as Partial<Box> & { points?: Point[] };
      const { x = 0, y = 0, width = 0, height = 0, points = [] } = placed;
      drawn.push({
        id: `${id}: ${key}`,
        from,
        to,
        transitions,
        label: labels.get(key) ?? [],
        labelBox: { x: x - width / 2, y: y - height / 2, width, height },
        points,
      });
    }
    const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
    return { nodes, starts, edges: drawn, width, height };
  };
  return arrangeLevel('');
};

/** Above this, one layout is enough work. */
const MAX_STATES_TO_TURN = 60;

/** The layout, downwards or to the right, that shrinks less in the room there is. */
export const layoutInRoom = (
  chart: Chart,
  opened: ReadonlySet<string>,
  room: Pick<Box, 'width' | 'height'>,
): ChartLayout => {
  const down = layoutChart(chart, opened);
  if (down.nodes.length > MAX_STATES_TO_TURN || scaleIn(down, room) === 1) return down;
  const right = layoutChart(chart, opened, 'right');
  return scaleIn(right, room) > scaleIn(down, room) ? right : down;
};
