/**
 * The budget of the interface, measured on this machine in a real browser against the real daemon: how soon a trace of
 * 10,000 spans is painted, how it scrolls, what it holds, and what the bundle weighs. Prints one table, with the budget beside
 * each figure. Run: `node bench/interface.ts` (four minutes; CHROMIUM names another browser). `--only memory` measures one part alone: `trace`,
 * `memory`, `model` or `bundle`.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { build } from 'vite';
import { startDaemon, temporaryFolder } from '../test/daemon.ts';

const SPANS = 10_000;
const DEPTH = 40;
const VISITED = 20;
const SMALL = 500;
const PAINTS = 5;
const SLOWER = 4;
const SCROLL = { pixelsPerSecond: 6_000, forMs: 4_000 };
const LONG_FRAME_MS = 34;
/** Longer than the page keeps a trace that was left. */
const FORGOTTEN_MS = 7_000;

const ui = join(import.meta.dirname, '..', 'ui');
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell';
const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

const at = (share: number, values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
};
const middle = (values: readonly number[]): number => at(0.5, values);

type Row = { readonly thing: string; readonly figure: string; readonly budget: string; readonly isWithin: boolean };
const rows: Row[] = [];
/** One line of the table. */
const report = (thing: string, value: number, most: number, unit: string, beside = ''): void => {
  const digits = value < 10 ? 1 : 0;
  const figure = `${value.toFixed(digits)} ${unit}${beside === '' ? '' : ` (${beside})`}`;
  rows.push({ thing, figure, budget: `≤ ${most} ${unit}`, isWithin: value <= most });
  console.error(`${thing}: ${figure}`);
};

const spansOf = (trace_id: string, count: number): object[] => {
  const ids = Array.from({ length: count }, () => hex(8));
  const start = Date.now() - 600_000;
  const payload = 'payload '.repeat(250);
  return ids.map((span_id, index) => ({
    trace_id,
    span_id,
    ...(index === 0 ? {} : { parent_span_id: index % DEPTH === 0 ? ids[0] : ids[index - 1] }),
    name: `step ${index}`,
    kind: (['generic', 'tool_call', 'model_generation', 'retrieval'] as const)[index % 4],
    status: index % 50 === 49 ? 'error' : 'ok',
    start_time: new Date(start + index * 3).toISOString(),
    end_time: new Date(start + index * 3 + (index === 0 ? count * 3 + 500 : 200)).toISOString(),
    input: payload,
  }));
};

const ingest = async (url: string, spans: readonly object[]): Promise<void> => {
  for (let from = 0; from < spans.length; from += 1000) {
    const response = await fetch(new URL('/v1/ingest', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ spans: spans.slice(from, from + 1000) }),
    });
    const answer = (await response.json()) as { rejected?: number };
    if (!response.ok || answer.rejected !== 0) throw new Error(`refused: ${JSON.stringify(answer).slice(0, 300)}`);
  }
};

/** The part of the bench that runs inside the browser, as one script. */
const bundled = async (): Promise<string> => {
  const out = await build({
    configFile: false,
    logLevel: 'error',
    root: ui,
    build: {
      write: false,
      minify: false,
      target: 'es2023',
      lib: { entry: join(ui, 'test', 'browser', 'measured.ts'), formats: ['iife'], name: 'unused' },
    },
  });
  const [first] = Array.isArray(out) ? out : [out];
  const chunk = first !== undefined && 'output' in first ? first.output[0] : undefined;
  if (chunk === undefined) throw new Error('the bench was not bundled');
  return chunk.code;
};

/** When the first row of the waterfall had been painted, in milliseconds after the navigation began. */
const PAINTED = `(async () => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  while (document.querySelector('[role=treegrid] [role=row]:not([hidden])') === null) await frame();
  await frame();
  return performance.now();
})()`;

const paintedIn = async (browser: Browser, address: string, slower: number): Promise<number[]> => {
  const times: number[] = [];
  for (let time = 0; time < PAINTS; time += 1) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const session = await page.context().newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: slower });
    await page.goto(address, { waitUntil: 'commit' });
    times.push(await page.evaluate<number>(PAINTED));
    await page.context().close();
  }
  return times;
};

const scrolled = async (page: Page): Promise<{ frames: number[]; blank: number }> =>
  page.evaluate(`measured.scroll(${SCROLL.pixelsPerSecond}, ${SCROLL.forMs})`);

const heapOf = async (session: CDPSession): Promise<number> => {
  await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN) / 1e6;
};

const measureTrace = async (browser: Browser, url: string, script: string): Promise<void> => {
  const big = hex(16);
  await ingest(url, spansOf(big, SPANS));
  const address = new URL(`/traces/${big}`, url).href;

  for (const [slower, most] of [
    [1, 400],
    [SLOWER, 1_500],
  ] as const) {
    const times = await paintedIn(browser, address, slower);
    const name = `${SPANS} spans, navigation to painted${slower === 1 ? '' : `, ${slower}× slower processor`}`;
    report(name, middle(times), most, 'ms', `${PAINTS} times, worst ${Math.max(...times).toFixed(0)}`);
  }

  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(address);
  await page.evaluate(PAINTED);
  await page.evaluate(script);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  for (const slower of [1, SLOWER]) {
    await session.send('Emulation.setCPUThrottlingRate', { rate: slower });
    const { frames, blank } = await scrolled(page);
    const suffix = slower === 1 ? '' : `, ${slower}× slower processor`;
    const p99 = `p99 ${at(0.99, frames).toFixed(1)}, ${frames.length} frames`;
    report(`Scroll 6,000 px/s for 4 s, frame p95${suffix}`, at(0.95, frames), slower === 1 ? 20 : 34, 'ms', p99);
    if (slower > 1) continue;
    const long = frames.filter((ms) => ms > LONG_FRAME_MS).length;
    report(`Scroll, frames above ${LONG_FRAME_MS} ms`, (100 * long) / frames.length, 1, '%');
    report('Scroll, blank rows', blank, 0, 'rows');
  }
  await session.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  report('Elements of the page', await page.evaluate<number>('measured.elements()'), 1_500, 'elements');
  await page.context().close();

  const text = await (await fetch(new URL(`/v1/api/traces/${big}?payloads=none`, url))).text();
  const empty = await browser.newPage();
  await empty.evaluate(script);
  const model = await empty.evaluate<{ parseToRows: number[]; minimap: number[] }>(
    `measured.model(${JSON.stringify(text)})`,
  );
  report(`Parse, tree and layout of ${SPANS} spans`, middle(model.parseToRows), 80, 'ms');
  report(`Minimap of ${SPANS} spans`, middle(model.minimap), 25, 'ms');
  await empty.context().close();
};

/** What the page holds with a large trace open, before and after others were visited. */
const measureMemory = async (browser: Browser, url: string, script: string): Promise<void> => {
  const big = hex(16);
  await ingest(url, spansOf(big, SPANS));
  const others = Array.from({ length: VISITED }, () => hex(16));
  for (const id of others) await ingest(url, spansOf(id, SMALL));
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(new URL(`/traces/${big}`, url).href);
  await page.evaluate(PAINTED);
  await page.evaluate(script);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');

  const goTo = async (id: string): Promise<void> => {
    await page.evaluate(`measured.go('/traces/${id}')`);
    await page.waitForURL(`**/traces/${id}`);
    await page.evaluate(`measured.rowsAre(${id === big ? SPANS : SMALL})`);
  };
  const settledHeap = async (): Promise<number> => {
    await goTo(big);
    await page.waitForTimeout(FORGOTTEN_MS);
    return heapOf(session);
  };
  // What the first change of traces loads and compiles is there for good: the first visit is not of the twenty.
  await goTo(others[0] ?? big);
  const before = await settledHeap();
  report(`Memory, ${SPANS} spans open`, before, 60, 'MB');
  for (const id of others) await goTo(id);
  const after = await settledHeap();
  const growth = `${before.toFixed(1)} to ${after.toFixed(1)} MB`;
  report(`Memory, growth over ${VISITED} traces visited`, (100 * (after - before)) / before, 15, '%', growth);
  // The engine compiles what is called often during the first visits, and keeps that. A page that holds on to traces goes on growing.
  for (const id of others) await goTo(id);
  const later = await settledHeap();
  const further = `${after.toFixed(1)} to ${later.toFixed(1)} MB`;
  report(`Memory, growth over ${VISITED} visits more`, (100 * (later - after)) / after, 5, '%', further);
  await page.context().close();
};

const measureModel = async (browser: Browser, script: string): Promise<void> => {
  const page = await browser.newPage();
  await page.evaluate(script);
  type Fold = { fold: number[]; seek: number[] };
  const { fold, seek } = await page.evaluate<Fold>(`measured.journal(${SPANS}, 400)`);
  report(`Journal, fold of ${SPANS} entries`, middle(fold), 8, 'ms', `worst ${Math.max(...fold).toFixed(1)}`);
  report(`Journal, seek among ${SPANS} entries, p95`, at(0.95, seek), 8, 'ms', `p50 ${middle(seek).toFixed(2)}`);
  for (const [nodes, most] of [
    [12, 50],
    [40, 50],
    [200, 500],
  ] as const)
    report(
      `Statechart of ${nodes} nodes, layout`,
      middle(await page.evaluate(`measured.layout(${nodes})`)),
      most,
      'ms',
    );
  await page.context().close();
};

const measureBundle = async (): Promise<void> => {
  type Sizes = Record<'entry' | 'route' | 'scripts' | 'styles' | 'fonts', number>;
  type Budget = { readonly measure: (dist: string) => Sizes; readonly BUDGET: Sizes };
  const { measure, BUDGET } = (await import(join(ui, 'budget.mjs'))) as Budget;
  const sizes = measure(join(ui, 'dist'));
  const names = {
    entry: 'Scripts of the entry, gzip',
    route: 'Largest lazy script, gzip',
    scripts: 'All scripts, gzip',
    styles: 'Styles, gzip',
  };
  for (const [part, name] of Object.entries(names) as [keyof typeof names, string][])
    report(name, sizes[part] / 1000, BUDGET[part] / 1000, 'kB');
  report('Fonts', sizes.fonts, BUDGET.fonts, 'files');
};

const parts = ['trace', 'memory', 'model', 'bundle'] as const;
const { values } = parseArgs({ options: { only: { type: 'string' } } });
if (values.only !== undefined && !(parts as readonly string[]).includes(values.only))
  throw new Error(`--only takes one of ${parts.join(', ')}, not ${values.only}`);
const isWanted = (part: (typeof parts)[number]): boolean => values.only === undefined || values.only === part;

const folder = temporaryFolder();
const daemon = await startDaemon(folder.path);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
try {
  const script = await bundled();
  if (isWanted('trace')) await measureTrace(browser, daemon.url, script);
  if (isWanted('memory')) await measureMemory(browser, daemon.url, script);
  if (isWanted('model')) await measureModel(browser, script);
  if (isWanted('bundle')) await measureBundle();
} finally {
  await browser.close();
  await daemon.stop();
  folder.remove();
}

console.log('| Thing | Here | Budget | Within |\n|---|---|---|---|');
for (const { thing, figure, budget, isWithin } of rows)
  console.log(`| ${thing} | ${figure} | ${budget} | ${isWithin ? 'yes' : '**no**'} |`);
