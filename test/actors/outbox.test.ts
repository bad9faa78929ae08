import { expect, it } from 'vitest';
import { onEachEngine } from './engines.ts';
import { aDefinition, tasks } from './run-harness.ts';

onEachEngine('the outbox', ({ createHarness }) => {
  it('keeps spans in the outbox while the trace store is away', async () => {
    let away = true;
    const spans: string[] = [];
    const service = await createHarness({
      definitions: [aDefinition('flow', tasks('one'))],
      writeSpans: async (batch) => {
        if (away) throw new Error('away');
        spans.push(...batch.map(({ name }) => name));
      },
    });
    await service.start('flow');
    await expect(service.runs.flushOutbox()).rejects.toThrow('away');
    expect((await service.store.readOutbox(0, 10)).length).toBe(1);
    away = false;
    await service.runs.flushOutbox();
    expect(spans).toEqual(['flow']);
  });
});
