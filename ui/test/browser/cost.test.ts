import { expect, it } from 'vitest';
import { aRun, useStage } from './stage.ts';

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
  return row.getByRole('cell').allTextContents();
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
