import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { aLastingPort } from '../../../test/daemon.ts';
import { type Stage, useStage } from './stage.ts';

type Json = Record<string, unknown>;
type Lease = { readonly lease_id: string; readonly step_id: string };
type Entry = { readonly seq: number; readonly kind: string; readonly step_id?: string };

/** A worker whose every call is a line of the test. */
const createScript = (stage: Stage, worker: string, definitions: readonly object[]) => ({
  register: () => stage.post('/v1/api/workers/register', { worker_id: worker, definitions }),
  claim: async (): Promise<Lease> => {
    const { leases } = await stage.post('/v1/api/steps/claim', { worker_id: worker, max: 1, wait_ms: 10_000 });
    const [lease] = leases as Lease[];
    if (lease === undefined) throw new Error('nothing to claim');
    return lease;
  },
  start: ({ lease_id }: Lease) => stage.post(`/v1/api/steps/${lease_id}/started`, { worker_id: worker }),
  complete: ({ lease_id }: Lease, output: object = {}) =>
    stage.post(`/v1/api/steps/${lease_id}/complete`, { worker_id: worker, output }),
});

/** One step, from claim to completion. */
const play = async (script: ReturnType<typeof createScript>): Promise<void> => {
  const lease = await script.claim();
  await script.start(lease);
  await script.complete(lease);
};

const tasks = (id: string, count: number) => ({
  id,
  version: 1,
  steps: Array.from({ length: count }, (_, at) => ({ id: `step-${at}`, kind: 'task', input: {} })),
});

const journalOf = async (stage: Stage, run: string): Promise<Entry[]> =>
  (await stage.get(`/v1/api/runs/${run}/events?limit=1000`))['events'] as Entry[];

const startRun = async (stage: Stage, definition: string): Promise<string> =>
  String((await stage.post('/v1/api/runs', { definition_id: definition, input: {} }))['run_id']);

const upTo = (count: number): number[] => Array.from({ length: count }, (_, seq) => seq);

const cursorRow = (page: Page, step: string): Locator =>
  page.getByRole('region', { name: 'Graph' }).getByRole('row', { name: new RegExp(`^${step} cursor`) });

/** High enough that the table shows every entry. */
const TALL = { viewport: { width: 1280, height: 2400 } };

const port = await aLastingPort();

describe('6: a live run', () => {
  const stage = useStage({ flags: ['--port', String(port)], pollSeconds: 1 });
  const seqs = (page: Page): Promise<number[]> =>
    page
      .getByRole('table', { name: 'Journal' })
      .getByRole('row')
      .evaluateAll((rows) => rows.slice(1).map((row) => Number(row.querySelector('td')?.textContent)));

  it('is followed without a reload; over a service that restarts and cuts the stream, no entry is missing or doubled', async () => {
    const six = tasks('six-a', 6);
    const script = createScript(stage, 'scripted', [six]);
    await script.register();
    const run = await startRun(stage, six.id);
    const page = await stage.open(`/runs/${run}?tab=journal`, TALL);
    await page.evaluate(() => {
      document.body.dataset['kept'] = 'yes';
    });
    const begunAfter: number[] = [];
    page.on('request', (request) => {
      if (request.url().includes(`/runs/${run}/events`))
        begunAfter.push(Number(request.headers()['last-event-id'] ?? -1));
    });
    for (const at of [0, 1, 2]) {
      await play(script);
      await cursorRow(page, `step-${at + 1}`).waitFor();
      const known = await journalOf(stage, run);
      await expect.poll(() => seqs(page)).toEqual(upTo(known.length));
    }
    const seen = (await journalOf(stage, run)).length - 1;
    await stage.restartService();
    await script.register();
    for (let at = 3; at < 6; at += 1) await play(script);
    await expect.poll(async () => (await journalOf(stage, run)).at(-1)?.kind).toBe('run.finished');
    const all = await journalOf(stage, run);
    await expect.poll(() => seqs(page)).toEqual(upTo(all.length));
    // Opened again after the last entry that was read, not from the beginning.
    expect(begunAfter.slice(1).every((after) => after >= seen)).toBe(true);
    expect(begunAfter.length).toBeGreaterThan(1);
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.getByRole('img', { name: /^step-5, attempt 1, succeeded, / }).waitFor();
    expect(await page.evaluate(() => document.body.dataset['kept'])).toBe('yes');
  });

  it('moves nothing under a reader who looks at the past, and draws where the run is now', async () => {
    const six = tasks('six-b', 6);
    const script = createScript(stage, 'scripted', [six]);
    await script.register();
    const run = await startRun(stage, six.id);
    const page = await stage.open(`/runs/${run}?tab=journal`);
    await play(script);
    await cursorRow(page, 'step-1').waitFor();
    const slider = page.getByRole('slider', { name: 'Sequence', disabled: false });
    await slider.fill('3');
    await slider.focus();
    const before = await page.evaluate(() => [scrollX, scrollY, document.activeElement?.getAttribute('aria-label')]);
    const address = page.url();
    await play(script);
    await play(script);
    const last = (await journalOf(stage, run)).length - 1;
    await expect.poll(() => slider.getAttribute('max')).toBe(String(last));
    expect(await slider.inputValue()).toBe('3');
    expect(page.url()).toBe(address);
    expect(await page.evaluate(() => [scrollX, scrollY, document.activeElement?.getAttribute('aria-label')])).toEqual(
      before,
    );
    await page
      .getByRole('figure', { name: `Statechart of ${six.id}` })
      .getByLabel(/^step-3, .*now here$/)
      .waitFor();
    await page.keyboard.press('End');
    await cursorRow(page, 'step-3').waitFor();
    expect(new URL(page.url()).searchParams.get('seq')).toBeNull();
  });

  it('asks for nothing while its tab is hidden, and catches up when it is shown', async () => {
    const six = tasks('six-c', 6);
    const script = createScript(stage, 'scripted', [six]);
    await script.register();
    const run = await startRun(stage, six.id);
    const page = await stage.open(`/runs/${run}?tab=journal`, TALL);
    await play(script);
    await cursorRow(page, 'step-1').waitFor();
    const show = (state: 'hidden' | 'visible'): Promise<void> =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'visibilityState', { configurable: true, value });
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
      }, state);
    await show('hidden');
    // What happened before is read within two seconds.
    await page.waitForTimeout(2_500);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await play(script);
    // Pages ask again each second.
    await page.waitForTimeout(4_000);
    expect(asked.filter((url) => !url.endsWith('/readyz'))).toEqual([]);
    await show('visible');
    await cursorRow(page, 'step-2').waitFor();
    await expect.poll(() => seqs(page)).toEqual(upTo((await journalOf(stage, run)).length));
  });
});

/** Paths at which two values differ, by another way than the page's. */
const differing = (before: unknown, after: unknown, path = ''): string[] => {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
  if (!isObject(before) || !isObject(after) || Array.isArray(before) !== Array.isArray(after)) return [path];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    differing(before[key], after[key], `${path}/${key}`),
  );
};

describe('7: time travel', () => {
  const long = tasks('long', 24);
  const stage = useStage({ own: true });

  it('shows entry 41 of a long run as the journal says it was, over a reload, and compares it with entry 12', async () => {
    const script = createScript(stage, 'scripted', [long]);
    await script.register();
    const run = await startRun(stage, 'long');
    for (let at = 0; at < 24; at += 1) await play(script);
    const entries = await journalOf(stage, run);
    expect(entries.length).toBeGreaterThanOrEqual(96);
    expect(entries.at(-1)?.kind).toBe('run.finished');
    const [then, pinned] = await Promise.all(
      [41, 12].map((seq) => stage.get(`/v1/api/actors/run/${run}?at_seq=${seq}`)),
    );
    const moved = entries.slice(0, 42).findLast(({ kind }) => kind === 'cursor.moved');

    const page = await stage.open(`/runs/${run}?tab=state`);
    const slider = page.getByRole('slider', { name: 'Sequence', disabled: false });
    await expect.poll(() => slider.getAttribute('max')).toBe(String(entries.length - 1));
    await slider.fill('41');
    await cursorRow(page, moved?.step_id ?? '').waitFor();
    await page.waitForURL(/seq=41/);
    await page.reload();
    await cursorRow(page, moved?.step_id ?? '').waitFor();
    expect(await slider.inputValue()).toBe('41');
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/^seq 41 of \d+, /);
    const tree = page.getByRole('tree', { name: 'State' });
    for (const key of ['value', ...Object.keys(then?.['context'] as Json)])
      await tree.getByText(`${key}:`, { exact: true }).first().waitFor();
    await page.getByRole('tab', { name: /^Waits & timers / }).waitFor();

    await page.goto(new URL(`/runs/${run}?seq=41&vs=12&tab=changes`, stage.url).href);
    const changes = page.getByRole('table', { name: 'Changes' });
    await changes.waitFor();
    const shown = await changes
      .getByRole('row')
      .evaluateAll((rows) => rows.slice(1).map((row) => row.querySelector('td, th')?.textContent ?? ''));
    const at = (snapshot: Json | undefined) => ({ value: snapshot?.['value'], context: snapshot?.['context'] });
    expect(shown.toSorted()).toEqual(differing(at(pinned), at(then)).toSorted());

    await page.locator('main').focus();
    await page.keyboard.press('End');
    await page.waitForURL((url) => !url.searchParams.has('seq'));
  });
});

describe('8: signals and cancellations', () => {
  const stage = useStage({ own: true });

  it('a signal says whether it was delivered, seen before or refused; an event with another key is kept', async () => {
    await stage.post('/v1/api/definitions', {
      definitions: [
        {
          id: 'asks',
          version: 1,
          steps: [
            { id: 'first', kind: 'wait_event', event: 'approval', key: 'k-1' },
            { id: 'second', kind: 'wait_event', event: 'receipt', key: 'k-1' },
          ],
        },
      ],
    });
    const run = await startRun(stage, 'asks');
    const page = await stage.open(`/runs/${run}`);
    await cursorRow(page, 'first').waitFor();
    await page.getByRole('button', { name: 'Signal' }).click();
    const dialog = page.getByRole('dialog', { name: 'Signal' });
    await dialog.getByText('waits for the event approval with the key k-1').waitFor();
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('Delivered: the run goes on.').waitFor();
    // The same event id once more, whatever else changed.
    await dialog.getByLabel('Event', { exact: true }).fill('approval');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('Duplicate: an event with this id was seen before').waitFor();
    await dialog.getByLabel('Event', { exact: true }).fill('another');
    await dialog.getByLabel('Event id').fill('another-1');
    await dialog.getByRole('button', { name: 'Send' }).click();
    // To this run alone: an event that it does not wait for is refused, in the service's words.
    await dialog.getByRole('alert').getByText('conflict').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await cursorRow(page, 'second').waitFor();
    // An event with another key is parked, and the run stays where it is.
    const parked = await stage.post('/v1/api/events', { event: 'receipt', key: 'k-2', payload: {} });
    expect(parked).toEqual({ outcome: 'parked' });
    expect((await stage.get(`/v1/api/runs/${run}`))['cursor']).toBe('second');
  });

  it('a parent is cancelled with its children, after its name was typed, and not twice', async () => {
    await stage.post('/v1/api/definitions', {
      definitions: [
        { id: 'kid', version: 1, steps: [{ id: 'wait', kind: 'wait_event', event: 'never', key: 'k' }] },
        {
          id: 'parent',
          version: 1,
          steps: [{ id: 'kids', kind: 'child', definition: 'kid', for_each: '${input.names}', input: {} }],
        },
      ],
    });
    const { run_id } = await stage.post('/v1/api/runs', { definition_id: 'parent', input: { names: [1, 2] } });
    const run = String(run_id);
    const childrenOf = async (): Promise<{ status: string }[]> =>
      (await stage.get(`/v1/api/runs/${run}`))['children'] as { status: string }[];
    await expect.poll(async () => (await childrenOf()).map(({ status }) => status)).toEqual(['waiting', 'waiting']);

    const page = await stage.open(`/runs/${run}?tab=children`);
    await page.getByRole('tab', { name: 'Children 2' }).waitFor();
    const opener = page.getByRole('button', { name: 'Cancel run' });
    await opener.click();
    const dialog = page.getByRole('dialog', { name: 'Cancel run' });
    await dialog.getByText('The run and 2 child runs end.').waitFor();
    await dialog.getByText('its worker learns at its next heartbeat, 10 s by default').waitFor();
    const cancel = dialog.getByRole('button', { name: 'Cancel the run' });
    expect(await cancel.isDisabled()).toBe(true);
    await dialog.getByLabel('Type parent to confirm').fill('parent');
    await cancel.click();
    await dialog.getByText('The run is cancelled.').waitFor();
    expect(await cancel.isDisabled()).toBe(true);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => opener.isDisabled()).toBe(true);
    await expect.poll(async () => (await childrenOf()).map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
  });
});

describe('9: leases', () => {
  const stage = useStage({ flags: ['--lease-ttl-ms', '8000', '--reclaim-window-ms', '4000'], pollSeconds: 1 });
  const delivered = (delivery: string) => ({
    id: delivery.replaceAll('_', '-'),
    version: 1,
    steps: [{ id: 'charge', kind: 'task', input: {}, delivery }],
  });

  /** Takes the step of a new run, and is silent from then on. */
  const abandoned = async (delivery: string) => {
    const definition = delivered(delivery);
    const lost = createScript(stage, 'lost', [definition]);
    await lost.register();
    const run = await startRun(stage, definition.id);
    const lease = await lost.claim();
    await lost.start(lease);
    return { definition, lost, run, lease };
  };

  it('a step whose worker is silent counts down, is orphaned, and goes to another one; what the first says late is fenced', async () => {
    const { definition, lost, run, lease } = await abandoned('at_least_once');
    const list = await stage.open('/workers');
    const row = list.getByRole('table', { name: 'Leases' }).getByRole('row').nth(1);
    await row.getByText(/^orphaned in \d+ s without a heartbeat$/).waitFor();
    await row.getByText(/^.orphaned$/).waitFor();

    const page = await stage.open(`/runs/${run}?tab=timeline`);
    const other = createScript(stage, 'other', [definition]);
    await other.register();
    const second = await other.claim();
    await other.start(second);
    const late = lost.complete(lease);
    await expect(late).rejects.toThrow(/answered 409: .*"code":"fenced"/);
    await list
      .getByRole('table', { name: 'Refused calls' })
      .getByRole('row')
      .filter({ hasText: /^complete.*fenced1/ })
      .waitFor();
    await other.complete(second);
    await page.getByRole('img', { name: /^charge, attempt 2, succeeded, .*, other$/ }).waitFor();
    const first = page.getByRole('img', { name: /^charge, attempt 1, .*, lost$/ });
    expect(await first.getAttribute('aria-label')).toMatch(/orphaned|requeued|reclaimed/);
    const { attempts } = (await stage.get(`/v1/api/runs/${run}`)) as { attempts: { lease_id: string }[] };
    const actor = await stage.open(`/actors/lease/${attempts[0]?.lease_id}`);
    expect(await actor.getByRole('link', { name: 'Run', exact: true }).getAttribute('href')).toContain(`/runs/${run}`);
    await actor.getByRole('button', { name: 'Show its messages' }).click();
    const messages = actor.getByRole('figure', { name: 'Messages of the lease' }).getByRole('table');
    await messages.waitFor();
    const told = await messages.getByRole('row').evaluateAll((rows) =>
      rows.slice(1).map((line) =>
        [...line.children]
          .slice(2)
          .map((cell) => cell.textContent)
          .join(' '),
      ),
    );
    expect(told).toEqual([
      'Run Lease needs charge',
      'Lease Worker offered to lost',
      'Worker Lease started',
      'Lease Lease no heartbeat in time',
      'Lease Run gives the step back: orphaned',
    ]);
    // The offer is the short part of a bar, the work the tall one.
    expect(await page.getByRole('list', { name: 'Attempts' }).getByRole('img').locator('span').count()).toBeGreaterThan(
      1,
    );
  });

  it('a step that may run once fails instead', async () => {
    const { run, lost, lease } = await abandoned('at_most_once');
    const page = await stage.open(`/runs/${run}?tab=journal`);
    await page.getByRole('table', { name: 'Journal' }).getByText('run.finished').waitFor({ timeout: 30_000 });
    await page.getByText(/^charge failed with/).waitFor();
    await expect(lost.complete(lease)).rejects.toThrow(/answered 409/);
  });
});
