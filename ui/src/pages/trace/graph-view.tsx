import { lazy, Suspense, useMemo } from 'react';
import { ALL_CALLS, type CallEdge, callGraph, type CallNode } from '../../model/call-graph.ts';
import type { TraceRows } from '../../model/trace.ts';
import { formatCount, formatDuration, plural } from '../../model/units.ts';
import { oneOf } from '../../model/url.ts';
import { Button } from '../../widgets/button.tsx';
import type { Column } from '../../widgets/data-table.tsx';
import { usePageState } from '../../widgets/page-state.ts';
import { PagedTable } from '../../widgets/paged-table.tsx';
import { Split } from '../../widgets/split.tsx';
import { Skeleton } from '../../widgets/states.tsx';
import { KindMark } from '../../widgets/status-mark.tsx';
import css from './trace.module.css';

const Canvas = lazy(() => import('./call-canvas.tsx'));

const grammar = { by: oneOf(['name', 'call'], 'name') } as const;
type GraphProps = {
  readonly name: string;
  readonly rows: TraceRows;
  /** The row whose subtree is drawn. */
  readonly root: number | undefined;
  readonly onSelect: (row: number) => void;
};

/** The calls of a trace as a picture, and the same as tables. */
export default function GraphView({ name, rows, root, onSelect }: GraphProps) {
  const [{ by = 'name' }, setState] = usePageState(grammar);
  const graph = useMemo(() => callGraph(rows, by, root), [rows, by, root]);
  const isCut = graph.left > 0 || graph.leftEdges > 0;
  /** The tables have what a picture cannot show. */
  const all = useMemo(() => (isCut ? callGraph(rows, by, root, ALL_CALLS) : graph), [isCut, graph, rows, by, root]);
  const names = useMemo(() => new Map(all.nodes.map((node) => [node.id, node.name])), [all]);
  const boxColumns = useMemo<readonly Column<CallNode>[]>(() => boxesOf(onSelect), [onSelect]);
  const edgeColumns = useMemo<readonly Column<CallEdge>[]>(() => edgesOf(names), [names]);
  return (
    <>
      <div className={css['bar']}>
        <span role="group" aria-label="Boxes" className={css['chips']}>
          <Button aria-pressed={by === 'name'} onClick={() => setState({ by: 'name' })}>
            One box a name
          </Button>
          <Button aria-pressed={by === 'call'} onClick={() => setState({ by: 'call' })}>
            Every call
          </Button>
        </span>
        <span>
          Solid: recorded, the span names its caller. Dashed: inferred, the next call of the same parent, begun when the
          one before had ended.
        </span>
        {graph.left > 0 && (
          <span role="status">
            {plural(graph.left, by === 'call' ? 'more call' : 'more name')} {graph.left === 1 ? 'is' : 'are'} not in the
            picture, but in the tables: focus a part of the trace ( f ).
          </span>
        )}
      </div>
      <Split
        sideName="Calls as tables"
        side={
          <div className={css['entries']}>
            <PagedTable name="Boxes" columns={boxColumns} rows={all.nodes} idOf={({ id }) => id} />
            <PagedTable
              name="Calls"
              columns={edgeColumns}
              rows={all.edges}
              idOf={({ from, to, how }) => `${how} ${from.length} ${from} ${to}`}
            />
            {graph.leftEdges > 0 && (
              <p>
                {plural(graph.leftEdges, 'rarer line')} {graph.leftEdges === 1 ? 'is' : 'are'} in this table alone, not
                in the picture.
              </p>
            )}
          </div>
        }
      >
        <figure aria-label={`Graph of ${name}`} className={css['picture']}>
          <Suspense fallback={<Skeleton what="the graph" />}>
            <Canvas graph={graph} onSelect={onSelect} />
          </Suspense>
        </figure>
      </Split>
    </>
  );
}

const boxesOf = (onSelect: GraphProps['onSelect']): readonly Column<CallNode>[] => [
  {
    id: 'name',
    head: 'Name',
    cell: ({ name, rows: held }) => (
      <Button look="plain" aria-label={`Show ${name} in the waterfall`} onClick={() => onSelect(held[0] ?? 0)}>
        {name}
      </Button>
    ),
  },
  { id: 'kind', head: 'Kind', cell: ({ kind }) => <KindMark kind={kind} /> },
  { id: 'calls', head: 'Calls', isNumber: true, cell: ({ rows: held }) => formatCount(held.length) },
  {
    id: 'errors',
    head: 'Errors',
    isNumber: true,
    cell: ({ errors }) => <span className={errors > 0 ? css['bad'] : undefined}>{formatCount(errors)}</span>,
  },
  { id: 'time', head: 'Time', isNumber: true, cell: ({ totalNs }) => formatDuration(totalNs) },
];

const edgesOf = (names: ReadonlyMap<string, string>): readonly Column<CallEdge>[] => [
  { id: 'from', head: 'From', cell: ({ from }) => names.get(from) },
  { id: 'to', head: 'To', cell: ({ to }) => names.get(to) },
  { id: 'how', head: 'How', cell: ({ how }) => how },
  { id: 'count', head: 'Times', isNumber: true, cell: ({ count }) => formatCount(count) },
];
