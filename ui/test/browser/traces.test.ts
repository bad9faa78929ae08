import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { aSpan, downloadedBy, findBrowser, hex, instant, useStage } from './stage.ts';

const stage = useStage();

const idsIn = async (shown: Page): Promise<string[]> =>
  shown
    .getByRole('table', { name: 'Traces' })
    .getByRole('row')
    .getByRole('link')
    .evaluateAll((links) =>
      links.map((link) => new URL((link as HTMLAnchorElement).href).pathname.split('/').at(-1) ?? ''),
    );

/** What the page asked of the list of traces. */
const listCalls = (shown: Page): URL[] => {
  const calls: URL[] = [];
  shown.on('request', (request) => {
    const url = new URL(request.url());
    if (url.pathname === '/v1/api/traces') calls.push(url);
  });
  return calls;
};

describe('the list of traces', () => {
  const project = 'list';
  const wanted: string[] = [];
  const correlation = { project };
  const aMatch = (from: number): { spans: object[]; scores: object[]; id: string } => {
    const id = hex(16);
    return {
      id,
      spans: [
        aSpan({
          trace_id: id,
          name: 'wanted',
          kind: 'model_generation',
          from,
          status: 'error',
          error: { message: 'no' },
          input: 'please refund me',
          cost: { total_cost: 0.5, currency: 'USD' },
          correlation,
        }),
      ],
      scores: [
        {
          trace_id: id,
          scorer_id: 'helpfulness',
          value: 0.2,
          min: 0,
          max: 1,
          source: 'offline',
          timestamp: instant(from),
          correlation,
        },
      ],
    };
  };

  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    const spans: object[] = [];
    const scores: object[] = [];
    for (let at = 0; at < 500; at += 1) {
      if (at % 25 === 0) {
        const match = aMatch(at * 100);
        wanted.unshift(match.id);
        spans.push(...match.spans);
        scores.push(...match.scores);
        continue;
      }
      // Each misses one of the filters.
      const id = hex(16);
      const misses = at % 4;
      spans.push(
        aSpan({
          trace_id: id,
          name: 'other',
          kind: 'model_generation',
          from: at * 100,
          status: misses === 0 ? 'ok' : 'error',
          input: misses === 1 ? 'another matter' : 'please refund me',
          cost: { total_cost: misses === 2 ? 0.01 : 0.5, currency: 'USD' },
          correlation,
        }),
      );
      scores.push({
        trace_id: id,
        scorer_id: 'helpfulness',
        value: misses === 3 ? 0.9 : 0.2,
        min: 0,
        max: 1,
        source: 'offline',
        timestamp: instant(0),
        correlation,
      });
    }
    await stage.ingest({ spans, scores });
  });

  const address = `/traces?project=${project}&q=refund&status=error&has_score=helpfulness&score_below=0.5&min_cost=0.1`;

  it('1: filters set by hand stand in the address and in the call under the same names; a reload and another person see the same rows', async () => {
    const page = await stage.open(`/traces?project=${project}`);
    const calls = listCalls(page);
    const filters = page.getByRole('group', { name: 'Filters' });
    await filters.getByRole('searchbox', { name: 'Search' }).fill('refund');
    await filters.getByRole('searchbox', { name: 'Search' }).press('Enter');
    for (const [name, value] of [
      ['status', 'error'],
      ['has_score', 'helpfulness'],
      ['score_below', '0.5'],
      ['min_cost', '0.1'],
    ] as const) {
      await filters.getByRole('combobox', { name: 'Filter by' }).selectOption(name);
      await filters.getByLabel('Value').fill(value);
      await filters.getByRole('button', { name: 'Add filter' }).click();
      await filters.getByRole('button', { name: `Remove filter ${name}` }).waitFor();
    }
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    expect(await idsIn(page)).toEqual(wanted);

    await page.getByRole('columnheader', { name: 'Duration' }).getByRole('button').click();
    await page.waitForURL(/sort=duration/);
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    const { searchParams } = new URL(page.url());
    const expected = Object.fromEntries(searchParams);
    await expect
      .poll(() => {
        const { limit: _limit, order: _order, ...asked } = Object.fromEntries(calls.at(-1)?.searchParams ?? []);
        return asked;
      })
      .toEqual(expected);
    expect(expected).toEqual({
      project,
      q: 'refund',
      status: 'error',
      has_score: 'helpfulness',
      score_below: '0.5',
      min_cost: '0.1',
      sort: 'duration',
    });

    const before = await idsIn(page);
    await page.reload();
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    expect(await idsIn(page)).toEqual(before);
    const other = await stage.open(page.url());
    await other.getByText(`${wanted.length} traces shown`).waitFor();
    expect(await idsIn(other)).toEqual(before);
  });

  it('1: j and k walk the filtered rows in their order, beside an open peek panel', async () => {
    const page = await stage.open(address);
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    const visited: (string | null)[] = [];
    for (const key of ['j', 'j', 'j', 'k']) {
      await page.keyboard.press(key);
      await page.getByRole('region', { name: 'Peek' }).waitFor();
      visited.push(new URL(page.url()).searchParams.get('peek'));
    }
    expect(visited).toEqual([wanted[0], wanted[1], wanted[2], wanted[1]]);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/traces/${wanted[1]}`));
    expect(new URL(page.url()).searchParams.get('project')).toBe(project);
  });

  it('1: a match that arrives while somebody reads waits behind "1 new" and moves nothing', async () => {
    const page = await stage.open(address);
    await page.getByText(`${wanted.length} traces shown`).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('region', { name: 'Peek' }).waitFor();
    const before = await idsIn(page);
    const match = aMatch(60_000);
    await stage.ingest({ spans: match.spans, scores: match.scores });
    const pill = page.getByRole('button', { name: '1 new' });
    await pill.waitFor();
    expect(await idsIn(page)).toEqual(before);
    await pill.click();
    await expect.poll(() => idsIn(page)).toEqual([match.id, ...wanted]);
  });

  it('names the filters that leave nothing, and takes them off', async () => {
    const page = await stage.open(`/traces?project=${project}&user_id=nobody&status=error`);
    await page.getByText('No trace matches').waitFor();
    await page.getByRole('button', { name: 'Remove filter user_id' }).click();
    await page.getByRole('table', { name: 'Traces' }).waitFor();
    expect(new URL(page.url()).search).toBe(`?project=${project}&status=error`);
  });
});

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

describe('an agent that asks a model three times', () => {
  const trace = hex(16);
  const root = hex(8);
  const asks = [hex(8), hex(8), hex(8)] as const;
  const correlation = { project: 'agent' };
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'where is my refund' },
    { role: 'assistant', content: 'looking' },
    { role: 'tool', name: 'search', content: 'nothing' },
    { role: 'assistant', content: 'looking again' },
    { role: 'tool', name: 'search', content: 'nothing either' },
  ];
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    await stage.ingest({
      spans: [
        aSpan({
          trace_id: trace,
          span_id: root,
          name: 'refund agent',
          kind: 'agent_run',
          from: 0,
          to: 900,
          correlation,
        }),
        ...asks.map((span_id, at) =>
          aSpan({
            trace_id: trace,
            span_id,
            parent_span_id: root,
            name: `ask ${at}`,
            kind: 'model_generation',
            from: at * 200,
            to: at * 200 + 100,
            model: 'gpt-4o-mini',
            usage: {
              input_tokens: 1000 * (at + 1),
              output_tokens: 10,
              ...(at === 0 ? {} : { input_details: { cache_read: 900 * at } }),
            },
            input: messages.slice(0, 2 + at * 2),
            output: { role: 'assistant', content: `answer ${at}` },
            correlation,
          }),
        ),
      ],
    });
  });

  it('11: shows the bill of a call: meters times rates, the row of the book, a sum that is the cost of the API', async () => {
    const page = await stage.open(`/traces/${trace}?project=agent&span=${asks[1]}&view=waterfall&tab=usage`);
    const bill = page.getByRole('table', { name: 'Receipt' });
    await bill.waitFor();
    const cells = await bill
      .getByRole('row')
      .evaluateAll((rows) => rows.slice(1).map((row) => [...row.children].map((cell) => cell.textContent)));
    expect(cells.map(([meter, tokens]) => [meter, tokens])).toEqual([
      ['input', '1,100'],
      ['cache read', '900'],
      ['output', '10'],
    ]);
    const answer = await fetch(new URL(`/v1/api/traces/${trace}/spans/${asks[1]}`, stage.url));
    const { span } = (await answer.json()) as { span: { cost: { total_cost: number } } };
    const sum = cells.reduce((total, [, , , amount]) => total + Number(amount?.slice(1)), 0);
    expect(sum).toBeCloseTo(span.cost.total_cost, 12);
    const inspector = page.getByRole('region', { name: 'Span' });
    await inspector.getByText(', the cost of the span.').waitFor();
    await inspector.getByText('The cache saved').waitFor();
  });

  it('shows how the context grew, each message once, and what the cache saved', async () => {
    const page = await stage.open(`/traces/${trace}?project=agent&view=context`);
    const table = page.getByRole('figure', { name: 'Context tokens a call' }).getByRole('table', { name: 'Context' });
    await table.getByText('2 of 6').waitFor();
    const lines = await table
      .getByRole('row')
      .evaluateAll((rows) => rows.slice(1).map((row) => [...row.children].map((cell) => cell.textContent)));
    expect(lines.map(([call, context, , , grewBy, fresh, from]) => [call, context, grewBy, fresh, from])).toEqual([
      ['ask 0', '1,000', '—', '2 of 2', 'user'],
      ['ask 1', '2,000', '+1,000', '2 of 4', 'assistant'],
      ['ask 2', '3,000', '+1,000', '2 of 6', 'tool search'],
    ]);
    const messages = page.getByRole('region', { name: 'Messages' });
    expect(await messages.getByText('be brief').count()).toBe(1);
    await messages.getByText('sent again in 2 later calls').first().waitFor();
    await page.getByText(/The cache saved \$/).waitFor();
  });

  it('shows the payload of a span as a tree with a search of its own, and an image only when it is asked for', async () => {
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const image = hex(16);
    const span = hex(8);
    const list = Array.from({ length: 3000 }, (_, at) => ({ id: at, text: `line ${at}` }));
    const content = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } }];
    await stage.ingest({
      spans: [
        aSpan({
          trace_id: image,
          span_id: span,
          name: 'look',
          kind: 'model_generation',
          input: [{ role: 'user', content }],
          output: { list },
          correlation,
        }),
      ],
    });
    const page = await stage.open(`/traces/${image}?project=agent&view=waterfall&tab=conversation`);
    const inspector = page.getByRole('region', { name: 'Span' });
    await inspector.getByText('image/png, 70 B').waitFor();
    expect(await page.locator('img').count()).toBe(0);
    await inspector.getByRole('button', { name: 'Show the image' }).click();
    const shown = inspector.getByRole('img', { name: 'Sent in the conversation' });
    await expect.poll(() => shown.evaluate((element) => (element as HTMLImageElement).naturalWidth)).toBe(1);

    await page.getByRole('treegrid', { name: 'Spans' }).focus();
    await page.keyboard.press('i');
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Conversation');
    await inspector.getByRole('tab', { name: 'Output' }).click();
    const search = inspector.getByRole('searchbox', { name: /^Find in/ });
    await search.fill('line 2999');
    await search.press('Enter');
    await inspector.getByRole('treeitem').getByText('"line 2999"').waitFor();
    expect(await inspector.getByRole('treeitem').count()).toBeLessThan(100);
  });

  it('is a graph of its calls, by name or one by one, with the same as tables', async () => {
    const page = await stage.open(`/traces/${trace}?project=agent&view=graph`);
    const figure = page.getByRole('figure', { name: 'Graph of refund agent' });
    await figure.getByText('ask 2').waitFor();
    const calls = page.getByRole('table', { name: 'Calls' });
    const lines = await calls
      .getByRole('row')
      .evaluateAll((rows) => rows.slice(1).map((row) => [...row.children].map((cell) => cell.textContent).join(' ')));
    expect(lines).toEqual([
      'refund agent ask 0 recorded 1',
      'refund agent ask 1 recorded 1',
      'refund agent ask 2 recorded 1',
      'ask 0 ask 1 inferred 1',
      'ask 1 ask 2 inferred 1',
    ]);
    await page.getByRole('button', { name: 'Every call' }).click();
    await page.waitForURL(/by=call/);
    await page
      .getByRole('table', { name: 'Boxes' })
      .getByRole('button', { name: 'Show ask 1 in the waterfall' })
      .click();
    await expect.poll(() => new URL(page.url()).searchParams.get('span')).toBe(asks[1]);
  });
});

describe('a trace that is taken along', () => {
  const trace = hex(16);
  const root = hex(8);
  const correlation = { project: 'along', session_id: 's-1', tags: ['vip'] };
  const post = async (body: string, type: string): Promise<unknown> => {
    const response = await fetch(new URL('/v1/ingest', stage.url), {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    return response.json();
  };
  /** All of it as the API writes it, but for the times at which it arrived. */
  const read = async (): Promise<string> => {
    const texts = await Promise.all(
      [`/v1/api/traces/${trace}?include=all`, `/v1/api/aspect_notes?project=along&trace_id=${trace}`].map(
        async (path) => (await fetch(new URL(path, stage.url))).text(),
      ),
    );
    return texts.join('\n').replaceAll(/"received_at":"[^"]*"/g, '"received_at":""');
  };
  const calls = [0, 1, 2].map((at) =>
    aSpan({
      trace_id: trace,
      parent_span_id: root,
      name: 'lookup',
      kind: 'tool_call',
      from: at * 10,
      input: at === 1 ? { b: 2, a: 'refund' } : { a: 'refund', b: 2 },
      output: '``` & "quotes" \\ ]}',
      correlation,
    }),
  );
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    const whole = {
      spans: [
        aSpan({
          trace_id: trace,
          span_id: root,
          name: 'agent',
          kind: 'agent_run',
          from: 0,
          to: 500,
          start_time: instant(0).replace('Z', '123456Z'),
          status: 'error',
          error: { message: 'gave up', type: 'E', stack: 'at x' },
          attributes: { big: 'BIG', deep: { list: [1.5, null, true] } },
          usage: { input_tokens: 4_503_599_627_370_497 },
          cost: { total_cost: 0.1, currency: 'EUR' },
          events: [{ name: 'e', time: instant(5), attributes: { n: 1 } }],
          links: [{ trace_id: hex(16), span_id: hex(8), attributes: {} }],
          correlation,
        }),
        ...calls,
      ],
      logs: [
        {
          trace_id: trace,
          span_id: root,
          timestamp: instant(1),
          message: 'began',
          attributes: { n: 'BIG' },
          correlation,
        },
      ],
      scores: [{ trace_id: trace, scorer_id: 'judge', value: 0.1, timestamp: instant(9), correlation }],
      feedback: [{ trace_id: trace, kind: 'thumbs', value: 'down', timestamp: instant(9), correlation }],
      aspect_notes: [{ trace_id: trace, aspect: 'tone', text: 'curt', timestamp: instant(9), correlation }],
    };
    const sent = JSON.stringify(whole).replaceAll('"BIG"', '9223372036854775807');
    const { rejected } = (await post(sent, 'application/json')) as { rejected?: number };
    if (rejected !== 0) throw new Error('ingest refused a signal of this test');
  });

  it('is downloaded as NDJSON; deleted, and ingested from that file, it is the same to the last digit', async () => {
    const before = await read();
    expect(before).toContain('9223372036854775807');
    const page = await stage.open(`/traces/${trace}?project=along`);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download NDJSON' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe(`${trace}.ndjson`);
    const chunks: Buffer[] = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
    const lines = Buffer.concat(chunks).toString();
    await fetch(new URL(`/v1/api/traces/${trace}`, stage.url), { method: 'DELETE' });
    expect((await fetch(new URL(`/v1/api/traces/${trace}`, stage.url))).status).toBe(404);
    expect(await post(lines, 'application/x-ndjson')).toMatchObject({ accepted: 8, rejected: 0, errors: [] });
    expect(await read()).toBe(before);
  });

  it('says that one tool was called three times with the same input, and leads to each call', async () => {
    const page = await stage.open(`/traces/${trace}?project=along`);
    const notices = page.getByRole('region', { name: 'Notices' });
    await notices.getByText('was called 3 times with the same input').waitFor();
    await notices.getByRole('button', { name: 'Show call 2 of lookup' }).click();
    await expect.poll(() => new URL(page.url() ?? '').searchParams.get('span')).toBe(calls[1]?.span_id);
  });

  it('is Markdown for an assistant, within a number of tokens', async () => {
    const page = await stage.open(`/traces/${trace}?project=along`);
    await page.getByRole('button', { name: 'Copy for an assistant…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Copy for an assistant' });
    const markdown = dialog.getByRole('region', { name: 'Markdown' });
    await expect.poll(() => markdown.textContent()).toContain('# Trace agent');
    const text = (await markdown.textContent()) ?? '';
    for (const piece of ['gave up', '**failed** agent', '````text', '"refund"']) expect(text).toContain(piece);
    await dialog.getByRole('combobox', { name: 'What' }).selectOption('span');
    await expect.poll(() => markdown.textContent()).toContain('# Span of the trace agent');
    await dialog.getByText('Nothing was cut').waitFor();
  });
});

describe('two traces', () => {
  const good = hex(16);
  const bad = hex(16);
  const correlation = { project: 'two' };
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    const aRun = (trace_id: string, from: number, output: string, isBad: boolean): object[] => {
      const root = hex(8);
      const status = isBad ? 'error' : 'ok';
      return [
        aSpan({ trace_id, span_id: root, name: 'refund', from, to: from + 100, status, correlation }),
        aSpan({ trace_id, parent_span_id: root, name: 'ask', from, to: from + (isBad ? 90 : 10), output, correlation }),
        aSpan({ trace_id, parent_span_id: root, name: isBad ? 'retry' : 'pay', from: from + 95, correlation }),
      ];
    };
    await stage.ingest({
      spans: [
        ...aRun(hex(16), 0, 'older', false),
        ...aRun(good, 1000, 'it was sent on Tuesday', false),
        ...aRun(bad, 2000, 'it was <b>never</b> sent on Tuesday', true),
        ...aRun(hex(16), 3000, 'later', false),
      ],
    });
  });

  it('are compared with the latest good one before, aligned by names, their outputs word by word', async () => {
    const page = await stage.open(`/traces/${bad}?project=two`);
    await page.getByRole('link', { name: 'Compare…' }).click();
    await page.getByRole('button', { name: 'Compare with it' }).click();
    await expect
      .poll(() => {
        const { pathname, searchParams } = new URL(page.url() ?? '');
        return [pathname, searchParams.get('a'), searchParams.get('b')];
      })
      .toEqual(['/traces/compare', good, bad]);
    const table = page.getByRole('table', { name: 'Comparison' });
    await table.getByText('retry').waitFor();
    const lines = await table
      .getByRole('row')
      .evaluateAll((rows) => rows.slice(1).map((row) => [...row.children].slice(0, 2).map((cell) => cell.textContent)));
    expect(lines).toEqual([
      ['refund', 'status'],
      ['ask', 'slower'],
      ['retry', 'only in B'],
      ['pay', 'only in A'],
    ]);
    await table.getByText('ask').click();
    const difference = page.getByRole('region', { name: 'Difference' });
    await difference.locator('ins').first().waitFor();
    expect(await difference.locator('ins').allTextContents()).toEqual(['<b>never</b> ']);
    await page.getByRole('combobox', { name: 'Only' }).selectOption('only in B');
    await table.getByText('pay').waitFor({ state: 'detached' });
  });
});

describe('payloads of strangers', () => {
  const trace = hex(16);
  const hostile =
    '<img src=x onerror=alert(1)><script>alert(2)</script> [click](javascript:alert(3)) ![beacon](https://evil.example/b.png)';
  const huge = `${'0123456789abcdef'.repeat(65_536).repeat(5)}€`;
  const bidi = 'safe\u202Egnp.exe\u0007\u0000';
  beforeAll(async () => {
    if (findBrowser() === undefined) return;
    const correlation = { project: 'hostile', user_id: hostile, session_id: hostile };
    const root = hex(8);
    await stage.ingest({
      spans: [
        aSpan({
          trace_id: trace,
          span_id: root,
          name: hostile,
          kind: 'agent_run',
          input: [{ role: 'user', content: hostile }],
          output: hostile,
          status: 'error',
          error: { message: hostile, type: hostile, stack: hostile },
          attributes: { [hostile]: hostile },
          correlation,
        }),
        aSpan({ trace_id: trace, parent_span_id: root, name: 'huge', input: huge, correlation }),
        aSpan({
          trace_id: trace,
          parent_span_id: root,
          name: bidi,
          kind: 'model_generation',
          model: hostile,
          input: { markup: hostile },
          correlation,
        }),
      ],
    });
  });

  it('3: are shown as they are, run nothing, load nothing, and name nothing that is followed', async () => {
    const page = await stage.open(`/traces/${trace}?project=hostile`);
    const inspector = page.getByRole('region', { name: 'Span' });
    for (const tab of ['Conversation', 'Input', 'Output', 'Attributes', 'JSON', 'Error']) {
      await inspector.getByRole('tab', { name: tab }).click();
      await expect.poll(() => inspector.textContent()).toContain('<img src=x onerror=');
    }
    for (const view of ['Tree', 'Transcript', 'Waterfall']) {
      await page.getByRole('button', { name: view, exact: true }).click();
      await expect.poll(() => page.locator('main').textContent()).toContain('<img src=x onerror=');
    }
    await page.goto(new URL('/traces?project=hostile', stage.url).href);
    await page.getByRole('table', { name: 'Traces' }).getByText('<img src=x').first().waitFor();
    expect(await page.locator('img, iframe, object, embed, a[href^="javascript"], a[href^="http"]').count()).toBe(0);
  });

  it('3: five megabytes are shown by their head, and downloaded to the byte', async () => {
    const page = await stage.open(`/traces/${trace}?project=hostile`);
    await page.getByRole('treegrid', { name: 'Spans' }).getByText('huge').click();
    const inspector = page.getByRole('region', { name: 'Span' });
    await inspector.getByRole('tab', { name: 'Input' }).click();
    await inspector.getByText(/of text/).waitFor();
    expect((await inspector.textContent())?.length).toBeLessThan(20_000);
    const bytes = await downloadedBy(page, () => inspector.getByRole('button', { name: 'Download' }).click());
    expect(bytes.equals(Buffer.from(huge))).toBe(true);
  });
});
