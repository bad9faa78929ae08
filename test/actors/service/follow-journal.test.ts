import { describe, expect, it } from 'vitest';
import { createFollowers, ENDS_AWAITED } from '../../../src/actors/service/follow-journal.ts';
import type { RunRecord } from '../../../src/store/runs/run-store.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, createFakeClock, must, settled, tasks } from '../run-harness.ts';

onEachEngine('following a journal', ({ createHarness }) => {
  it('the journal can be followed: pages in committed order until the run has ended', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    const { runId } = await service.start('flow');
    const stream = must(await service.runs.followJournal({ ...ALL, runId, after: 0 }, new AbortController().signal));
    const read = (async () => {
      const seen: number[] = [];
      for await (const entries of stream) seen.push(...entries.map(({ seq }) => seq));
      return seen;
    })();
    const lease = await service.take();
    await settled(service.runs);
    must(await service.complete(lease));
    expect(await read).toEqual([1, 2, 3, 4, 5]);
    const over = must(await service.runs.followJournal({ ...ALL, runId, after: 5 }, new AbortController().signal));
    const after: unknown[] = [];
    for await (const entries of over) after.push(...entries);
    expect(after).toEqual([]);
  });

  it('a follower ends when its reader goes away and when the service closes', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    const { runId } = await service.start('flow');
    const gone = new AbortController();
    const count = async (signal: AbortSignal): Promise<number> => {
      let pages = 0;
      for await (const _ of must(await service.runs.followJournal({ ...ALL, runId, after: -1 }, signal))) pages += 1;
      return pages;
    };
    const left = count(gone.signal);
    const kept = count(new AbortController().signal);
    await settled(service.runs);
    gone.abort();
    expect(await left).toBe(1);
    await service.runs.close();
    expect(await kept).toBe(1);
  });
});

describe('waiting for the end of runs', () => {
  it(`${ENDS_AWAITED} calls may wait at once, and one more may not until one of them is answered`, async () => {
    const closing = new AbortController();
    const followers = createFollowers(
      { journal: async () => [] },
      { recordOf: async () => ({ status: 'running' }) as RunRecord },
      createFakeClock().clock,
      closing.signal,
    );
    const waits = Array.from({ length: ENDS_AWAITED - 1 }, () => followers.untilEnded('one', 60_000, undefined));
    expect(followers.mayAwaitEnd()).toBe(true);
    const last = followers.untilEnded('other', 60_000, undefined);
    expect(followers.mayAwaitEnd()).toBe(false);
    followers.wake('other', 'succeeded');
    await last;
    expect(followers.mayAwaitEnd()).toBe(true);
    closing.abort();
    await Promise.all(waits);
    expect(followers.endsAwaited()).toBe(0);
  });
});
