import { useEffect, useEffectEvent, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { stack, tickTexts, timeRange } from '../model/series.ts';
import type { Zone } from '../model/units.ts';
import { type CanvasColors, canvasColors, onColorChange } from './canvas-colors.ts';
import { type ChartProps, colorOfSeries } from './chart-parts.ts';
import css from './chart.module.css';
import { usePrefs } from './prefs.tsx';

const AXIS_PX = 72;
/** A time with its seconds, and a gap to the next one. */
const TICK_PX = 72;
const HEIGHT_PX = 220;
const FONT = 'system-ui, sans-serif';
const LOGARITHMIC = 3;

const drawLines = (plot: uPlot, lines: ChartProps['lines'], color: CanvasColors['of']): void => {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${12 * ratio}px ${FONT}`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.lineWidth = ratio;
  for (const line of lines ?? []) {
    const y = Math.round(plot.valToPos(line.value, 'y', true));
    ctx.strokeStyle = color(line.color);
    ctx.fillStyle = color(line.color, true);
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.fillText(line.name, bbox.left + 6 * ratio, y - 4 * ratio);
  }
  ctx.restore();
};

const optionsOf = (props: ChartProps, width: number, color: CanvasColors['of'], zone: Zone): uPlot.Options => {
  const { aligned, look, format, lines = [], isLog = false } = props;
  const { times, series } = aligned;
  const grid = { stroke: color('var(--rule)'), width: 1 };
  const axis = { stroke: color('var(--ink-2)', true), font: `12px ${FONT}`, grid, ticks: grid };
  // Not what the library would take: of a single point it shows three years.
  const [from, to] = timeRange(times, look === 'bars');
  const highest = Math.max(0, ...lines.map(({ value }) => value));
  const bars = uPlot.paths.bars?.({ size: [0.86, 64] });
  const straight = uPlot.paths.linear?.();
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    // To the right is room for half of the last time.
    padding: [12, 20, 0, 0],
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false, setScale: false } },
    scales: {
      x: { time: true, range: () => [from, to] },
      y: isLog
        ? { distr: LOGARITHMIC, range: (_plot, min, max) => [Math.min(0.1, min || 0.1), Math.max(100, max || 100)] }
        : {
            range: (_plot, min, max) => {
              const top = Math.max(max ?? 0, highest) * 1.1;
              return [Math.min(0, min ?? 0), top > 0 ? top : 1];
            },
          },
    },
    axes: [
      { ...axis, space: TICK_PX, values: (_plot, ticks, _axis, _space, gap) => tickTexts(ticks, gap, zone) },
      { ...axis, size: AXIS_PX, values: (_plot, ticks) => ticks.map((tick) => (tick === null ? '' : format(tick))) },
    ],
    series: [
      {},
      ...drawOrder(props).map((index) => {
        const paint = color(colorOfSeries(index, series[index]?.name ?? ''));
        return look === 'bars'
          ? {
              fill: paint,
              stroke: paint,
              width: 0,
              points: { show: false },
              ...(bars === undefined ? {} : { paths: bars }),
            }
          : { stroke: paint, width: 2, ...(straight === undefined ? {} : { paths: straight }) };
      }),
    ],
    hooks: {
      draw: [(plot) => drawLines(plot, lines, color)],
      setCursor: [(plot) => props.onHover?.(plot.cursor.idx ?? undefined)],
      ready: [
        (plot) =>
          plot.over.addEventListener('click', () => {
            const index = plot.cursor.idx;
            if (index !== null && index !== undefined) props.onPick?.(index);
          }),
      ],
    },
  };
};

/** Of stacked bars the highest sum is drawn first, so that each lower one lies over it. */
const drawOrder = ({ aligned, look }: ChartProps): readonly number[] => {
  const order = aligned.series.map((_, index) => index);
  return look === 'bars' ? order.toReversed() : order;
};

const dataOf = (props: ChartProps): uPlot.AlignedData => {
  const { times, series } = props.look === 'bars' ? stack(props.aligned) : props.aligned;
  return [[...times], ...drawOrder(props).map((index) => [...(series[index]?.values ?? [])])];
};

export default function ChartCanvas({ aligned, look, format, lines, isLog, onHover, onPick }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const { zone } = usePrefs().prefs;
  const hover = useEffectEvent((index: number | undefined) => onHover?.(index));
  const pick = useEffectEvent((index: number) => onPick?.(index));
  const write = useEffectEvent((value: number | null | undefined) => format(value));
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const props: ChartProps = {
      aligned,
      look,
      lines: lines ?? [],
      isLog: isLog ?? false,
      format: (value) => write(value),
      onHover: (index) => hover(index),
      onPick: (index) => pick(index),
    };
    let plot: uPlot | undefined;
    let colors: CanvasColors | undefined;
    const draw = (): void => {
      plot?.destroy();
      colors?.done();
      colors = canvasColors(element);
      plot = new uPlot(optionsOf(props, element.clientWidth, colors.of, zone), dataOf(props), element);
    };
    draw();
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    resized.observe(element);
    const stop = onColorChange(draw);
    return () => {
      resized.disconnect();
      stop();
      plot?.destroy();
      colors?.done();
    };
  }, [aligned, look, lines, isLog, zone]);
  return <div ref={host} className={css['canvas']} aria-hidden />;
}
