import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type TestContext } from 'vitest';
import { type Daemon, startDaemon, temporaryFolder } from '../../../test/daemon.ts';

const ui = join(import.meta.dirname, '..', '..');

const executableOf = (name: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });

const executable = executableOf('chromium-headless-shell') ?? executableOf('chromium');

/** Skips a test, and says why, where no browser is installed. */
export const needsBrowser = ({ skip }: TestContext): void =>
  skip(executable === undefined, 'neither chromium-headless-shell nor chromium is installed');

const newestIn = (folder: string): number =>
  Math.max(
    0,
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  );

/** `npm ci` builds the interface; sources edited since are built again, so that a test plays what is there. */
const buildWhereStale = (): void => {
  let builtAt = 0;
  try {
    builtAt = statSync(join(ui, 'dist', 'index.html.gz')).mtimeMs;
  } catch {
    // Never built.
  }
  if (newestIn(join(ui, 'src')) < builtAt) return;
  const { status, stderr } = spawnSync(process.execPath, [join(ui, 'build.mjs')], {
    encoding: 'utf8',
    // The test runner sets `test`, which would build the slow and large React of development.
    env: { ...process.env, NODE_ENV: 'production' },
  });
  if (status !== 0) throw new Error(`the interface was not built:\n${stderr}`);
};

export type Stage = {
  readonly daemon: Daemon;
  /** A page of its own context, opened at a path of the service. What goes wrong in it is in `faults`. */
  readonly open: (path: string) => Promise<Page>;
  /** Exceptions, refused policies and what else a page has complained about. */
  readonly faults: string[];
  readonly post: (path: string, body: unknown) => Promise<unknown>;
  readonly get: (path: string) => Promise<unknown>;
  readonly close: () => Promise<void>;
};

const answerOf = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return JSON.parse(text);
};

/** A real service with the built interface, and a real browser in front of it. @param config its config file */
export const setStage = async (config: object = {}, flags: readonly string[] = []): Promise<Stage> => {
  buildWhereStale();
  const folder = temporaryFolder();
  const configFile = join(folder.path, 'config.json');
  writeFileSync(configFile, JSON.stringify(config));
  const daemon = await startDaemon(folder.path, ['--config-file', configFile, ...flags]);
  let launched: Promise<Browser> | undefined;
  const launch = (): Promise<Browser> =>
    chromium.launch({
      ...(executable === undefined ? {} : { executablePath: executable }),
      args: ['--no-sandbox'],
    });
  const faults: string[] = [];
  return {
    daemon,
    faults,
    open: async (path) => {
      launched ??= launch();
      const browser = await launched;
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, timezoneId: 'UTC' });
      // Lists ask again each second, so that nothing waits for them.
      await context.addInitScript(`localStorage.setItem('svc-prefs', '{"version":1,"pollSeconds":1}')`);
      const page = await context.newPage();
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error') faults.push(message.text());
      });
      await page.goto(new URL(path, daemon.url).href);
      return page;
    },
    post: async (path, body) =>
      answerOf(
        await fetch(new URL(path, daemon.url), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
    get: async (path) => answerOf(await fetch(new URL(path, daemon.url))),
    close: async () => {
      await (await launched)?.close();
      await daemon.stop();
      folder.remove();
    },
  };
};

let made = 0;
/** Ids of the tests: none twice. */
export const nextId = (digits: 16 | 32): string => {
  made += 1;
  return made.toString(16).padStart(digits, '0');
};

type Run = {
  readonly agoSeconds: number;
  readonly failed?: boolean;
  readonly model?: string;
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number };
  readonly name?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly correlation?: object;
};

const MS_OF_RUN = 1_000;

/** A trace of one span. */
export const aRun = ({ agoSeconds, failed = false, model, ...rest }: Run) => {
  const start = Date.now() - agoSeconds * 1000;
  return {
    trace_id: nextId(32),
    span_id: nextId(16),
    name: 'answer',
    kind: model === undefined ? 'agent_run' : 'model_generation',
    status: failed ? 'error' : 'ok',
    start_time: new Date(start).toISOString(),
    end_time: new Date(start + MS_OF_RUN).toISOString(),
    ...(model === undefined ? {} : { model }),
    ...rest,
  };
};

export const runs = (count: number, run: Run): ReturnType<typeof aRun>[] =>
  Array.from({ length: count }, () => aRun(run));
