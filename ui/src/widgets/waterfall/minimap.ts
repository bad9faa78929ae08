import { colorOfKind } from '../../model/status.ts';
import type { Zoom } from '../../model/ticks.ts';
import type { TraceRows } from '../../model/trace.ts';

const MIN_PX = 1;

/** A canvas knows no variables: each token is read once as the colour that it is now. */
const createPalette = (host: HTMLElement) => {
  const probe = document.createElement('span');
  host.append(probe);
  const known = new Map<string, string>();
  const colorOf = (token: string): string => {
    const found = known.get(token);
    if (found !== undefined) return found;
    probe.style.color = `var(--${token})`;
    const color = getComputedStyle(probe).color;
    known.set(token, color);
    return color;
  };
  return { colorOf, done: () => probe.remove() };
};

/** Draws the whole trace small. Failures are drawn last, so that no pixel hides one. */
export const drawMinimap = (canvas: HTMLCanvasElement, rows: TraceRows, zoom: Zoom): void => {
  const scale = devicePixelRatio;
  const { clientWidth, clientHeight } = canvas;
  if (clientWidth === 0 || clientHeight === 0) return;
  canvas.width = Math.round(clientWidth * scale);
  canvas.height = Math.round(clientHeight * scale);
  const context = canvas.getContext('2d');
  if (context === null) return;
  const { width, height } = canvas;
  const count = rows.spans.length;
  const lane = Math.max(MIN_PX, Math.min((height - 4) / count, 6 * scale));
  const palette = createPalette(canvas.parentElement ?? document.body);
  const paint = (row: number, color: string): void => {
    const from = ((rows.start[row] ?? 0) / rows.totalNs) * width;
    const to = ((rows.end[row] ?? 0) / rows.totalNs) * width;
    context.fillStyle = color;
    const y = 2 + (count === 1 ? 0 : (row / count) * (height - 4));
    context.fillRect(from, y, Math.max(to - from, MIN_PX * scale), Math.max(lane * 0.8, MIN_PX));
  };
  for (let row = 0; row < count; row += 1) paint(row, palette.colorOf(colorOfKind(rows.spans[row]?.kind ?? 'generic')));
  for (const row of rows.errors) paint(row, palette.colorOf('error'));
  if (zoom.from > 0 || zoom.to < rows.totalNs) {
    const from = (zoom.from / rows.totalNs) * width;
    const to = (zoom.to / rows.totalNs) * width;
    context.globalAlpha = 0.7;
    context.fillStyle = palette.colorOf('paper-3');
    context.fillRect(0, 0, from, height);
    context.fillRect(to, 0, width - to, height);
    context.globalAlpha = 1;
    context.fillStyle = palette.colorOf('accent');
    context.fillRect(from - scale, 0, 2 * scale, height);
    context.fillRect(to - scale, 0, 2 * scale, height);
  }
  palette.done();
};
