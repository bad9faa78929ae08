import { expect, it } from 'vitest';
import { aRun, aSpan, hex, useStage } from './stage.ts';

const project = 'costs';
const usage = { input_tokens: 1200, output_tokens: 300 };
const stage = useStage({}, ({ ingest }) =>
  ingest({
    spans: [
      aRun({ agoSeconds: 60, name: 'priced', model: 'gpt-4o-mini', usage, correlation: { project, user_id: 'ada' } }),
      aRun({ agoSeconds: 60, name: 'unpriced', model: 'house-llm', usage, correlation: { project, user_id: 'grace' } }),
      aRun({
        agoSeconds: 60,
        name: 'without usage',
        model: 'gpt-4o-mini',
        correlation: { project, user_id: 'linus' },
      }),
    ],
  }),
);

const rowOf = async (path: string, name: string): Promise<string[]> => {
  const page = await stage.open(path);
  const row = page.getByRole('table', { name: 'Cost by group' }).getByRole('row', { name });
  await row.waitFor();
  return row.locator('td').allTextContents();
};

it('what was not priced is a dash, never a zero, and the total is that of the API', async () => {
  const [, runs, cost] = await rowOf(`/cost?project=${project}&group_by=user_id`, 'ada');
  expect([runs, cost]).toEqual(['1', '$0.00036']);
  for (const name of ['grace', 'linus']) {
    const [, , unpriced, share] = await rowOf(`/cost?project=${project}&group_by=user_id`, name);
    expect([unpriced, share]).toEqual(['—', '—']);
  }
  const { total_cost } = (await stage.get(`/v1/api/analytics/cost?project=${project}`)) as { total_cost: number };
  expect(total_cost).toBeCloseTo(0.00036, 12);
  const page = await stage.open(`/cost?project=${project}`);
  await page.getByText('$0.00036').first().waitFor();
  expect(await page.getByText(/\$0(?:\.00?)?$/).count()).toBe(0);
});

it('a call without usage has no tokens, rather than none', async () => {
  const cells = await rowOf(`/cost?project=${project}&group_by=user_id`, 'linus');
  expect(cells.slice(4, 6)).toEqual(['—', '—']);
});

it('the column of counts says what it counts', async () => {
  const page = await stage.open(`/cost?project=${project}`);
  await page.getByRole('columnheader', { name: 'Model calls' }).waitFor();
  await page.getByLabel('Group by').selectOption('user_id');
  await page.getByRole('columnheader', { name: 'Runs' }).waitFor();
  expect(new URL(page.url()).searchParams.get('group_by')).toBe('user_id');
  await page.getByRole('link', { name: 'ada' }).click();
  await page.getByRole('table', { name: 'Traces' }).waitFor();
  expect(new URL(page.url()).searchParams.get('user_id')).toBe('ada');
});

it('the tree of a trace adds up cost and tokens of each span with all below it, as the API does for the trace', async () => {
  const [trace_id, root, agent] = [hex(16), hex(8), hex(8)];
  const call = { trace_id, kind: 'model_generation', model: 'gpt-4o-mini', usage, correlation: { project } } as const;
  await stage.ingest({
    spans: [
      aSpan({ trace_id, span_id: root, name: 'ticket', kind: 'agent_run', to: 900, correlation: { project } }),
      aSpan({ ...call, parent_span_id: root, name: 'first' }),
      aSpan({ ...call, parent_span_id: root, name: 'house', model: 'house-llm', from: 20 }),
      aSpan({ trace_id, span_id: agent, parent_span_id: root, name: 'helper', from: 40, correlation: { project } }),
      aSpan({ ...call, parent_span_id: agent, name: 'second', from: 50 }),
      aSpan({ trace_id, parent_span_id: root, name: 'tool', from: 90, kind: 'tool_call', correlation: { project } }),
    ],
  });
  const page = await stage.open(`/traces/${trace_id}?project=${project}&view=tree`);
  const figures = (): Promise<string[]> =>
    page
      .getByRole('treegrid', { name: 'Spans' })
      .getByRole('row')
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)))
      .then((rows) =>
        rows.map(([name, , cost, tokens]) => [name?.replace(/^[▾▸]/, ''), cost, tokens].filter(Boolean).join(' ')),
      );
  await expect
    .poll(figures)
    .toEqual([
      'ticket $0.00072 4.5K',
      'first $0.00036 1.5K',
      'house — 1.5K',
      'helper $0.00036 1.5K',
      'second $0.00036 1.5K',
      'tool — —',
    ]);
  await page.getByRole('gridcell', { name: '$0.00072 with all below' }).waitFor();
  await page.getByRole('gridcell', { name: '4.5K tokens with all below' }).waitFor();
  await page.getByRole('button', { name: 'Waterfall' }).click();
  await expect
    .poll(figures)
    .toEqual(['ticket', 'first $0.00036 1.5K', 'house — 1.5K', 'helper', 'second $0.00036 1.5K', 'tool']);
});
