import { describe, expect, it } from 'vitest';
import pino from 'pino';
import { readSettings, type Settings } from '../../src/cli/settings.ts';
import { openWatchers, watchWarnings } from '../../src/cli/watch.ts';
import { createCounters } from '../../src/model/counters.ts';
import { createMemoryWatchJournal } from '../../src/store/runs/memory/watch-journal.ts';
import { createFakeSignals } from '../watch/watch-harness.ts';

const settingsOf = (config: object): Settings => {
  const read = readSettings({
    given: { 'config-file': ['c.json'], project: ['shop'] },
    environment: {},
    readTextFile: () => JSON.stringify(config),
  });
  if (!read.ok) throw new Error(read.problem);
  return read.value;
};
const watchersOf = (config: object) =>
  openWatchers(settingsOf(config), {
    signals: createFakeSignals().signals,
    runs: undefined,
    journal: createMemoryWatchJournal(),
    counters: createCounters(),
    log: pino({ level: 'silent' }),
  });

describe('monitors and SLOs of the config file', () => {
  it('are watched with the defaults of the specification', async () => {
    const { monitors, slos } = await watchersOf({
      monitors: [
        { id: 'm', watch: 'score_mean', scorer_id: 's', compare: 'below', threshold: 0.5, window_seconds: 60 },
        { id: 'd', watch: 'step_count_divergence', window_seconds: 60, enabled: false },
      ],
      slos: [{ id: 'o', objective: 0.99, window_days: 7, name: 'O', project: 'p', webhook: 'http://h.test/x' }],
    });
    expect(monitors.list().map(({ definition }) => definition)).toEqual([
      {
        id: 'd',
        name: 'd',
        project: 'shop',
        enabled: false,
        watch: 'step_count_divergence',
        compare: 'above',
        threshold: 0,
        windowSeconds: 60,
        minSamples: 20,
      },
      {
        id: 'm',
        name: 'm',
        project: 'shop',
        enabled: true,
        watch: 'score_mean',
        scorerId: 's',
        compare: 'below',
        threshold: 0.5,
        windowSeconds: 60,
        minSamples: 20,
      },
    ]);
    expect(slos.list().map(({ definition }) => definition)).toEqual([
      { id: 'o', name: 'O', project: 'p', webhook: 'http://h.test/x', objective: 0.99, windowDays: 7, minSamples: 20 },
    ]);
  });

  it('without any there is nothing to watch', async () => {
    const { monitors, slos, actors } = await watchersOf({});
    expect([monitors.list(), slos.list(), actors()]).toEqual([[], [], []]);
  });
});

describe('a monitor that cannot see an outage', () => {
  const traffic = { id: 'traffic', watch: 'trace_count', compare: 'below', threshold: 5, window_seconds: 60 };
  it.each([
    ['trace_count below, with the default min_samples', traffic, 1],
    ['with min_samples 0', { ...traffic, min_samples: 0 }, 0],
    ['above', { ...traffic, compare: 'above' }, 0],
    ['disabled', { ...traffic, enabled: false }, 0],
    ['another watch', { ...traffic, watch: 'error_rate' }, 0],
  ])('%s', (_name, monitor, warnings) =>
    expect(watchWarnings(settingsOf({ monitors: [monitor] }))).toHaveLength(warnings),
  );

  it('is named, with the way out', () =>
    expect(watchWarnings(settingsOf({ monitors: [traffic] }))).toEqual([
      'monitor traffic: trace_count below 5 does not see a window with fewer than its min_samples 20 runs, which is silence; set min_samples to 0 to trip when nothing arrives',
    ]));
});
