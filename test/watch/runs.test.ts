import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { temporaryFolder } from '../daemon.ts';
import { aDefinition, createHarness, must } from '../actors/run-harness.ts';
import { aMonitor, createWatchHarness } from './watch-harness.ts';

/** Goes round until its state says that it is done: each turn is one more visit of the same step. */
const looping = aDefinition('loop', [
  {
    id: 'look',
    kind: 'task',
    retry: { backoff_ms: 0 },
    next: [{ when: 'state.done == true', to: 'end' }, { to: 'look' }],
  },
]);

describe.each(['memory', 'sqlite'] as const)('monitors over real durable runs in %s', (engine) => {
  it('see the run that took many steps, and the mean of the most attempts that one node made', async () => {
    const folder = temporaryFolder();
    const store =
      engine === 'memory' ? createMemoryRunStore() : await openSqliteRunStore({ path: join(folder.path, 'runs.db') });
    const harness = await createHarness({ store, definitions: [looping] });
    const runOf = async (visits: number): Promise<void> => {
      await harness.start('loop');
      for (let visit = 1; visit <= visits; visit += 1)
        must(await harness.complete(await harness.take(), {}, { statePatch: { done: visit === visits } }));
    };
    for (let run = 0; run < 5; run += 1) await runOf(1);
    await runOf(7);
    // A failure that is retried is a second attempt within the same visit, and no step more.
    await harness.start('loop');
    must(await harness.fail(await harness.take(), 'retryable'));
    must(await harness.complete(await harness.take(), {}, { statePatch: { done: true } }));

    const { watchers, lines } = createWatchHarness({
      clock: harness.time.clock,
      runs: harness.runs,
      monitors: [
        aMonitor({ id: 'steps', project: 'p', watch: 'step_count_divergence', threshold: 0, minSamples: 7 }),
        aMonitor({ id: 'tries', project: 'p', watch: 'run_repetition', threshold: 2, minSamples: 7 }),
        aMonitor({ id: 'elsewhere', project: 'q', watch: 'run_repetition', threshold: 0, minSamples: 0 }),
      ],
    });
    harness.time.advance(1);
    await watchers.tick();
    expect(
      watchers.monitors.list().map(({ definition, condition, reading }) => [definition.id, condition, reading]),
    ).toEqual([
      ['elsewhere', 'nominal', { samples: 0 }],
      ['steps', 'tripped', { samples: 7, value: 1 / 7 }],
      ['tries', 'nominal', { samples: 7, value: (5 * 1 + 7 + 2) / 7 }],
    ]);
    expect(lines.map(({ fields }) => fields['monitor_id'])).toEqual(['steps']);

    // What ended before the window is not in it any more: silence, which is no recovery.
    harness.time.advance(300_001);
    await watchers.tick();
    expect(watchers.monitors.find('steps')).toMatchObject({ condition: 'tripped', reading: { samples: 0 } });
    await watchers.close();
    await harness.runs.close();
    folder.remove();
  });
});
