import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { aRun, hex, seriousFindings, useKey, useStage } from './stage.ts';

const flags = ['--execute-key', 'execute-7', '--write-key', 'write-7', '--admin-key', 'admin-7'];
const stage = useStage({ flags });

/** Goes to the row and presses x. */
const select = async (page: Page, presses: number): Promise<void> => {
  for (let at = 0; at < presses; at += 1) await page.keyboard.press('j');
  await page.keyboard.press('x');
};
const bar = (page: Page) => page.getByRole('region', { name: 'Selection' });
const param = (page: Page, name: string): string => new URL(page.url()).searchParams.get(name) ?? '';

describe('traces that are chosen by x', () => {
  const ids = [1, 2, 3, 4].map(() => hex(16));
  const ingest = (): Promise<void> =>
    stage.ingest({ spans: ids.map((trace_id, at) => aRun({ trace_id, agoSeconds: 60 + at, input: { at } })) });

  it('are compared, scored and made cases of a dataset, and given up by x again', async () => {
    await ingest();
    const { dataset_id } = await stage.post('/v1/api/datasets', { name: 'chosen' }, 'write-7');
    const page = await stage.open('/traces');
    await useKey(page, 'write-7');
    await page.getByRole('table', { name: 'Traces' }).getByRole('row').nth(4).waitFor();
    await select(page, 1);
    await bar(page).getByText('1 trace selected').waitFor();
    expect(await bar(page).getByRole('link', { name: 'Compare' }).count()).toBe(0);
    await select(page, 1);
    await bar(page).getByText('2 traces selected').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await bar(page).getByRole('button', { name: 'Delete…' }).isDisabled()).toBe(true);
    await bar(page).getByText('needs the admin scope').waitFor();

    await bar(page).getByRole('button', { name: 'Capture…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Capture as cases' });
    await dialog.getByRole('button', { name: 'Capture 2 traces' }).click();
    await dialog.getByText('2 cases made').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    const { items } = (await stage.get(`/v1/api/datasets/${String(dataset_id)}/items`, 'write-7')) as {
      items: { source_trace_id: string }[];
    };
    expect(items.map(({ source_trace_id }) => source_trace_id)).toEqual(ids.slice(0, 2));

    await bar(page).getByRole('link', { name: 'Score…' }).click();
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Or exactly these traces' }).inputValue())
      .toBe(ids.slice(0, 2).join('\n'));
    await page.goBack();
    await page.getByRole('table', { name: 'Traces' }).getByRole('row').nth(4).waitFor();
    await page.getByRole('checkbox', { name: 'Select row 2' }).check();
    await page.getByRole('checkbox', { name: 'Select row 4' }).check();
    await bar(page).getByRole('link', { name: 'Compare' }).click();
    await page.waitForURL('**/traces/compare?**');
    expect([param(page, 'a'), param(page, 'b')]).toEqual([ids[1], ids[3]]);
  });

  it('are deleted after their number was typed, and no others', async () => {
    await ingest();
    const page = await stage.open('/traces');
    await useKey(page, 'admin-7');
    const rows = page.getByRole('table', { name: 'Traces' }).getByRole('row');
    await rows.nth(4).waitFor();
    await select(page, 2);
    await select(page, 1);
    await select(page, 1);
    await page.keyboard.press('x');
    await bar(page).getByText('2 traces selected').waitFor();
    await bar(page).getByRole('button', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 2 traces' });
    const remove = dialog.getByRole('button', { name: 'Delete', exact: true });
    await dialog.getByLabel('Type 2 to confirm').fill('3');
    expect(await remove.isDisabled()).toBe(true);
    await dialog.getByLabel('Type 2 to confirm').fill('2');
    // The first is deleted, and the second cannot be asked for: the list shows what is left, and the next try deletes the rest.
    let calls = 0;
    await page.route('**/v1/api/traces/*', (route) => {
      if (route.request().method() !== 'DELETE') return route.continue();
      calls += 1;
      return calls === 2 ? route.abort('connectionreset') : route.continue();
    });
    await remove.click();
    await dialog.getByRole('alert').waitFor();
    await page.locator('table[aria-label="Traces"][aria-rowcount="4"]').waitFor({ state: 'attached' });
    await remove.click();
    await dialog.getByText('Deleted.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await bar(page).waitFor({ state: 'hidden' });
    const { traces } = (await stage.get('/v1/api/traces', 'admin-7')) as { traces: { trace_id: string }[] };
    expect(traces.map(({ trace_id }) => trace_id)).toEqual([ids[0], ids[3]]);
    // What is stored again under the id of a deleted trace is a trace like any other.
    await page.locator('table[aria-label="Traces"][aria-rowcount="3"]').waitFor({ state: 'attached' });
    await ingest();
    await page.getByRole('button', { name: '2 new' }).click();
    await page.locator('table[aria-label="Traces"][aria-rowcount="5"]').waitFor({ state: 'attached' });
  });
});

describe('runs that are chosen by x', () => {
  const definition = { id: 'ask', version: 1, steps: [{ id: 'wait', kind: 'wait_event', event: 'never', key: 'k' }] };
  const start = async (): Promise<string> =>
    String((await stage.post('/v1/api/runs', { definition_id: 'ask', input: {} }, 'execute-7'))['run_id']);
  const statusOf = async (run: string): Promise<unknown> =>
    (await stage.get(`/v1/api/runs/${run}`, 'execute-7'))['status'];

  it('are cancelled after their number was typed; what refuses is named and keeps none of the others', async () => {
    await stage.post('/v1/api/definitions', { definitions: [definition] }, 'execute-7');
    const [last, ended, first] = [await start(), await start(), await start()];
    await stage.post(`/v1/api/runs/${ended}/cancel`, {}, 'execute-7');
    const page = await stage.open('/runs');
    await useKey(page, 'execute-7');
    await page.getByRole('table', { name: 'Runs' }).getByRole('row').nth(3).waitFor();
    await select(page, 1);
    await select(page, 1);
    await bar(page).getByText('2 runs selected').waitFor();
    await bar(page).getByRole('button', { name: 'Act on them…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Act on the selected runs' });
    await dialog.getByLabel('Action').selectOption('pause');
    await dialog.getByRole('button', { name: 'Pause 2 runs' }).click();
    await dialog.getByText('Ended: 1 of 2 runs done, 1 refused.').waitFor();
    expect(await dialog.getByRole('list', { name: 'Refused' }).getByRole('listitem').count()).toBe(1);
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await Promise.all([first, ended, last].map(statusOf))).toEqual(['paused', 'cancelled', 'waiting']);

    await page.getByRole('checkbox', { name: 'Select row 2' }).uncheck();
    await page.getByRole('checkbox', { name: 'Select row 3' }).check();
    await bar(page).getByRole('button', { name: 'Act on them…' }).click();
    const cancel = dialog.getByRole('button', { name: 'Cancel 2 runs' });
    expect(await cancel.isDisabled()).toBe(true);
    await dialog.getByLabel('Type 2 to confirm').fill('2');
    await cancel.click();
    await dialog.getByText('Ended: 2 of 2 runs done.').waitFor();
    expect(await Promise.all([first, ended, last].map(statusOf))).toEqual(['cancelled', 'cancelled', 'cancelled']);
  });
});
