import { describe, expect, it } from 'vitest';
import { finishedVisits, stepTimesOf } from '../../../src/actors/service/stalled-runs.ts';
import type { JournalEntry } from '../../../src/model/run.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, type Harness, must, tasks } from '../run-harness.ts';

const entry = (at: number, kind: JournalEntry['kind'], more: Partial<JournalEntry> = {}): JournalEntry => ({
  seq: at,
  kind,
  at,
  data: {},
  ...more,
});
const enters = (at: number, stepId: string): JournalEntry => entry(at, 'cursor.moved', { stepId });

describe('the finished visits of a journal', () => {
  it('end with the next step, or with the success of the run', () => {
    const succeeds = entry(9, 'run.finished', { data: { status: 'succeeded' } });
    expect(finishedVisits([enters(0, 'a'), enters(2, 'b'), enters(5, 'a'), succeeds])).toEqual([
      { step: 'a', tookMs: 2 },
      { step: 'b', tookMs: 3 },
      { step: 'a', tookMs: 4 },
    ]);
  });

  it('leave out the visit in which the run failed, was paused, or still is', () => {
    const fails = entry(9, 'run.finished', { data: { status: 'failed' } });
    expect(finishedVisits([enters(0, 'a'), enters(2, 'b'), fails])).toEqual([{ step: 'a', tookMs: 2 }]);
    expect(finishedVisits([enters(0, 'a'), entry(1, 'run.paused'), entry(5, 'run.unpaused'), enters(9, 'b')])).toEqual(
      [],
    );
    expect(finishedVisits([enters(0, 'a')])).toEqual([]);
  });

  it('say what is usual from ten of them on: what 95 of 100 took at most', () => {
    const took = (count: number) => Array.from({ length: count }, (_, index) => ({ step: 'a', tookMs: index + 1 }));
    expect(stepTimesOf(took(9)).size).toBe(0);
    expect(stepTimesOf(took(10)).get('a')).toEqual({ usualMs: 10, visits: 10 });
    expect(stepTimesOf(took(100).toReversed()).get('a')).toEqual({ usualMs: 95, visits: 100 });
  });
});

onEachEngine('a run whose step is open for longer than is usual', ({ createHarness }) => {
  const open = async (visits: number): Promise<Harness> => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'))] });
    for (let run = 0; run < visits; run += 1) {
      await service.start('flow');
      const lease = await service.take();
      await service.pass(1000);
      must(await service.complete(lease));
      must(await service.complete(await service.take()));
    }
    return service;
  };
  const stalled = async (service: Harness, more: object = {}) =>
    must(await service.runs.listStalledRuns({ ...ALL, limit: 9, ...more }));

  it('is found, with what is usual and since when it is there, and by its id', async () => {
    const service = await open(10);
    const { runId } = await service.start('flow');
    await service.pass(1000);
    expect(await stalled(service)).toEqual({ runs: [], isCut: false });
    await service.pass(1);
    const { runs, isCut } = await stalled(service);
    expect(isCut).toBe(false);
    expect(runs).toMatchObject([{ runId, cursor: 'one', usualMs: 1000, visits: 10 }]);
    expect((await stalled(service, { runId })).runs).toMatchObject([{ runId }]);
    const other = await service.start('flow');
    expect((await stalled(service, { runId: other.runId })).runs).toEqual([]);
    await service.pass(2000);
    expect((await stalled(service)).runs.map((run) => run.runId)).toEqual([runId, other.runId]);
    expect(await stalled(service, { limit: 1 })).toMatchObject({ runs: [{ runId }], isCut: true });
  });

  it('is not judged from fewer than ten finished visits, nor while it is paused, nor once it has ended', async () => {
    const few = await open(9);
    await few.start('flow');
    await few.pass(60_000);
    expect((await stalled(few)).runs).toEqual([]);

    const service = await open(10);
    const { runId } = await service.start('flow');
    await service.pass(60_000);
    must(await service.runs.pauseRun({ ...ALL, runId }));
    expect((await stalled(service)).runs).toEqual([]);
    expect((await stalled(service, { runId })).runs).toEqual([]);
    must(await service.runs.cancelRun({ ...ALL, runId }));
    expect((await stalled(service, { runId })).runs).toEqual([]);
  });
});
