import { describe, expect, it } from 'vitest';
import { aSpan, hex, useStage } from './stage.ts';

const HOSTILE = '<img src=x onerror=alert(1)> failed';
const PRICED = { total_cost: 0.5, currency: 'USD' };
let traceId = '';

const stage = useStage({ own: true, flags: ['--runs-data', 'off'] }, async ({ ingest, url }) => {
  traceId = hex(16);
  await ingest({
    spans: [
      aSpan({ trace_id: traceId, name: 'bad', status: 'error', error: { message: 'x' }, to: 1000, cost: PRICED }),
      ...[1, 2].map((n) =>
        aSpan({ trace_id: hex(16), name: 'good', to: n * 10, cost: { ...PRICED, total_cost: n / 1000 } }),
      ),
    ],
  });
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const mapped = {
    traceId,
    spanId: hex(8),
    name: 'call',
    startTimeUnixNano: `${Date.now()}000000`,
    endTimeUnixNano: `${Date.now()}000001`,
    attributes: [
      attribute('gen_ai.request.model', 'gpt-x'),
      attribute('http.request.header.authorization', 'Bearer not-to-be-seen'),
      attribute('my.own', 'value'),
    ],
  };
  const answer = await fetch(`${url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [mapped] }] }] }),
  });
  if (!answer.ok) throw new Error(`the door answered ${answer.status}`);
  await fetch(`${url}/v1/ingest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"spans":[{}]}',
  });
});

describe('the list of traces', () => {
  it('counts what all traces have in common, and a count is a filter', async () => {
    const page = await stage.open('/traces');
    const facets = page.getByRole('region', { name: 'Facets' });
    await facets.getByText('Over 3 traces').waitFor();
    await facets.getByRole('button', { name: 'error 1' }).click();
    await page.waitForURL(/status=error/);
    await page.getByText('1 trace shown').waitFor();
    await facets.getByRole('button', { name: 'error 1', pressed: true }).click();
    await page.getByText('3 traces shown').waitFor();
    expect(new URL(page.url()).searchParams.has('status')).toBe(false);
  });

  it('a box in the plane of duration and cost keeps the traces in it', async () => {
    const page = await stage.open('/traces');
    await page.getByText('Duration and cost', { exact: true }).click();
    const plane = page.getByRole('figure', { name: 'Duration and cost' }).getByRole('img');
    const { x, y, width, height } = (await plane.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(x + width * 0.6, y + 2);
    await page.mouse.down();
    await page.mouse.move(x + width - 2, y + height * 0.4);
    await page.mouse.up();
    await page.waitForURL(/min_duration_ms=.*min_cost=|min_cost=.*min_duration_ms=/);
    await page.getByText('1 trace shown').waitFor();
    expect(await page.getByRole('link', { name: 'bad' }).count()).toBe(1);
  });
});

describe('the columns of the list', () => {
  it('are chosen by their boxes, which the address keeps; all of them are no choice', async () => {
    const page = await stage.open('/traces');
    const heads = page.getByRole('table', { name: 'Traces' }).getByRole('columnheader');
    await heads.first().waitFor({ timeout: 60_000 });
    const all = await heads.allInnerTexts();
    await page.getByText('Columns', { exact: true }).first().click();
    const choice = page.getByRole('group', { name: 'Columns' });
    await choice.getByRole('checkbox', { name: 'Errors' }).uncheck();
    const less = all.filter((head) => head !== 'Errors');
    await expect.poll(() => heads.allInnerTexts()).toEqual(less);
    await page.reload();
    await expect.poll(() => heads.allInnerTexts()).toEqual(less);
    await page.getByText('Columns', { exact: true }).first().click();
    await choice.getByRole('checkbox', { name: 'Errors' }).check();
    await expect.poll(() => heads.allInnerTexts()).toEqual(all);
    expect(new URL(page.url()).searchParams.has('cols')).toBe(false);
  });
});

describe('saved views', () => {
  it('are kept under a name, opened again, shown on a board, and deleted; a name is text', async () => {
    const page = await stage.open('/traces?status=error');
    await page.getByRole('button', { name: 'Save view' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save view' });
    await dialog.getByRole('textbox', { name: 'Name of the view' }).fill(HOSTILE);
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByRole('link', { name: 'Views and boards' }).click();
    await page.keyboard.press('Escape');

    await page.getByRole('table', { name: 'Views' }).getByRole('link', { name: HOSTILE }).waitFor();
    await page.getByRole('button', { name: 'New board…' }).click();
    const making = page.getByRole('dialog', { name: 'New board' });
    await making.getByRole('textbox', { name: 'Name of the board' }).fill('mornings');
    await making.getByRole('checkbox', { name: HOSTILE }).check();
    await making.getByRole('button', { name: 'Make the board' }).click();
    await page.getByRole('table', { name: 'Boards' }).getByRole('link', { name: 'mornings' }).click();
    const card = page.getByRole('article', { name: HOSTILE });
    await card.getByText('1 trace', { exact: true }).waitFor();

    await card.getByRole('link', { name: HOSTILE }).click();
    await page.waitForURL(/\/traces\?.*status=error/);
    await page.getByText('1 trace shown').waitFor();

    await page.goto(`${stage.url}/boards`);
    await page.getByRole('button', { name: `Delete ${HOSTILE}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('link', { name: 'mornings' }).click();
    await page.getByText('1 view of it was deleted.').waitFor();
    expect(await page.getByRole('article').count()).toBe(0);
  });
});

describe('the default view of a page', () => {
  it('is where the rail and the keys lead, while a link opens what it says, until it is ended', async () => {
    const page = await stage.open('/traces?project=default&status=error');
    const rail = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Traces' });
    const query = async (): Promise<string> => new URL((await rail.getAttribute('href')) ?? '', stage.url).search;
    await page.getByRole('button', { name: 'Save view' }).click();
    const dialog = page.getByRole('dialog', { name: 'Save view' });
    await dialog.getByText('From the rail, Traces opens without filters.').waitFor();
    await dialog.getByRole('button', { name: 'Set as my default' }).click();
    await dialog.getByText('From the rail, Traces opens like this.').waitFor();
    await page.keyboard.press('Escape');
    expect(await query()).toBe('?project=default&status=error');

    await page.goto(`${stage.url}/traces?status=ok`);
    await page.getByRole('button', { name: 'Remove filter status' }).getByText('ok').waitFor();
    await page.goto(`${stage.url}/cost`);
    await page.getByRole('heading', { level: 1, name: 'Cost' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.waitForURL(/\/traces\?status=error$/);
    await page.getByRole('button', { name: 'Save view' }).click();
    await dialog.getByRole('button', { name: 'End my default' }).click();
    await page.keyboard.press('Escape');
    expect(await query()).toBe('');
  });
});

describe('what ingest did', () => {
  it('a span says which attribute set which field, what was redacted, and what is kept unread', async () => {
    const page = await stage.open(`/traces/${traceId}`);
    await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
    await page.getByRole('gridcell', { name: /^call/ }).first().click();
    const span = page.getByRole('region', { name: 'Span' });
    await span.getByRole('tab', { name: 'Mapping' }).click();
    await span.getByRole('table', { name: 'Mapping' }).getByText('gen_ai.request.model').waitFor();
    await span.getByText('its key is one of the built-in names of secrets').waitFor();
    expect(await span.textContent()).toContain('my.own');
    expect(await page.content()).not.toContain('not-to-be-seen');
  });

  it('refusals of the doors are counted', async () => {
    const page = await stage.open('/refusals');
    const row = page.getByRole('table', { name: 'Refusals' }).getByRole('row', { name: /\/v1\/ingest/ });
    await row.getByText('invalid_id').waitFor();
    expect(await row.textContent()).toContain('trace_id');
  });

  it('the overview says when the newest trace began, and what the doors refused last', async () => {
    const page = await stage.open('/');
    const ingest = page.getByRole('region', { name: 'Ingest' });
    await ingest.getByText(/^The newest trace, .+, began /).waitFor();
    await ingest.getByText('invalid_id').waitFor();
    await ingest.getByText('Refused once since').waitFor();
    expect(await ingest.getByRole('link', { name: 'Refusals' }).getAttribute('href')).toMatch(/^\/refusals/);
  });
});

describe('5: without durable runs', () => {
  it('the page of the runs says why there are none, and how there would be', async () => {
    const page = await stage.open('/runs');
    await page.getByText('--runs-data off').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});
