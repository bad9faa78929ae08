import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, tasks } from '../run-harness.ts';

onEachEngine('erasure and retention', ({ createHarness }) => {
  it('erases the finished runs of a person with their children, leaves unfinished ones untouched and counts them', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('kid', tasks('work')),
        aDefinition('flow', [{ id: 'sub', kind: 'child', definition: 'kid' }]),
        aDefinition('plain', tasks('one')),
      ],
    });
    const mine = { correlation: { user_id: 'u' }, idempotencyKey: 'k' };
    const done = await service.start('flow', {}, mine);
    must(await service.complete(await service.take(), 'secret'));
    const open = await service.start('plain', {}, { correlation: { user_id: 'u' } });
    const other = await service.start('plain', {}, { correlation: { user_id: 'v' } });
    const traceIds: string[] = [];
    const ofTrace = () => service.spans.filter(({ traceId }) => traceId === done.traceId);
    let sent = 0;
    const erased = must(
      await service.runs.eraseSubject({ ...ALL, userId: 'u' }, async (ids) => {
        traceIds.push(...ids);
        sent = ofTrace().length;
        return { deleted: ids.length, pending: true };
      }),
    );
    expect(erased).toEqual({ runsErased: 2, runsInFlight: 1, traces: { deleted: 1, pending: true } });
    expect(traceIds).toEqual([done.traceId]);
    expect(sent).toBeGreaterThan(0);
    expect(codeOf(await service.runs.getRun({ ...ALL, runId: done.runId }))).toBe('not_found');
    expect((await service.detail(open.runId)).status).toBe('queued');
    expect((await service.detail(other.runId)).status).toBe('queued');
    await service.runs.flushOutbox();
    // Every span had been sent before its trace was erased: none comes back.
    expect(ofTrace()).toHaveLength(sent);
    expect((await service.start('plain', {}, { idempotencyKey: 'k' })).runId).not.toBe(done.runId);
  });

  it('trims runs whose root ended before the boundary, and never unfinished ones', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    const old = await service.start('flow');
    must(await service.complete(await service.take()));
    const open = await service.start('flow');
    service.time.advance(1000);
    const boundary = service.time.now();
    expect(await service.runs.trimFinishedRuns('q', boundary, 100)).toBe(0);
    expect(await service.runs.trimFinishedRuns('p', boundary, 100)).toBe(1);
    expect(codeOf(await service.runs.getRun({ ...ALL, runId: old.runId }))).toBe('not_found');
    expect((await service.detail(open.runId)).status).toBe('queued');
    expect(must(await service.runs.getDefinition({ ...ALL, id: 'flow' })).id).toBe('flow');
  });
});
