import { describe, expect, it } from 'vitest';
import { createCounters } from '../../src/model/counters.ts';
import { createMemoryWatchJournal } from '../../src/store/runs/memory/watch-journal.ts';
import type { WatchEntry, WatchJournal, WatchSnapshot } from '../../src/store/runs/watch-journal.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createWatchRecorder, MOST_WAITING, type WatchChange } from '../../src/watch/recorder.ts';
import { createFakeClock } from '../actors/run-harness.ts';
import { createLog, settle } from './watch-harness.ts';

const ofErrors = { type: 'monitor', id: 'errors', project: 'shop' } as const;
const aChange = (version: number, more: Partial<WatchChange> = {}): WatchChange => ({
  ...ofErrors,
  machineVersion: 1,
  snapshot: { value: 'nominal', context: { rule: {} } },
  version,
  updatedAt: version,
  ...more,
});
const aTransition = (version: number, more: Partial<WatchChange> = {}): WatchChange =>
  aChange(version, {
    transition: { event: 'evaluation.ended', at: version, from: 'nominal', to: 'tripped', detail: `d${version}` },
    ...more,
  });

type Recorded = { readonly snapshots: readonly WatchSnapshot[]; readonly entries: readonly WatchEntry[] };

/** A recorder over a journal that notes its calls; `fault` decides how each of them ends. */
const createHarness = ({ heads = [] as Parameters<typeof createWatchRecorder>[0]['heads'] } = {}) => {
  const memory = createMemoryWatchJournal();
  const calls: Recorded[] = [];
  const faults = { next: (): Promise<void> => Promise.resolve() };
  const journal: WatchJournal = {
    ...memory,
    record: async (snapshots, entries) => {
      calls.push({ snapshots, entries });
      await faults.next();
      await memory.record(snapshots, entries);
    },
  };
  const { log, lines } = createLog();
  const counters = createCounters();
  const time = createFakeClock();
  const recorder = createWatchRecorder({ journal, heads, log, counters, clock: time.clock });
  const seqs = async (before = Number.MAX_SAFE_INTEGER, limit = 100_000) =>
    (await recorder.list(ofErrors, before, limit)).map(({ seq }) => seq);
  return { recorder, memory, calls, faults, lines, counters, time, seqs };
};
const away = () => Promise.reject(new StoreUnavailable('runs store: disk I/O error'));
const never = () => new Promise<never>(() => {});

describe('what monitors did is written down', () => {
  it('a transition at once, with the snapshot it left; a snapshot alone with the next flush, the newest only', async () => {
    const { recorder, calls } = createHarness();
    recorder.record(aChange(1));
    recorder.record(aChange(2));
    await settle();
    expect(calls).toEqual([]);
    recorder.flush();
    await settle();
    expect(calls.map(({ snapshots }) => snapshots.map(({ version }) => version))).toEqual([[2]]);
    recorder.record(aTransition(3, { snapshot: { value: 'tripped', context: {} } }));
    await settle();
    expect(calls[1]).toEqual({
      snapshots: [
        { type: 'monitor', id: 'errors', snapshot: '{"m":1,"v":"tripped","c":{}}', version: 3, updatedAt: 3 },
      ],
      entries: [
        {
          ...ofErrors,
          seq: 1,
          at: 3,
          event: 'evaluation.ended',
          from: 'nominal',
          to: 'tripped',
          detail: 'd3',
          snapshot: '{"m":1,"v":"tripped","c":{}}',
          version: 3,
        },
      ],
    });
  });

  it('a flush without a change writes nothing', async () => {
    const { recorder, calls } = createHarness();
    recorder.flush();
    await settle();
    expect(calls).toEqual([]);
  });

  it('what changes in one moment goes in one commit; what comes during a commit goes in the next', async () => {
    const { recorder, calls, faults } = createHarness();
    let landed = (): void => {};
    faults.next = () => new Promise((resolve) => void (landed = resolve));
    for (const id of ['a', 'b', 'c']) recorder.record(aTransition(1, { id }));
    await settle();
    for (const id of ['d', 'e']) recorder.record(aTransition(1, { id }));
    await settle();
    faults.next = () => Promise.resolve();
    landed();
    await settle();
    expect(calls.map(({ entries }) => entries.map(({ id }) => id))).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ]);
  });

  it('numbers and versions go on where the last process stopped', async () => {
    const { recorder, seqs } = createHarness({ heads: [{ type: 'monitor', id: 'errors', seq: 7, version: 40 }] });
    expect([recorder.versionOf('monitor', 'errors'), recorder.versionOf('slo', 'errors')]).toEqual([40, 0]);
    recorder.record(aTransition(41));
    expect(await seqs()).toEqual([8]);
  });
});

describe('a runs store that fails', () => {
  it('is asked again with the next round, with all that waits, once each; both ends are logged in one line', async () => {
    const { recorder, calls, faults, lines, memory } = createHarness();
    faults.next = away;
    for (let version = 1; version <= 3; version += 1) {
      recorder.record(aTransition(version));
      await settle();
    }
    recorder.flush();
    await settle();
    expect(calls).toHaveLength(4);
    faults.next = () => Promise.resolve();
    recorder.flush();
    await settle();
    expect((await memory.listEntries(ofErrors, 99, 99)).map(({ seq }) => seq)).toEqual([3, 2, 1]);
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'the runs store does not take what monitors did; it is tried again, evaluations go on'],
      ['info', 'the runs store takes what monitors did again; history lacks what was dropped'],
    ]);
    expect(lines[1]?.fields).toEqual({ dropped: 0 });
  });

  it('a commit that failed and happened all the same leaves each entry once', async () => {
    const { recorder, faults, memory, calls } = createHarness();
    faults.next = async () => {
      const { snapshots, entries } = calls.at(-1) as Recorded;
      await memory.record(snapshots, entries);
      throw new StoreUnavailable('the outcome is unknown');
    };
    recorder.record(aTransition(1));
    await settle();
    faults.next = () => Promise.resolve();
    recorder.record(aTransition(2));
    await settle();
    expect((await memory.listEntries(ofErrors, 99, 99)).map(({ seq, detail }) => [seq, detail])).toEqual([
      [2, 'd2'],
      [1, 'd1'],
    ]);
  });

  it('readers see what waits as if it were written, in pages too', async () => {
    const { recorder, faults, seqs } = createHarness();
    recorder.record(aTransition(1));
    recorder.record(aTransition(2));
    await settle();
    faults.next = never;
    for (const version of [3, 4]) recorder.record(aTransition(version));
    recorder.record(aTransition(5, { project: 'other' }));
    await settle();
    expect(await seqs()).toEqual([4, 3, 2, 1]);
    expect([await seqs(99, 2), await seqs(3, 2), await seqs(4, 2)]).toEqual([
      [4, 3],
      [2, 1],
      [3, 2],
    ]);
    expect((await recorder.find(ofErrors, 4))?.version).toBe(4);
    expect((await recorder.find(ofErrors, 1))?.version).toBe(1);
    expect(await recorder.find(ofErrors, 5)).toBeUndefined();
  });

  it('holds so many transitions and no more: those beyond are dropped, counted, and missed by their numbers', async () => {
    const { recorder, faults, counters, lines, memory } = createHarness();
    let fail = (): void => {};
    faults.next = () => new Promise((_, reject) => void (fail = () => reject(new StoreUnavailable('away'))));
    for (let version = 1; version <= MOST_WAITING; version += 1) recorder.record(aTransition(version));
    expect([counters.watchTransitionsDropped, lines]).toEqual([0, []]);
    recorder.record(aTransition(MOST_WAITING + 1));
    recorder.record(aTransition(MOST_WAITING + 2));
    await settle();
    expect(counters.watchTransitionsDropped).toBe(2);
    expect(lines.map(({ message }) => message)).toEqual(['too many transitions wait; new ones are not recorded']);
    fail();
    await settle();
    faults.next = () => Promise.resolve();
    recorder.flush();
    await settle(100);
    recorder.record(aTransition(MOST_WAITING + 3));
    await settle();
    const written = await memory.listEntries(ofErrors, MOST_WAITING + 9, 3);
    expect(written.map(({ seq }) => seq)).toEqual([MOST_WAITING + 3, MOST_WAITING, MOST_WAITING - 1]);
    expect(lines.at(-1)).toMatchObject({ level: 'info', fields: { dropped: 2 } });
  });
});

describe('a stop', () => {
  it('writes what waits', async () => {
    const { recorder, memory, lines } = createHarness();
    recorder.record(aTransition(1));
    recorder.record(aChange(2));
    await recorder.close();
    expect(await memory.heads()).toEqual([{ type: 'monitor', id: 'errors', seq: 1, version: 2 }]);
    expect(lines).toEqual([]);
  });

  it('gives a store that hangs one second, counts what is lost, and says so', async () => {
    const { recorder, faults, time, lines, counters } = createHarness();
    faults.next = never;
    recorder.record(aTransition(1));
    recorder.record(aTransition(2));
    let isClosed = false;
    const closed = recorder.close().then(() => (isClosed = true));
    await settle();
    time.advance(999);
    await settle();
    expect(isClosed).toBe(false);
    time.advance(1);
    await closed;
    expect([counters.watchTransitionsDropped, lines.at(-1)?.fields]).toEqual([2, { lost: 2 }]);
  });
});
