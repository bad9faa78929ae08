import { colorOfKind } from '../../model/status.ts';
import type { Zoom } from '../../model/ticks.ts';
import type { TraceRows } from '../../model/trace.ts';
import { canvasColors } from '../canvas-colors.ts';

const MIN_PX = 1;

/** A colour as browsers compute it, `rgb(3, 105, 161)`, as a pixel of a canvas. */
const pixelOf = (color: string): number => {
  const [red = 0, green = 0, blue = 0] = (color.match(/\d+/g) ?? []).map(Number);
  return new Uint32Array(Uint8ClampedArray.of(red, green, blue, 255).buffer)[0] ?? 0;
};

/**
 * Draws the whole trace small. Failures are drawn last, so that no pixel hides one. Its bars are written as pixels: ten thousand
 * rectangles take five times as long.
 */
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
  const thick = Math.max(Math.round(lane * 0.8), MIN_PX);
  const least = Math.max(Math.round(MIN_PX * scale), MIN_PX);
  const colors = canvasColors(canvas.parentElement ?? document.body);
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const paint = (row: number, pixel: number): void => {
    const from = Math.min(Math.round(((rows.start[row] ?? 0) / rows.totalNs) * width), width - least);
    const to = Math.min(Math.max(Math.round(((rows.end[row] ?? 0) / rows.totalNs) * width), from + least), width);
    const top = 2 + Math.floor((row / count) * (height - 4));
    for (let y = top; y < Math.min(top + thick, height); y += 1) pixels.fill(pixel, y * width + from, y * width + to);
  };
  const pixelOfKind = new Map<string, number>();
  for (let row = 0; row < count; row += 1) {
    const kind = rows.spans[row]?.kind ?? 'generic';
    let pixel = pixelOfKind.get(kind);
    if (pixel === undefined) pixelOfKind.set(kind, (pixel = pixelOf(colors.of(`var(--${colorOfKind(kind)})`))));
    paint(row, pixel);
  }
  const error = pixelOf(colors.of('var(--error)'));
  for (const row of rows.errors) paint(row, error);
  context.putImageData(image, 0, 0);
  if (zoom.from > 0 || zoom.to < rows.totalNs) {
    const from = (zoom.from / rows.totalNs) * width;
    const to = (zoom.to / rows.totalNs) * width;
    context.globalAlpha = 0.7;
    context.fillStyle = colors.of('var(--paper-3)');
    context.fillRect(0, 0, from, height);
    context.fillRect(to, 0, width - to, height);
    context.globalAlpha = 1;
    context.fillStyle = colors.of('var(--accent)');
    context.fillRect(from - scale, 0, 2 * scale, height);
    context.fillRect(to - scale, 0, 2 * scale, height);
  }
  colors.done();
};
