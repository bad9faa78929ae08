import { describe, expect, it } from 'vitest';
import { createClient } from '../../../sdk/typescript/src/index.ts';
import { seriousFindings, useStage } from './stage.ts';

let runs: string[];
/** A service of its own: what waits is counted. */
const stage = useStage({ own: true }, async ({ url }) => {
  const client = createClient({ endpoint: url });
  await client.storeDefinitions([
    {
      id: 'refund',
      version: 1,
      concurrency: { key: '${input.customer}', limit: 1 },
      steps: [
        { id: 'approval', kind: 'wait_event', event: 'approval', key: '${input.customer}' },
        { id: 'nap', kind: 'sleep', sleep_ms: 3_600_000 },
      ],
    },
  ]);
  runs = [];
  for (const customer of ['<b>ada</b>', '<b>ada</b>', '<b>ada</b>', 'bob'])
    runs.push((await client.start('refund', { customer })).run_id);
  client.close();
});

const LIGHT_AND_DARK = ['light', 'dark'] as const;

describe('keys', () => {
  it('are listed with those who hold them and who wait, and lead from a run that waits to its key and to the holder', async () => {
    const page = await stage.open('/keys');
    const keys = page.getByRole('table', { name: 'Keys' });
    await keys.getByRole('row').nth(2).waitFor();
    expect(await keys.getByRole('row').count()).toBe(3);
    await page.getByLabel('waiting').selectOption('true');
    await page.getByRole('button', { name: 'Remove filter waiting' }).waitFor();
    await expect.poll(async () => keys.getByRole('row').count()).toBe(2);
    // A key is text of a client.
    await keys.getByRole('link', { name: 'key <b>ada</b>' }).click();
    await page.getByRole('heading', { name: '<b>ada</b>' }).waitFor();
    expect(await page.getByRole('table', { name: 'Line' }).getByRole('row').count()).toBe(3);
    expect(await page.title()).toBe('<b>ada</b> · Key · svc');
    await page.getByRole('table', { name: 'Holders' }).getByRole('link').click();
    await page.waitForURL(`**/runs/${runs[0]}**`);

    await page.goto(new URL(`/runs/${runs[2]}`, stage.url).href);
    await page.getByText('It waits for the key').waitFor();
    expect(await page.getByText('It waits for the key').innerText()).toContain('in place 2; held by 1 run');
    await page.getByRole('link', { name: '<b>ada</b>' }).click();
    await page.waitForURL('**/keys/**');
    for (const theme of LIGHT_AND_DARK) {
      await page.emulateMedia({ colorScheme: theme });
      expect(await seriousFindings(page)).toEqual([]);
    }
    await page.getByRole('link', { name: 'Actor', exact: true }).click();
    await page.getByText('it lets the next in line in, once a holder ends').waitFor();
  });

  it('runs are narrowed by what they wait for, with a count beside each, which the address keeps', async () => {
    const page = await stage.open('/runs');
    const facets = page.getByRole('group', { name: 'Waiting for' });
    await facets.getByRole('button', { name: 'a key 2' }).waitFor();
    expect(await facets.getByRole('button').allInnerTexts()).toEqual(['an event 2', 'a key 2']);
    await facets.getByRole('button', { name: 'a key 2' }).click();
    await page.waitForURL('**waiting_on=key**');
    const table = page.getByRole('table', { name: 'Runs' });
    await expect.poll(async () => table.getByRole('row').count()).toBe(3);
    expect(await facets.getByRole('button', { name: 'a key 2' }).getAttribute('aria-pressed')).toBe('true');
    await facets.getByRole('button', { name: 'a key 2' }).click();
    await expect.poll(async () => table.getByRole('row').count()).toBe(5);
    for (const theme of LIGHT_AND_DARK) {
      await page.emulateMedia({ colorScheme: theme });
      expect(await seriousFindings(page)).toEqual([]);
    }
  });
});
