import '@xyflow/react/dist/base.css';
import {
  type Node,
  type NodeChange,
  type NodeProps,
  ReactFlow,
  ReactFlowProvider,
  useNodesInitialized,
  useReactFlow,
  ViewportPortal,
} from '@xyflow/react';
import { memo, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react';
import type { Chart } from '../../model/statechart.ts';
import { type ChartLayout, LEAST_ZOOM, linePath, type PlacedState, viewportOf } from '../../model/statechart-view.ts';
import { formatCount } from '../../model/units.ts';
import type { Marks } from './marks.ts';
import { useLayout } from '../layout/use-layout.ts';
import { PictureTools } from './picture-tools.tsx';
import css from './statechart.module.css';

type StateData = { readonly placed: PlacedState; readonly marks: Marks; readonly isSelected: boolean } & Record<
  string,
  unknown
>;
type StateNode = Node<StateData>;

/** What a closed state that the machine is in would show inside. */
const insideText = (id: string, active: ReadonlySet<string>): string | undefined => {
  const inside = [...active].filter((other) => other.startsWith(`${id}.`)).at(-1);
  return inside?.slice(id.length + 1).replaceAll('.', ' › ');
};

const wordsOf = ({ placed, marks }: StateData): readonly string[] => {
  const { id } = placed.state;
  // An open state shows it inside.
  const isHere = marks.active?.has(id) === true && !placed.isOpen;
  const isNowHere = marks.ghost?.has(id) === true && !placed.isOpen && !isHere;
  const faults = marks.faults?.get(id) ?? 0;
  return [
    ...(isHere ? ['here'] : []),
    ...(isNowHere ? ['now here'] : []),
    ...(marks.failed?.has(id) === true ? ['failed'] : []),
    ...(faults > 0 ? [`${faults} ${faults === 1 ? 'fault' : 'faults'}`] : []),
  ];
};

const visitText = (visits: number): string => (visits === 1 ? 'visited' : `visited ${formatCount(visits)} times`);

const attemptText = ({ placed, marks }: StateData): readonly string[] => {
  const attempts = marks.attempts?.get(placed.state.id) ?? 0;
  return attempts > 1 ? [`${formatCount(attempts)} attempts`] : [];
};

const nameOf = (data: StateData): string => {
  const { state } = data.placed;
  const count = data.marks.counts?.get(state.id);
  return [
    state.id.replaceAll('.', ' › '),
    state.kind === 'final' ? 'final state' : 'state',
    ...(state.stepKind === undefined ? [] : [state.stepKind.replaceAll('_', ' ')]),
    ...(count === undefined ? [] : [`${formatCount(count)} in it`]),
    ...(data.marks.visited?.has(state.id) === true ? [visitText(data.marks.visits?.get(state.id) ?? 1)] : []),
    ...attemptText(data),
    ...wordsOf(data),
  ].join(', ');
};

const StateBox = memo(({ data }: NodeProps<StateNode>) => {
  const { placed, marks, isSelected } = data;
  const { state, isOpen, loops } = placed;
  const isActive = marks.active?.has(state.id) === true;
  const count = marks.counts?.get(state.id);
  const visits = marks.visits?.get(state.id) ?? 0;
  const inside = isOpen || !isActive ? undefined : insideText(state.id, marks.active ?? new Set());
  return (
    <div
      className={css['state']}
      data-kind={state.kind}
      data-open={isOpen || undefined}
      data-active={isActive || undefined}
      data-ghost={marks.ghost?.has(state.id) === true || undefined}
      data-visited={marks.visited?.has(state.id) === true || undefined}
      data-failed={marks.failed?.has(state.id) === true || undefined}
      data-faulty={(marks.faults?.get(state.id) ?? 0) > 0 || undefined}
      data-selected={isSelected || undefined}
      title={state.description}
    >
      <div className={css['title']}>
        <span className={css['key']}>{state.key}</span>
        {wordsOf(data).map((word) => (
          <span key={word} className={css['word']}>
            {word}
          </span>
        ))}
        {visits > 1 && <span title={visitText(visits)}>×{formatCount(visits)}</span>}
        {count !== undefined && count > 0 && <span className={css['count']}>{formatCount(count)}</span>}
      </div>
      {state.stepKind !== undefined && (
        <div className={css['sub']}>
          {[state.stepKind.replaceAll('_', ' '), ...attemptText(data)].join(' · ')}
          {inside !== undefined && <b> · {inside}</b>}
        </div>
      )}
      {loops.map((loop) => (
        <div key={loop} className={css['loop']}>
          {loop}
        </div>
      ))}
    </div>
  );
});

const nodeTypes = { state: StateBox };

/** The lines of all transitions, over the states. */
const Lines = memo(({ layout, selected }: { readonly layout: ChartLayout; readonly selected: string | undefined }) => (
  <svg className={css['lines']} width={layout.width} height={layout.height} aria-hidden>
    <defs>
      <marker id="statechart-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
        <path d="M0 0 8 4 0 8Z" className={css['arrow']} />
      </marker>
    </defs>
    {layout.starts.map(({ id, x, y }) => (
      <circle key={id} cx={x} cy={y} r={5} className={css['start']} />
    ))}
    {layout.edges.map(({ id, from, to, points, label, labelBox }) => (
      <g key={id} data-near={selected !== undefined && (from === selected || to === selected) ? true : undefined}>
        <path d={linePath(points)} className={css['line']} markerEnd="url(#statechart-arrow)" />
        {label.map((text, index) => (
          <text
            key={text}
            x={labelBox.x + labelBox.width / 2}
            y={labelBox.y + 12 + index * 16}
            className={css['label']}
          >
            {text}
          </text>
        ))}
      </g>
    ))}
  </svg>
));

const NOTHING: ChartLayout = { width: 0, height: 0, nodes: [], edges: [], starts: [] };
const LABELS = { 'node.a11yDescription.default': 'Enter selects the state.' } as const;

type CanvasProps = {
  readonly chart: Chart;
  readonly opened: ReadonlySet<string>;
  readonly marks: Marks;
  readonly selected: string | undefined;
  readonly onSelect: (id: string) => void;
  readonly onToggle: (id: string) => void;
};

const Picture = ({
  chart,
  opened,
  marks,
  selected,
  onSelect,
  onToggle,
  room,
}: CanvasProps & { readonly room: { readonly width: number; readonly height: number } }) => {
  const flow = useReactFlow();
  const request = useMemo(() => ({ kind: 'chart', chart, opened, room }) as const, [chart, opened, room]);
  const { layout, isCurrent } = useLayout<ChartLayout>(request, NOTHING);
  const nodes = useMemo(
    () =>
      layout.nodes.map((placed, index): StateNode => {
        const data = { placed, marks, isSelected: placed.state.id === selected };
        const { x, y, width, height, state } = placed;
        return {
          id: state.id,
          type: 'state',
          position: { x, y },
          width,
          height,
          measured: { width, height },
          zIndex: index,
          data,
          selected: data.isSelected,
          ariaLabel: nameOf(data),
        };
      }),
    [layout, marks, selected],
  );
  const isReady = useNodesInitialized();
  // A picture that changes is looked at anew; marks that change, as while a run goes on, move nothing. The layout for an earlier room is not
  // fitted to this one first: the next fit would undo what a user zoomed in between.
  const look = useEffectEvent(() => void flow.setViewport(viewportOf(layout, room, marks.active)));
  useEffect(() => {
    if (isReady && isCurrent && layout.width > 0) look();
  }, [isReady, isCurrent, layout]);
  const onNodesChange = (changes: readonly NodeChange<StateNode>[]): void => {
    const chosen = changes.find((change) => change.type === 'select' && change.selected);
    if (chosen?.type === 'select') onSelect(chosen.id);
  };
  return (
    <ReactFlow
      nodes={nodes}
      edges={[]}
      nodeTypes={nodeTypes}
      onNodesChange={onNodesChange}
      onNodeDoubleClick={(_event, node) => onToggle(node.id)}
      nodesDraggable={false}
      elevateNodesOnSelect={false}
      nodesConnectable={false}
      edgesFocusable={false}
      deleteKeyCode={null}
      selectionKeyCode={null}
      multiSelectionKeyCode={null}
      zoomOnScroll={false}
      zoomOnDoubleClick={false}
      preventScrolling={false}
      minZoom={LEAST_ZOOM}
      maxZoom={2}
      proOptions={{ hideAttribution: true }}
      ariaLabelConfig={LABELS}
    >
      <ViewportPortal>
        <Lines layout={layout} selected={selected} />
      </ViewportPortal>
      <PictureTools />
    </ReactFlow>
  );
};

/** Draws a chart. It is loaded when the first chart is shown. */
export default function Canvas(props: CanvasProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState<{ width: number; height: number }>();
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      const { width = 0, height = 0 } = entry?.contentRect ?? {};
      if (width > 0 && height > 0) setRoom({ width, height });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={frame} className={css['canvas']}>
      {room !== undefined && (
        <ReactFlowProvider>
          <Picture {...props} room={room} />
        </ReactFlowProvider>
      )}
    </div>
  );
}
