import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Monitor } from '../../src/model/watch.ts';
import { createMemoryWatchJournal } from '../../src/store/runs/memory/watch-journal.ts';
import type { WatchJournal } from '../../src/store/runs/watch-journal.ts';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createFakeClock, must } from '../actors/run-harness.ts';
import { aMonitor, anSlo, createFakeSignals, createWatchHarness, settle } from './watch-harness.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Opens the journal that the last process left, as often as the test starts one. */
const engines = {
  memory: () => {
    const journal = createMemoryWatchJournal();
    return async () => ({ journal, close: async () => {} });
  },
  sqlite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'watch-restarts-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    return async () => {
      const { watchJournal, close } = await openSqliteRunStore({ path: join(folder, 'runs.db') });
      return { journal: watchJournal, close };
    };
  },
};

describe.each(['memory', 'sqlite'] as const)('over restarts, with the journal in %s', (engine) => {
  const starting = () => {
    const open = engines[engine]();
    const time = createFakeClock();
    return async (monitor: Partial<Monitor> = {}) => {
      const { journal, close } = await open();
      const harness = createWatchHarness({
        time,
        monitors: [aMonitor(monitor)],
        slos: [anSlo()],
        record: { journal, heads: await journal.heads() },
      });
      await harness.start();
      return {
        ...harness,
        stop: async () => {
          await harness.watchers.close();
          await close();
        },
        transitions: async () =>
          (await harness.watchers.monitors.transitions('errors', 99)).map(({ seq, event, from, to }) => [
            seq,
            event,
            from,
            to,
          ]),
      };
    };
  };

  it('“was it tripped last night” is answered by a process that started this morning', async () => {
    const start = starting();
    const night = await start();
    night.now.failed = 50;
    await night.pass();
    const trippedAt = night.time.now();
    must(night.watchers.monitors.acknowledge('errors'));
    await night.stop();

    night.time.advance(8 * 3_600_000);
    const morning = await start();
    expect(morning.watchers.monitors.find('errors')).toMatchObject({ condition: 'nominal' });
    expect(await morning.transitions()).toEqual([
      [4, 'watch.started', undefined, 'nominal'],
      [3, 'trip.acknowledged', 'tripped', 'acknowledged'],
      [2, 'evaluation.ended', 'nominal', 'tripped'],
      [1, 'watch.started', undefined, 'nominal'],
    ]);
    expect(await morning.watchers.actorAt('monitor', 'errors', 2)).toMatchObject({
      value: 'tripped',
      updatedAt: trippedAt,
      context: { trippedAt, reading: { value: 0.5, samples: 100 } },
    });
    // What lasts is reported anew: what decides is rebuilt from readings alone.
    morning.now.failed = 50;
    await morning.pass();
    expect(morning.lines.map(({ message }) => message)).toEqual(['monitor tripped', 'slo tripped']);
    expect((await morning.transitions())[0]).toEqual([5, 'evaluation.ended', 'nominal', 'tripped']);
    expect(morning.watchers.monitors.find('errors')).toMatchObject({ trippedAt: morning.time.now() });
    await morning.stop();
  });

  it('versions go on: no two snapshots of a monitor carry the same one', async () => {
    const start = starting();
    const seen: number[] = [];
    for (let no = 0; no < 3; no += 1) {
      const { watchers, pass, stop } = await start();
      const version = () => watchers.actors().find(({ type }) => type === 'monitor')?.version ?? 0;
      seen.push(version());
      await pass();
      seen.push(version());
      await stop();
    }
    // Each start is a change of its own, before its first evaluation.
    expect(seen).toEqual([2, 3, 5, 6, 8, 9]);
  });

  it('an id that watches another project now does not show what it did in the one before', async () => {
    const start = starting();
    const before = await start({ project: 'shop' });
    before.now.failed = 50;
    await before.pass();
    await before.stop();
    const after = await start({ project: 'other' });
    expect(await after.transitions()).toEqual([[3, 'watch.started', undefined, 'nominal']]);
    expect(await after.watchers.actorAt('monitor', 'errors', 2)).toBeUndefined();
    await after.stop();
    const back = await start({ project: 'shop' });
    expect((await back.transitions()).map(([seq]) => seq)).toEqual([4, 2, 1]);
    await back.stop();
  });
});

it('a transition carries the time that its reading ended at, as `tripped_at` does, however long the read took', async () => {
  let answer = (): void => {};
  const harness = createWatchHarness({
    monitors: [aMonitor()],
    signals: {
      ...createFakeSignals().signals,
      runTotals: () => new Promise((resolve) => void (answer = () => resolve({ runs: 100, failed: 50, cancelled: 0 }))),
    },
  });
  const at = harness.time.now();
  const round = harness.watchers.tick();
  await settle();
  harness.time.advance(5000);
  answer();
  await round;
  const [transition] = await harness.watchers.monitors.transitions('errors', 1);
  expect([transition?.at, harness.watchers.monitors.find('errors')?.trippedAt]).toEqual([at, at]);
});

describe('a runs store that is slow or away', () => {
  const over = (record: WatchJournal['record']) =>
    createWatchHarness({
      monitors: [aMonitor({ webhook: 'http://receiver.test/x' }), aMonitor({ id: 'second' })],
      slos: [anSlo()],
      record: { journal: { ...createMemoryWatchJournal(), record }, heads: [] },
    });

  it.each([
    ['hangs', () => new Promise<never>(() => {})],
    ['fails', () => Promise.reject(new StoreUnavailable('runs store: disk I/O error'))],
    ['has a bug', () => Promise.reject(new TypeError('x is not a function'))],
  ] as const)('that %s holds up no evaluation, and loses no report', async (_what, record) => {
    const harness = over(record);
    await harness.start();
    for (const failed of [50, 50, 0, 50]) {
      harness.now.failed = failed;
      await harness.pass();
    }
    for (const id of ['errors', 'second'])
      expect(harness.watchers.monitors.history(id, 99).map(({ condition }) => condition)).toEqual([
        'tripped',
        'nominal',
        'tripped',
        'tripped',
        'nominal',
      ]);
    expect(harness.sent.map(({ report }) => report.condition)).toEqual(['tripped', 'nominal', 'tripped']);
    expect(harness.reports()).toHaveLength(9);
    expect(harness.lines.filter(({ message }) => message.includes('does not take')).length).toBeLessThanOrEqual(1);
    expect((await harness.watchers.monitors.transitions('errors', 99)).map(({ to }) => to)).toEqual([
      'tripped',
      'nominal',
      'tripped',
      'nominal',
    ]);
  });

  it('a round without a transition is one commit, and none where nothing is armed', async () => {
    const commits: number[] = [];
    const harness = over(async (snapshots) => void commits.push(snapshots.length));
    await harness.tick();
    await settle();
    expect(commits).toEqual([3]);
    const idle = createWatchHarness({
      monitors: [aMonitor({ enabled: false })],
      record: { journal: { ...createMemoryWatchJournal(), record: async () => void commits.push(0) }, heads: [] },
    });
    idle.watchers.start();
    await idle.tick();
    await idle.watchers.close();
    expect(commits).toEqual([3]);
  });
});
