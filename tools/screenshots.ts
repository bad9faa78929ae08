/**
 * Takes the pictures of `docs/interface`, of a service that `examples/seed.ts` has filled, with the monitors of
 * `examples/seed.config.json`:
 *
 *     node tools/screenshots.ts [http://127.0.0.1:4317] [names of pictures; all of them without]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';

const [, , origin = 'http://127.0.0.1:4317', ...wanted] = process.argv;
const folder = join(import.meta.dirname, '..', 'docs', 'interface');
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium-headless-shell';

/** Small, and sharp enough to read. */
const QUALITY = 60;
/** What is asked for after the first paint; streams stay open, so that the network is never idle. */
const SETTLED_MS = 1_500;
const THEME_MS = 400;

/** An id of the first row of a list. @throws Error when the seed has left it empty */
const first = async (path: string, list: string, id: string): Promise<string> => {
  const answer = (await (await fetch(new URL(path, origin))).json()) as Record<string, Record<string, unknown>[]>;
  const found = answer[list]?.[0]?.[id];
  if (typeof found !== 'string') throw new Error(`${path} has no ${list}: run examples/seed.ts first`);
  return encodeURIComponent(found);
};
const firstTrace = (filter: string): Promise<string> => first(`/v1/api/traces?limit=1&${filter}`, 'traces', 'trace_id');
const firstRun = (filter: string): Promise<string> =>
  first(`/v1/api/runs?limit=1&definition_id=seed-refund&${filter}`, 'runs', 'run_id');

const failed = await firstTrace('name=answer_ticket&status=error');
const answered = await firstTrace('name=answer_ticket&status=ok');
const research = await firstTrace('name=research_question');
const [failedRun, waitingRun, doneRun] = await Promise.all(
  ['failed', 'waiting', 'succeeded'].map((status) => firstRun(`status=${status}`)),
);
const dataset = await first('/v1/api/datasets', 'datasets', 'dataset_id');

/** Each page, by the name of its picture. */
const addresses: Readonly<Record<string, string>> = {
  overview: '/',
  traces: `/traces?peek=${failed}`,
  trace: `/traces/${research}?view=waterfall`,
  failure: `/traces/${failed}`,
  'trace-tree': `/traces/${research}?view=tree`,
  transcript: `/traces/${answered}?view=transcript`,
  'trace-graph': `/traces/${research}?view=graph`,
  'trace-context': `/traces/${answered}?view=context`,
  'trace-logs': `/traces/${answered}?view=logs`,
  'traces-compare': `/traces/compare?a=${answered}&b=${failed}`,
  sessions: '/sessions',
  session: `/sessions/${await first('/v1/api/sessions', 'sessions', 'session_id')}`,
  users: '/users',
  user: '/users/ada',
  cost: '/cost',
  boards: '/boards',
  board: '/boards/seed-board',
  scores: '/scores',
  feedback: '/scores?view=feedback',
  scorers: '/scorers',
  datasets: '/datasets',
  dataset: `/datasets/${dataset}`,
  experiments: '/experiments',
  experiment: `/experiments/${dataset}-2.4.0`,
  compare: `/experiments/compare?baseline=${dataset}-2.3.0&candidate=${dataset}-2.4.0&scorer=helpfulness`,
  monitors: '/monitors',
  monitor: '/monitors/errors',
  slos: '/slos',
  slo: '/slos/answered',
  runs: '/runs',
  run: `/runs/${failedRun}`,
  'run-past': `/runs/${doneRun}?seq=5&tab=journal`,
  'runs-compare': `/runs/compare?a=${doneRun}&b=${failedRun}`,
  schedules: '/schedules',
  schedule: `/schedules/${await first('/v1/api/schedules', 'schedules', 'id')}`,
  keys: '/keys',
  key: `/keys/${await first('/v1/api/limits', 'limits', 'limit_id')}`,
  workers: '/workers',
  definitions: '/definitions',
  definition: '/definitions/seed-refund',
  editor: '/definitions?view=editor',
  actors: '/actors',
  actor: `/actors/run/${waitingRun}`,
  machines: '/machines',
  machine: '/machines/lease',
  doctor: '/doctor',
  refusals: '/refusals',
  audit: '/audit',
  settings: '/settings',
};

/** As WebP, which Playwright does not offer by itself: a third of the bytes. */
const write = async (page: Page, name: string): Promise<void> => {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'));
  await session.detach();
};

const unknown = wanted.filter((name) => !Object.hasOwn(addresses, name));
if (unknown.length > 0) throw new Error(`no such picture: ${unknown.join(', ')}`);

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  for (const [name, path] of Object.entries(addresses)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(new URL(path, origin).href);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForTimeout(SETTLED_MS);
    await write(page, `${name}-light`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForTimeout(THEME_MS);
    await write(page, `${name}-dark`);
  }
} finally {
  await browser.close();
}
