import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
} from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from 'vitest';
import { startDaemon, temporaryFolder } from '../../../test/daemon.ts';
import { findBrowser, NO_BROWSER } from './find-browser.ts';

export { findBrowser, NO_BROWSER };

/** What a stage is made with. Without flags and config the service is the one that all files share. */
export type Wish = {
  readonly flags?: readonly string[];
  /** Its config file. */
  readonly config?: object;
  /** A service of its own, empty. */
  readonly own?: boolean;
  /** How often the pages ask again, so that nothing waits for them. */
  readonly pollSeconds?: number;
};

export type Stage = {
  readonly url: string;
  readonly browser: Browser;
  /** Log lines of the service, where it is its own. */
  readonly lines: readonly string[];
  /** A page of a new context, as of another person: nothing is shared with the others. */
  readonly open: (path: string, options?: BrowserContextOptions) => Promise<Page>;
  /**
   * A page that the tests of a file go on with: each begins with a fresh document, in what the browser has loaded and compiled
   * before, with axe in it. For tests that change nothing which stays in the browser.
   */
  readonly visit: (path: string, options?: BrowserContextOptions) => Promise<Page>;
  /** Native ingest, of which nothing may be refused. */
  readonly ingest: (body: object) => Promise<void>;
  /** @throws Error when the service refuses */
  readonly post: (path: string, body: unknown, key?: string) => Promise<Record<string, unknown>>;
  readonly get: (path: string, key?: string) => Promise<Record<string, unknown>>;
  /** Deletes what stands at a path. @throws Error when the service refuses */
  readonly remove: (path: string, key?: string) => Promise<Record<string, unknown>>;
  /** Ends the service and starts it again on its files; only one of its own, with a port of its own. */
  readonly restartService: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** What pages complained about; a test that ends with any has failed. */
const watched = new WeakMap<BrowserContext, string[]>();

/** Faults of scripts, violations of the content security policy, dialogs, and requests that left the origin. */
export const complaintsOf = (page: Page): readonly string[] => watched.get(page.context()) ?? [];

/** Requests that were not answered yet; the journal of a run stays open, and is none of them. */
const pending = new WeakMap<BrowserContext, Set<Request>>();

/** A worker that is ended while its script loads leaves the request without an end; what it draws is waited for by `QUIET_MS`. */
const WORKER_SCRIPT = /\/layout-worker[^/]*\.js$/;
const isAwaited = (request: Request): boolean =>
  request.headers()['accept'] !== 'text/event-stream' && !WORKER_SCRIPT.test(request.url());

/** How long nothing may be loading: skeletons are drawn after 150 ms, and layouts come from a worker. */
const QUIET_MS = 150;

/** What a page still loads: marks that say so, and requests without an answer. */
const loadingIn = async (page: Page): Promise<string[]> => {
  const marks = await page.evaluate(() =>
    [...document.querySelectorAll('[aria-label^="Loading"]')].map((mark) => mark.getAttribute('aria-label') ?? ''),
  );
  const requests = [...(pending.get(page.context()) ?? [])].map((request) => `${request.method()} ${request.url()}`);
  return [...marks, ...requests];
};

/** Waits until a page has all that it asked for, and shows it. */
export const settled = async (page: Page): Promise<void> => {
  await page.getByRole('heading', { level: 1 }).waitFor();
  const loading = async (): Promise<string[]> => {
    const now = await loadingIn(page);
    if (now.length > 0) return now;
    await page.waitForTimeout(QUIET_MS);
    return loadingIn(page);
  };
  await expect.poll(loading, { interval: 20 }).toEqual([]);
};

/** Closes what a test opened. @throws Error when the page complained about anything */
export const leave = async (page: Page | undefined): Promise<void> => {
  if (page === undefined) return;
  const complaints = complaintsOf(page);
  await page.context().close();
  if (complaints.length > 0) throw new Error(`the page complained:\n${complaints.join('\n')}`);
};

const watch = (context: BrowserContext, origin: string): void => {
  const complaints: string[] = [];
  watched.set(context, complaints);
  context.on('weberror', (fault) => complaints.push(`fault: ${fault.error().message}`));
  context.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on('console', (message) => {
    // Refusals of the API are answers, which the page shows.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(`console: ${message.text()}`);
  });
  const asked = new Set<Request>();
  pending.set(context, asked);
  context.on('requestfinished', (request) => void asked.delete(request));
  context.on('requestfailed', (request) => void asked.delete(request));
  context.on('request', (request) => {
    const url = request.url();
    if (isAwaited(request)) asked.add(request);
    if (!url.startsWith(origin) && !url.startsWith('data:') && !url.startsWith('blob:'))
      complaints.push(`left the origin: ${url}`);
  });
};

const answerOf = async (response: Response): Promise<Record<string, unknown>> => {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
};

/** A service of a test's own, which can end and start again on its files. */
const startOwn = async ({ flags = [], config }: Wish) => {
  const folder = temporaryFolder();
  const configFile = join(folder.path, 'config.json');
  if (config !== undefined) writeFileSync(configFile, JSON.stringify(config));
  const all = [...(config === undefined ? [] : ['--config-file', configFile]), ...flags];
  let daemon = await startDaemon(folder.path, all);
  return {
    url: daemon.url,
    lines: (): readonly string[] => daemon.lines,
    restart: async (): Promise<void> => {
      await daemon.stop();
      daemon = await startDaemon(folder.path, all);
    },
    remove: async (): Promise<void> => {
      await daemon.stop();
      folder.remove();
    },
  };
};

const VIEWPORT = { width: 1280, height: 800 };

const prefsOf = (origin: string, pollSeconds: number) => ({
  cookies: [],
  origins: [{ origin, localStorage: [{ name: 'svc-prefs', value: JSON.stringify({ version: 1, pollSeconds }) }] }],
});

/** Less than half of what the package exports as its source, and each document takes it in anew. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The real daemon, and the browser. */
export const openStage = async (wish: Wish = {}): Promise<Stage> => {
  const shared = inject('shared');
  if (shared === undefined) throw new Error(NO_BROWSER);
  const isOwn = wish.own === true || wish.flags !== undefined || wish.config !== undefined;
  const own = isOwn ? await startOwn(wish) : undefined;
  const browser = await chromium.connect(shared.browser);
  const url = own?.url ?? shared.service;
  const headersOf = (key?: string): Record<string, string> =>
    key === undefined ? {} : { authorization: `Bearer ${key}` };
  let kept: Page | undefined;
  const stage: Stage = {
    url,
    browser,
    get lines() {
      return own?.lines() ?? [];
    },
    open: async (path, options = {}) => {
      const context = await browser.newContext({
        viewport: VIEWPORT,
        timezoneId: 'UTC',
        acceptDownloads: true,
        ...(wish.pollSeconds === undefined ? {} : { storageState: prefsOf(url, wish.pollSeconds) }),
        ...options,
      });
      watch(context, url);
      const page = await context.newPage();
      await page.goto(new URL(path, url).href);
      return page;
    },
    visit: async (path, options) => {
      if (kept === undefined || kept.isClosed()) {
        kept = await stage.open('/settings', options);
        await kept.addInitScript(axeSource);
      }
      pending.get(kept.context())?.clear();
      // As the test before left them.
      await kept.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
      await kept.setViewportSize(VIEWPORT);
      await kept.goto(new URL(path, url).href);
      return kept;
    },
    post: async (path, body, key) =>
      answerOf(
        await fetch(new URL(path, url), {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headersOf(key) },
          body: JSON.stringify(body),
        }),
      ),
    remove: async (path, key) =>
      answerOf(await fetch(new URL(path, url), { method: 'DELETE', headers: headersOf(key) })),
    get: async (path, key) => answerOf(await fetch(new URL(path, url), { headers: headersOf(key) })),
    ingest: async (body) => {
      const answer = await stage.post('/v1/ingest', body);
      if (answer['rejected'] !== 0) throw new Error(`ingest refused: ${JSON.stringify(answer).slice(0, 500)}`);
    },
    restartService: async () => {
      if (own === undefined) throw new Error('the service is shared');
      await own.restart();
    },
    close: async () => {
      await browser.close();
      await own?.remove();
    },
  };
  return stage;
};

/**
 * The stage of a test file, with its hooks: tests are skipped, and say why, where no browser is installed; pages that a
 * test opened are closed after it, and what they complained about fails it.
 */
export const useStage = (wish: Wish = {}, seed: (stage: Stage) => Promise<void> = async () => {}): Stage => {
  let stage: Stage | undefined;
  const opened: Page[] = [];
  const visited = new Set<Page>();
  const get = (): Stage => {
    if (stage === undefined) throw new Error('the stage stands while tests run');
    return stage;
  };
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    stage = await openStage(wish);
    await seed(stage);
  });
  afterAll(() => stage?.close());
  beforeEach((context) => {
    if (findBrowser() === undefined) context.skip(NO_BROWSER);
  });
  afterEach(async () => {
    const complaints: string[] = [];
    for (const page of opened.splice(0)) {
      complaints.push(...complaintsOf(page));
      await page.context().close();
    }
    for (const page of visited) complaints.push(...(watched.get(page.context())?.splice(0) ?? []));
    if (complaints.length > 0) throw new Error(`the page complained:\n${complaints.join('\n')}`);
  });
  return {
    get url() {
      return get().url;
    },
    get browser() {
      return get().browser;
    },
    get lines() {
      return get().lines;
    },
    open: async (path, options) => {
      const page = await get().open(path, options);
      opened.push(page);
      return page;
    },
    visit: async (path, options) => {
      const page = await get().visit(path, options);
      visited.add(page);
      return page;
    },
    ingest: (body) => get().ingest(body),
    post: (path, body, key) => get().post(path, body, key),
    get: (path, key) => get().get(path, key),
    remove: (path, key) => get().remove(path, key),
    restartService: () => get().restartService(),
    close: () => get().close(),
  };
};

/** Bytes of the file that a page offers after an action. */
export const downloadedBy = async (page: Page, action: () => Promise<void>): Promise<Buffer> => {
  const [download] = await Promise.all([page.waitForEvent('download'), action()]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

/** Gives a page the key that it presents. */
export const useKey = async (page: Page, key: string): Promise<void> => {
  await page.getByRole('button', { name: 'No key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Key' });
  await dialog.getByLabel('Key', { exact: true }).fill(key);
  await dialog.getByRole('button', { name: 'Use' }).click();
};

/** For a page the clock of the service says so from now on, whenever it answers; streams go on as they are. */
export const serveTime = async (page: Page, at: () => Date): Promise<void> => {
  await page.route(/\/(?:v1\/api\/(?!runs\/[^/]+\/events)|readyz)/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), date: at().toUTCString() } });
  });
};

export const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

const BASE_MS = Date.now() - 3_600_000;
/** An instant of the last hour. */
export const instant = (ms: number): string => new Date(BASE_MS + ms).toISOString();

export type NewSpan = Record<string, unknown> & { readonly trace_id: string; readonly span_id: string };

/** A span of the native door; times in milliseconds from a base of an hour ago. */
export const aSpan = (
  fields: Partial<NewSpan> & { readonly trace_id: string; readonly from?: number; readonly to?: number },
): NewSpan => {
  const { from = 0, to = from + 10, ...rest } = fields;
  return {
    span_id: hex(8),
    name: 'work',
    kind: 'generic',
    status: 'ok',
    start_time: instant(from),
    end_time: instant(to),
    ...rest,
  };
};

type OneSpanTrace = Record<string, unknown> & {
  readonly agoSeconds: number;
  readonly failed?: boolean;
  readonly model?: string;
};

/** A trace of one span, a second long, so long ago. */
export const aRun = ({ agoSeconds, failed = false, model, ...rest }: OneSpanTrace): NewSpan => {
  const start = Date.now() - agoSeconds * 1000;
  return {
    trace_id: hex(16),
    span_id: hex(8),
    name: 'answer',
    kind: model === undefined ? 'agent_run' : 'model_generation',
    status: failed ? 'error' : 'ok',
    start_time: new Date(start).toISOString(),
    end_time: new Date(start + 1000).toISOString(),
    ...(model === undefined ? {} : { model }),
    ...rest,
  };
};

export const runs = (count: number, run: OneSpanTrace): NewSpan[] => Array.from({ length: count }, () => aRun(run));

type AxeResult = {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
};

/** What axe finds serious or worse, and headings that leave a level out, one line each. @param rules those to look at; all by default */
export const seriousFindings = async (page: Page, rules?: readonly string[]): Promise<string[]> => {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeSource);
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) };
  const { violations } = await page.evaluate<AxeResult>(`axe.run(document, ${JSON.stringify(options)})`);
  return violations
    .filter(({ id, impact }) => impact === 'serious' || impact === 'critical' || id === 'heading-order')
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 160)} ${failureSummary.split('\n')[1] ?? ''}`,
      ),
    );
};
