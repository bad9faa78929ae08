import {
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
} from 'react';
import { formatDuration, plural } from '../../model/units.ts';
import { placeOf, type TraceRows } from '../../model/trace.ts';
import { ticksOf, type Zoom, withinTrace } from '../../model/ticks.ts';
import { onColorChange } from '../canvas-colors.ts';
import { drawMinimap } from './minimap.ts';
import { createRowPool, ROW_PX, type Scene } from './row-pool.ts';
import css from './waterfall.module.css';

export type WaterfallProps = {
  readonly name: string;
  readonly scene: Scene;
  /** Called with what takes the focus, when it is there. */
  readonly onShown?: (grid: HTMLElement) => void;
  readonly onSelect: (row: number) => void;
  readonly onToggle: (row: number, open: boolean) => void;
  /** Opens or closes a row and all below it. */
  readonly onToggleAll: (row: number, open: boolean) => void;
  readonly onZoom: (zoom: Zoom | undefined) => void;
};

const MAX_TICKS = 6;
/** A press that moved less is a click. */
const DRAG_PX = 4;

const Minimap = ({
  name,
  rows,
  zoom,
  onZoom,
}: {
  readonly name: string;
  readonly rows: TraceRows;
  readonly zoom: Zoom;
  readonly onZoom: WaterfallProps['onZoom'];
}) => {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pressed = useRef<number>(undefined);
  useEffect(() => {
    const drawn = canvas.current;
    if (drawn === null) return undefined;
    const draw = (): void => drawMinimap(drawn, rows, zoom);
    // Says at once how large the canvas is, after the layout of this frame and before its paint: that is the first time.
    const resized = new ResizeObserver(draw);
    resized.observe(drawn);
    const stop = onColorChange(draw);
    return () => {
      resized.disconnect();
      stop();
    };
  }, [rows, zoom]);

  const timeAt = (event: PointerEvent): number => {
    const box = event.currentTarget.getBoundingClientRect();
    return (Math.min(Math.max(event.clientX - box.left, 0), box.width) / box.width) * rows.totalNs;
  };
  const release = (event: PointerEvent): void => {
    const from = pressed.current;
    pressed.current = undefined;
    if (from === undefined) return;
    const to = timeAt(event);
    const box = event.currentTarget.getBoundingClientRect();
    const isClick = (Math.abs(to - from) / rows.totalNs) * box.width < DRAG_PX;
    onZoom(isClick ? undefined : withinTrace({ from: Math.min(from, to), to: Math.max(from, to) }, rows.totalNs));
  };
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={`Minimap of ${name}: ${plural(rows.storedCount, 'span')}, ${plural(rows.errors.length, 'error')}, ${formatDuration(rows.totalNs)}`}
      title="Drag to zoom, click to show all"
      className={css['minimap']}
      onPointerDown={(event) => {
        pressed.current = timeAt(event);
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerUp={release}
    />
  );
};

const Axis = ({ zoom, look }: Pick<Scene, 'zoom' | 'look'>) => {
  const ticks = ticksOf(zoom.from, zoom.to, MAX_TICKS);
  return (
    <div className={css['axis']} aria-hidden>
      <span>Span</span>
      <span className={css['duration']}>Duration</span>
      <span className={css['cost']}>{look === 'bars' ? 'Cost' : 'Cost in all'}</span>
      <span className={css['tokens']}>{look === 'bars' ? 'Tokens' : 'Tokens in all'}</span>
      <div className={css['ticks']}>
        {ticks.map((at) => (
          <span key={at} style={{ left: `${((at - zoom.from) / (zoom.to - zoom.from)) * 100}%` }}>
            {at === 0 ? '0' : formatDuration(at)}
          </span>
        ))}
      </div>
    </div>
  );
};

/**
 * The rows of a trace with their bars. Focus stays on the grid, which names the row it is on: rows come and go. React draws
 * the frame; the rows are drawn by `row-pool.ts`.
 */
export const Waterfall = ({ name, scene, onShown, onSelect, onToggle, onToggleAll, onZoom }: WaterfallProps) => {
  const grid = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const pool = useRef<ReturnType<typeof createRowPool>>(undefined);
  const prefix = `${useId()}-`;
  const { rows, visible, selected } = scene;

  useEffect(() => {
    if (grid.current !== null) onShown?.(grid.current);
  }, [onShown]);

  useLayoutEffect(() => {
    const scroller = grid.current;
    if (scroller === null || body.current === null) return undefined;
    const held = createRowPool(body.current, prefix);
    pool.current = held;
    const update = (): void => held.update(scroller.scrollTop, scroller.clientHeight);
    scroller.addEventListener('scroll', update, { passive: true });
    const observer = new ResizeObserver(update);
    observer.observe(scroller);
    return () => {
      scroller.removeEventListener('scroll', update);
      observer.disconnect();
      held.clear();
      pool.current = undefined;
    };
  }, [prefix]);

  // The selected row is brought into view when it changes, and not when rows come or go around it.
  const latest = useRef(visible);
  useLayoutEffect(() => {
    latest.current = visible;
  }, [visible]);
  useLayoutEffect(() => {
    const scroller = grid.current;
    if (scroller === null || selected === undefined) return;
    const top = placeOf(latest.current, selected) * ROW_PX;
    const { scrollTop, clientHeight } = scroller;
    if (top < scrollTop) scroller.scrollTop = top;
    else if (top + ROW_PX > scrollTop + clientHeight) scroller.scrollTop = top + ROW_PX - clientHeight;
  }, [selected]);

  // After it was scrolled, so that the rows are drawn once. A scene is another one whenever its selected row is.
  useLayoutEffect(() => {
    const scroller = grid.current;
    if (scroller === null) return;
    pool.current?.show(scene);
    pool.current?.update(scroller.scrollTop, scroller.clientHeight);
  }, [scene]);

  const place = useMemo(() => (selected === undefined ? 0 : placeOf(visible, selected)), [visible, selected]);
  const goTo = (next: number): void => {
    const row = visible[Math.min(Math.max(next, 0), visible.length - 1)];
    if (row !== undefined) onSelect(row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = visible[place];
    if (row === undefined) return;
    const hasChildren = (rows.size[row] ?? 1) > 1;
    const isOpen = hasChildren && visible[place + 1] === row + 1;
    const page = Math.max(1, Math.floor((grid.current?.clientHeight ?? ROW_PX) / ROW_PX) - 1);
    const above = rows.parent[row] ?? -1;
    const keys: Record<string, () => void> = {
      ArrowDown: () => goTo(place + 1),
      ArrowUp: () => goTo(place - 1),
      PageDown: () => goTo(place + page),
      PageUp: () => goTo(place - page),
      Home: () => goTo(0),
      End: () => goTo(visible.length - 1),
      ArrowRight: () => {
        if (event.shiftKey) onToggleAll(row, true);
        else if (hasChildren && !isOpen) onToggle(row, true);
        else if (hasChildren) goTo(place + 1);
      },
      ArrowLeft: () => {
        if (event.shiftKey) onToggleAll(row, false);
        else if (isOpen) onToggle(row, false);
        else if (above >= 0) onSelect(above);
      },
    };
    const run = keys[event.key];
    if (run === undefined) return;
    event.preventDefault();
    run();
  };
  const onClick = (event: MouseEvent): void => {
    const hit = pool.current?.hit(event.target);
    if (hit === undefined) return;
    if (hit.isToggle && (rows.size[hit.row] ?? 1) > 1)
      onToggle(hit.row, visible[placeOf(visible, hit.row) + 1] !== hit.row + 1);
    else onSelect(hit.row);
  };
  const focused = visible[place];
  return (
    <div className={css['frame']} data-look={scene.look}>
      {scene.look === 'bars' && <Minimap name={name} rows={rows} zoom={scene.zoom} onZoom={onZoom} />}
      <Axis zoom={scene.zoom} look={scene.look} />
      <div
        ref={grid}
        role="treegrid"
        aria-label="Spans"
        aria-rowcount={visible.length}
        aria-activedescendant={focused === undefined ? undefined : `${prefix}${focused}`}
        tabIndex={0}
        className={css['grid']}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        <div ref={body} role="rowgroup" className={css['body']} style={{ height: visible.length * ROW_PX }} />
      </div>
    </div>
  );
};
