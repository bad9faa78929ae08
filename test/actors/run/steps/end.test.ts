import { expect, it } from 'vitest';
import { onEachEngine } from '../../engines.ts';
import { aDefinition, must, task } from '../../run-harness.ts';

onEachEngine('succeed and fail steps', ({ createHarness }) => {
  it('succeed ends the run with its rendered output', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('pay'), { id: 'done', kind: 'succeed', output: { paid: '${steps.pay.output.ok}' } }]),
      ],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), { ok: 1 }));
    expect(await service.detail(runId)).toMatchObject({ status: 'succeeded', output: { paid: 1 }, stepCount: 2 });
  });

  it('succeed without an output hands on that of the step before', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [task('pay'), { id: 'done', kind: 'succeed' }])],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take(), 'x'));
    expect(await service.detail(runId)).toMatchObject({ status: 'succeeded', output: 'x' });
  });

  it('fail ends the run as failed with class fatal and its code', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [task('one'), { id: 'refused', kind: 'fail', code: 'refused' }])],
    });
    const { runId } = await service.start('flow');
    must(await service.complete(await service.take()));
    expect(await service.detail(runId)).toMatchObject({
      status: 'failed',
      error: { class: 'fatal', code: 'refused', stepId: 'refused' },
    });
  });
});
