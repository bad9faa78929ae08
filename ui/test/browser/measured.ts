/** What `bench/interface.ts` runs inside the browser: it bundles this file and calls `measured.…`. */
import type { components } from '../../src/api/types.ts';
import { pastRunOf } from '../../src/model/run-past.ts';
import { chartOfDefinition, openedAtFirst } from '../../src/model/statechart.ts';
import { layoutChart } from '../../src/model/statechart-layout.ts';
import { layOut, type TraceDetail, visibleRows } from '../../src/model/trace.ts';
import { drawMinimap } from '../../src/widgets/waterfall/minimap.ts';

type Entry = components['schemas']['JournalEntry'];

const ROUNDS = 5;

/** Milliseconds of each round; the first one, of code that was not compiled yet, is among them. */
const rounds = (run: () => void): number[] =>
  Array.from({ length: ROUNDS }, () => {
    const from = performance.now();
    run();
    return performance.now() - from;
  });

const frame = (): Promise<number> =>
  new Promise((resolve) => {
    requestAnimationFrame(resolve);
  });

/** From the text of an answer to what the waterfall draws, and the canvas above it. */
const model = (text: string): { readonly parseToRows: number[]; readonly minimap: number[] } => {
  const parse = (): ReturnType<typeof layOut> => layOut((JSON.parse(text) as TraceDetail).spans, Date.now());
  const all = { level: Number.POSITIVE_INFINITY, opened: new Set<string>(), closed: new Set<string>() };
  const rows = parse();
  const canvas = document.createElement('canvas');
  canvas.style.cssText = 'display: block; width: 1000px; height: 56px';
  document.body.append(canvas);
  const zoom = { from: 0, to: rows.totalNs };
  const minimap = rounds(() => {
    drawMinimap(canvas, rows, zoom);
    // What was drawn is painted before this returns.
    canvas.getContext('2d')?.getImageData(0, 0, 1, 1);
  });
  canvas.remove();
  return { parseToRows: rounds(() => void visibleRows(parse(), all, { root: undefined, wanted: undefined })), minimap };
};

/** A long run as its page folds it: once to the end, and to places all over it. */
const journal = (count: number, seeks: number): { readonly fold: number[]; readonly seek: number[] } => {
  const kinds = ['cursor.moved', 'step.leased', 'step.started', 'step.finished'] as const;
  const entries = Array.from(
    { length: count },
    (_, seq): Entry => ({
      seq,
      kind: kinds[seq % kinds.length] ?? 'cursor.moved',
      at: new Date(1_790_000_000_000 + seq).toISOString(),
      step_id: `step-${Math.floor(seq / kinds.length) % 40}`,
      visit: 1 + Math.floor(seq / 160),
      data: {},
    }),
  );
  const seek = Array.from({ length: seeks }, (_, at) => {
    const seq = (at * 7919) % count;
    const from = performance.now();
    pastRunOf(entries, seq);
    return performance.now() - from;
  });
  return { fold: rounds(() => void pastRunOf(entries, count)), seek };
};

/** A definition of so many steps, a third of them with a branch. */
const layout = (nodes: number): number[] => {
  const steps = Array.from({ length: nodes }, (_, at) => ({
    id: `step-${at}`,
    kind: 'task',
    ...(at % 3 === 1 && at + 3 < nodes
      ? { next: [{ when: 'input.fast', to: `step-${at + 3}` }, { to: `step-${at + 1}` }] }
      : {}),
  }));
  const chart = chartOfDefinition({ id: 'measured', version: 1, steps });
  return rounds(() => void layoutChart(chart, openedAtFirst(chart)));
};

/** Scrolls the waterfall for a while, as a wheel that does not rest, and looks at each frame. */
const scroll = async (
  pixelsPerSecond: number,
  forMs: number,
): Promise<{ readonly frames: number[]; readonly blank: number }> => {
  const grid = document.querySelector('[role=treegrid]');
  if (grid === null) throw new Error('no waterfall');
  const box = grid.getBoundingClientRect();
  const bottom = grid.scrollHeight - grid.clientHeight;
  const frames: number[] = [];
  let blank = 0;
  const start = await frame();
  for (let last = start; last - start < forMs; ) {
    // Back from the end to the beginning, where the trace is shorter than the time.
    const way = ((last - start) / 1000) * pixelsPerSecond;
    grid.scrollTop = Math.abs(((way + bottom) % (2 * bottom)) - bottom);
    const now = await frame();
    frames.push(now - last);
    last = now;
    for (const share of [0.05, 0.5, 0.95]) {
      const hit = document.elementFromPoint(box.left + 60, box.top + box.height * share);
      if (hit?.closest('[role=row]') === null) blank += 1;
    }
  }
  return { frames, blank };
};

/** Goes to another page as a link does, without loading the document again. */
const go = (path: string): void => {
  history.pushState({}, '', path);
  dispatchEvent(new PopStateEvent('popstate', { state: {} }));
};

/** Waits until the waterfall has so many rows. */
const rowsAre = async (count: number): Promise<void> => {
  while (document.querySelector('[role=treegrid]')?.getAttribute('aria-rowcount') !== String(count)) await frame();
};

const elements = (): number => document.querySelectorAll('*').length;

export const measured = { model, journal, layout, scroll, go, rowsAre, elements };
Object.assign(globalThis, { measured });
