import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createClient } from '../../../sdk/typescript/src/index.ts';
import { jsonPatch } from '../../src/model/json-patch.ts';
import { seriousFindings, type Stage, useStage, serveTime } from './stage.ts';

let runs: string[];

const WORKER = { worker_id: 'w-1' };
/** Plays the next step of a run: it is completed with an output, or fails. */
const play = async ({ post }: Pick<Stage, 'post'>, run: string, output: unknown, error?: object): Promise<void> => {
  const claim = { ...WORKER, max: 1, wait_ms: 5000, run_id: run };
  const { leases } = (await post('/v1/api/steps/claim', claim)) as { leases: { lease_id: string }[] };
  const lease = `/v1/api/steps/${leases[0]?.lease_id ?? 'none'}`;
  await post(`${lease}/started`, WORKER);
  if (error === undefined) await post(`${lease}/complete`, { ...WORKER, output });
  else await post(`${lease}/fail`, { ...WORKER, error });
};

const refund = {
  id: 'refund',
  version: 1,
  steps: [
    { id: 'look', kind: 'task' },
    { id: 'pay', kind: 'task' },
  ],
};

const stage = useStage({ own: true }, async (service) => {
  await service.post('/v1/api/workers/register', { ...WORKER, definitions: [refund] });
  const client = createClient({ endpoint: service.url });
  const start = async () => (await client.start('refund', {})).run_id;
  const good = await start();
  await play(service, good, { amount: 40 });
  await play(service, good, { paid: true });
  const bad = await start();
  await play(service, bad, { amount: 41 });
  await play(service, bad, null, { class: 'fatal', message: '<img src=x onerror=alert(1)> the bank said no' });
  client.close();
  runs = [good, bad];
});

const expectNoFindings = async (on: Page): Promise<void> => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await on.emulateMedia({ colorScheme });
    expect(await seriousFindings(on)).toEqual([]);
  }
};

describe('the messages of a run', () => {
  it('are drawn and told as a table, up to the moment of the slider, with the text of a client as text', async () => {
    const page = await stage.open(`/runs/${runs[1]}?tab=messages`);
    const figure = page.getByRole('figure', { name: 'Messages of the run' });
    const table = figure.getByRole('table', { name: 'Messages' });
    await table.getByText('<img src=x onerror=alert(1)> the bank said no').first().waitFor();
    expect(await table.getByRole('row').count()).toBe(9);
    await figure.getByRole('img', { name: /^8 messages between Outside, Run, Leases/ }).waitFor();

    await page.goto(new URL(`/runs/${runs[1]}?tab=messages&seq=3`, stage.url).href);
    await figure.getByText('3 messages of 8 shown, 5 after').waitFor();
    expect(await table.getByRole('row').last().innerText()).toContain('started look');
    await table.getByRole('link', { name: 'started look' }).click();
    await page.waitForURL('**/actors/lease/**');
    await page.goBack();
    await figure.getByText('3 messages of 8 shown').waitFor();
    await expectNoFindings(page);
  });

  it('stand with an actor, too, once its past is asked for', async () => {
    const page = await stage.open(`/actors/run/${runs[0]}`);
    await page.getByRole('button', { name: 'Look at the past' }).click();
    await page.getByRole('figure', { name: 'Messages of the run' }).waitFor();
    await expectNoFindings(page);
  });
});

describe('an attempt', () => {
  it('has how it ended as a sign at the end of its bar, not as a colour alone', async () => {
    const page = await stage.open(`/runs/${runs[1]}`);
    const signOf = (name: RegExp): Promise<string> =>
      page
        .getByRole('img', { name })
        .locator('span')
        .evaluate((bar) => getComputedStyle(bar, '::after').content);
    expect(await signOf(/^pay, attempt 1, failed/)).toBe('"✕"');
    expect(await signOf(/^look, attempt 1, succeeded/)).toBe('none');
  });

  it('says in one press why it ran, entry by entry, and leads to the moment of each', async () => {
    const { chain } = (await stage.get(`/v1/api/runs/${runs[1]}/steps/pay/cause`)) as { chain: { seq: number }[] };
    const page = await stage.open(`/runs/${runs[1]}`);
    const row = page.getByRole('table', { name: 'Attempts' }).getByRole('row').nth(2);
    expect(await row.innerText()).toContain('the bank said no');
    await row.getByRole('button', { name: 'Why pay, attempt 1' }).click();
    const dialog = page.getByRole('dialog', { name: 'Why pay, attempt 1' });
    const causes = dialog.getByRole('list', { name: 'Causes' });
    await causes.waitFor();
    const looks = causes.getByRole('button');
    expect(await looks.allTextContents()).toEqual(chain.map(({ seq }) => `Look at seq ${seq}`));
    expect(await causes.getByRole('listitem').first().innerText()).toContain('step.leased pay by w-1');
    expect(await causes.getByRole('listitem').last().innerText()).toContain('run.started');
    expect(await seriousFindings(page)).toEqual([]);

    await page.reload();
    await causes.waitFor();
    await causes.getByRole('button', { name: `Look at seq ${chain[1]?.seq}`, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await page.getByRole('slider', { name: 'Sequence', disabled: false }).inputValue()).toBe(
      String(chain[1]?.seq),
    );
    expect(new URL(page.url()).searchParams.get('attempt')).toBeNull();
  });

  it('that failed is marked in the picture, on the slider and in the journal, which shows one kind of entry', async () => {
    const page = await stage.open(`/runs/${runs[1]}?tab=journal&node=pay`);
    await page.getByRole('group', { name: 'pay, state, task, visited, failed', exact: true }).waitFor();
    expect(await page.getByRole('table', { name: 'Steps' }).locator('[aria-current]').innerText()).toContain('pay');
    const { events } = (await stage.get(`/v1/api/runs/${runs[1]}/events?limit=1000`)) as { events: { kind: string }[] };
    const failures = events.flatMap(({ kind }, seq) =>
      kind === 'step.failed' || kind === 'run.finished' ? [`M${seq / (events.length - 1)} 0V10`] : [],
    );
    const ticks = page.getByRole('group', { name: 'Past' }).locator('path[data-look="failed"]');
    expect(await ticks.getAttribute('d')).toBe(failures.join(''));

    const rows = page.getByRole('table', { name: 'Journal' }).getByRole('row');
    expect(await rows.count()).toBe(events.length + 1);
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('step.failed');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByText(`1 entry of ${events.length}`).waitFor();
    await page.reload();
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole('button', { name: 'Remove filter kind step.failed' }).click();
    await expect.poll(() => rows.count()).toBe(events.length + 1);
  });
});

describe('a run that stands still', () => {
  it('says since when and what is usual, and leads to all such runs, which the overview names', async () => {
    for (let count = 0; count < 10; count += 1) {
      const { run_id: id } = await stage.post('/v1/api/runs', { definition_id: 'refund', input: {} });
      await play(stage, String(id), null);
      await play(stage, String(id), null);
    }
    const { run_id: id } = await stage.post('/v1/api/runs', { definition_id: 'refund', input: {} });
    const stalled = async () =>
      ((await stage.get('/v1/api/runs/stalled'))['runs'] as { run_id: string }[]).map((run) => run.run_id);
    await expect.poll(stalled, { timeout: 70_000, interval: 2000 }).toEqual([id]);

    const page = await stage.open(`/runs/${String(id)}`);
    await page.getByText(/95 of 100 of its last \d+ finished visits took at most/).waitFor();
    await page.getByRole('link', { name: 'All such runs' }).click();
    await page.getByRole('button', { name: 'Remove filter stalled' }).waitFor();
    const table = page.getByRole('table', { name: 'Runs' });
    await expect.poll(async () => table.getByRole('row').count()).toBe(2);
    await page.getByRole('link', { name: 'Overview' }).click();
    const strip = page.getByRole('region', { name: 'Runs: Open past their usual time' });
    await strip.getByRole('link', { name: 'refund, at look' }).waitFor();
    await strip.getByRole('link', { name: 'Open past their usual time' }).click();
    await page.waitForURL('**/runs?stalled=true');
  });
});

describe('a run that is not followed', () => {
  it('stays as it was when it was opened until Follow is pressed, and says how far its trace is behind it', async () => {
    const client = createClient({ endpoint: stage.url });
    const { run_id: run } = await client.start('refund', {});
    client.close();
    const page = await stage.open('/');
    const reads: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes(`/runs/${run}/events`)) reads.push(request.headers()['accept'] ?? '');
    });
    // However long this takes here: for the page the step has only just ended.
    const opened = new Date();
    await serveTime(page, () => opened);
    // No span of a step has arrived.
    await page.route('**/v1/api/spans?**', (route) => route.fulfill({ json: { spans: [] } }));
    await page.goto(new URL(`/runs/${run}?tab=journal&follow=0`, stage.url).href);
    const rows = page.getByRole('table', { name: 'Journal' }).getByRole('row');
    await rows.nth(1).waitFor();
    const before = await rows.count();
    const follow = page.getByRole('button', { name: 'Follow' });
    expect(await follow.getAttribute('aria-pressed')).toBe('false');
    await page.getByText('Paused', { exact: true }).waitFor();
    await play(stage, run, { amount: 42 });
    expect(await rows.count()).toBe(before);
    expect(reads).toHaveLength(1);
    expect(reads).not.toContain('text/event-stream');

    await follow.click();
    await expect.poll(() => rows.count()).toBeGreaterThan(before);
    expect(new URL(page.url()).searchParams.has('follow')).toBe(false);
    expect(reads).toContain('text/event-stream');
    const lag = page.getByText('trace catching up: 1 of 1 spans of its steps to come');
    await lag.waitFor();
    await page.unroute('**/v1/api/spans?**');
    await lag.waitFor({ state: 'hidden' });
    expect(await page.getByText(/the trace lacks/).count()).toBe(0);
  });
});

describe('what differs between two moments', () => {
  it('is copied as a JSON Patch that makes the one the other', async () => {
    const page = await stage.open(`/runs/${runs[0]}?seq=4&vs=1&tab=changes`);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('table', { name: 'Changes' }).waitFor();
    await page.getByRole('button', { name: 'Copy as JSON Patch' }).click();
    await page.getByText('Copied').waitFor({ state: 'attached' });
    const patch = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as { path: string }[];
    const at = async (seq: number): Promise<unknown> => {
      const { value, context } = await stage.get(`/v1/api/actors/run/${runs[0]}?at_seq=${seq}`);
      return { value, context };
    };
    expect(patch).toEqual(jsonPatch(await at(1), await at(4)));
    expect(patch.length).toBeGreaterThan(0);
  });
});

describe('a run as Markdown', () => {
  it('is shown within the chosen number of tokens, with its error, and copied', async () => {
    const page = await stage.open(`/runs/${runs[1]}`, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('button', { name: 'Copy for an assistant…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy for an assistant' });
    const text = dialog.getByRole('region', { name: 'Markdown' });
    await expect.poll(() => text.innerText()).toContain('<img src=x onerror=alert(1)> the bank said no');
    await dialog.getByLabel('Tokens at most').selectOption('2000');
    await dialog.getByRole('button', { name: /^Copy/ }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain('# Run of refund');
    expect(copied.length).toBeLessThanOrEqual(2000 * 4);
    await expectNoFindings(page);
  });
});

describe('two runs', () => {
  it('a good run is proposed, and both stand side by side by step, with what differs of one on request', async () => {
    const page = await stage.open(`/runs/${runs[1]}`);
    await page.getByRole('link', { name: 'Compare', exact: true }).click();
    const proposal = page.getByRole('region', { name: 'A run to compare with' });
    await proposal.getByText((runs[0] ?? '').slice(-12, -4)).waitFor();
    await expectNoFindings(page);
    await proposal.getByRole('button', { name: 'Compare with it' }).click();
    await page.waitForURL(`**a=${runs[1]}&b=${runs[0]}`);
    const table = page.getByRole('table', { name: 'Comparison' });
    const rowOf = (step: string) => table.getByRole('row', { name: new RegExp(`^${step} `) });
    expect(await rowOf('look').innerText()).toContain('output');
    expect(await rowOf('pay').innerText()).toContain('output, error');
    expect(await rowOf('pay').innerText()).toContain('<img src=x onerror=alert(1)> the bank said no');
    await table.getByRole('button', { name: 'look' }).click();
    const outputs = page.getByRole('region', { name: 'Outputs of look' });
    expect(await outputs.getByRole('row').last().innerText()).toBe('/amount\t41\t40');
    expect(new URL(page.url()).searchParams.get('row')).toBe('1 look');
    await expectNoFindings(page);

    await page.goto(new URL(`/runs/compare?a=${runs[0]}&b=${runs[0]}&differs=true`, stage.url).href);
    await page.getByText('No visit of a step differs.').waitFor();
    await page.goto(new URL(`/runs/compare?a=${runs[0]}&b=nobody`, stage.url).href);
    await page.getByRole('alert').getByText('not_found').waitFor();
  });
});
