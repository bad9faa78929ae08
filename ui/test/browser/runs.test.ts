import { afterAll, describe, expect, it } from 'vitest';
import { createClient, createWorker, defineWorkflow, type, type Worker } from '../../../sdk/typescript/src/index.ts';
import type { components } from '../../src/api/types.ts';
import { pastRunOf, placeOfSnapshot } from '../../src/model/run-past.ts';
import { openStage, seriousFindings, useKey, useStage } from './stage.ts';

const order = defineWorkflow({
  definition: {
    id: 'order',
    version: 1,
    steps: [
      { id: 'check', kind: 'task', input: {} },
      { id: 'approval', kind: 'wait_event', event: 'approval', key: '${input.id}', timeout_ms: 86_400_000 },
      { id: 'pay', kind: 'task', input: {} },
    ],
  },
  input: type<{ id: string }>(),
  bodies: { check: async () => ({ fine: true }), pay: async () => ({ paid: true }) },
});

let worker: Worker | undefined;
let serving: Promise<unknown> | undefined;
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const stage = useStage({ flags: ['--execute-key', 'execute-7', '--worker-key', 'worker-7'] }, async ({ url }) => {
  const client = createClient({ endpoint: url, apiKey: 'execute-7' });
  await client.storeDefinitions([order.definition]);
  client.close();
  worker = createWorker({
    workflows: [order],
    endpoint: url,
    apiKey: 'worker-7',
    stopOnSignals: false,
    graceMs: 500,
    logger,
  });
  serving = worker.run();
});
afterAll(async () => {
  await worker?.stop();
  await serving;
});

const startOne = async (id: string): Promise<string> => {
  const client = createClient({ endpoint: stage.url, apiKey: 'execute-7' });
  try {
    return (await client.start(order, { id })).run_id;
  } finally {
    client.close();
  }
};

type Journal = components['schemas']['JournalEntry'][];
const read = async <T>(path: string): Promise<T> => (await (await fetch(new URL(path, stage.url))).json()) as T;
const journalOf = async (run: string): Promise<Journal> =>
  (await read<{ events: Journal }>(`/v1/api/runs/${run}/events?limit=1000`)).events;

/** A run that has ended well. */
const endedOne = async (id: string): Promise<{ readonly run: string; readonly entries: Journal }> => {
  const run = await startOne(id);
  const client = createClient({ endpoint: stage.url, apiKey: 'execute-7' });
  try {
    await expect.poll(async () => (await journalOf(run)).at(-1)?.kind, { timeout: 10_000 }).toBe('run.waiting');
    await client.signal(run, 'approval', {});
    await client.wait(run);
  } finally {
    client.close();
  }
  return { run, entries: await journalOf(run) };
};

describe('a run', () => {
  it('6, 8: is followed as it happens; a signal moves it on, and each entry of the journal is shown once', async () => {
    const run = await startOne('o-1');
    const page = await stage.open(`/runs/${run}?tab=journal`);
    await useKey(page, 'execute-7');
    const journal = page.getByRole('table', { name: 'Journal' });
    await journal.getByText(/run.waiting approval/).waitFor();
    await page.getByRole('region', { name: 'Graph' }).getByText('cursor').waitFor();

    await page.getByRole('button', { name: 'Signal' }).click();
    const dialog = page.getByRole('dialog', { name: 'Signal' });
    expect(await dialog.getByLabel('Event', { exact: true }).inputValue()).toBe('approval');
    await dialog.getByLabel('Payload').fill('{ not json');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('The payload is not JSON').waitFor();
    await dialog.getByLabel('Payload').fill('{"approved":true}');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('Delivered').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();

    await journal.getByText('run.finished').waitFor();
    const shown = await journal
      .getByRole('row')
      .evaluateAll((rows) => rows.slice(1).map((row) => Number(row.querySelector('td')?.textContent)));
    expect(shown).toEqual(Array.from({ length: shown.length }, (_, seq) => seq));
    // The run is read again at most each 2 s.
    await expect
      .poll(() => page.getByRole('button', { name: 'Cancel run' }).isDisabled(), { timeout: 6_000 })
      .toBe(true);
    expect(await page.title()).toBe('order · Run · svc');
  });

  it('8: without the execute scope nothing can be done, and the page says which scope is missing', async () => {
    const run = await startOne('o-2');
    const page = await stage.open(`/runs/${run}`);
    await page.getByText('This needs a key with the execute scope.').waitFor();
    for (const name of ['Signal', 'Pause', 'Cancel run', 'Restart…'])
      expect([name, await page.getByRole('button', { name }).isDisabled()]).toEqual([name, true]);
  });

  it('8: is cancelled from its page, which names what happens to a step in flight; the list filters by state', async () => {
    const run = await startOne('o-3');
    const page = await stage.open(`/runs/${run}`);
    await useKey(page, 'execute-7');
    await page.getByRole('button', { name: 'Cancel run' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel run' });
    await dialog.getByText('next heartbeat').waitFor();
    await dialog.getByRole('button', { name: 'Cancel the run' }).click();
    await dialog.getByText('The run is cancelled.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.goto(new URL('/runs?status=cancelled', stage.url).href);
    await page.getByText('1 run shown').waitFor();
    expect(await page.getByRole('table', { name: 'Runs' }).getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: 'Remove filter status' }).waitFor();
  });

  it('7: is shown as it was at any entry of its journal, and compared with another', async () => {
    const { run, entries } = await endedOne('o-4');
    // What the page folds is what the service folds, wherever an entry is the last of its change.
    const ends = entries.filter(({ kind }) => /^(?:step\.leased|step\.started|run\.waiting|run\.finished)$/.test(kind));
    expect(ends).toHaveLength(6);
    for (const { seq } of ends) {
      const { value, context } = await read<components['schemas']['ActorSnapshot']>(
        `/v1/api/actors/run/${run}?at_seq=${seq}`,
      );
      const past = pastRunOf(entries, seq);
      const visits = new Map([...past.steps].map(([step, { visits: count }]) => [step, count]));
      expect({ seq, cursor: past.cursor, visits }).toEqual({ seq, ...placeOfSnapshot(value, context) });
    }

    const waiting = entries.find(({ kind }) => kind === 'run.waiting')?.seq ?? -1;
    const page = await stage.open(`/runs/${run}`);
    const graph = page.getByRole('region', { name: 'Graph' });
    const slider = page.getByRole('slider', { name: 'Sequence', disabled: false });
    await page.getByRole('img', { name: /^approval, waiting for approval, / }).waitFor();
    await expect.poll(() => slider.getAttribute('max')).toBe(String(entries.length - 1));
    await slider.fill(String(waiting));
    await graph.getByRole('row', { name: /^approval cursor .*waiting$/ }).waitFor();
    await graph.getByLabel('approval, state, wait event, visited, here').waitFor();
    await graph.getByLabel('check, state, task, visited', { exact: true }).waitFor();
    await graph.getByLabel('pay, state, task', { exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get('seq')).toBe(String(waiting));

    await page.reload();
    await page.getByRole('tab', { name: 'Waits & timers 2' }).click();
    await page.getByText('for the event approval with the key o-4').waitFor();
    await page.getByRole('tab', { name: 'State' }).click();
    await page.getByRole('tree', { name: 'State' }).getByText('visits:').waitFor();

    await page.getByRole('button', { name: 'Compare with this moment' }).click();
    await page.getByRole('button', { name: 'Now', exact: true }).click();
    const changes = page.getByRole('table', { name: 'Changes' });
    await changes.getByRole('rowheader', { name: '/context/visits/pay' }).waitFor();
    expect(await changes.getByRole('rowheader', { name: '/context/visits/check' }).count()).toBe(0);
    const address = new URL(page.url()).searchParams;
    expect([address.get('seq'), address.get('vs')]).toEqual([null, String(waiting)]);
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('7: is played entry by entry up to now, by its button or by Space, and stops when it is told to', async () => {
    const { run, entries } = await endedOne('o-8');
    const page = await stage.open(`/runs/${run}?tab=timeline`);
    const slider = page.getByRole('slider', { name: 'Sequence', disabled: false });
    await expect.poll(() => slider.getAttribute('max')).toBe(String(entries.length - 1));
    const shown = (): string | null => new URL(page.url()).searchParams.get('seq');
    await page.keyboard.press(' ');
    await expect.poll(() => Number(shown()), { interval: 50 }).toBeGreaterThan(1);
    await page.keyboard.press(' ');
    const play = page.getByRole('button', { name: 'Play', exact: true });
    await play.waitFor();
    const stopped = shown();
    expect(stopped).not.toBeNull();
    await play.click();
    await expect.poll(shown, { timeout: 30_000 }).toBeNull();
    await play.waitFor();
    expect(await slider.inputValue()).toBe(String(entries.length - 1));
  });

  it('is found in its list by j and k, and opened by Enter', async () => {
    await endedOne('o-9');
    await endedOne('o-10');
    const page = await stage.open('/runs');
    const rows = page.getByRole('table', { name: 'Runs' }).getByRole('row');
    await rows.nth(2).waitFor();
    const focused = (): Promise<string | null | undefined> =>
      page.evaluate(() => document.activeElement?.closest('tr')?.getAttribute('aria-rowindex'));
    for (const [key, row] of [
      ['j', '2'],
      ['j', '3'],
      ['k', '2'],
      ['k', '2'],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused()).toBe(row);
    }
    const address = await page.evaluate(() => (document.activeElement as HTMLAnchorElement).href);
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname === new URL(address).pathname);
  });

  it('8: is paused and resumed, and taken up at one of its steps once it has ended', async () => {
    const { run } = await endedOne('o-5');
    const page = await stage.open(`/runs/${run}`);
    await useKey(page, 'execute-7');
    await page.getByRole('button', { name: 'Restart…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Restart' });
    await dialog.getByLabel('Step').selectOption('approval');
    await dialog.getByLabel('Change of the state').fill('[1]');
    await dialog.getByRole('button', { name: 'Restart the run' }).click();
    await dialog.getByText('must be a JSON object').waitFor();
    await dialog.getByLabel('Change of the state').fill('');
    await dialog.getByRole('button', { name: 'Restart the run' }).click();
    await dialog.getByRole('link').click();
    await page
      .getByRole('region', { name: 'Graph' })
      .getByRole('row', { name: /^approval cursor/ })
      .waitFor();
    const again = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect(again).not.toBe(run);
    const { restarted_from } = await read<components['schemas']['RunDetail']>(`/v1/api/runs/${again}`);
    expect(restarted_from).toEqual({ run_id: run, step_id: 'approval', visit: 1 });

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await page.getByRole('img', { name: /^run, paused, / }).waitFor();
    expect(await page.getByRole('button', { name: 'Restart…' }).isDisabled()).toBe(true);
  });

  it('8: is restarted once where an answer was lost, and once more where the form was changed meanwhile', async () => {
    const { run } = await endedOne('o-8');
    const page = await stage.open(`/runs/${run}`);
    await useKey(page, 'execute-7');
    await page.getByRole('button', { name: 'Restart…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Restart' });
    const restart = dialog.getByRole('button', { name: 'Restart the run' });
    const keys: unknown[] = [];
    await page.route(`**/v1/api/runs/${run}/restart`, async (route) => {
      const { idempotency_key: key } = route.request().postDataJSON() as components['schemas']['RestartRun'];
      keys.push(key);
      if (keys.length > 2) return route.continue();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await dialog.getByLabel('Step').selectOption('approval');
    for (const calls of [1, 2]) {
      await restart.click();
      await expect.poll(() => keys.length, { timeout: 60_000 }).toBe(calls);
      await dialog.getByRole('alert').waitFor();
    }
    await dialog.getByLabel('Change of the state').fill('{"changed":true}');
    await restart.click();
    await dialog.getByText('Restarted as').waitFor();
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0], expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(keys[2]).not.toBe(keys[0]);
    const { runs } = await read<{ runs: unknown[] }>(`/v1/api/runs?restarted_from=${run}`);
    expect(runs).toHaveLength(2);
  });

  it('8: are cancelled together after their count, and never all of a project', async () => {
    for (const id of ['o-6', 'o-7']) {
      const run = await startOne(id);
      await expect.poll(async () => (await journalOf(run)).at(-1)?.kind, { timeout: 10_000 }).toBe('run.waiting');
    }
    const { runs } = await read<{ runs: unknown[] }>('/v1/api/runs?waiting_on=event');
    const count = runs.length;
    const page = await stage.open('/runs');
    await page.getByText('needs the execute scope').waitFor();
    await useKey(page, 'execute-7');
    const all = page.getByRole('button', { name: 'Act on all…' });
    expect(await all.isDisabled()).toBe(true);
    await page.goto(new URL('/runs?waiting_on=event', stage.url).href);
    await useKey(page, 'execute-7');
    await all.click();
    const dialog = page.getByRole('dialog', { name: 'Act on all runs of the list' });
    await dialog.getByText(`${count} runs match the filters.`).waitFor();
    const cancel = dialog.getByRole('button', { name: `Cancel ${count} runs` });
    const confirmation = dialog.getByLabel(`Type ${count} to confirm`);
    await confirmation.fill(String(count + 1));
    expect(await cancel.isDisabled()).toBe(true);
    await confirmation.fill(String(count));
    expect(await seriousFindings(page)).toEqual([]);
    // The service takes the first click, and its answer is lost.
    const keys: unknown[] = [];
    await page.route('**/v1/api/runs/bulk', async (route) => {
      const { dry_run: isCount, idempotency_key: key } = route
        .request()
        .postDataJSON() as components['schemas']['NewBulk'];
      if (isCount === true) return route.continue();
      keys.push(key);
      if (keys.length > 1) return route.continue();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await cancel.click();
    await dialog.getByRole('alert').waitFor();
    await cancel.click();
    await dialog.getByText(`Ended: ${count} of ${count} runs done`).waitFor();
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]]);
    expect((await read<{ runs: unknown[] }>('/v1/api/runs?waiting_on=event')).runs).toEqual([]);
  });

  it('5: is explained where runs are turned off', async () => {
    const off = await openStage({ flags: ['--runs-data', 'off'] });
    try {
      const shown = await off.open('/runs');
      const words = shown.getByText('Durable runs are turned off');
      await words.waitFor();
      expect(await shown.getByRole('alert').count()).toBe(0);
    } finally {
      await off.close();
    }
  });
});
