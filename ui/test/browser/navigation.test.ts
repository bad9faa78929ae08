import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { aSpan, hex, settled, useStage } from './stage.ts';

const id = hex(16);
const stage = useStage({ own: true }, async ({ ingest }) => {
  const root = hex(8);
  await ingest({
    spans: [
      aSpan({ trace_id: id, span_id: root, name: 'answer_ticket', kind: 'agent_run', to: 900 }),
      aSpan({ trace_id: id, parent_span_id: root, name: 'find_order', kind: 'tool_call', from: 10, to: 90 }),
    ],
  });
});

const focused = (page: Page): Promise<string> =>
  page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.textContent}`);
/** What a screen reader says by itself when a page was gone to. */
const said = (page: Page): Promise<string | null> => page.locator('[aria-live="polite"]').first().textContent();
const currentIn = (page: Page): Promise<string[]> => page.locator('a[aria-current]').allTextContents();

describe('a page that is gone to', () => {
  let page: Page;
  beforeEach(async () => {
    page = await stage.open('/traces');
    await settled(page);
  });

  it('has the focus on its heading, is said and named, whichever way leads there; the first page takes none', async () => {
    expect([await focused(page), await said(page)]).toEqual([expect.stringMatching(/^BODY/), '']);

    await page.getByRole('link', { name: 'answer_ticket' }).click();
    await expect.poll(() => focused(page)).toBe('H1 answer_ticket');
    expect([await said(page), await page.title()]).toEqual(['answer_ticket, Trace', 'answer_ticket · Trace · svc']);

    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Users' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => focused(page)).toBe('H1 Users');
    expect(await said(page)).toBe('Users');

    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await expect.poll(() => focused(page)).toBe('H1 Datasets');

    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    await palette.getByRole('combobox').fill('doctor');
    await page.keyboard.press('Enter');
    await palette.waitFor({ state: 'hidden' });
    await expect.poll(() => focused(page)).toBe('H1 Doctor');

    await page.goBack();
    await expect.poll(() => focused(page)).toBe('H1 Datasets');
    expect(await page.title()).toBe('Datasets · svc');
  });

  it('leaves the focus where it is while the same page shows something else', async () => {
    const search = page.getByRole('searchbox', { name: 'Search' });
    await search.fill('parcel');
    await search.press('Enter');
    await page.waitForURL(/q=parcel/);
    await settled(page);
    expect(await focused(page)).not.toMatch(/^H1/);
    expect(await said(page)).toBe('');
  });

  it('stands in the rail as the current one, and no other link says so', async () => {
    expect(await currentIn(page)).toEqual(['Traces']);
    await page.goto(`${stage.url}/traces/${id}?view=transcript`);
    await settled(page);
    expect(await currentIn(page)).toEqual(['Traces']);
    await page.goto(`${stage.url}/scorers`);
    await settled(page);
    expect(await currentIn(page)).toEqual(['Scores']);
    await page.setViewportSize({ width: 1280, height: 500 });
    await page.goto(`${stage.url}/settings`);
    await settled(page);
    const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Settings' });
    expect(await link.evaluate((element) => element.getBoundingClientRect().bottom)).toBeLessThanOrEqual(500);
  });

  it('that does not exist says so in a heading', async () => {
    await page.goto(`${stage.url}/traces/a/b/c`);
    await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
    expect(await page.title()).toBe('Not found · svc');
  });
});

describe('the focus', () => {
  const named = (page: Page): Promise<string | null | undefined> =>
    page.evaluate(() => document.activeElement?.getAttribute('aria-label'));

  it('stays with the filters when one of them is removed', async () => {
    const page = await stage.open('/traces?status=ok&name=answer_ticket');
    for (const filter of ['status ok', 'name answer_ticket']) {
      await page.getByRole('button', { name: `Remove filter ${filter}` }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: `Remove filter ${filter}` }).waitFor({ state: 'detached' });
      expect(await named(page)).toBe('Filters');
    }
  });

  it('goes to the rows of the waterfall with who was led there', async () => {
    const page = await stage.open(`/traces/${id}?view=transcript`);
    await page.getByRole('button', { name: 'Show in the waterfall' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
    await expect.poll(() => named(page)).toBe('Spans');
    // Who only changes the view stays with its button.
    for (const view of ['Logs', 'Waterfall']) {
      await page.getByRole('button', { name: view, exact: true }).focus();
      await page.keyboard.press('Enter');
    }
    await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Waterfall');
  });

  it('goes to the heading where a dialog has deleted what opened it', async () => {
    await stage.post('/v1/api/views', { view_id: 'gone', name: 'gone', path: '/traces' });
    const page = await stage.open('/boards');
    const opener = page.getByRole('button', { name: 'Delete gone' });
    await opener.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Delete gone' });
    await dialog.getByRole('button', { name: 'Delete', exact: true }).press('Enter');
    await opener.waitFor({ state: 'detached' });
    await expect.poll(() => focused(page)).toBe('H1 Boards');
  });

  it('stays with the button that copies the link, which says so', async () => {
    const page = await stage.open('/traces', { permissions: ['clipboard-write', 'clipboard-read'] });
    await page.getByRole('button', { name: 'Copy link' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('banner').getByText('Copied').waitFor();
    expect(await named(page)).toBe('Copy link');
  });

  it('goes to the row on which the reader stands, which is read out so, and back to it from beside the list', async () => {
    const page = await stage.open('/traces');
    const table = page.getByRole('table', { name: 'Traces' });
    await table.getByRole('link', { name: 'answer_ticket' }).waitFor();
    await page.keyboard.press('j');
    const row = table.locator('tr[aria-current]');
    await row.waitFor();
    const isOnRow = (): Promise<boolean> => row.evaluate((element) => element === document.activeElement);
    await expect.poll(isOnRow).toBe(true);
    const close = page.getByRole('button', { name: 'Close the peek panel' });
    await close.focus();
    await page.keyboard.press('Enter');
    await close.waitFor({ state: 'detached' });
    expect(await focused(page)).toMatch(/^TR answer_ticket/);
    await page.keyboard.press('j');
    await close.waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'answer_ticket' }).waitFor();
  });
});

describe('the key /', () => {
  it.each([
    ['/traces', 'searchbox', 'Search'],
    [`/traces/${id}?view=waterfall`, 'searchbox', 'Find in the trace'],
    [`/traces/${id}?view=tree`, 'searchbox', 'Find in the trace'],
    [`/traces/${id}?view=logs`, 'searchbox', 'Words in the logs'],
    ['/runs', 'combobox', 'Filter by'],
    ['/schedules', 'combobox', 'Filter by'],
    ['/workers', 'combobox', 'Filter by'],
    ['/keys', 'combobox', 'waiting'],
    ['/actors', 'combobox', 'Type'],
    ['/doctor', 'combobox', 'Level'],
    ['/audit', 'textbox', 'operation'],
    ['/scores', 'textbox', 'Scorer'],
  ] as const)('on %s goes to the %s “%s”, and is a letter in it', async (path, role, name) => {
    const page = await stage.visit(path);
    await settled(page);
    const field = page.locator('main').getByRole(role, { name, exact: true });
    await field.waitFor();
    await page.keyboard.press('/');
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
    if (role === 'combobox') return;
    await page.keyboard.type('a/b');
    expect(await field.inputValue()).toBe('a/b');
  });
});
