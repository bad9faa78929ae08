import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KEPT_EVALUATIONS } from '../../src/watch/board.ts';
import { MOST_SHAPES } from '../../src/watch/readings.ts';
import { unixNanoFromMillis } from '../../src/model/time.ts';
import type { Condition, Monitor } from '../../src/model/watch.ts';
import type { RunTotals } from '../../src/store/signals/watch.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import type { WatchStore } from '../../src/store/signals/watch.ts';
import { codeOf, must } from '../actors/run-harness.ts';
import { aMonitor, anSlo, aShape, createFakeSignals, createWatchHarness, settle } from './watch-harness.ts';

const never = (): Promise<never> => new Promise(() => {});

describe('what a monitor watches', () => {
  const shapes = [
    ...Array.from({ length: 30 }, () => aShape({ stepCount: 4, maxStepAttempts: 1 })),
    ...Array.from({ length: 10 }, () => aShape({ stepCount: 40, maxStepAttempts: 5 })),
  ];
  it.each([
    ['error_rate', 'failed runs over runs in window', 0.25, 200],
    ['latency_p95', '95th percentile run duration in ms', 1234.5, 200],
    ['cost', 'total spend in window', 7.5, 200],
    ['score_mean', 'mean of one scorer', 0.75, 30],
    ['trace_count', 'runs in window', 200, 200],
    ['step_count_divergence', 'runs with an unusual step count for their definition', 0.25, 40],
    ['run_repetition', 'mean over window runs of the maximum attempts any one node made', 2, 40],
  ] as const)('%s: %s', async (watch, _meaning, value, samples) => {
    const asked: unknown[] = [];
    const harness = createWatchHarness({
      monitors: [aMonitor({ watch, ...(watch === 'score_mean' ? { scorerId: 'answered' } : {}), threshold: 1e9 })],
      runs: {
        listRunShapes: async (...args) => {
          asked.push(args);
          return shapes;
        },
      },
    });
    Object.assign(harness.now, { runs: 200, failed: 50, totalCost: 7.5, durationMs: 1234.5, scores: 30, mean: 0.75 });
    await harness.tick();
    expect(harness.watchers.monitors.find('errors')?.reading).toEqual({ value, samples });
    const to = harness.time.now();
    if (harness.asked.length > 0) {
      expect(asked).toEqual([]);
      expect(harness.asked.map(({ window }) => window)).toEqual([
        { project: 'shop', from: unixNanoFromMillis(to - 300_000), to: unixNanoFromMillis(to) },
      ]);
    } else expect(asked).toEqual([['shop', to - 300_000, to, MOST_SHAPES]]);
  });

  it.each(['step_count_divergence', 'run_repetition'] as const)(
    '%s reads durable runs, and says so where they are off; it never trips then',
    async (watch) => {
      const harness = createWatchHarness({ monitors: [aMonitor({ watch, threshold: 0, minSamples: 0 })] });
      await harness.tick();
      const view = harness.watchers.monitors.find('errors');
      expect([view?.condition, view?.reading]).toEqual([
        'nominal',
        { samples: 0, note: 'it reads durable runs, and --runs-data is off' },
      ]);
      expect(view?.detail).toContain('--runs-data is off');
    },
  );

  it('says when only the newest runs of a large window were read', async () => {
    const harness = createWatchHarness({
      monitors: [aMonitor({ watch: 'run_repetition', threshold: 1e9 })],
      runs: { listRunShapes: async () => Array.from({ length: MOST_SHAPES }, () => aShape()) },
    });
    await harness.tick();
    expect(harness.watchers.monitors.find('errors')?.detail).toContain('only the newest 5000 runs');
  });

  it('a window of unpriced runs has no cost, which is not a cost of zero', async () => {
    const harness = createWatchHarness({
      monitors: [aMonitor({ watch: 'cost', compare: 'below', threshold: 5 })],
    });
    await harness.tick();
    const view = harness.watchers.monitors.find('errors');
    expect([view?.condition, view?.reading?.value]).toEqual(['nominal', undefined]);
    expect(view?.detail).toContain('none of its runs was priced');
  });

  it.each([
    ['a rate leaves them out of both its parts', { failed: 10, cancelled: 50 }, { value: 0.2, samples: 50 }],
    ['of cancelled runs alone there is no rate', { failed: 0, cancelled: 100 }, { samples: 0 }],
  ])('cancelled runs neither succeeded nor failed: %s', async (_what, counts, reading) => {
    const harness = createWatchHarness({ monitors: [aMonitor(), aMonitor({ id: 'count', watch: 'trace_count' })] });
    Object.assign(harness.now, counts);
    await harness.tick();
    expect(harness.watchers.monitors.find('errors')?.reading).toEqual(reading);
    expect(harness.watchers.monitors.find('count')?.reading).toEqual({ value: 100, samples: 100 });
  });

  it('a cancelled run is in no success rate of an SLO', async () => {
    const harness = createWatchHarness({ slos: [anSlo()] });
    Object.assign(harness.now, { failed: 1, cancelled: 60 });
    await harness.tick();
    const share = { runs: 40, failed: 1 };
    expect(harness.watchers.slos.find('works')?.reading).toEqual({ window: share, sixHours: share, hour: share });
  });

  it('an SLO reads its window, the last six hours and the last hour', async () => {
    const harness = createWatchHarness({ slos: [anSlo()] });
    await harness.tick();
    expect(harness.asked.map(({ seconds }) => seconds)).toEqual([30 * 86_400, 6 * 3_600, 3_600]);
  });

  it('monitors and SLOs of the same project and window share a read', async () => {
    const harness = createWatchHarness({
      monitors: [
        aMonitor({ id: 'a', windowSeconds: 3600 }),
        aMonitor({ id: 'b', watch: 'cost', windowSeconds: 3600 }),
        aMonitor({ id: 'c', watch: 'trace_count', windowSeconds: 3600 }),
        aMonitor({ id: 'd', project: 'other', windowSeconds: 3600 }),
      ],
      slos: [anSlo()],
    });
    await harness.tick();
    expect(harness.asked.map(({ seconds, window }) => [window.project, seconds])).toEqual([
      ['shop', 3600],
      ['other', 3600],
      ['shop', 30 * 86_400],
      ['shop', 6 * 3600],
    ]);
  });

  it('`enabled: false` is listed and never read', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor({ enabled: false })] });
    await harness.tick();
    expect(harness.asked).toEqual([]);
    expect(harness.watchers.monitors.list()).toMatchObject([
      { condition: 'nominal', detail: 'disabled: it is not evaluated', definition: { enabled: false } },
    ]);
    expect(harness.watchers.actors()).toEqual([]);
    expect(codeOf(harness.watchers.monitors.acknowledge('errors'))).toBe('conflict');
  });
});

describe('reports', () => {
  it('a trip is one structured log line (monitor id, project, threshold, measured value) and one POST', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor({ webhook: 'http://receiver.test/secret' })] });
    harness.now.failed = 30;
    await harness.tick();
    await harness.tick();
    expect(harness.lines).toEqual([
      {
        level: 'warn',
        message: 'monitor tripped',
        fields: {
          monitor_id: 'errors',
          project: 'shop',
          condition: 'tripped',
          watch: 'error_rate',
          threshold: 0.1,
          value: 0.3,
          samples: 100,
          detail: 'error_rate is 0.3 over 100 runs of the last 5 min, reports when above 0.1',
        },
      },
    ]);
    expect(harness.sent.map(({ webhook, report }) => [webhook, report.condition])).toEqual([
      ['http://receiver.test/secret', 'tripped'],
    ]);
  });

  it('a recovery is one too; without a webhook there is the log line alone', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor()] });
    harness.now.failed = 30;
    await harness.tick();
    harness.now.failed = 10;
    await harness.tick();
    await harness.tick();
    expect(harness.reports()).toEqual(['tripped', 'nominal']);
    expect(harness.lines.at(-1)).toMatchObject({ level: 'info', message: 'monitor is back to nominal' });
    expect(harness.sent).toEqual([]);
  });

  it('an SLO tells `slo_burn` and both burn rates', async () => {
    const harness = createWatchHarness({ slos: [anSlo({ webhook: 'http://receiver.test/' })] });
    harness.now.failed = 20;
    await harness.tick();
    expect(harness.sent.map(({ report }) => report)).toEqual([
      {
        type: 'slo',
        id: 'works',
        name: 'Refunds work',
        project: 'shop',
        condition: 'tripped',
        watch: 'slo_burn',
        threshold: 14.4,
        value: 40,
        samples: 100,
        detail:
          'burn rate 40 over 1 h (100 runs) and burn rate 40 over 6 h (100 runs), reports when above 14.4 and 6; 80 % of 100 runs succeeded in 30 d, objective 99.5 %',
        at: harness.time.now(),
      },
    ]);
  });
});

describe('acknowledging', () => {
  it('a tripped monitor or SLO is acknowledged, and returns to nominal on its own', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor()], slos: [anSlo()] });
    const { monitors, slos } = harness.watchers;
    const conditions = () => [monitors.find('errors')?.condition, slos.find('works')?.condition];
    harness.now.failed = 30;
    await harness.tick();
    const trippedAt = harness.time.now();
    harness.time.advance(500);
    for (const view of [must(monitors.acknowledge('errors')), must(slos.acknowledge('works'))])
      expect(view).toMatchObject({ condition: 'acknowledged', trippedAt, acknowledgedAt: trippedAt + 500 });
    await harness.tick();
    expect(conditions()).toEqual(['acknowledged', 'acknowledged']);
    harness.now.failed = 0;
    await harness.tick();
    expect(conditions()).toEqual(['nominal', 'nominal']);
    expect(harness.reports()).toEqual(['tripped', 'tripped', 'nominal', 'nominal']);
  });

  it('again changes nothing: the first acknowledgement counts', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor()] });
    harness.now.failed = 30;
    await harness.tick();
    const { acknowledgedAt } = must(harness.watchers.monitors.acknowledge('errors'));
    harness.time.advance(500);
    expect(must(harness.watchers.monitors.acknowledge('errors')).acknowledgedAt).toBe(acknowledgedAt);
  });

  it('a nominal one is a conflict, an unknown one is not found', () => {
    const { watchers } = createWatchHarness({ monitors: [aMonitor()] });
    const refused = watchers.monitors.acknowledge('errors');
    expect(refused).toEqual({
      ok: false,
      failure: { code: 'conflict', message: 'monitor errors is nominal; only a tripped one can be acknowledged' },
    });
    expect(codeOf(watchers.monitors.acknowledge('works'))).toBe('not_found');
    expect(codeOf(watchers.slos.acknowledge('errors'))).toBe('not_found');
  });
});

describe('what is remembered', () => {
  it('the last 1,000 evaluations, newest first, in pages', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor({ threshold: 1000, watch: 'trace_count' })] });
    for (let n = 1; n <= KEPT_EVALUATIONS + 5; n += 1) {
      harness.now.runs = n;
      await harness.tick();
    }
    const all = harness.watchers.monitors.history('errors', 5000);
    expect([all.length, all[0]?.no, all.at(-1)?.no]).toEqual([1000, 1005, 6]);
    expect(all.slice(0, 5).map(({ reading, condition }) => [reading?.value, condition])).toEqual([
      [1005, 'tripped'],
      [1004, 'tripped'],
      [1003, 'tripped'],
      [1002, 'tripped'],
      [1001, 'tripped'],
    ]);
    expect(harness.watchers.monitors.history('errors', 2, 1001).map(({ no }) => no)).toEqual([1000, 999]);
    expect(harness.watchers.monitors.history('nobody', 2)).toEqual([]);
  });

  it('the mailbox counts the evaluation that an actor waits for: queued, being read, and none once it is taken or given up', async () => {
    const answers: (() => void)[] = [];
    const harness = createWatchHarness({
      monitors: ['a', 'b', 'c'].map((id) => aMonitor({ id, project: id })),
      readingMs: 1000,
      signals: {
        ...createFakeSignals().signals,
        runTotals: () => new Promise((resolve) => answers.push(() => resolve({ runs: 100, failed: 0, cancelled: 0 }))),
      },
    });
    const mailboxes = () => harness.watchers.actors().map(({ mailbox }) => mailbox);
    expect(mailboxes()).toEqual([0, 0, 0]);
    const round = harness.watchers.tick();
    await settle();
    // Two read, the third waits for one of them.
    expect([answers.length, mailboxes()]).toEqual([2, [1, 1, 1]]);
    answers[0]?.();
    await settle();
    expect(mailboxes()).toEqual([0, 1, 1]);
    harness.time.advance(1000);
    await round;
    expect(mailboxes()).toEqual([0, 0, 0]);
    // The reads that were given up are still under way; their actors wait for nothing.
    const next = harness.watchers.tick();
    await settle();
    expect(mailboxes()).toEqual([1, 0, 0]);
    answers.at(-1)?.();
    await next;
  });

  it('the version counts the changes of a snapshot: evaluations, misses and acknowledgements', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor()] });
    const version = () => harness.watchers.actors()[0]?.version;
    expect(version()).toBe(1);
    harness.now.failed = 50;
    await harness.tick();
    expect(version()).toBe(2);
    must(harness.watchers.monitors.acknowledge('errors'));
    must(harness.watchers.monitors.acknowledge('errors'));
    expect(version()).toBe(3);
  });

  it('state starts nominal at each start, and a lasting condition is reported anew', async () => {
    for (let start = 0; start < 2; start += 1) {
      const harness = createWatchHarness({ monitors: [aMonitor()] });
      harness.now.failed = 50;
      expect(harness.watchers.monitors.find('errors')).toMatchObject({
        condition: 'nominal',
        detail: 'not evaluated yet',
      });
      await harness.tick();
      expect(harness.reports()).toEqual(['tripped']);
    }
  });

  it('snapshots are visible like any actor’s', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor()], slos: [anSlo()] });
    harness.now.failed = 50;
    await harness.tick();
    expect(harness.watchers.actors()).toMatchObject([
      {
        type: 'monitor',
        id: 'errors',
        project: 'shop',
        machine: 'monitor',
        machineVersion: 1,
        value: 'tripped',
        status: 'active',
        version: 2,
        updatedAt: harness.time.now(),
        mailbox: 0,
        context: { rule: { compare: 'above', threshold: 0.1, minSamples: 20 }, reading: { value: 0.5, samples: 100 } },
      },
      { type: 'slo', id: 'works', machine: 'slo', value: 'tripped' },
    ]);
  });
});

describe('the timer', () => {
  const ended = async (harness: ReturnType<typeof createWatchHarness>): Promise<number> => {
    await settle();
    return harness.watchers.monitors.history('errors', 1000).length;
  };

  it('evaluates at the start and then every monitor_interval_seconds, on a grid', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor()] });
    harness.watchers.start();
    const counts: number[] = [];
    for (const ms of [0, 59_999, 1, 59_999, 1, 30_000, 30_000]) {
      harness.time.advance(ms);
      counts.push(await ended(harness));
    }
    expect(counts).toEqual([1, 1, 2, 2, 3, 3, 4]);
  });

  it('a process that slept does not make up for what it missed, and keeps to the grid', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor()] });
    harness.watchers.start();
    const counts: number[] = [];
    for (const ms of [0, 610_000, 49_999, 1]) {
      harness.time.advance(ms);
      counts.push(await ended(harness));
    }
    expect(counts).toEqual([1, 2, 2, 3]);
  });

  it('a wall clock that jumps moves the windows, not the period', async () => {
    const harness = createWatchHarness({ monitors: [aMonitor()] });
    harness.watchers.start();
    harness.time.advance(0);
    harness.time.jumpWall(-7_200_000);
    expect(await ended(harness)).toBe(1);
    harness.time.advance(60_000);
    expect(await ended(harness)).toBe(2);
    expect(harness.asked.at(-1)?.window.to).toBe(unixNanoFromMillis(harness.time.now()));
  });

  it('without anything to watch nothing is armed; after a close nothing happens any more', async () => {
    const idle = createWatchHarness();
    idle.watchers.start();
    const harness = createWatchHarness({ monitors: [aMonitor()] });
    harness.watchers.start();
    await harness.watchers.close();
    harness.time.advance(600_000);
    expect(await ended(harness)).toBe(0);
  });
});

describe('a store that is slow, away or broken', () => {
  /** Answers as the fake does, but for the window of 77 seconds. */
  const withBad = (bad: () => Promise<never>): { signals: WatchStore; calls: () => number } => {
    const { signals } = createFakeSignals();
    let calls = 0;
    return {
      calls: () => calls,
      signals: {
        ...signals,
        runTotals: (window) => {
          if (window.to - window.from !== 77n * 1_000_000_000n) return signals.runTotals(window);
          calls += 1;
          return bad();
        },
      },
    };
  };
  const many = (count: number): Monitor[] => [
    ...Array.from({ length: 3 }, (_, n) => aMonitor({ id: `a-bad-${n}`, project: `p${n}`, windowSeconds: 77 })),
    ...Array.from({ length: count }, (_, n) => aMonitor({ id: `good-${n}` })),
  ];

  it('one that hangs is given up after the deadline, delays no other round, and is not asked again meanwhile', async () => {
    const { signals, calls } = withBad(never);
    const harness = createWatchHarness({ monitors: many(20), signals, readingMs: 5000 });
    harness.watchers.start();
    harness.time.advance(0);
    await settle();
    // Two hang and hold both places, until the deadline lets the others through.
    for (let round = 0; round < 3; round += 1) {
      harness.time.advance(5000);
      await settle();
    }
    const evaluated = (id: string) => harness.watchers.monitors.find(id)?.evaluatedAt !== undefined;
    expect(Array.from({ length: 20 }, (_, n) => evaluated(`good-${n}`))).not.toContain(false);
    expect(harness.watchers.monitors.find('a-bad-0')).toMatchObject({
      condition: 'nominal',
      detail: 'nothing was read: the store did not answer within 5000 ms',
    });
    for (let minute = 0; minute < 10; minute += 1) {
      harness.time.advance(minute === 0 ? 45_000 : 60_000);
      await settle();
    }
    expect(calls()).toBe(3);
    expect(harness.watchers.monitors.history('good-7', 100)).toHaveLength(11);
    expect(harness.watchers.monitors.history('a-bad-1', 100)).toHaveLength(11);
    expect(harness.watchers.monitors.find('a-bad-1')?.detail).toContain('the evaluation before this one still reads');
  });

  it('an answer that comes after its deadline changes nothing; the next evaluation counts', async () => {
    let answer: ((totals: RunTotals) => void) | undefined;
    const { signals } = createFakeSignals();
    let isSlow = true;
    const harness = createWatchHarness({
      monitors: [aMonitor()],
      readingMs: 1000,
      signals: {
        ...signals,
        runTotals: (window) => (isSlow ? new Promise((resolve) => void (answer = resolve)) : signals.runTotals(window)),
      },
    });
    const round = harness.watchers.tick();
    await settle();
    harness.time.advance(1000);
    await round;
    answer?.({ runs: 100, failed: 100, cancelled: 0 });
    await settle();
    expect(harness.reports()).toEqual([]);
    isSlow = false;
    await harness.tick();
    expect(harness.watchers.monitors.find('errors')?.reading).toEqual({ value: 0, samples: 100 });
  });

  it('one that is away leaves every condition as it was, and is logged in one line a round', async () => {
    const { signals } = createFakeSignals();
    let isAway = false;
    const harness = createWatchHarness({
      monitors: many(3),
      signals: {
        ...signals,
        runTotals: (window) =>
          isAway
            ? Promise.reject(new StoreUnavailable('signal store: /data/svc.db: disk I/O error'))
            : Promise.resolve({ runs: 100, failed: window.project === 'shop' ? 50 : 0, cancelled: 0 }),
      },
    });
    await harness.tick();
    isAway = true;
    await harness.tick();
    expect(harness.watchers.monitors.list().map(({ condition }) => condition)).toEqual([
      ...['nominal', 'nominal', 'nominal'],
      ...['tripped', 'tripped', 'tripped'],
    ]);
    expect(harness.watchers.monitors.find('good-0')).toMatchObject({
      detail: 'nothing was read: the store is unavailable',
      reading: { value: 0.5 },
    });
    expect(harness.lines.filter(({ fields }) => 'missed' in fields)).toEqual([
      {
        level: 'warn',
        message: 'evaluations read nothing',
        fields: { missed: 6, of: 6, reason: 'the store is unavailable' },
      },
    ]);
    isAway = false;
    await harness.tick();
    expect(harness.reports()).toEqual(['tripped', 'tripped', 'tripped']);
  });

  it('a bug in one reading is logged and stops no other', async () => {
    const { signals } = withBad(() => Promise.reject(new TypeError('x is not a function')));
    const harness = createWatchHarness({ monitors: many(2), signals });
    await harness.tick();
    expect(harness.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields['actor'])).toEqual([
      'monitor/a-bad-0',
      'monitor/a-bad-1',
      'monitor/a-bad-2',
    ]);
    expect(harness.watchers.monitors.find('good-1')?.reading).toBeDefined();
  });

  it('a stop waits for no reading', async () => {
    const { signals } = withBad(never);
    const harness = createWatchHarness({ monitors: many(2), signals });
    void harness.watchers.tick();
    await settle();
    await harness.watchers.close();
    expect(harness.watchers.monitors.find('a-bad-0')?.detail).toBe('not evaluated yet');
  });
});

describe('a month on a virtual clock', () => {
  it('43,200 evaluations of each: exactly one report for each transition', async () => {
    const MINUTES = 30 * 24 * 60;
    const harness = createWatchHarness({
      monitors: [aMonitor(), aMonitor({ id: 'quiet', watch: 'trace_count', compare: 'below', threshold: 50 })],
      slos: [anSlo()],
    });
    // An incident every 1,000 minutes, 90 long; a quiet quarter of an hour every 700; silence every 4,321.
    const transitions: Record<string, Condition[]> = { errors: [], quiet: [], works: [] };
    const last: Record<string, Condition> = { errors: 'nominal', quiet: 'nominal', works: 'nominal' };
    const move = (id: string, isOutside: boolean): void => {
      const to = isOutside ? 'tripped' : 'nominal';
      if (last[id] === to) return;
      last[id] = to;
      transitions[id]?.push(to);
    };
    for (let minute = 0; minute < MINUTES; minute += 1) {
      const isBad = minute % 1000 > 910;
      const runs = minute % 4321 < 7 ? 3 : minute % 700 < 15 ? 40 : 200;
      Object.assign(harness.now, { runs, failed: isBad ? Math.ceil(runs * 0.2) : 0 });
      await harness.tick();
      if (runs < 20) continue;
      move('errors', isBad);
      move('works', isBad);
      move('quiet', runs < 50);
    }
    const reported = (id: string) =>
      harness.lines
        .filter(({ fields }) => (fields['monitor_id'] ?? fields['slo_id']) === id)
        .map(({ fields }) => fields['condition']);
    for (const id of ['errors', 'quiet', 'works']) expect([id, reported(id)]).toEqual([id, transitions[id]]);
    expect(transitions['errors']).toHaveLength(86);
    expect(harness.watchers.slos.history('works', 2)[0]?.no).toBe(MINUTES);
  });

  it('any month of readings is reported as a naive model reports it', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ runs: fc.integer({ min: 0, max: 40 }), share: fc.constantFrom(0, 0.1, 0.11, 1) }), {
          maxLength: 60,
        }),
        async (minutes) => {
          const harness = createWatchHarness({ monitors: [aMonitor()] });
          const expected: string[] = [];
          for (const { runs, share } of minutes) {
            const failed = Math.round(runs * share);
            Object.assign(harness.now, { runs, failed });
            await harness.tick();
            if (runs < 20) continue;
            const to = failed / runs > 0.1 ? 'tripped' : 'nominal';
            if ((expected.at(-1) ?? 'nominal') !== to) expected.push(to);
          }
          expect(harness.reports()).toEqual(expected);
          expect(harness.watchers.monitors.find('errors')?.condition).toBe(expected.at(-1) ?? 'nominal');
        },
      ),
      { numRuns: 100 },
    ));
});
