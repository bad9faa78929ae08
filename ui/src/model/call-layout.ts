import { Graph, layout as arrange } from '@dagrejs/dagre';
import { type CallGraph, type CallLayout, type Room, scaleIn } from './call-graph.ts';

const NODE = { width: 190, height: 46 } as const;

/** Up to so many boxes both directions are tried. */
const MOST_TRIED_TWICE = 60;

/** Where the boxes stand: callers before what they call; an inferred order moves boxes less than a recorded call does. */
export const layOutCalls = ({ nodes, edges }: CallGraph, direction: 'right' | 'down' = 'right'): CallLayout => {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({
    rankdir: direction === 'right' ? 'LR' : 'TB',
    nodesep: 18,
    ranksep: 56,
    edgesep: 10,
    marginx: 8,
    marginy: 8,
  });
  for (const { id } of nodes) graph.setNode(id, { ...NODE });
  for (const [at, { from, to, how }] of edges.entries())
    if (from !== to) graph.setEdge(from, to, { weight: how === 'recorded' ? 3 : 1 }, String(at));
  arrange(graph);
  const placed = nodes.map((node) => {
    const { x = 0, y = 0 } = graph.node(node.id) as { x?: number; y?: number };
    return { ...node, ...NODE, x: x - NODE.width / 2, y: y - NODE.height / 2 };
  });
  const drawn = edges.map((edge, at) => ({
    ...edge,
    points:
      edge.from === edge.to
        ? []
        : ((graph.edge({ v: edge.from, w: edge.to, name: String(at) }) as { points?: { x: number; y: number }[] })
            .points ?? []),
  }));
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { width, height, nodes: placed, edges: drawn };
};

/** The layout, to the right or downwards, that is drawn larger in a room; of a large one the direction in which the room is longer. */
export const layOutInRoom = (graph: CallGraph, room: Room): CallLayout => {
  if (graph.nodes.length > MOST_TRIED_TWICE) return layOutCalls(graph, room.width >= room.height ? 'right' : 'down');
  const right = layOutCalls(graph, 'right');
  const down = layOutCalls(graph, 'down');
  return scaleIn(down, room) > scaleIn(right, room) ? down : right;
};
