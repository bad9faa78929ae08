import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { aSpan, hex, useStage } from './stage.ts';

/** Markup, links, an image of another place, an order of characters turned round, and characters that control. */
const HOSTILE =
  '<img src=x onerror=alert(1)><script>alert(2)</script>[x](javascript:alert(3))![b](https://evil.example/b.png)‮txt.exe​';
/** Its beginning, as a page shows it. */
const SHOWN = '<img src=x onerror=alert(1)>';
/** In the values of attributes and payloads: characters that end texts elsewhere. */
const CONTROLS = `${HOSTILE}\u0007\u001b[31m\u0000`;
const HUGE = 'a1b2c3d4e5f60718'.repeat(60_000);
const project = 'hostile-texts';

const trace = hex(16);
const other = hex(16);
let run = '';

const definition = {
  id: 'hostile',
  version: 1,
  steps: [
    { id: 'ask', kind: 'wait_event', event: HOSTILE.slice(0, 60), key: '${input.text}' },
    { id: 'refuse', kind: 'fail', code: 'refused', message: '${input.text}' },
  ],
};

const stage = useStage({ own: true }, async ({ ingest, post }) => {
  const correlation = {
    project,
    user_id: HOSTILE,
    session_id: HOSTILE,
    environment: HOSTILE,
    service_name: HOSTILE,
    tags: [HOSTILE],
    experiment_id: 'hostile-a',
  };
  await post('/v1/api/datasets', { dataset_id: 'hostile', name: HOSTILE, description: HOSTILE, project });
  await post('/v1/api/datasets/hostile/items', { input: { [HOSTILE]: CONTROLS }, expected: CONTROLS });
  for (const id of ['hostile-a', 'hostile-b'])
    await post('/v1/api/experiments', { experiment_id: id, name: HOSTILE, dataset_id: 'hostile', project });
  const span = (trace_id: string, experiment_id: string) =>
    aSpan({
      trace_id,
      name: HOSTILE,
      kind: 'model_generation',
      model: HOSTILE,
      provider: HOSTILE,
      status: 'error',
      error: { message: CONTROLS, type: HOSTILE, stack: CONTROLS },
      input: [{ role: HOSTILE, content: CONTROLS }],
      output: { [HOSTILE]: CONTROLS },
      attributes: { [HOSTILE]: CONTROLS },
      correlation: { ...correlation, experiment_id },
    });
  const score = (trace_id: string, experiment_id: string) => ({
    trace_id,
    scorer_id: HOSTILE.slice(0, 100),
    scorer_version: '<b>1</b>',
    value: 0.5,
    reason: CONTROLS,
    source: 'experiment',
    experiment_id,
    correlation: { project },
  });
  await ingest({
    spans: [span(trace, 'hostile-a'), span(other, 'hostile-b')],
    scores: [score(trace, 'hostile-a'), score(other, 'hostile-b')],
    feedback: [{ trace_id: trace, kind: 'thumbs', value: 'down', comment: HOSTILE, correlation: { project } }],
    logs: [{ trace_id: trace, severity: 'error', message: HOSTILE, correlation: { project } }],
  });
  await post('/v1/api/definitions', { definitions: [definition] });
  run = String(
    (
      await post('/v1/api/runs', {
        definition_id: 'hostile',
        input: { text: HOSTILE },
        correlation: { user_id: HOSTILE, session_id: HOSTILE },
      })
    )['run_id'],
  );
});

/** Elements that the text was made into, and links that leave the service. */
const madeOfText = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('img, iframe, object, embed, main script, a[href]')]
      .filter((found) => !(found instanceof HTMLAnchorElement) || found.origin !== location.origin)
      .map((found) => found.outerHTML.slice(0, 120)),
  );

const id = encodeURIComponent(HOSTILE);
const p = `project=${project}`;

describe('texts of clients', () => {
  it.each<readonly [string, () => string]>([
    ['the list of traces', () => `/traces?${p}`],
    ['a peek at a trace', () => `/traces?${p}&peek=${trace}`],
    ['filters of traces', () => `/traces?${p}&user_id=${id}`],
    ['a trace', () => `/traces/${trace}?${p}`],
    ['a trace as a tree', () => `/traces/${trace}?${p}&view=tree`],
    ['a transcript', () => `/traces/${trace}?${p}&view=transcript`],
    ['logs of a trace', () => `/traces/${trace}?${p}&view=logs`],
    ['two traces', () => `/traces/compare?${p}&a=${trace}&b=${other}`],
    ['sessions', () => `/sessions?${p}`],
    ['a session', () => `/sessions/${id}?${p}`],
    ['users', () => `/users?${p}`],
    ['a user', () => `/users/${id}?${p}`],
    ['cost by user', () => `/cost?${p}&group_by=user_id`],
    ['scores', () => `/scores?${p}`],
    ['feedback', () => `/scores?${p}&view=feedback`],
    ['datasets', () => `/datasets?${p}`],
    ['a dataset', () => `/datasets/hostile?${p}`],
    ['experiments', () => `/experiments?${p}`],
    ['a run', () => `/runs/${run}?tab=input`],
    ['what a run waits for', () => `/runs/${run}?tab=waits`],
    ['an actor', () => `/actors/run/${run}`],
  ])(
    '3: in %s are shown as they are, run nothing, load nothing, and do not widen the page',
    async (_place, address) => {
      const page = await stage.open(address(), { viewport: { width: 640, height: 800 } });
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.locator('main').innerText()).toContain(SHOWN);
      expect(await madeOfText(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(640);
    },
  );
});

describe('more than a page can draw', () => {
  it('10,000 spans beside each other, and a payload with 10,000 keys, are drawn in part', async () => {
    const wide = hex(16);
    const root = hex(8);
    // Built as text: a recursive writer would not survive its depth.
    const deep = `${'['.repeat(90)}1${']'.repeat(90)}`;
    const broad = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`key ${at}`, at]));
    const spans: object[] = [
      aSpan({ trace_id: wide, span_id: root, name: 'root', to: 20_000, input: broad, output: JSON.parse(deep) }),
      ...Array.from({ length: 9_999 }, (_, at) =>
        aSpan({ trace_id: wide, parent_span_id: root, name: `leaf ${at}`, from: at }),
      ),
    ];
    for (let at = 0; at < spans.length; at += 2500) await stage.ingest({ spans: spans.slice(at, at + 2500) });
    const page = await stage.open(`/traces/${wide}?span=${root}`);
    const grid = page.getByRole('treegrid', { name: 'Spans' });
    await expect.poll(() => grid.getAttribute('aria-rowcount')).not.toBeNull();
    const inspector = page.getByRole('region', { name: 'Span' });
    for (const tab of ['Input', 'Output', 'JSON']) {
      await inspector.getByRole('tab', { name: tab }).click();
      await inspector
        .getByText(/key 1|\[|root/)
        .first()
        .waitFor();
      expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(2_500);
    }
  });

  it('a run with a megabyte of input is shown by its beginning', async () => {
    await stage.post('/v1/api/definitions', {
      definitions: [{ id: 'big', version: 1, steps: [{ id: 'wait', kind: 'wait_event', event: 'e', key: 'k' }] }],
    });
    const { run_id } = await stage.post('/v1/api/runs', {
      definition_id: 'big',
      input: { text: HUGE },
    });
    const page = await stage.open(`/runs/${String(run_id)}?tab=input`);
    const panel = page.getByRole('tabpanel');
    await panel.getByText('a1b2c3d4').first().waitFor();
    expect((await panel.textContent())?.length).toBeLessThan(50_000);
  });

  it('a definition of 300 steps is drawn, and its transitions are listed', async () => {
    const steps = Array.from({ length: 300 }, (_, at) => ({ id: `step-${at}`, kind: 'task', input: {} }));
    await stage.post('/v1/api/definitions', { definitions: [{ id: 'long', version: 1, steps }] });
    const page = await stage.open('/machines/run%3Along%401');
    await page.getByRole('table', { name: 'Transitions' }).waitFor();
    await page.getByRole('figure', { name: 'Statechart of run:long@1' }).getByText('step-0').first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
  });

  const kinds = ['cursor.moved', 'step.leased', 'step.started', 'step.finished'];
  const journalOf = (length: number) =>
    Array.from({ length }, (_, seq) => ({
      seq,
      kind: kinds[seq % kinds.length],
      at: new Date(1_790_000_000_000 + seq).toISOString(),
      step_id: 'ask',
      visit: 1 + Math.floor(seq / kinds.length),
      data: { text: HOSTILE },
    }));

  it('a journal of 10,000 entries is read to its end and sought, and only what is in view is drawn', async () => {
    const entries = journalOf(10_000);
    const page = await stage.open('/settings');
    // A run of so many steps takes minutes to make; the page cannot tell.
    await page.route(`**/v1/api/runs/${run}/events`, (route) =>
      route.fulfill({
        contentType: 'text/event-stream',
        body: entries.map((entry) => `id: ${entry.seq}\ndata: ${JSON.stringify(entry)}\n\n`).join(''),
      }),
    );
    await page.goto(new URL(`/runs/${run}?tab=journal`, stage.url).href);
    const slider = page.getByRole('slider', { name: 'Sequence', disabled: false });
    await expect.poll(() => slider.getAttribute('max')).toBe('9999');
    expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(2_500);
    await slider.fill('5001');
    await page
      .getByRole('region', { name: 'Graph' })
      .getByRole('row', { name: /^ask cursor/ })
      .waitFor();
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/^seq 5001 of 9999, /);
  });

  it('a page that is not live says where it stopped reading a long journal, and reads on when it is asked', async () => {
    const entries = journalOf(10_500);
    const page = await stage.open('/settings');
    await page.route(`**/v1/api/runs/${run}/events?**`, (route) => {
      const query = new URL(route.request().url()).searchParams;
      const from = Number(query.get('after')) + 1;
      const events = entries.slice(from, from + Number(query.get('limit')));
      return route.fulfill({ json: { events, next_after: events.at(-1)?.seq ?? from - 1 } });
    });
    await page.goto(new URL(`/runs/${run}?tab=journal&follow=0`, stage.url).href);
    const slider = page.getByRole('slider', { name: 'Sequence', disabled: false });
    const notice = page.getByText(/longer than what is read of it: the first 10,000 entries/);
    await notice.waitFor();
    expect(await slider.getAttribute('max')).toBe('9999');
    await page.getByRole('button', { name: 'Read on' }).click();
    await expect.poll(() => slider.getAttribute('max')).toBe('10499');
    await expect.poll(() => notice.count()).toBe(0);
  });
});
