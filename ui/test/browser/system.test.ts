import { describe, expect, it } from 'vitest';
import { serveTime, useStage } from './stage.ts';

const definition = { id: 'night-refund', version: 1, steps: [{ id: 'pay', kind: 'task', next: 'end' }] };

/** A lease outlives the tests, however busy the machine is: nobody sends its heartbeats. */
const stage = useStage(
  { own: true, flags: ['--lease-ttl-ms', '3600000', '--offer-ttl-ms', '3600000'], pollSeconds: 1 },
  async ({ post }) => {
    await post('/v1/api/workers/register', { worker_id: 'host-1', definitions: [definition] });
    await post('/v1/api/schedules', { id: 'nightly', definition_id: definition.id, cron: '0 2 * * *' });
  },
);

describe('the pages of the system', () => {
  it('doctor lists its twelve groups in order, counts what was skipped apart, and writes no span', async () => {
    const traces = (): Promise<unknown> => stage.get('/v1/api/traces');
    const before = await traces();
    const page = await stage.open('/doctor');
    const groups = page.getByRole('list', { name: 'Groups' }).getByRole('heading');
    await groups.first().waitFor();
    expect(await groups.allTextContents()).toEqual(
      'storage runs keys identity projects retention limits forwarding judge monitors clock pricing'.split(' '),
    );
    expect(await page.getByText(/skipped: what was not run proves nothing/).count()).toBe(1);
    expect(await traces()).toEqual(before);
    await page.getByRole('combobox', { name: 'Level' }).selectOption('skipped');
    await expect.poll(() => groups.count()).toBeLessThan(12);
    expect(new URL(page.url()).searchParams.get('level')).toBe('skipped');
    await page.getByRole('button', { name: 'Remove filter level skipped' }).click();
    await expect.poll(() => groups.count()).toBe(12);
  });

  it('2.2 doctor: the write probe is a separate button, and the report says what became of the span', async () => {
    const page = await stage.open('/doctor');
    await page.getByText(/Nothing was written\./).waitFor();
    await page.getByRole('button', { name: 'Write a probe span' }).click();
    await page.getByText('a probe span survived write, read and delete').waitFor();
    await page.getByText(/A probe span was written, read back and deleted\./).waitFor();
    expect(await stage.get('/v1/api/traces')).toEqual({ traces: [] });
  });

  it('workers show who serves what, and when the lease they hold ends by itself', async () => {
    await stage.post('/v1/api/runs', { definition_id: definition.id, input: {} });
    const { leases } = await stage.post('/v1/api/steps/claim', { worker_id: 'host-1', max: 1, wait_ms: 0 });
    const [{ lease_id }] = leases as [{ lease_id: string }];
    await stage.post(`/v1/api/steps/${lease_id}/started`, { worker_id: 'host-1' });
    const page = await stage.open('/workers');
    await page.getByRole('table', { name: 'Workers' }).getByText('night-refund@1').waitFor();
    const lease = page.getByRole('table', { name: 'Leases' }).getByRole('row').nth(1);
    await lease.getByText('running').waitFor();
    expect(await lease.getByText(/^orphaned in \d+ (?:min|h) without a heartbeat$/).count()).toBe(1);

    await stage.post('/v1/api/workers/register', { worker_id: 'host-2', definitions: [definition] });
    const workers = page.getByRole('table', { name: 'Workers' }).getByRole('row');
    await expect.poll(() => workers.count()).toBe(3);
    await workers.getByRole('link', { name: 'host-2' }).click();
    await page.getByText('1 worker of 2 read shown').waitFor();
    await page.getByText('The filters leave none of 1 lease.').waitFor();
    await page.getByRole('button', { name: 'Remove filter worker host-2' }).click();
    await lease.waitFor();
    await page.goto(new URL('/workers?state=orphaned&definition=night-refund', stage.url).href);
    await page.getByText('The filters leave none of 1 lease.').waitFor();
    expect(await workers.count()).toBe(3);
    await page.getByRole('button', { name: 'Clear all filters' }).click();
    await lease.waitFor();
  });

  it('2.2 countdowns from server time: a machine whose clock is five hours ahead shows what the service does', async () => {
    const page = await stage.open('/');
    await page.context().addInitScript('{ const now = Date.now; Date.now = () => now() + 18_000_000; }');
    await page.goto(new URL('/workers', stage.url).href);
    const lease = page.getByRole('table', { name: 'Leases' }).getByRole('row').nth(1);
    await lease.getByText(/^orphaned in \d+ (?:min|h) without a heartbeat$/).waitFor();
    expect(await lease.getByText('expiring').count()).toBe(0);
  });

  it('a lease says when its worker last extended it, and is expiring when two heartbeats did not come', async () => {
    const run = await stage.post('/v1/api/runs', { definition_id: definition.id, input: {} });
    const { leases } = await stage.post('/v1/api/steps/claim', {
      ...{ worker_id: 'host-1', max: 1, wait_ms: 0 },
      run_id: run['run_id'],
    });
    const [{ lease_id }] = leases as [{ lease_id: string }];
    const page = await stage.open('/workers?state=expiring');
    await page.getByText(/^The filters leave none of \d leases?\./).waitFor();
    await page.goto(new URL(`/actors/lease/${lease_id}`, stage.url).href);
    const facts = page.getByRole('region', { name: 'Actor' });
    await facts.getByText(/^lapses in \d+ min$/).waitFor();
    await expect
      .poll(() => facts.getByText('Last heartbeat').locator('xpath=..').textContent())
      .toBe('Last heartbeat—');
    await stage.post(`/v1/api/steps/${lease_id}/started`, { worker_id: 'host-1' });
    await facts.getByText(/^orphaned in \d+ min without a heartbeat$/).waitFor();
    await facts.getByText(/^(?:now|\d+ s ago)$/).waitFor();

    // Of an hour a quarter is left, by the clock of the service.
    await serveTime(page, () => new Date(Date.now() + 45 * 60_000));
    await page.goto(new URL('/workers?state=expiring', stage.url).href);
    const row = page.getByRole('table', { name: 'Leases' }).getByRole('row').nth(1);
    await row.getByText(/^.expiring$/).waitFor();
    await row.getByText('45 min ago').waitFor();
    await page.getByText(/orphaned first, then expiring, then the oldest/).waitFor();
  });

  it('a schedule is paused and goes on', async () => {
    const page = await stage.open('/schedules');
    await page.getByRole('link', { name: 'nightly' }).click();
    await page.getByRole('heading', { name: 'Next times' }).waitFor();
    const next = page.getByRole('region', { name: 'Next times' });
    expect(await next.getByRole('listitem').count()).toBe(10);
    await page.getByRole('img', { name: 'Firings on a time axis: 0 started, 0 skipped, 10 to come' }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await next.getByText(/^None while it is paused, since .* the last fires when it is resumed/).waitFor();
    expect(await next.getByRole('listitem').count()).toBe(0);
    await page.goto(new URL('/schedules?status=active', stage.url).href);
    await page.getByText('The filters leave none of 1 schedule.').waitFor();
    await page.getByRole('button', { name: 'Remove filter status active' }).click();
    await page.getByRole('link', { name: 'nightly' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
  });

  it('audit says who read what, and a filter is a button that removes it', async () => {
    const page = await stage.open('/audit?operation=nothing_like_it');
    await page.getByRole('button', { name: 'Remove filter operation' }).click();
    await page.getByRole('table', { name: 'Audit' }).getByText('allowed').first().waitFor();
    expect(new URL(page.url()).search).toBe('');
  });
});
