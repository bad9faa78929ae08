import { expect, it } from 'vitest';
import { onEachEngine } from '../engines.ts';
import { aDefinition, tasks } from '../run-harness.ts';

onEachEngine('being busy', ({ createHarness }) => {
  it('is busy for 50 ms after a call, and not by its own timers', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    service.time.advance(50);
    await service.runs.tick();
    expect(service.runs.isBusy()).toBe(false);
    await service.start('flow');
    service.time.advance(49);
    expect(service.runs.isBusy()).toBe(true);
    service.time.advance(1);
    expect(service.runs.isBusy()).toBe(false);
  });
});
