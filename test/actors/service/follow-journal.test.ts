import { describe, expect, it } from 'vitest';
import { createFollowers, ENDS_AWAITED } from '../../../src/actors/service/follow-journal.ts';
import type { JournalEntry } from '../../../src/model/run.ts';
import type { JournalRow, RunRecord } from '../../../src/store/runs/run-store.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, createFakeClock, must, settled, tasks } from '../run-harness.ts';

onEachEngine('following a journal', ({ createHarness }) => {
  it('the journal can be followed: pages in committed order until the run has ended', async () => {
    const service = await createHarness({ definitions: [aDefinition('flow', tasks('one'))] });
    const { runId } = await service.start('flow');
    const { pages: stream } = must(
      await service.runs.followJournal({ ...ALL, runId, after: 0 }, new AbortController().signal),
    );
    const read = (async () => {
      const seen: number[] = [];
      for await (const entries of stream) seen.push(...entries.map(({ seq }) => seq));
      return seen;
    })();
    const lease = await service.take();
    await settled(service.runs);
    must(await service.complete(lease));
    expect(await read).toEqual([1, 2, 3, 4, 5]);
    const { pages: over } = must(
      await service.runs.followJournal({ ...ALL, runId, after: 5 }, new AbortController().signal),
    );
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
      for await (const _ of must(await service.runs.followJournal({ ...ALL, runId, after: -1 }, signal)).pages)
        pages += 1;
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
      () => {},
    );
    const untilEnded = (runId: string) => followers.untilEnded(runId, 60_000, undefined, async () => 'running');
    const waits = Array.from({ length: ENDS_AWAITED - 1 }, () => untilEnded('one'));
    expect(followers.mayAwaitEnd()).toBe(true);
    const last = untilEnded('other');
    expect(followers.mayAwaitEnd()).toBe(false);
    followers.wake('other', { status: 'succeeded', entries: [] });
    await last;
    expect(followers.mayAwaitEnd()).toBe(true);
    closing.abort();
    await Promise.all(waits);
    expect(followers.endsAwaited()).toBe(0);
  });
});

describe('a follower of a live run', () => {
  const entry = (seq: number, kind: JournalEntry['kind'] = 'cursor.moved'): JournalEntry => ({
    seq,
    kind,
    at: 0,
    data: {},
  });
  /** A journal whose reads are counted, and its followers. */
  const aJournal = (stored: JournalEntry[] = []) => {
    const closing = new AbortController();
    let reads = 0;
    let looks = 0;
    const followers = createFollowers(
      {
        journal: async (_, after) => {
          reads += 1;
          const entries = stored.filter(({ seq }) => seq > after);
          return entries.length === 0 ? [] : [{ entries: JSON.stringify(entries), events: '[]' } as JournalRow];
        },
      },
      {
        recordOf: async () => {
          looks += 1;
          return { status: stored.at(-1)?.kind === 'run.finished' ? 'succeeded' : 'running' } as RunRecord;
        },
      },
      createFakeClock().clock,
      closing.signal,
      () => {},
    );
    const commit = (...entries: JournalEntry[]): void => {
      stored.push(...entries);
      const status = entries.at(-1)?.kind === 'run.finished' ? 'succeeded' : 'running';
      followers.wake('r', { status, entries });
    };
    return { followers, commit, stored, reads: () => reads, looks: () => looks };
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const follow = (followers: ReturnType<typeof createFollowers>, after = -1) => {
    const seen: number[] = [];
    const ended = (async () => {
      for await (const entries of followers.follow('r', after, new AbortController().signal))
        seen.push(...entries.map(({ seq }) => seq));
    })();
    return { seen, ended };
  };

  it('is served from what commits wrote: once it has caught up, the store is not read again', async () => {
    const { followers, commit, reads, looks } = aJournal([entry(0), entry(1)]);
    const { seen, ended } = follow(followers);
    await turn();
    const before = [1, 0];
    expect([reads(), looks()]).toEqual(before);
    for (let seq = 2; seq < 500; seq += 1) {
      commit(entry(seq));
      await turn();
    }
    commit(entry(500), entry(501, 'run.finished'));
    await ended;
    expect(seen).toEqual(Array.from({ length: 502 }, (_, seq) => seq));
    expect([reads(), looks()]).toEqual(before);
  });

  it.each([
    [100, 0],
    [101, 1],
  ])('keeps what came while its reader was busy, up to 100 entries: %i of them cost %i pages', async (count, pages) => {
    const { followers, commit, reads } = aJournal();
    const stream = followers.follow('r', -1, new AbortController().signal)[Symbol.asyncIterator]();
    const first = stream.next();
    await turn();
    commit(entry(0));
    await first;
    const before = reads();
    for (let seq = 1; seq <= count; seq += 1) commit(entry(seq));
    const next = await stream.next();
    expect(next.done === true ? [] : next.value.map(({ seq }) => seq)).toEqual(
      Array.from({ length: count }, (_, at) => at + 1),
    );
    expect(reads() - before).toBe(pages);
  });

  it('reads what a commit wrote without waking it', async () => {
    const { followers, commit, stored } = aJournal();
    const { seen, ended } = follow(followers);
    await turn();
    stored.push(entry(0));
    commit(entry(1));
    await turn();
    commit(entry(2, 'run.finished'));
    await ended;
    expect(seen).toEqual([0, 1, 2]);
  });

  it('misses no end that comes while it reads for the first time', async () => {
    const { followers, commit } = aJournal([entry(0)]);
    const { seen, ended } = follow(followers, 0);
    commit(entry(1, 'run.finished'));
    await ended;
    expect(seen).toEqual([1]);
  });
});
