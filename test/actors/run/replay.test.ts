import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, must, task } from '../run-harness.ts';

onEachEngine('looking back', ({ createHarness }) => {
  it('the snapshot at any seq is what the run was after that entry', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('one', { next: [{ when: 'visits.one >= 30', to: 'end' }, { to: 'one' }] })]),
      ],
    });
    const { runId } = await service.start('flow');
    const seen = new Map<number, unknown>();
    const note = async (): Promise<void> => {
      const seq = (await service.journal(runId)).at(-1)?.seq ?? -1;
      seen.set(seq, must(await service.runs.getActor({ ...ALL, type: 'run', id: runId })));
    };
    await note();
    for (let n = 0; n < 30; n += 1) {
      const [lease] = await service.claim();
      await note();
      must(await service.complete(lease as never));
      await note();
    }
    for (const [seq, now] of seen) {
      const { value, context } = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: seq }));
      expect({ value, context }).toEqual({
        value: (now as { value: unknown }).value,
        context: (now as { context: unknown }).context,
      });
    }
    expect(codeOf(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: 100_000 }))).toBe('not_found');
  });

  it('looks back past a checkpoint', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [task('one', { next: [{ when: 'visits.one >= 300', to: 'end' }, { to: 'one' }] })]),
      ],
    });
    const { runId } = await service.start('flow');
    for (let n = 0; n < 300; n += 1) must(await service.complete(await service.take()));
    expect(await service.store.checkpoint(runId, 10_000)).toBeDefined();
    const end = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId }));
    const journal = [];
    for (let after = -1; ; ) {
      const page = must(await service.runs.journal({ ...ALL, runId, after, limit: 500 }));
      if (page.events.length === 0) break;
      journal.push(...page.events);
      after = page.nextAfter;
    }
    expect(journal.map(({ seq }) => seq)).toEqual(journal.map((_, index) => index));
    const atEnd = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: journal.length - 1 }));
    expect({ value: atEnd.value, context: atEnd.context }).toEqual({ value: end.value, context: end.context });
    const leased = journal.filter(({ kind }) => kind === 'step.leased')[200];
    const then = must(await service.runs.getActor({ ...ALL, type: 'run', id: runId, atSeq: leased?.seq ?? -1 }));
    expect(then.value).toEqual({ active: { one: 'leased' } });
    expect(then.context).toMatchObject({ visits: { one: 201 }, leaseId: leased?.leaseId });
  });
});
