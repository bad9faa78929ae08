import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { chartOf } from '../../src/model/statechart.ts';
import { aLastingPort } from '../../../test/daemon.ts';
import { downloadedBy, leave, openStage, seriousFindings, useStage } from './stage.ts';

let runId = '';

const refund = {
  id: 'refund',
  version: 1,
  steps: [
    { id: 'ask', kind: 'wait_event', event: 'approval', key: 'k', next: 'pay' },
    { id: 'pay', kind: 'task', next: 'done' },
    { id: 'done', kind: 'succeed' },
  ],
};

const stage = useStage({ own: true }, async ({ post }) => {
  await post('/v1/api/definitions', { definitions: [refund] });
  const run = await post('/v1/api/runs', { definition_id: 'refund', input: {} });
  runId = String(run['run_id']);
  await post(`/v1/api/runs/${runId}/signal`, { event: 'approval', payload: {} });
});

const exported = async (on: Page, button: string): Promise<string> =>
  (await downloadedBy(on, () => on.getByRole('button', { name: button }).click())).toString();

/** Each machine that the service has; the first test below fails when one is missing here. */
const served = [
  'bulk',
  'definition',
  'dispatcher',
  'lease',
  'limit',
  'monitor',
  'outbox',
  'pipeline',
  'schedule',
  'slo',
  'timer',
  'run:refund@1',
];

describe('machines', () => {
  it('12: each that is served is looked at below', async () => {
    const { machines } = await stage.get('/v1/api/machines');
    expect((machines as { name: string }[]).map(({ name }) => name).toSorted()).toEqual(served.toSorted());
  });

  it.each(served)('12: %s is drawn and exported as the service runs it', async (name) => {
    const config = await stage.get(`/v1/api/machines/${encodeURIComponent(name)}`);
    const on = await stage.visit(`/machines/${encodeURIComponent(name)}`);
    const figure = on.getByRole('figure', { name: `Statechart of ${name}` });
    const { states, transitions } = chartOf(config);
    for (const { key } of states.filter(({ depth }) => depth === 0))
      await figure.getByText(key, { exact: true }).first().waitFor();
    expect(await on.getByRole('table', { name: 'Transitions' }).getByRole('row').count()).toBe(transitions.length + 1);

    const json: unknown = JSON.parse(await exported(on, 'xstate JSON'));
    expect(json).toEqual(config);
    const machine = createMachine(json as Parameters<typeof createMachine>[0]);
    expect(JSON.parse(JSON.stringify(machine.config))).toEqual(config);

    const mermaid = await exported(on, 'Mermaid');
    for (const { key } of states) expect(mermaid).toContain(`state "${key}"`);
    const svg = await exported(on, 'SVG');
    for (const { key } of states.filter(({ depth }) => depth === 0)) expect(svg).toContain(`>${key}</text>`);
    await on.getByRole('combobox', { name: 'As text' }).selectOption('mermaid');
    await on.getByText(/^stateDiagram-v2/).waitFor();
    expect(new URL(on.url()).searchParams.get('format')).toBe('mermaid');
    expect(await seriousFindings(on)).toEqual([]);
  });

  it('with many states are seen as a whole at first, at any width, and can be read after zooming in', async () => {
    const steps = Array.from({ length: 40 }, (_, at) => ({
      id: `step_${at}`,
      kind: 'task',
      ...(at === 39 ? {} : { next: `step_${at + 1}` }),
    }));
    await stage.post('/v1/api/definitions', { definitions: [{ id: 'long', version: 1, steps }] });
    const on = await stage.open('/definitions/long');
    for (const width of [1280, 320]) {
      await on.setViewportSize({ width, height: 800 });
      const figure = on.getByRole('figure', { name: 'Statechart of run:long@1' });
      const frame = await figure.boundingBox();
      const outside = async (): Promise<number> => {
        const boxes = await figure
          .locator('.react-flow__node')
          .evaluateAll((nodes) => nodes.map((node) => node.getBoundingClientRect().toJSON() as DOMRect));
        expect(boxes.length).toBeGreaterThan(39);
        const { x = 0, y = 0, width: w = 0, height: h = 0 } = frame ?? {};
        return boxes.filter((b) => b.left < x || b.top < y || b.right > x + w || b.bottom > y + h).length;
      };
      await expect.poll(outside).toBe(0);
      await figure.getByRole('button', { name: 'Zoom in' }).click();
      await expect.poll(outside).toBeGreaterThan(0);
    }
  });

  it('count the actors in each state, and lead to them', async () => {
    const on = await stage.open('/machines/run%3Arefund%401');
    const node = on.getByRole('figure').getByLabel(/^active › pay, state, task, 1 in it$/);
    await node.focus();
    await node.press('Enter');
    await on.getByRole('link', { name: '1 active actor in it' }).click();
    const list = on.getByRole('table', { name: 'Actors', exact: true });
    const link = list.getByRole('link', { name: /^run / });
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe(`/actors/run/${runId}`);
    expect(await list.getByRole('row').count()).toBe(2);
  });
});

describe('an actor', () => {
  it('is shown where it is, and as it was at any moment', async () => {
    const on = await stage.open(`/actors/run/${runId}`);
    const figure = on.getByRole('figure');
    await figure.getByLabel(/^active › pay, .*here$/).waitFor();
    await on.getByRole('button', { name: 'Look at the past' }).click();
    const slider = on.getByRole('slider', { name: 'Sequence', disabled: false });
    await slider.focus();
    await slider.press('Home');
    const first = await stage.get(`/v1/api/actors/run/${runId}?at_seq=0`);
    await figure.getByLabel(/^active › pay, .*now here$/).waitFor();
    await figure.getByLabel(/^active › ask, .*[^w] here$/).waitFor();
    expect(new URL(on.url()).searchParams.get('seq')).toBe('0');
    const tree = on.getByRole('tree', { name: 'State' });
    for (const key of Object.keys(first['context'] as object)) await tree.getByText(`${key}:`).waitFor();

    await on.getByRole('button', { name: 'Compare with this moment' }).click();
    await on.getByRole('button', { name: 'Now', exact: true }).click();
    const changes = on.getByRole('table', { name: 'Changes' });
    await changes.getByRole('rowheader', { name: '/context/visits/pay' }).waitFor();
    await changes.getByRole('rowheader', { name: '/value/active/pay' }).waitFor();
    expect(await seriousFindings(on)).toEqual([]);
  });
});

describe('an actor without a journal of its own', () => {
  it('a lease is shown as it was after an entry of the journal of its run, and compared with now', async () => {
    await stage.post('/v1/api/workers/register', { worker_id: 'w', definitions: [refund] });
    const { leases } = await stage.post('/v1/api/steps/claim', { worker_id: 'w', max: 1, wait_ms: 0 });
    const [{ lease_id: lease } = { lease_id: '' }] = leases as { lease_id: string }[];
    await stage.post(`/v1/api/steps/${lease}/started`, { worker_id: 'w' });
    await stage.post(`/v1/api/steps/${lease}/complete`, { worker_id: 'w', output: {} });
    const on = await stage.open(`/actors/lease/${lease}`);
    const figure = on.getByRole('figure', { name: /^Statechart of lease / });
    await figure.getByLabel(/^succeeded, .*here$/).waitFor();
    await on.getByRole('button', { name: 'Look at the past' }).click();
    const slider = on.getByRole('slider', { name: 'Sequence', disabled: false });
    await slider.focus();
    await slider.press('Home');
    await figure.getByLabel(/^offered, .*[^w] here$/).waitFor();
    await on.getByText(/when it would expire then, and its heartbeats, are not kept/).waitFor();
    await on.getByRole('button', { name: 'Compare with this moment' }).click();
    await on.getByRole('button', { name: 'Now', exact: true }).click();
    await on.getByRole('table', { name: 'Changes' }).getByRole('rowheader', { name: '/context/bodyRan' }).waitFor();
    expect(await seriousFindings(on)).toEqual([]);
  });

  it('a schedule says in words what nobody can say of its past, and lists what it remembers', async () => {
    await stage.post('/v1/api/schedules', { id: 'hourly', definition_id: 'refund', cron: '0 * * * *' });
    await stage.post('/v1/api/schedules/hourly/trigger', {});
    const on = await stage.open('/actors/schedule/default%3Ahourly');
    const past = on.getByRole('region', { name: 'Past' });
    await past.getByText(/keeps no journal/).waitFor();
    await past.getByRole('listitem').filter({ hasText: 'started, asked for by a call' }).waitFor();
    expect(await on.getByRole('slider').count()).toBe(0);
    const timer = await stage.open('/actors/timer/main');
    await timer
      .getByRole('region', { name: 'Past' })
      .getByText(/begins anew with each start/)
      .waitFor();
    await leave(timer);
  });
});

describe('the editor of definitions', () => {
  it('draws and checks what is typed, finds each fault, and stores what has none', async () => {
    const on = await stage.open('/definitions?view=editor');
    const text = on.getByLabel('Definition, as JSON');
    const next = (to: string): string =>
      JSON.stringify(
        {
          ...refund,
          version: 2,
          steps: refund.steps.map((step) => (step.id === 'pay' ? { ...step, next: to } : step)),
        },
        null,
        2,
      );
    await text.fill(next('dome'));
    await on.getByLabel(/^pay, state, task, 1 fault$/).waitFor();
    const faults = on.getByRole('list', { name: 'Faults' });
    await faults.getByText('dome').waitFor();
    expect(await on.getByRole('button', { name: 'Store' }).isDisabled()).toBe(true);
    await faults.getByRole('button').first().click();
    const selected = await text.evaluate((element) => {
      const area = element as unknown as { value: string; selectionStart: number; selectionEnd: number };
      return area.value.slice(area.selectionStart, area.selectionEnd);
    });
    expect(selected).toContain('dome');
    expect(await seriousFindings(on)).toEqual([]);

    await text.fill(next('done'));
    await on.getByText('No faults').waitFor();
    await on.getByRole('button', { name: 'Store' }).click();
    await on.getByRole('link', { name: 'refund version 2' }).click();
    await on.getByRole('table', { name: 'Versions' }).getByRole('link', { name: '2' }).waitFor();
    expect(new URL(on.url()).pathname).toBe('/definitions/refund');
  });

  it('2.1 v: the machine of a definition is drawn in the version of the address, else in the newest', async () => {
    const on = await stage.open('/machines/run%3Arefund');
    await on.getByRole('figure', { name: 'Statechart of run:refund@2' }).waitFor();
    await on.getByRole('combobox', { name: 'Version' }).selectOption('1');
    await on.getByRole('figure', { name: 'Statechart of run:refund@1' }).waitFor();
    expect(new URL(on.url()).searchParams.get('v')).toBe('1');
    await on.reload();
    await on.getByRole('heading', { level: 1, name: 'run:refund@1' }).waitFor();
    await on.goto(new URL('/machines/run%3Arefund?v=9', stage.url).href);
    await on.getByRole('alert').waitFor();
  });

  it('12: a definition of 300 steps is drawn by a worker of the origin, and the page goes on meanwhile', async () => {
    const steps = Array.from({ length: 300 }, (_, at) => ({ id: `step-${at}`, kind: 'sleep', sleep_ms: 1000 }));
    await stage.post('/v1/api/definitions', { definitions: [{ id: 'large', version: 1, steps }] });
    const page = await stage.open('/machines/run%3Alarge%401');
    const worker = page.waitForEvent('worker');
    await page.reload();
    expect((await worker).url()).toMatch(new RegExp(`^${stage.url}/?assets/layout-worker-`));
    const figure = page.getByRole('figure', { name: 'Statechart of run:large@1' });
    await figure
      .getByRole('img', { name: /^active › step-299, state/ })
      .or(figure.getByLabel(/step-299/))
      .first()
      .waitFor({ state: 'attached' });
    expect(await seriousFindings(page)).toEqual([]);
  });
});

describe('an actor of a service that was restarted', () => {
  it('12: stands where its run is, not where runs begin', async () => {
    const own = await openStage({ flags: ['--port', String(await aLastingPort())] });
    try {
      await own.post('/v1/api/definitions', { definitions: [refund] });
      const { run_id: run } = await own.post('/v1/api/runs', { definition_id: 'refund', input: {} });
      await own.post(`/v1/api/runs/${String(run)}/signal`, { event: 'approval', payload: {} });
      await own.restartService();
      const on = await own.open(`/actors/run/${String(run)}`);
      const here = on.getByRole('figure').getByLabel(/, here$/);
      await here.first().waitFor();
      expect(await here.last().getAttribute('aria-label')).toMatch(/^active › pay, /);
      await leave(on);
    } finally {
      await own.close();
    }
  });
});
