import { describe, expect, it } from 'vitest';
import type { RunningRuns } from '../../src/actors/start.ts';
import type { FiringRecord } from '../../src/model/schedule/schedule.ts';
import { timetableOf } from '../../src/model/schedule/timetable.ts';
import { ALL, aDefinition, createHarness, must } from '../actors/run-harness.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const YEARS = 2 * 365 * DAY;
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'Australia/Sydney',
  'Asia/Kolkata',
  'Africa/Casablanca',
  'America/Santiago',
  'Asia/Beirut',
] as const;
const CRON = '30 2 * * *';
const idOf = (zone: string): string => zone.replace('/', '.');

/** A generator whose numbers follow from its seed. */
const chanceOf = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

/** The definition ends at once, so that no firing meets an open run. */
const definitions = [aDefinition('flow', [{ id: 'done', kind: 'succeed' }])];

describe('schedules through two years of virtual time, with both daylight changes in ten zones and restarts in between', () => {
  it.each([1])('each nominal time starts one run, or is skipped for its stated reason (seed %i)', async (seed) => {
    const chance = chanceOf(seed);
    const harness = await createHarness({ definitions });
    const { time, store } = harness;
    const from = time.now();
    for (const zone of ZONES)
      must(
        await harness.runs.createSchedule({
          ...ALL,
          project: 'p',
          id: idOf(zone),
          given: { definitionId: 'flow', cron: CRON, timezone: zone, catchUp: 'last' },
        }),
      );
    const seen = new Map<string, Map<number, FiringRecord>>(ZONES.map((zone) => [zone, new Map()]));
    const note = async (runs: RunningRuns): Promise<void> => {
      for (const zone of ZONES) {
        const { firings } = must(await runs.getSchedule({ ...ALL, project: 'p', id: idOf(zone) }));
        for (const one of firings) {
          const before = seen.get(zone)?.get(one.nominalAt);
          // What became of a time stays so: it neither fires again nor loses its run.
          if (before !== undefined) expect(one).toEqual(before);
          seen.get(zone)?.set(one.nominalAt, one);
        }
      }
    };
    let { runs } = harness;
    let notedAt = from;
    while (time.now() < from + YEARS) {
      // To the next time that fires; seldom some days for which nobody is there.
      const isAway = chance() < 0.02;
      const { nextTimerAt = time.now() + HOUR } = await store.backlog(time.now(), time.now());
      time.advance(isAway ? Math.ceil(chance() * 4 * DAY) : Math.max(1, nextTimerAt - time.now()));
      if (isAway) runs = await harness.reopen();
      await runs.tick();
      if (isAway || time.now() - notedAt > DAY) {
        await note(runs);
        notedAt = time.now();
      }
    }
    await note(runs);
    const until = time.now();
    let started = 0;
    for (const zone of ZONES) {
      const table = timetableOf({ timing: { kind: 'cron', cron: CRON, timezone: zone } }, 0);
      const nominal = table.latest(from + 1, until, 10_000);
      const outcomes = seen.get(zone);
      expect([zone, [...(outcomes?.keys() ?? [])].toSorted((a, b) => a - b)]).toEqual([zone, nominal]);
      for (const one of outcomes?.values() ?? [])
        if (one.outcome === 'started') started += 1;
        else expect([zone, one.reason]).toEqual([zone, 'missed']);
    }
    // Each that says so has started a run of its own.
    const { runIds } = await store.matchingRuns({ reach: ['p'] }, '', 1_000_000);
    expect(runIds).toHaveLength(started);
    expect(started).toBeGreaterThan(ZONES.length * 100);
    expect(harness.faults).toEqual([]);
  });
});
