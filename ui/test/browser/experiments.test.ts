import { expect, it } from 'vitest';
import { aRun, useStage } from './stage.ts';

const stage = useStage({}, async ({ post, ingest }) => {
  await post('/v1/api/datasets', { dataset_id: 'refunds', name: 'refunds' });
  const experiment = async (id: string, cases: number, valueOf: (n: number) => number, word: string) => {
    await post('/v1/api/experiments', { experiment_id: id, name: id, dataset_id: 'refunds' });
    const spans = Array.from({ length: cases }, (_, n) =>
      aRun({
        agoSeconds: 60,
        name: `${id} case ${n}`,
        input: { question: n },
        output: `Order ${n} arrives ${word} Friday`,
        correlation: { experiment_id: id },
      }),
    );
    const scores = spans.map(({ trace_id }, n) => ({
      trace_id,
      scorer_id: 'polite',
      scorer_version: '1',
      value: valueOf(n),
      experiment_id: id,
      source: 'experiment',
      reason: `judged ${word}`,
    }));
    await ingest({ spans, scores });
  };
  await experiment('before', 40, (n) => 0.8 + (n % 5) / 100, 'safely on');
  await experiment('after', 40, (n) => (n === 7 ? 0.01 : 0.5 + (n % 5) / 100), 'on');
  await experiment('few', 12, () => 0.2, 'by');
});

it('twelve cases decide nothing, and their delta has no colour', async () => {
  const page = await stage.open('/experiments/compare?baseline=before&candidate=few');
  const row = page.getByRole('table', { name: 'Comparison' }).getByRole('row', { name: 'polite' });
  await row.getByText('not decidable (12 of 20)').waitFor();
  const [delta, mean] = await Promise.all(
    [2, 1].map((cell) =>
      row
        .getByRole('cell')
        .nth(cell)
        .locator(':scope, span')
        .last()
        .evaluate((at) => getComputedStyle(at).color),
    ),
  );
  expect(delta).toBe(mean);
  expect(await row.textContent()).not.toMatch(/regressed|improved/);
});

it('forty show what regressed, with both answers, word by word, and both traces', async () => {
  const page = await stage.open('/experiments/compare?baseline=before&candidate=after');
  const table = page.getByRole('table', { name: 'Comparison' });
  await table.getByText('regressed').first().waitFor();
  await table.getByRole('button', { name: 'Cases of polite' }).click();
  await page.getByRole('button', { name: 'Read the cases' }).click();
  // The case that lost most comes first.
  const worst = page.getByRole('list', { name: 'Cases' }).getByRole('listitem').first();
  await worst.getByText('"question": 7').waitFor();
  expect(await worst.locator('del').allTextContents()).toEqual(['safely ']);
  expect(await worst.locator('ins').count()).toBe(0);
  expect(new URL(page.url()).searchParams.get('scorer')).toBe('polite');

  const names = await Promise.all(
    ['Trace of the baseline', 'Trace of the candidate'].map(async (name) => {
      const path = (await worst.getByRole('link', { name }).getAttribute('href')) ?? '';
      const { spans } = (await stage.get(`/v1/api${path.split('?')[0]}`)) as { spans: { name: string }[] };
      return spans[0]?.name;
    }),
  );
  expect(names).toEqual(['before case 7', 'after case 7']);
});

it('a run is captured as a case, which links back to its trace', async () => {
  const { traces } = (await stage.get('/v1/api/traces?experiment_id=few&limit=1')) as {
    traces: { trace_id: string }[];
  };
  const trace = traces[0]?.trace_id ?? '';
  const page = await stage.open('/datasets/refunds');
  await page.getByText('Capture runs as cases').click();
  const form = page.getByRole('form', { name: 'Capture runs' });
  await form.getByRole('textbox', { name: 'Trace ids, one a line' }).fill(trace);
  await form.getByRole('checkbox', { name: 'Keep the answer of each run as the expected one' }).check();
  await form.getByRole('button', { name: 'Capture' }).click();
  await form.getByText('1 case made').waitFor();
  const item = page.getByRole('list', { name: 'Cases' }).getByRole('listitem').first();
  await item.getByText(/arrives by Friday/).waitFor();
  expect(await item.getByRole('link', { name: /^from trace/ }).getAttribute('href')).toMatch(
    new RegExp(`^/traces/${trace}`),
  );
});
