import { describe, expect, it } from 'vitest';
import { createKeysInUse, MOST_KNOWN } from '../../../src/actors/limit/keys-in-use.ts';
import type { Turn } from '../../../src/actors/runs-kernel.ts';
import { createMemoryRunStore } from '../../../src/store/runs/memory-run-store.ts';
import type { LimitRecord, Lookup, RunStore } from '../../../src/store/runs/run-store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, createHarness, createIds, must, settled, tasks } from '../run-harness.ts';

/** A store that notes what the kernel asks, and whose commits can be made to fail. */
const watched = (store: RunStore) => {
  const asked: Lookup['kind'][] = [];
  const given = { fails: false };
  return {
    asked,
    given,
    store: {
      ...store,
      load: (lookups) => {
        asked.push(...lookups.map(({ kind }) => kind));
        return store.load(lookups);
      },
      commit: (changes) =>
        given.fails ? Promise.reject(new StoreUnavailable('the disk is away')) : store.commit(changes),
    } satisfies RunStore,
  };
};

const flow = aDefinition('flow', tasks('one'), {
  concurrency: { key: '${input.customer}', limit: 1 },
  rate: { key: '${input.customer}', limit: 1, per_ms: 1000 },
});

onEachEngine('a start whose key nobody uses', ({ open }) => {
  it('asks the store for no key, and one whose key was in use before the service started finds it', async () => {
    const stored = await open();
    const newId = createIds();
    const before = await createHarness({ store: stored, definitions: [flow], newId });
    const holder = await before.start('flow', { customer: 'ada' });
    const { asked, store } = watched(stored);
    const service = await createHarness({ store, time: before.time, newId });
    await settled(service.runs);
    expect(asked.filter((kind) => kind === 'limit_ids')).toHaveLength(1);
    const other = await service.start('flow', { customer: 'eve' });
    expect((await service.detail(other.runId)).cursor).toBe('one');
    expect(asked).not.toContain('limit');
    const waits = await service.start('flow', { customer: 'ada' });
    expect(await service.detail(waits.runId)).toMatchObject({ status: 'queued', queuedReason: 'concurrency_key' });
    expect(asked).toContain('limit');
    must(await service.runs.cancelRun({ ...ALL, runId: holder.runId }));
    await service.pass(1001);
    expect((await service.detail(waits.runId)).cursor).toBe('one');
    expect(service.faults).toEqual([]);
  });

  it('asks the store for none again once a commit has failed and the keys were read anew', async () => {
    const { asked, given, store } = watched(await open());
    const service = await createHarness({ store, definitions: [flow] });
    given.fails = true;
    await expect(service.start('flow', { customer: 'ada' })).rejects.toThrow('store_unavailable');
    given.fails = false;
    asked.length = 0;
    const first = await service.start('flow', { customer: 'ada' });
    await settled(service.runs);
    expect(asked.filter((kind) => kind === 'limit_ids')).toHaveLength(1);
    asked.length = 0;
    const second = await service.start('flow', { customer: 'ada' });
    await service.start('flow', { customer: 'eve' });
    expect(asked).not.toContain('limit');
    expect((await service.detail(first.runId)).cursor).toBe('one');
    expect((await service.detail(second.runId)).queuedReason).toBe('concurrency_key');
  });
});

describe('keys in use, as memory knows them', () => {
  const turnThatFinds = (ids: readonly string[]): Turn => ({ read: () => ids }) as unknown as Turn;
  const inserted = (limitId: string) => ({ limitsInserted: [{ limitId } as LimitRecord], limitsGone: [] });
  const many = Array.from({ length: MOST_KNOWN }, (_, at) => `k${at}`);

  it('are unknown before they were read, and after a commit that failed: then no key counts as unused', () => {
    const keys = createKeysInUse();
    expect(keys.isUnused('a')).toBe(false);
    keys.actor.receive(turnThatFinds(['a']));
    expect([keys.isUnused('a'), keys.isUnused('b')]).toEqual([false, true]);
    keys.committed({ ...inserted('b'), limitsGone: ['a'] });
    expect([keys.isUnused('a'), keys.isUnused('b')]).toEqual([true, false]);
    keys.dropped();
    expect([keys.isComplete(), keys.isUnused('c')]).toEqual([false, false]);
  });

  it(`are known up to ${MOST_KNOWN} of them, and not one more`, () => {
    const keys = createKeysInUse();
    keys.actor.receive(turnThatFinds([...many, 'one more']));
    expect(keys.isComplete()).toBe(false);
    keys.actor.receive(turnThatFinds(many));
    expect([keys.isComplete(), keys.isUnused('one more'), keys.isUnused('k0')]).toEqual([true, true, false]);
    keys.committed(inserted('one more'));
    expect([keys.isComplete(), keys.isUnused('another')]).toEqual([false, false]);
  });
});

it('a service with more keys in use than memory knows asks the store for each, and holds them all', async () => {
  const { asked, store } = watched(createMemoryRunStore());
  const lookups = {
    ...store,
    load: async (all: readonly Lookup[]) => {
      const found = await store.load(all);
      return found.map((one, at) =>
        all[at]?.kind === 'limit_ids' ? Array.from({ length: MOST_KNOWN + 1 }, String) : one,
      );
    },
  } as RunStore;
  const service = await createHarness({ store: lookups, definitions: [flow] });
  const first = await service.start('flow', { customer: 'ada' });
  const second = await service.start('flow', { customer: 'ada' });
  expect(asked).toContain('limit');
  expect((await service.detail(first.runId)).cursor).toBe('one');
  expect((await service.detail(second.runId)).queuedReason).toBe('concurrency_key');
});
