import { beforeAll, describe, expect, it } from 'vitest';
import { aSpan, findBrowser, hex, useStage } from './stage.ts';

const stage = useStage();

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

  it('a message is read plain, as Markdown or as it was sent, each for itself', async () => {
    const marked = hex(16);
    const content = '**bold** [pay](javascript:alert(1)) ![b](https://evil.example/b.png)\n\n- one\n- two';
    await stage.ingest({
      spans: [
        aSpan({
          trace_id: marked,
          name: 'tell',
          kind: 'model_generation',
          input: [{ role: 'user', content }],
          output: '**answer**',
          correlation,
        }),
      ],
    });
    const page = await stage.open(`/traces/${marked}?project=agent&view=waterfall&tab=conversation`);
    const inspector = page.getByRole('region', { name: 'Span' });
    await inspector.getByText('**bold**').waitFor();
    const look = inspector.getByRole('combobox', { name: 'Look of message 1' });
    await look.selectOption('Markdown');
    await inspector.locator('strong', { hasText: 'bold' }).waitFor();
    expect(
      await inspector
        .getByRole('listitem')
        .filter({ hasText: /^(one|two)$/ })
        .count(),
    ).toBe(2);
    await inspector.getByText('pay (javascript:alert(1)) image: b (https://evil.example/b.png)').waitFor();
    expect(await inspector.locator('img, a[href^="javascript"], a[href^="http"]').count()).toBe(0);
    // The other message stays as it was.
    await inspector.getByText('**answer**').waitFor();
    await look.selectOption('JSON');
    await inspector.getByText('"role": "user"').waitFor();
    await look.selectOption('Plain');
    await inspector.getByText('**bold**').waitFor();
  });

  it('an answer is held against what a dataset expects of its trace or of its input', async () => {
    await stage.post('/v1/api/datasets', { dataset_id: 'asks', name: 'asks', project: 'agent' });
    await stage.post('/v1/api/datasets/asks/items?project=agent', {
      input: messages.slice(0, 4),
      expected: { role: 'assistant', content: 'refund 1' },
    });
    const page = await stage.open(`/traces/${trace}?project=agent&span=${asks[1]}&view=waterfall&tab=diff`);
    const inspector = page.getByRole('region', { name: 'Span' });
    const against = inspector.getByRole('combobox', { name: 'Against' });
    await against.selectOption('what asks expects');
    await inspector.getByText('which has the same input').waitFor();
    expect(await inspector.locator('del').allTextContents()).toEqual(['"refund']);
    expect(await inspector.locator('ins').allTextContents()).toEqual(['"answer']);
    await page.goto(new URL(`/traces/${trace}?project=agent&span=${asks[0]}&view=waterfall&tab=diff`, stage.url).href);
    await against.selectOption('what asks expects');
    await inspector.getByText('No case expects an answer of this span').waitFor();
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
