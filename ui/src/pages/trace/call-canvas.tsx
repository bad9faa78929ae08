import '@xyflow/react/dist/base.css';
import {
  type Node,
  type NodeProps,
  ReactFlow,
  ReactFlowProvider,
  useNodesInitialized,
  useReactFlow,
  useStore,
  ViewportPortal,
} from '@xyflow/react';
import { memo, useEffect, useMemo } from 'react';
import {
  type CallGraph,
  type CallLayout,
  firstView,
  pathOf,
  type PlacedCall,
  type PlacedEdge,
} from '../../model/call-graph.ts';
import { colorOfKind, inWords } from '../../model/status.ts';
import { formatCount, formatDuration, plural } from '../../model/units.ts';
import { useLayout } from '../../widgets/layout/use-layout.ts';
import { PictureTools } from '../../widgets/statechart/picture-tools.tsx';
import css from './call-canvas.module.css';

type CallData = { readonly placed: PlacedCall; readonly loops: number } & Record<string, unknown>;
type Box = Node<CallData>;

const describe = ({ placed: { name, kind, rows, errors, totalNs }, loops }: CallData): string =>
  [
    name,
    inWords(kind),
    plural(rows.length, 'call'),
    ...(errors > 0 ? [plural(errors, 'error')] : []),
    formatDuration(totalNs),
    ...(loops > 0 ? [`follows itself ${plural(loops, 'time')}`] : []),
  ].join(', ');

const CallBox = memo(({ data }: NodeProps<Box>) => {
  const { placed, loops } = data;
  const { name, kind, rows, errors, totalNs } = placed;
  return (
    <div
      className={css['box']}
      style={{ borderLeftColor: `var(--${colorOfKind(kind)})` }}
      data-error={errors > 0 || undefined}
      title={describe(data)}
    >
      <b className={css['name']}>
        {errors > 0 && '✕ '}
        {name}
      </b>
      <span className={css['facts']}>
        {rows.length > 1 && `×${formatCount(rows.length)} · `}
        {formatDuration(totalNs)}
        {loops > 0 && ` · ↺ ${formatCount(loops)}`}
      </span>
    </div>
  );
});

const nodeTypes = { call: CallBox };
const NOTHING: CallLayout = { width: 0, height: 0, nodes: [], edges: [] };
const LABELS = { 'node.a11yDescription.default': 'Enter shows the call in the waterfall.' } as const;

const Lines = memo(
  ({
    edges,
    width,
    height,
  }: {
    readonly edges: readonly PlacedEdge[];
    readonly width: number;
    readonly height: number;
  }) => (
    <svg className={css['lines']} width={width} height={height} aria-hidden>
      <defs>
        <marker id="call-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0 8 4 0 8Z" />
        </marker>
      </defs>
      {edges.map(({ from, to, how, count, points }) => {
        if (points.length === 0) return null;
        const middle = points[Math.floor(points.length / 2)];
        return (
          <g key={`${how} ${from.length} ${from} ${to}`} data-how={how}>
            <path d={pathOf(points)} markerEnd="url(#call-arrow)" />
            {count > 1 && (
              <text x={middle?.x} y={(middle?.y ?? 0) - 4}>
                ×{formatCount(count)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  ),
);

type CanvasProps = { readonly graph: CallGraph; readonly onSelect: (row: number) => void };

const Picture = ({ graph, onSelect }: CanvasProps) => {
  const flow = useReactFlow();
  const width = useStore((store) => store.width);
  const height = useStore((store) => store.height);
  const request = useMemo(
    () => (width > 0 && height > 0 ? ({ kind: 'calls', graph, room: { width, height } } as const) : undefined),
    [graph, width, height],
  );
  const { layout } = useLayout<CallLayout>(request, NOTHING);
  const nodes = useMemo(() => {
    const loops = new Map(graph.edges.filter(({ from, to }) => from === to).map(({ from, count }) => [from, count]));
    return layout.nodes.map((placed): Box => {
      const data = { placed, loops: loops.get(placed.id) ?? 0 };
      const { id, x, y } = placed;
      const size = { width: placed.width, height: placed.height };
      return {
        id,
        type: 'call',
        position: { x, y },
        ...size,
        measured: size,
        data,
        ariaLabel: describe(data),
      };
    });
  }, [layout, graph]);
  const isReady = useNodesInitialized();
  useEffect(() => {
    if (isReady && layout.width > 0) void flow.setViewport(firstView(layout, { width, height }));
  }, [isReady, flow, layout, width, height]);
  return (
    <ReactFlow
      nodes={nodes}
      edges={[]}
      nodeTypes={nodeTypes}
      onNodesChange={(changes) => {
        const chosen = changes.find((change) => change.type === 'select' && change.selected);
        const node = chosen?.type === 'select' ? graph.nodes.find(({ id }) => id === chosen.id) : undefined;
        if (node !== undefined) onSelect(node.rows[0] ?? 0);
      }}
      nodesDraggable={false}
      nodesConnectable={false}
      edgesFocusable={false}
      deleteKeyCode={null}
      selectionKeyCode={null}
      multiSelectionKeyCode={null}
      zoomOnScroll={false}
      preventScrolling={false}
      minZoom={0.05}
      maxZoom={2}
      proOptions={{ hideAttribution: true }}
      ariaLabelConfig={LABELS}
    >
      <ViewportPortal>
        <Lines edges={layout.edges} width={layout.width} height={layout.height} />
      </ViewportPortal>
      <PictureTools />
    </ReactFlow>
  );
};

/** Draws the calls of a trace. It is loaded when the first graph is shown. */
export default function CallCanvas(props: CanvasProps) {
  return (
    <div className={css['canvas']}>
      <ReactFlowProvider>
        <Picture {...props} />
      </ReactFlowProvider>
    </div>
  );
}
