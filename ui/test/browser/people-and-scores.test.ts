import { expect, it } from 'vitest';
import { aRun, useStage } from './stage.ts';

const stage = useStage({ own: true }, async ({ ingest }) => {
  const correlation = { user_id: 'ada', session_id: 'chat 1/2' };
  const spans = [
    aRun({ agoSeconds: 60, name: 'first turn', input: 'Where is it?', output: 'On its way.', correlation }),
    aRun({ agoSeconds: 30, name: 'second turn', failed: true, correlation }),
  ];
  // Seen once, between the two turns of the other.
  const other = aRun({ agoSeconds: 45, name: 'a question', correlation: { user_id: 'grace', session_id: 'chat 3' } });
  const [first, second] = spans.map(({ trace_id }) => trace_id);
  await ingest({
    spans: [...spans, other],
    scores: [{ trace_id: first, scorer_id: 'polite', scorer_version: '2', value: 0.8125, reason: 'it thanks' }],
    feedback: [
      { trace_id: first, kind: 'thumbs', value: 'up' },
      { trace_id: first, kind: 'thumbs', value: 'down', comment: '<b>too slow</b>' },
      { trace_id: second, kind: 'rating', value: 4 },
    ],
  });
});

it('a session is its traces, oldest first, with what was said', async () => {
  const page = await stage.open('/sessions');
  await page.getByRole('table', { name: 'Sessions' }).getByRole('link', { name: 'chat 1/2' }).click();
  const turns = page.getByRole('list', { name: 'Turns' });
  await turns.waitFor();
  expect(await turns.getByRole('link').allTextContents()).toEqual(['first turn', 'second turn']);
  await turns.getByRole('button', { name: 'What was said' }).first().click();
  await turns.getByText('On its way.').waitFor();
});

it('2.1 sort: people are sorted by a press on a head, and the address has the words of the API', async () => {
  const page = await stage.open('/users');
  const users = page.getByRole('table', { name: 'Users' });
  const names = (): Promise<string[]> => users.getByRole('link').allTextContents();
  await expect.poll(names).toEqual(['ada', 'grace']);
  await users.getByRole('button', { name: 'First seen' }).click();
  await expect.poll(names).toEqual(['grace', 'ada']);
  expect(new URL(page.url()).searchParams.get('sort')).toBe('first_seen');
  await users.getByRole('button', { name: 'First seen' }).click();
  await expect.poll(names).toEqual(['ada', 'grace']);
  expect(new URL(page.url()).search).toBe('?sort=first_seen&order=asc');
  await page.reload();
  await users.getByRole('columnheader', { name: 'First seen' }).waitFor();
  expect(await users.getByRole('columnheader', { name: 'First seen' }).getAttribute('aria-sort')).toBe('ascending');
});

it('2.2 trace list: feedback as counts of thumbs, ↑1 ↓1, which are never one number', async () => {
  const page = await stage.open('/traces?user_id=ada');
  const row = page.getByRole('row', { name: 'first turn' });
  await row.getByRole('img', { name: '1 thumbs up, 1 thumbs down' }).waitFor();
  expect(await row.getByText('↑1 ↓1').count()).toBe(1);
});

it('a person is erased only after the id was typed, and the page says what was done', async () => {
  const page = await stage.open('/users/ada');
  await page.getByRole('button', { name: 'Erase…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Erase ada' });
  const erase = dialog.getByRole('button', { name: 'Erase', exact: true });
  const confirm = dialog.getByRole('textbox', { name: 'Type the user id to confirm' });
  await confirm.fill('Ada');
  expect(await erase.isDisabled()).toBe(true);
  await confirm.fill('ada');
  await erase.click();
  await dialog.getByText('0 runs and 0 traces erased.').waitFor();
  await dialog.getByText(/Parked events are not reached/).waitFor();
});

it('scores and feedback share no list and no number', async () => {
  const page = await stage.open('/scores');
  const scores = page.getByRole('table', { name: 'Scores' });
  await scores.getByRole('cell', { name: '0.813' }).waitFor();
  expect(await page.locator('main').textContent()).not.toMatch(/thumbs|rating/);

  await page.getByRole('group', { name: 'View' }).getByRole('button', { name: 'Feedback' }).click();
  const feedback = page.getByRole('table', { name: 'Traces with feedback' });
  // Two judgements of one kind are a count, and no mean.
  const row = feedback.getByRole('row', { name: 'first turn' });
  await row.waitFor();
  expect((await row.getByRole('cell').allTextContents()).slice(0, 5)).toEqual(['↑1 ↓1', '—', '—', '—', '—']);
  expect(await page.locator('main').textContent()).not.toMatch(/0\.81|polite|mean/);
  expect(new URL(page.url()).searchParams.get('view')).toBe('feedback');
  await row.getByRole('button', { name: 'Read feedback on first turn' }).click();
  await page.getByRole('dialog').getByText('<b>too slow</b>').waitFor();
});

it('a dry run scores and stores nothing, and names what it skipped', async () => {
  const page = await stage.open('/scorers');
  await page.getByRole('checkbox', { name: /^contains/ }).check();
  await page.getByRole('button', { name: 'Dry run' }).click();
  const outcome = page.getByRole('region', { name: 'Outcome' });
  await outcome.getByRole('status').waitFor();
  expect(await outcome.getByRole('status').textContent()).toMatch(/none stored: a dry run; [1-9]/);
  await outcome.getByRole('table', { name: 'Skipped' }).waitFor();
  const { scores } = (await stage.get('/v1/api/scores?scorer_id=answered')) as { scores: unknown[] };
  expect(scores).toEqual([]);
});
