import { describe, expect, it } from 'vitest';
import { aDefinition, codeOf, createHarness, must, tasks } from './run-harness.ts';

describe('a run of tasks', () => {
  it('goes through its steps in order and ends with the output of the last', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one', 'two'))] });
    const run = await service.start('flow', { n: 1 });
    expect(run.status).toBe('queued');
    const one = await service.take();
    expect(one).toMatchObject({ stepId: 'one', visit: 1, attempt: 1, steps: {} });
    expect(must(await service.complete(one, { a: 1 }))).toMatchObject({ nextStep: 'two' });
    const two = await service.take();
    expect(two.steps).toEqual({ one: { output: { a: 1 } } });
    expect(must(await service.complete(two, 'end'))).toEqual({ runStatus: 'succeeded' });
    const ended = await service.detail(run.runId);
    expect(ended).toMatchObject({ status: 'succeeded', output: 'end', stepCount: 2 });
    expect(ended.attempts.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
    expect(await service.kinds(run.runId)).toEqual([
      'run.started',
      'cursor.moved',
      'step.leased',
      'step.started',
      'step.finished',
      'cursor.moved',
      'step.leased',
      'step.started',
      'step.finished',
      'run.finished',
    ]);
    expect((await service.journal(run.runId)).map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(service.faults).toEqual([]);
  });

  it('answers already_applied to a complete that is sent again', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    await service.start('flow');
    const lease = await service.take();
    must(await service.complete(lease));
    expect(codeOf(await service.complete(lease))).toBe('already_applied');
  });
});
