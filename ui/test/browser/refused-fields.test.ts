import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { useStage } from './stage.ts';

const stage = useStage({ own: true }, async ({ post }) => {
  await post('/v1/api/definitions', {
    definitions: [
      {
        id: 'approval',
        version: 1,
        steps: [{ id: 'wait', kind: 'wait_event', event: 'approved', key: '${input.id}' }],
      },
    ],
  });
});

const aRun = async (): Promise<string> =>
  String((await stage.post('/v1/api/runs', { definition_id: 'approval', input: { id: 'a' } }))['run_id']);

/** What a screen reader says with a field: that it is wrong, and why. */
const complaintOf = (field: Locator): Promise<string | undefined> =>
  field.evaluate((element) =>
    element.getAttribute('aria-invalid') === 'true'
      ? (document.getElementById(element.getAttribute('aria-describedby') ?? '')?.textContent ?? '')
      : undefined,
  );

it('a field that the service refuses is marked with the refusal, until it is sent again', async () => {
  const page = await stage.open('/datasets');
  await page.getByRole('button', { name: 'New dataset' }).click();
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.fill('  ');
  await page.getByRole('button', { name: 'Create' }).click();
  await expect.poll(() => complaintOf(name)).toContain('`name` must not be empty');
  expect(await complaintOf(page.getByRole('textbox', { name: 'Description' }))).toBeUndefined();
  await name.fill('tickets');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('table', { name: 'Datasets' }).getByRole('link', { name: 'tickets' }).waitFor();
});

it('so is one that does not hold what it must, before anything is sent', async () => {
  const page = await stage.open(`/runs/${await aRun()}`);
  await page.getByRole('button', { name: 'Signal', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Signal' });
  const payload = dialog.getByRole('textbox', { name: 'Payload' });
  await payload.fill('[1]');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await expect.poll(() => complaintOf(payload)).toBe('The payload must be a JSON object.');
  await payload.fill('{}');
  const event = dialog.getByRole('textbox', { name: 'Event', exact: true });
  await event.fill(' ');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await expect.poll(() => complaintOf(event)).toContain('`event` must not be empty');
  expect(await complaintOf(payload)).toBeUndefined();
});

it('of several fields the one that is named is marked', async () => {
  const run = await aRun();
  await stage.post(`/v1/api/runs/${run}/cancel`, {});
  const page = await stage.open(`/runs/${run}`);
  await page.getByRole('button', { name: 'Restart…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Restart' });
  await dialog.getByRole('combobox', { name: 'Step' }).selectOption('wait');
  const visit = dialog.getByRole('spinbutton', { name: 'Visit' });
  await visit.fill('9');
  await dialog.getByRole('button', { name: 'Restart the run' }).click();
  await expect.poll(() => complaintOf(visit)).toContain('has no visit 9');
  expect(await dialog.locator('[aria-invalid]').count()).toBe(1);
});

it('the text of a definition is marked while it has faults', async () => {
  const page = await stage.open('/definitions?view=editor');
  const text = page.getByRole('textbox', { name: 'Definition, as JSON' });
  await page.getByText('No faults').waitFor();
  expect(await complaintOf(text)).toBeUndefined();
  await text.fill('{');
  await expect.poll(() => complaintOf(text)).toContain('Line 1');
});
