import { expect, it } from 'vitest';
import type { RunningRuns } from '../../src/actors/start.ts';
import { onEachEngine } from './engines.ts';
import { ALL, aDefinition, codeOf, must, task, tasks } from './run-harness.ts';

const none = { scheduled: 0, queued: 0, running: 0, waiting: 0, paused: 0 };
const definitions = [
  aDefinition('flow', tasks('one')),
  aDefinition('ask', [{ id: 'wait', kind: 'wait_event', event: 'go' }]),
  aDefinition('tree', [{ id: 'kids', kind: 'child', definition: 'flow', for_each: [1, 2, 3] }, task('last')]),
];
/** By the rows, as the lists give them. */
const listed = async (runs: RunningRuns) => {
  const { items } = must(await runs.listRuns({ ...ALL, reach: ['p'], limit: 1000 }));
  const open: Record<string, number> = { ...none };
  for (const { status } of items) if (status in open) open[status] = (open[status] ?? 0) + 1;
  return open;
};

onEachEngine('runs counted by status', ({ createHarness }) => {
  it('are those of the lists, whatever becomes of a run, and over a restart of the service', async () => {
    const service = await createHarness({ definitions });
    const { runs } = service;
    const same = async (of: RunningRuns): Promise<void> => expect(of.runCounts().open).toEqual(await listed(of));
    expect(runs.runCounts()).toEqual({ open: none, ended: { succeeded: 0, failed: 0, cancelled: 0 } });
    const asks = [await service.start('ask'), await service.start('ask')];
    await service.start('tree');
    await runs.tick();
    await service.start('flow', {}, { startAt: { afterMs: 60_000 } });
    expect(runs.runCounts().open).toEqual({ scheduled: 1, queued: 3, running: 0, waiting: 3, paused: 0 });
    const { leaseId } = await service.take();
    expect(runs.runCounts().open).toMatchObject({ queued: 2, running: 1 });
    must(await runs.complete({ ...ALL, leaseId, workerId: 'w1', output: 1 }));
    must(await runs.pauseRun({ ...ALL, runId: asks[0]?.runId ?? '' }));
    must(await runs.cancelRun({ ...ALL, runId: asks[1]?.runId ?? '' }));
    // A call that is refused counts nothing.
    expect(codeOf(await runs.pauseRun({ ...ALL, runId: asks[1]?.runId ?? '' }))).toBe('run_terminal');
    await same(runs);
    expect(runs.runCounts()).toEqual({
      open: { scheduled: 1, queued: 2, running: 0, waiting: 1, paused: 1 },
      ended: { succeeded: 1, failed: 0, cancelled: 1 },
    });
    const again = await service.reopen();
    await same(again);
    expect(again.runCounts().ended).toEqual({ succeeded: 0, failed: 0, cancelled: 0 });
    // Runs that have ended go without being counted out.
    await again.trimFinishedRuns('p', Number.MAX_SAFE_INTEGER, 50);
    await same(again);
  });
});
