import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, must, tasks } from '../run-harness.ts';

onEachEngine('paused definitions with due work', ({ createHarness }) => {
  it('are those of which runs are held or queued', async () => {
    const { runs, start, time } = await createHarness({
      definitions: [aDefinition('flow', tasks('one')), aDefinition('other', tasks('one'))],
    });
    await start('flow');
    await start('other');
    expect(await runs.findPausedWork()).toEqual([]);
    const since = time.now();
    must(await runs.pauseDefinition({ ...ALL, id: 'flow', reason: 'broken prompt' }));
    await start('flow');
    expect(await runs.findPausedWork()).toEqual([
      { owner: '', id: 'flow', since, reason: 'broken prompt', runs: 2, isMore: false },
    ]);
    must(await runs.resumeDefinition({ ...ALL, id: 'flow' }));
    expect(await runs.findPausedWork()).toEqual([]);
  });

  it('are not those of which every run is with a worker, paused by itself, or yet to begin', async () => {
    const { runs, start, take, time } = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    await start('flow');
    await take();
    const { runId } = await start('flow');
    must(await runs.pauseRun({ ...ALL, runId }));
    await start('flow', {}, { startAt: { at: time.now() + 60_000 } });
    must(await runs.pauseDefinition({ ...ALL, id: 'flow' }));
    expect(await runs.findPausedWork()).toEqual([]);
  });
});
