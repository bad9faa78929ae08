import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import AxeBuilder from 'axe-core';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { type Daemon, startDaemon, temporaryFolder } from '../../../test/daemon.ts';

const BROWSERS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** The browser of the machine; nothing where it has none. */
export const findBrowser = (): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => BROWSERS.map((name) => join(folder, name)))
    .find((path) => existsSync(path));

export const NO_BROWSER = `no browser: none of ${BROWSERS.join(', ')} is on the path (apt-get install chromium-headless-shell)`;

export type Stage = {
  readonly url: string;
  readonly daemon: Daemon;
  readonly browser: Browser;
  /** A page of a new context, as of another person: nothing is shared with the others. */
  readonly open: (path: string, options?: BrowserContextOptions) => Promise<Page>;
  /** Native ingest. */
  readonly ingest: (body: object) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** What pages complained about; a test that ends with any has failed. */
const watched = new WeakMap<BrowserContext, string[]>();

/** Faults of scripts, violations of the content security policy, dialogs, and requests that left the origin. */
export const complaintsOf = (page: Page): readonly string[] => watched.get(page.context()) ?? [];

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
  context.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('data:') && !url.startsWith('blob:'))
      complaints.push(`left the origin: ${url}`);
  });
};

/** The real daemon on an empty folder, and a browser. */
export const openStage = async (flags: readonly string[] = []): Promise<Stage> => {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error(NO_BROWSER);
  const folder = temporaryFolder();
  const daemon = await startDaemon(folder.path, flags);
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  return {
    url: daemon.url,
    daemon,
    browser,
    open: async (path, options = {}) => {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 800 },
        acceptDownloads: true,
        ...options,
      });
      watch(context, daemon.url);
      const page = await context.newPage();
      await page.goto(new URL(path, daemon.url).href);
      return page;
    },
    ingest: async (body) => {
      const response = await fetch(new URL('/v1/ingest', daemon.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as { rejected?: number };
      if (!response.ok || answer.rejected !== 0)
        throw new Error(`ingest refused: ${JSON.stringify(answer).slice(0, 500)}`);
    },
    close: async () => {
      await browser.close();
      await daemon.stop();
      folder.remove();
    },
  };
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

type AxeResult = {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
};

/** What axe finds serious or worse, one line each. */
export const seriousFindings = async (page: Page): Promise<string[]> => {
  await page.evaluate(AxeBuilder.source);
  const { violations } = await page.evaluate<AxeResult>('axe.run(document, { resultTypes: ["violations"] })');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 160)} ${failureSummary.split('\n')[1] ?? ''}`,
      ),
    );
};
