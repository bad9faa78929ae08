import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import { hex, runs, useStage } from './stage.ts';

const MINUTE = 60;
const HOURS_AGO = 3 * 3600;

const stage = useStage({
  pollSeconds: 1,
  config: {
    monitor_interval_seconds: 1,
    monitors: [
      { id: 'errors', name: 'Errors', watch: 'error_rate', compare: 'above', threshold: 0.1, window_seconds: 900 },
      {
        id: 'polite',
        name: 'Politeness',
        watch: 'score_mean',
        scorer_id: 'polite',
        compare: 'below',
        threshold: 0.5,
        window_seconds: 900,
        min_samples: 10,
      },
      { id: 'quiet', watch: 'error_rate', compare: 'above', threshold: 0.1, window_seconds: 900, min_samples: 5000 },
    ],
    slos: [{ id: 'works', name: 'Works', objective: 0.995, window_days: 30 }],
  },
});

const ingest = (spans: unknown): Promise<void> => stage.ingest({ spans });

/** A state is glyph and word. */
const stateOf = (card: Locator, state: string): Locator => card.getByText(new RegExp(`^.${state}$`));

it('a monitor trips, is acknowledged, and recovers by itself, while another one holds', async () => {
  await ingest(runs(40, { agoSeconds: MINUTE }));
  const page = await stage.open('/monitors');
  const errors = page.getByRole('article', { name: 'Errors' });
  await stateOf(errors, 'nominal').waitFor();
  const quiet = page.getByRole('article', { name: 'quiet' });
  await quiet.getByText('holding (40 of 5,000 runs)').waitFor();

  await ingest(runs(20, { agoSeconds: MINUTE, failed: true }));
  await stateOf(errors, 'tripped').waitFor();
  // Its worst stand first.
  expect(await page.getByRole('article').first().getAttribute('aria-label')).toBe('Errors');
  await quiet.getByText('holding (60 of 5,000 runs)').waitFor();

  await errors.getByRole('button', { name: 'Acknowledge Errors' }).click();
  await stateOf(errors, 'acknowledged').waitFor();
  expect(await errors.textContent()).toMatch(/Acknowledged (?:now|\d+ s ago); it returns to nominal by itself/);
  expect(await errors.getByRole('button').count()).toBe(0);

  await ingest(runs(400, { agoSeconds: MINUTE }));
  await stateOf(errors, 'nominal').waitFor();

  await errors.getByRole('link', { name: 'Errors' }).click();
  await page.getByRole('heading', { name: 'Transitions' }).waitFor();
  await page.getByText('acknowledged by somebody').waitFor();
  expect(await page.title()).toBe('Errors · Monitor · svc');
});

it('an objective trips when both burn rates are above their lines, and not when one is', async () => {
  // Of the last hour 20 of 460 have failed: 4.3 %, a burn rate of 8.7. 60 more make it 15.4 %, of six hours 2.6 %.
  await ingest(runs(60, { agoSeconds: MINUTE, failed: true }));
  await ingest([0, 1, 2, 3].flatMap(() => runs(700, { agoSeconds: HOURS_AGO })));
  const page = await stage.open('/slos');
  const card = page.getByRole('article', { name: 'Works' });
  await card.getByRole('heading', { name: 'Burn rate: increasing' }).waitFor();
  await stateOf(card, 'nominal').waitFor();

  await ingest(runs(200, { agoSeconds: HOURS_AGO, failed: true }));
  await card.getByRole('heading', { name: 'Burn rate: critical' }).waitFor();
  await stateOf(card, 'tripped').waitFor();

  // The lines stand at 14.4 and 6 of the axis that goes from 0.1 to 100.
  const lines = await card
    .locator('[data-line]')
    .evaluateAll((found) =>
      found.map((line) => [line.getAttribute('data-line'), Number.parseFloat((line as HTMLElement).style.left)]),
    );
  const place = (rate: number): unknown => expect.closeTo(((Math.log10(rate) + 1) / 3) * 100, 3);
  expect(lines).toEqual([
    ['14.4', place(14.4)],
    ['6', place(6)],
  ]);
  const { slos } = (await stage.get('/v1/api/slos')) as { slos: { budget_remaining: number; samples: number }[] };
  const remaining = slos[0]?.budget_remaining ?? 0;
  expect(remaining).toBeLessThan(0);
  const bar = card.getByRole('img', { name: /^Error budget left: −[\d,.]+ %, overspent$/ });
  await bar.waitFor();
  // What is overspent lies left of zero.
  const [over, zero] = await bar
    .locator('span')
    .evaluateAll((found) =>
      found.map((part) => part.getBoundingClientRect()).map(({ left, right }) => ({ left, right })),
    );
  expect(over?.right).toBeLessThanOrEqual((zero?.left ?? 0) + 1);
  expect(await card.textContent()).toMatch(
    /99\.5 % of 3,5\d\d runs allows 17\.[\d]+ failures; 2[678]\d failed, so the budget is overspent/,
  );
});

it('10: a monitor that is tripped and has too few samples left holds, still tripped, and recovers with enough of them', async () => {
  const score = (trace_id: string, value: number): object => ({
    trace_id,
    scorer_id: 'polite',
    scorer_version: '1',
    source: 'offline',
    value,
    min: 0,
    max: 1,
    timestamp: new Date().toISOString(),
  });
  const ids = Array.from({ length: 12 }, () => hex(16));
  await stage.ingest({
    spans: ids.flatMap((trace_id) => runs(1, { agoSeconds: MINUTE, trace_id })),
    scores: ids.map((id) => score(id, 0.1)),
  });
  const page = await stage.open('/monitors');
  const card = page.getByRole('article', { name: 'Politeness' });
  await stateOf(card, 'tripped').waitFor();

  for (const id of ids.slice(3)) await stage.remove(`/v1/api/traces/${id}`);
  await card.getByText('holding (3 of 10 scores), still tripped').waitFor();
  await stateOf(card, 'tripped').waitFor();
  const { monitors } = (await stage.get('/v1/api/monitors')) as { monitors: { id: string }[] };
  expect(monitors.find(({ id }) => id === 'polite')).toMatchObject({ condition: 'tripped', samples: 3 });

  const good = Array.from({ length: 30 }, () => hex(16));
  await stage.ingest({
    spans: good.flatMap((trace_id) => runs(1, { agoSeconds: MINUTE, trace_id })),
    scores: good.map((id) => score(id, 0.9)),
  });
  await stateOf(card, 'nominal').waitFor();
});
