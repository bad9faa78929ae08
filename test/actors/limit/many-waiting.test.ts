import { expect, it } from 'vitest';
import type { Changes, LimitLine, LimitPlace, RunRecord, RunStore } from '../../../src/store/runs/run-store.ts';
import { noChanges } from '../../../src/store/runs/run-store.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, createHarness, must, settled, tasks } from '../run-harness.ts';
import { until } from '../../until.ts';
import { createMemoryRunStore } from '../../../src/store/runs/memory-run-store.ts';

/** Most runs that one turn of a key admits. */
const ADMITTED_AT_ONCE = 32;

/** A store that hands over what is written before it is written. */
const watched = (store: RunStore, seen: (changes: Changes) => void): RunStore => ({
  ...store,
  commit: (changes) => {
    seen(changes);
    return store.commit(changes);
  },
});

/** A store that notes what the kernel asks, and how many rows came of it. */
const counted = (store: RunStore) => {
  const asked = new Map<string, number>();
  let rows = 0;
  const count = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) count(one);
    else if (typeof value === 'object' && value !== null && 'places' in value) count(value.places);
    else if (value !== undefined) rows += 1;
  };
  return {
    /** Lookups by kind. */
    asked,
    rows: () => rows,
    forget: () => {
      asked.clear();
      rows = 0;
    },
    store: {
      ...store,
      load: async (lookups) => {
        for (const { kind } of lookups) asked.set(kind, (asked.get(kind) ?? 0) + 1);
        const found = await store.load(lookups);
        for (const value of found) count(value);
        return found;
      },
      dueTimers: async (...query) => {
        const found = await store.dueTimers(...query);
        rows += found.length;
        return found;
      },
      resume: async (...query) => {
        const found = await store.resume(...query);
        rows += found.liveLeases.length;
        return found;
      },
    } satisfies RunStore,
  };
};

it('10,000 keys wait and one of them has a long line: it has its turn as each of them, and no turn before it', async () => {
  const KEYS = 10_000;
  const BUSY = 1000;
  const WINDOW_MS = 3_600_000;
  const admitted: string[] = [];
  const service = await createHarness({
    store: watched(createMemoryRunStore(), ({ runsUpdated }) => {
      for (const { before, after } of runsUpdated)
        if (before.held === 'rate' && after.held === undefined) admitted.push(after.runId);
    }),
    definitions: ['busy', 'quiet'].map((id) =>
      aDefinition(id, tasks('one'), {
        rate: { key: '${input.customer}', limit: id === 'busy' ? BUSY : 1, per_ms: WINDOW_MS },
      }),
    ),
  });
  const startAll = (id: string, customers: readonly string[]) =>
    Promise.all(customers.map(async (customer) => (await service.start(id, { customer })).runId));
  const CALLS = 2000;
  const quiet: string[] = [];
  const busy: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    busy.push(
      ...(await startAll(
        'busy',
        Array.from({ length: BUSY }, () => 'all'),
      )),
    );
    for (let from = 0; from < KEYS; from += CALLS)
      quiet.push(
        ...(await startAll(
          'quiet',
          Array.from({ length: CALLS }, (_, n) => `c${from + n}`),
        )),
      );
  }
  expect(admitted).toEqual([]);
  // Every window moves on at once: each key has as many places as wait for one.
  service.time.advance(WINDOW_MS + 1);
  await service.runs.tick();
  expect(admitted).toHaveLength(KEYS + BUSY);
  const others = new Set(quiet.slice(KEYS));
  expect(admitted.filter((runId) => others.has(runId))).toHaveLength(KEYS);
  const last = admitted.findLastIndex((runId) => others.has(runId));
  const isOther = admitted.slice(0, last + 1).map((runId) => others.has(runId));
  let inARow = 0;
  let most = 0;
  for (const other of isOther) {
    inARow = other ? 0 : inARow + 1;
    most = Math.max(most, inARow);
  }
  // The busy key has at most two turns on end, and two for a thousand of the others, which is what one look brings.
  expect(most).toBeLessThanOrEqual(2 * ADMITTED_AT_ONCE);
  expect(isOther.filter((other) => !other).length).toBeLessThanOrEqual(2 * (KEYS / 1000 + 2) * ADMITTED_AT_ONCE);
  expect(service.faults).toEqual([]);
});

onEachEngine('100,000 runs wait for one key', ({ open }) => {
  it('a start reads none of them, and each end of a holder reads the few that are next', async () => {
    const WAITING = 100_000;
    const store = await open();
    const service = await createHarness({
      store,
      definitions: [aDefinition('flow', tasks('one'), { concurrency: { key: '${input.customer}', limit: 1 } })],
    });
    const holder = await service.start('flow', { customer: 'ada' });
    const first = await service.start('flow', { customer: 'ada' });
    const record = (await store.findRun(first.runId))?.stored.record as RunRecord;
    const place = record.places?.run;
    const [key] = await store.listLimits({ reach: 'all', limit: 1 });
    const [found] = await store.load([{ kind: 'limit_line', lineId: place?.lineId ?? '' }]);
    const line = found as LimitLine;
    const [stands] = await store.load([{ kind: 'limit_place', order: place?.order ?? 0 }]);
    if (key === undefined || place === undefined) throw new Error('nobody waits');
    // As the service would have written them.
    const SLICE = 5000;
    for (let from = 1; from < WAITING; from += SLICE) {
      const changes = noChanges();
      const upTo = Math.min(WAITING, from + SLICE);
      for (let n = from; n < upTo; n += 1) {
        const runId = `01900000-0000-7000-9000-${n.toString(16).padStart(12, '0')}`;
        const order = place.order + n;
        changes.runsInserted.push({
          ...record,
          runId,
          traceId: runId.replaceAll('-', ''),
          places: { run: { ...place, order } },
        });
        changes.documents.push({ runId, name: 'input', body: '{"customer":"ada"}' });
        changes.placesSet.push({ ...(stands as LimitPlace), runId, order });
      }
      changes.linesSet.push({ ...line, waiting: upTo });
      changes.limitsUpdated.push({ ...key, waiting: upTo, version: key.version + upTo });
      await store.commit(changes);
    }
    const watch = counted(store);
    const again = await createHarness({ store: watch.store });
    await again.runs.tick();
    await until(() => watch.asked.has('limit_ids'));
    await settled(again.runs);
    // A handful of questions, and they find the id of the key alone: not the definitions, the runs, nor the places.
    expect(
      [...watch.asked.keys()].filter((kind) => ['run', 'documents', 'limit', 'limit_front'].includes(kind)),
    ).toEqual([]);
    expect(watch.rows()).toBe(1);
    watch.forget();
    must(await again.runs.cancelRun({ ...ALL, runId: holder.runId }));
    await again.runs.tick();
    expect((await again.detail(first.runId)).cursor).toBe('one');
    // The run that ends, and the one that is next.
    expect([watch.asked.get('run'), watch.asked.get('documents'), watch.asked.get('limit_front')]).toEqual([2, 1, 1]);
    expect(watch.rows()).toBeLessThan(16);
    expect(again.faults).toEqual([]);
  });
});
