import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { aSpan, hex, leave, openStage, type Stage, useStage } from './stage.ts';

/** With one trace in it. */
let id = '';
const seeded = useStage({ own: true }, async (stage) => {
  id = await seedOne(stage);
});
/** What one test alone has. */
let own: Stage | undefined;
let page: Page | undefined;
afterEach(async () => {
  const [used, left] = [own, page];
  [own, page] = [undefined, undefined];
  try {
    await leave(left);
  } finally {
    await used?.close();
  }
});

const seedOne = async (on: Stage): Promise<string> => {
  const trace_id = hex(16);
  const [root, agent, tool] = [hex(8), hex(8), hex(8)];
  await on.ingest({
    spans: [
      aSpan({
        trace_id,
        span_id: root,
        name: 'answer_ticket',
        kind: 'agent_run',
        to: 900,
        status: 'error',
        error: { message: 'no answer' },
      }),
      aSpan({ trace_id, span_id: agent, parent_span_id: root, name: 'helper', kind: 'agent_run', from: 100, to: 800 }),
      aSpan({
        trace_id,
        span_id: tool,
        parent_span_id: agent,
        name: 'find_order',
        kind: 'tool_call',
        from: 200,
        to: 700,
        status: 'error',
        error: { message: 'carrier did not answer' },
        input: { order: 7 },
      }),
      aSpan({ trace_id, parent_span_id: tool, name: 'GET /orders', kind: 'http_request', from: 210, to: 690 }),
    ],
  });
  return trace_id;
};

describe('4: without a pointer', () => {
  it('a trace is opened from the list, its failing tool call is read, and the link shows the same to another person', async () => {
    const page = await seeded.open('/traces');
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const grid = page.getByRole('treegrid', { name: 'Spans' });
    await grid.waitFor();
    await page.keyboard.press('3');
    await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe('3');
    // Opens on the deepest failure; from there to the other one and back.
    await page.keyboard.press('E');
    await page.keyboard.press('e');
    const inspector = page.getByRole('region', { name: 'Span' });
    await inspector.getByRole('heading', { name: 'find_order' }).waitFor();
    await inspector.getByText('carrier did not answer').waitFor();
    await page.keyboard.press('+');
    await page.waitForURL(/zoom=/);
    const stored = await page.evaluate(() => localStorage.length);
    const link = page.url();
    expect(new URL(link).searchParams.get('lvl')).toBe('3');

    const other = await seeded.open(link);
    await other.getByRole('region', { name: 'Span' }).getByRole('heading', { name: 'find_order' }).waitFor();
    expect(await other.getByRole('treegrid', { name: 'Spans' }).getAttribute('aria-rowcount')).toBe('3');
    expect(other.url()).toBe(link);
    expect(await other.evaluate(() => localStorage.length)).toBe(stored);
    expect(stored).toBe(0);
  });

  it('the first key skips to the page, `?` lists the keys, and Ctrl K goes anywhere', async () => {
    const page = await seeded.open('/');
    await page.getByRole('region', { name: 'Summary' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the page');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor({ state: 'hidden' });
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.waitForURL(/\/traces/);
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Command palette' });
    await palette.getByRole('combobox').fill(id);
    await palette.getByRole('option', { name: `Open trace ${id}` }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/traces/${id}`));
  });
});

describe('a change of theme', () => {
  it('is complete at once where motion is reduced: no text passes through the colours of the other theme', async () => {
    const page = await seeded.open(`/traces/${id}`, { reducedMotion: 'reduce', colorScheme: 'light' });
    await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
    const seen = await page.evaluate(() => {
      const colours = (): Set<string> =>
        new Set([...document.querySelectorAll('body *')].map((element) => getComputedStyle(element).color));
      const before = colours();
      document.documentElement.dataset['theme'] = 'dark';
      const after = colours();
      return { before: [...before], left: [...before.intersection(after)], moving: document.getAnimations().length };
    });
    expect(seen.before.length).toBeGreaterThan(2);
    expect(seen).toMatchObject({ left: [], moving: 0 });
  });
});

describe('5: the first run', () => {
  it('shows a command that, run as it is, turns the page to data without a reload', async () => {
    own = await openStage({ own: true });
    page = await own.open('/');
    const command =
      (await page.getByRole('figure', { name: 'With curl', exact: true }).locator('pre').textContent()) ?? '';
    expect(command).toContain(own.url);
    await page.evaluate(() => {
      document.body.dataset['kept'] = 'yes';
    });
    await promisify(execFile)('sh', ['-c', command]);
    await page.getByRole('region', { name: 'Summary' }).waitFor();
    expect(await page.evaluate(() => document.body.dataset['kept'])).toBe('yes');
    await page.getByRole('link', { name: 'Traces', exact: true }).click();
    await page.getByRole('link', { name: 'first trace' }).click();
    await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
    expect(await page.title()).toBe('first trace · Trace · svc');
  });

  it('2.6 sample data behind one click: the page turns to data without a reload', async () => {
    own = await openStage({ own: true });
    page = await own.open('/');
    await page.getByRole('button', { name: 'Send sample data' }).click();
    await page.getByRole('region', { name: 'Summary' }).waitFor();
    const { traces } = (await own.get('/v1/api/traces?environment=sample')) as { traces: { status: string }[] };
    expect(traces.map(({ status }) => status).toSorted()).toEqual(['error', 'ok', 'ok', 'ok', 'ok', 'ok']);
  });

  it('asks for a key where one is needed, and keeps it out of addresses, storage and logs', async () => {
    own = await openStage({ flags: ['--read-key', 'read-key-7'] });
    const locked = await seedOne(own);
    page = await own.open('/traces');
    await page.getByRole('alert').getByText('unauthorized').waitFor();
    await page.getByRole('alert').getByRole('button', { name: 'Enter a key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Key' });
    await dialog.getByLabel('Key', { exact: true }).fill('read-key-7');
    await dialog.getByRole('button', { name: 'Use' }).click();
    await page.getByRole('link', { name: 'answer_ticket' }).click();
    await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
    expect(page.url()).toContain(locked);
    expect(page.url()).not.toContain('read-key-7');
    expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain('read-key-7');
    await page.reload();
    await page.getByRole('alert').first().waitFor();
    // Kept over reloads, it goes along with what is asked for before the interface is there.
    await page.getByRole('button', { name: 'No key' }).click();
    await dialog.getByLabel('Key', { exact: true }).fill('read-key-7');
    await dialog.getByLabel('Keep it over reloads').check();
    await dialog.getByRole('button', { name: 'Use' }).click();
    await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
    const answers: number[] = [];
    page.on('response', (response) => {
      if (response.url().includes(`/v1/api/traces/${locked}?`)) answers.push(response.status());
    });
    await page.reload();
    await page.getByRole('treegrid', { name: 'Spans' }).waitFor();
    expect(answers).toEqual([200]);
    expect(own.lines.join('\n')).not.toContain('read-key-7');
  });

  it('says what is wrong with a service that is degraded', async () => {
    const degraded = await seeded.open('/settings');
    await degraded.route('**/readyz', (route) =>
      route.fulfill({
        status: 503,
        json: {
          status: 'degraded',
          version: '1',
          spec_version: '1',
          uptime_seconds: 1,
          storage: 'sqlite',
          detail: 'the disk is full',
        },
      }),
    );
    await degraded.goto(seeded.url);
    const banner = degraded.getByRole('alert').filter({ hasText: 'the disk is full' });
    await banner.waitFor();
    expect(await banner.textContent()).toContain('Degraded');
  });
});
