import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { aSpan, findBrowser, hex, instant, useStage } from './stage.ts';

const stage = useStage();

describe('a trace of 10,000 spans', () => {
  const big = hex(16);
  const chain = hex(16);
  const correlation = { project: 'big' };
  const SPANS = 10_000;
  const DEPTH = 40;
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    const payload = 'payload '.repeat(250);
    const ids = Array.from({ length: SPANS }, () => hex(8));
    const spans = ids.map((span_id, at) =>
      aSpan({
        trace_id: big,
        span_id,
        // Forty deep, then from the top again.
        ...(at === 0 ? {} : { parent_span_id: at % DEPTH === 0 ? (ids[0] ?? '') : (ids[at - 1] ?? '') }),
        name: `step ${at}`,
        from: at,
        to: at === 0 ? SPANS + 100 : at + 60,
        status: at % 50 === 49 ? 'error' : 'ok',
        ...(at % 50 === 49 ? { error: { message: `broke at ${at}` } } : {}),
        input: payload,
        correlation,
      }),
    );
    for (let at = 0; at < SPANS; at += 2000) await stage.ingest({ spans: spans.slice(at, at + 2000) });
    const links = Array.from({ length: SPANS }, () => hex(8));
    const chained = links.map((span_id, at) =>
      aSpan({
        trace_id: chain,
        span_id,
        ...(at === 0 ? {} : { parent_span_id: links[at - 1] ?? '' }),
        name: `link ${at}`,
        from: at,
        to: SPANS * 2,
        correlation,
      }),
    );
    for (let at = 0; at < SPANS; at += 2500) await stage.ingest({ spans: chained.slice(at, at + 2500) });
  });

  it('2: loads no payload, keeps the page small, and reaches its last row and each of its errors by key', async () => {
    const page = await stage.open('/settings');
    const bodies: Promise<{ text: string; transferred: number }>[] = [];
    page.on('response', (response) => {
      if (response.url().includes(`/v1/api/traces/${big}?`))
        bodies.push(
          Promise.all([response.text(), response.request().sizes()]).then(([text, sizes]) => ({
            text,
            transferred: sizes.responseBodySize,
          })),
        );
    });
    await page.goto(new URL(`/traces/${big}?project=big`, stage.url).href);
    const grid = page.getByRole('treegrid', { name: 'Spans' });
    await grid.getByRole('row').first().waitFor();
    const [body] = await Promise.all(bodies);
    expect(body?.text).not.toContain('payload payload');
    expect(body?.transferred).toBeLessThan(500_000);
    expect(await grid.getAttribute('aria-rowcount')).toBe(String(SPANS));
    expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(1500);

    const active = async (): Promise<string | null | undefined> =>
      page.evaluate(() => {
        const id = document.activeElement?.getAttribute('aria-activedescendant');
        return id === null || id === undefined ? null : document.getElementById(id)?.getAttribute('aria-rowindex');
      });
    await grid.focus();
    await page.keyboard.press('End');
    await expect.poll(active).toBe(String(SPANS));
    await page.keyboard.press('Home');
    await expect.poll(active).toBe('1');
    for (const row of ['50', '100', '150']) {
      await page.keyboard.press('e');
      await expect.poll(active).toBe(row);
    }
    await page.keyboard.press('E');
    await expect.poll(active).toBe('100');
    // The payload of the one span that is looked at is read then.
    await page.getByRole('tab', { name: 'Input' }).click();
    await page.getByRole('region', { name: 'Span' }).getByText('payload payload').first().waitFor();
  });

  it('2: is asked for while the scripts of the interface are on their way, and once', async () => {
    const page = await stage.open('/settings');
    const { promise: asksForBoth, resolve: goOn } = Promise.withResolvers<void>();
    await page.route('**/assets/index-*.js', async (route) => {
      await asksForBoth;
      await route.continue();
    });
    await page.goto('about:blank');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const both = Promise.all([
      page.waitForRequest(`**/v1/api/traces/${big}?**`),
      page.waitForRequest('**/assets/trace-page-*.js'),
    ]);
    await page.goto(new URL(`/traces/${big}?project=big`, stage.url).href, { waitUntil: 'commit' });
    await both;
    expect(asked).not.toContain('/v1/api/projects');
    goOn();
    await page.getByRole('treegrid', { name: 'Spans' }).getByRole('row').first().waitFor();
    expect(asked).toContain('/v1/api/projects');
    expect(asked.filter((path) => path === `/v1/api/traces/${big}`)).toHaveLength(1);
  });

  it('2: a scroll through all of it shows no row empty', async () => {
    const page = await stage.open(`/traces/${big}?project=big`);
    const grid = page.getByRole('treegrid', { name: 'Spans' });
    await grid.getByRole('row').first().waitFor();
    const blank = await grid.evaluate(async (element) => {
      let missing = 0;
      const box = element.getBoundingClientRect();
      const bottom = element.scrollHeight - element.clientHeight;
      for (let step = 0; step <= 60; step += 1) {
        element.scrollTop = (bottom * step) / 60;
        await new Promise((resolve) => {
          requestAnimationFrame(resolve);
        });
        for (const share of [0.02, 0.5, 0.98]) {
          const hit = document.elementFromPoint(box.left + 60, box.top + box.height * share);
          if (hit?.closest('[role=row]') === null) missing += 1;
        }
      }
      return missing;
    });
    expect(blank).toBe(0);
  });

  it('2: a chain 10,000 deep is drawn like any other', async () => {
    const page = await stage.open(`/traces/${chain}?project=big`);
    const grid = page.getByRole('treegrid', { name: 'Spans' });
    await grid.getByRole('row').first().waitFor();
    await grid.focus();
    await page.keyboard.press('End');
    const last = grid.locator(`[aria-rowindex="${SPANS}"]`);
    await last.waitFor();
    expect(await last.getAttribute('aria-level')).toBe(String(SPANS));
    // However deep, there is room for its name.
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 800 });
      await expect.poll(async () => (await last.getByTitle('link 9999').boundingBox())?.width).toBeGreaterThan(60);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await grid.focus();
    await page.keyboard.press('3');
    await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe('3');
    expect(new URL(page.url()).searchParams.get('lvl')).toBe('3');
  });
});

describe('a trace of many calls', () => {
  const trace = hex(16);
  const root = hex(8);
  const lost = hex(8);
  const failing = hex(8);
  const correlation = { project: 'calls' };
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    await stage.ingest({
      spans: [
        aSpan({ trace_id: trace, span_id: root, name: 'agent', from: 0, to: 1000, correlation }),
        ...Array.from({ length: 8 }, (_, at) =>
          aSpan({
            trace_id: trace,
            parent_span_id: root,
            name: 'search',
            kind: 'tool_call',
            from: at * 100,
            to: at * 100 + 50,
            ...(at === 3 ? { span_id: failing, status: 'error', error: { message: 'no answer' } } : {}),
            correlation,
          }),
        ),
        aSpan({ trace_id: trace, parent_span_id: lost, name: 'stray', from: 900, to: 950, correlation }),
      ],
      logs: [
        {
          trace_id: trace,
          span_id: failing,
          timestamp: instant(310),
          severity: 'error',
          message: '<b>broke</b>',
          logger: 'net',
          correlation,
        },
        {
          trace_id: trace,
          span_id: root,
          timestamp: instant(1),
          severity: 'info',
          message: 'began',
          attributes: { try: 1 },
          correlation,
        },
      ],
    });
  });
  const labels = (shown: Page): Promise<(string | null)[]> =>
    shown
      .getByRole('treegrid', { name: 'Spans' })
      .getByRole('row')
      .evaluateAll((rows) => rows.map((row) => row.firstElementChild?.textContent ?? null));

  it('folds repeats into one row and back, keeps the failure, shows the lost parent, and filters by kind', async () => {
    const page = await stage.open(`/traces/${trace}?project=calls&span=${root}`);
    const grid = page.getByRole('treegrid', { name: 'Spans' });
    await grid.getByRole('row').first().waitFor();
    await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe('11');
    expect(await labels(page)).toContain(`▾parent ${lost}, not stored`);
    await page.getByRole('button', { name: 'Group repeats' }).click();
    await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe('5');
    expect((await labels(page)).slice(0, 3)).toEqual(['▾agent', '×8 search', '✕ search']);
    await page.getByRole('button', { name: 'Group repeats' }).click();
    await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe('11');

    await page.getByRole('combobox', { name: 'Kind' }).selectOption('tool_call');
    await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe('9');
    expect(new URL(page.url()).searchParams.get('kinds')).toBe('tool_call');
    await page.getByRole('button', { name: 'Remove filter kind tool call' }).click();
    await expect.poll(() => grid.getAttribute('aria-rowcount')).toBe('11');
    await page.keyboard.press('c');
    await page.waitForURL(/line=critical/);
    await expect.poll(() => grid.locator('[data-critical]').count()).toBe(9);
  });

  it('shows its logs beside their spans, by severity and words, and goes to a span', async () => {
    const page = await stage.open(`/traces/${trace}?project=calls&view=logs`);
    const logs = page.getByRole('table', { name: 'Logs' });
    await logs.getByText('began').waitFor();
    expect(await logs.getByRole('row').count()).toBe(3);
    await page.getByRole('combobox', { name: 'At least' }).selectOption('warn');
    await logs.getByText('began').waitFor({ state: 'detached' });
    await logs.getByText('<b>broke</b>').click();
    await page.getByRole('region', { name: 'Log record' }).getByText('<b>broke</b>').waitFor();
    await page.getByRole('searchbox', { name: 'Words in the logs' }).fill('nothing such');
    await page.getByText('No record matches').waitFor();
    await page.getByRole('searchbox', { name: 'Words in the logs' }).fill('BROKE');
    await page.getByRole('button', { name: 'Show search in the waterfall' }).click();
    await page.waitForURL((url) => url.searchParams.get('span') === failing);
    const inspector = page.getByRole('region', { name: 'Span' });
    await inspector.getByText('no answer').first().waitFor();
    await inspector.getByRole('tab', { name: 'Logs' }).click();
    await inspector.getByText('<b>broke</b>').waitFor();
  });
});
