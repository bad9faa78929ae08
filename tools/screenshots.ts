/**
 * Takes the pictures of `docs/interface`, of a service that `examples/seed.ts` has filled:
 *
 *     node tools/screenshots.ts [http://127.0.0.1:4317]
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const origin = process.argv[2] ?? 'http://127.0.0.1:4317';
const folder = join(import.meta.dirname, '..', 'docs', 'interface');
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell';

type Listed = { readonly traces?: readonly { trace_id: string }[]; readonly runs?: readonly { run_id: string }[] };
const ask = async (path: string): Promise<Listed> => (await (await fetch(new URL(path, origin))).json()) as Listed;
const firstTrace = async (filter: string): Promise<string> =>
  (await ask(`/v1/api/traces?limit=1&${filter}`)).traces?.[0]?.trace_id ?? '';
const firstRun = async (filter: string): Promise<string> =>
  (await ask(`/v1/api/runs?limit=1&${filter}`)).runs?.[0]?.run_id ?? '';

const take = async (browser: Browser, name: string, path: string, colorScheme: 'light' | 'dark'): Promise<void> => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme });
  await page.goto(new URL(path, origin).href);
  await page.getByRole('heading', { level: 1 }).waitFor();
  // What is asked for after the first paint; streams stay open, so that the network is never idle.
  await page.waitForTimeout(2000);
  await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
  await page.close();
};

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const pages = {
  overview: '/',
  traces: `/traces?peek=${await firstTrace('name=answer_ticket&status=error')}`,
  trace: `/traces/${await firstTrace('name=research_question')}`,
  failure: `/traces/${await firstTrace('name=answer_ticket&status=error')}`,
  transcript: `/traces/${await firstTrace('name=answer_ticket&status=ok')}?view=transcript`,
  runs: '/runs',
  run: `/runs/${await firstRun('status=failed')}`,
};
for (const [name, path] of Object.entries(pages))
  for (const theme of ['light', 'dark'] as const) await take(browser, name, path, theme);
await browser.close();
