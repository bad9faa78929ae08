import { expect, it } from 'vitest';
import { Quarantined } from '../../../src/actors/run/quarantined.ts';
import { type RunningRuns, startRuns } from '../../../src/actors/start.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../src/machines/persisted.ts';
import { type Changes, noChanges } from '../../../src/store/runs/run-store.ts';
import { until } from '../../until.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, codeOf, type Harness, must, settled, tasks } from '../run-harness.ts';

/** A start tries to release what was quarantined beside its other work. */
const untilReleased = (runs: RunningRuns): Promise<void> =>
  until(async () => {
    await settled(runs);
    return (await runs.counts()).quarantined === 0;
  });

const flow = aDefinition('flow', tasks('one', 'two'));

onEachEngine('a run that this release cannot load', ({ createHarness }) => {
  const spoil = async (service: Harness, runId: string, snapshot: string): Promise<void> => {
    const stored = (await service.store.findRun(runId))?.stored.record;
    if (stored === undefined) throw new Error('no run');
    const changes: Changes = noChanges();
    changes.runsUpdated.push({
      before: stored,
      after: { ...stored, snapshot, version: stored.version + 1 },
    });
    await service.store.commit(changes);
  };

  it('is quarantined, stays readable, moves nothing and stops nobody', async () => {
    const service = await createHarness({
      definitions: [flow, aDefinition('nap', [{ id: 'nap', kind: 'sleep', sleep_ms: 1000 }])],
    });
    const asleep = await service.start('nap');
    const queued = await service.start('flow');
    await spoil(service, asleep.runId, encodeSnapshot(99, { value: 'created', context: {} }));
    await spoil(service, queued.runId, '{"m":1,"v":{"active":{"gone":"queued"}},"c":{}}');
    const good = await service.start('flow');
    const again = await service.reopen();
    expect(must(await again.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 1000 }))[0]?.runId).toBe(good.runId);
    for (let second = 0; second < 5; second += 1) {
      service.time.advance(1000);
      await again.tick();
    }
    await settled(again);
    const { items } = must(await again.listActors({ ...ALL, type: 'run', status: 'quarantined', limit: 10 }));
    expect(items.map(({ id }) => id).toSorted()).toEqual([asleep.runId, queued.runId].toSorted());
    expect((await again.counts()).quarantined).toBe(2);
    expect(must(await again.getRun({ ...ALL, runId: asleep.runId })).runId).toBe(asleep.runId);
    expect(must(await again.getActor({ ...ALL, type: 'run', id: asleep.runId }))).toMatchObject({
      status: 'quarantined',
      machineVersion: 99,
    });
    expect(codeOf(await again.cancelRun({ ...ALL, runId: asleep.runId }))).toBe('conflict');
    const later = service.time.now() + 60_000;
    expect((await service.store.dueTimers(later, 10, later)).length).toBe(0);
    expect(await again.findStuckRuns()).toEqual([]);
  });

  it.each([1, 64, 65, 130])(
    '%i of them wait for an event: it goes to the one after them, or is parked',
    async (count) => {
      const service = await createHarness({
        definitions: [
          aDefinition('ask', [{ id: 'ask', kind: 'wait_event', event: 'go', accept_parked: true }, ...tasks('one')]),
        ],
      });
      for (let n = 0; n < count; n += 1) {
        const { runId } = await service.start('ask');
        await spoil(service, runId, encodeSnapshot(99, { value: 'created', context: {} }));
      }
      const good = await service.start('ask');
      const again = await service.reopen();
      const publish = async () =>
        must(await again.publishEvent({ ...ALL, project: 'p', event: 'go', key: '', payload: 1 }));
      expect(await publish()).toEqual({ outcome: 'delivered', runId: good.runId });
      expect(await publish()).toEqual({ outcome: 'parked' });
      await settled(again);
      expect((await again.counts()).quarantined).toBe(count);
    },
  );

  it('goes on when a later start can load it: in the queue, at its wait and at its timer', async () => {
    const service = await createHarness({
      definitions: [
        flow,
        aDefinition('nap', [{ id: 'nap', kind: 'sleep', sleep_ms: 1000 }]),
        aDefinition('ask', [{ id: 'ask', kind: 'wait_event', event: 'go' }]),
        aDefinition('late', [{ id: 'wait', kind: 'wait_event', event: 'never' }], { limits: { run_timeout_ms: 1500 } }),
      ],
    });
    const publishTo = async (runs: typeof service.runs) =>
      must(await runs.publishEvent({ ...ALL, project: 'p', event: 'go', key: '', payload: 1 })).outcome;
    const claimFrom = async (runs: typeof service.runs): Promise<readonly string[]> => {
      const hungUp = new AbortController();
      const claimed = runs.claim({ ...ALL, workerId: 'w1', max: 9, waitMs: 1000 }, hungUp.signal);
      await settled(runs);
      hungUp.abort();
      return must(await claimed).map(({ runId }) => runId);
    };
    const [queued, asleep, asking, late] = [
      await service.start('flow'),
      await service.start('nap'),
      await service.start('ask'),
      await service.start('late'),
    ];
    const ids = [queued.runId, asleep.runId, asking.runId, late.runId];
    const snapshots = await Promise.all(
      ids.map(async (id) => (await service.store.findRun(id))?.stored.record.snapshot ?? ''),
    );
    for (const id of ids) await spoil(service, id, encodeSnapshot(99, { value: 'created', context: {} }));

    const unable = await service.reopen();
    expect(await claimFrom(unable)).toEqual([]);
    expect(await publishTo(unable)).toBe('parked');
    service.time.advance(2000);
    await settled(unable);
    expect((await unable.counts()).quarantined).toBe(4);
    const stillUnable = await service.reopen();
    await settled(stillUnable);
    expect((await stillUnable.counts()).quarantined).toBe(4);

    for (const [index, id] of ids.entries()) await spoil(service, id, snapshots[index] ?? '');
    const able = await service.reopen();
    await untilReleased(able);
    expect(await claimFrom(able)).toEqual([queued.runId]);
    expect(await publishTo(able)).toBe('delivered');
    await settled(able);
    expect((await service.detail(asking.runId)).status).toBe('succeeded');
    expect((await service.detail(asleep.runId)).status).toBe('succeeded');
    expect((await service.detail(late.runId)).error?.limit).toBe('run_timeout_ms');
    expect(await able.findStuckRuns()).toEqual([]);
  });

  const spoilt = encodeSnapshot(99, { value: 'created', context: {} });
  const snapshotOf = async (service: Harness, runId: string): Promise<string> =>
    (await service.store.findRun(runId))?.stored.record.snapshot ?? '';
  /** Starts a run, spoils it, lets a service meet it, mends it, and starts the next service. */
  const released = async (
    service: Harness,
    definition: string,
    meet: (unable: RunningRuns, runId: string) => Promise<unknown>,
  ): Promise<{ runId: string; able: RunningRuns }> => {
    const { runId } = await service.start(definition);
    const snapshot = await snapshotOf(service, runId);
    await spoil(service, runId, spoilt);
    const unable = await service.reopen();
    await meet(unable, runId);
    await settled(unable);
    expect((await unable.counts()).quarantined).toBe(1);
    await spoil(service, runId, snapshot);
    return { runId, able: await service.reopen() };
  };
  const cancel = (runs: RunningRuns, runId: string) => runs.cancelRun({ ...ALL, runId });

  it('is released although a claim waits for it, in one commit with its offer', async () => {
    const service = await createHarness({ definitions: [flow] });
    const { runId, able } = await released(service, 'flow', cancel);
    const offered = must(await able.claim({ ...ALL, workerId: 'w1', max: 1, waitMs: 1000 }));
    expect(offered.map((lease) => lease.runId)).toEqual([runId]);
    expect([(await able.counts()).quarantined, service.faults.filter((one) => !(one instanceof Quarantined))]).toEqual([
      0,
      [],
    ]);
  });

  it('stays released although a call met it just before', async () => {
    const service = await createHarness({ definitions: [flow] });
    const { runId, able } = await released(service, 'flow', cancel);
    await cancel(able, runId);
    await untilReleased(able);
    expect(must(await cancel(able, runId)).status).toBe('cancelled');
  });

  it('takes the event that was parked meanwhile', async () => {
    const wait = { id: 'ask', kind: 'wait_event', event: 'go', accept_parked: true };
    const service = await createHarness({ definitions: [aDefinition('ask', [wait])] });
    const publish = async (runs: RunningRuns) =>
      must(await runs.publishEvent({ ...ALL, project: 'p', event: 'go', key: '', payload: 1 })).outcome;
    const { runId, able } = await released(service, 'ask', async (unable) =>
      expect(await publish(unable)).toBe('parked'),
    );
    await untilReleased(able);
    expect((await service.detail(runId)).status).toBe('succeeded');
    expect(await publish(able)).toBe('parked');
  });

  it('is notified of a child whose timer came due meanwhile', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('kid', [{ id: 'nap', kind: 'sleep', sleep_ms: 1000 }]),
        aDefinition('parent', [{ id: 'child', kind: 'child', definition: 'kid' }]),
      ],
    });
    const { runId, able } = await released(service, 'parent', async (unable) => {
      service.time.advance(2000);
      await settled(unable);
    });
    await untilReleased(able);
    service.time.advance(3600_000);
    await settled(able);
    expect((await service.detail(runId)).status).toBe('succeeded');
  });

  it('is cancelled where the step that started it ended meanwhile: the timer that would end it was deferred', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('nap', [{ id: 'nap', kind: 'sleep', sleep_ms: 7_200_000 }]),
        aDefinition('flow', [{ id: 'kids', kind: 'child', definition: 'nap', for_each: [1, 2] }]),
      ],
    });
    const parent = await service.start('flow');
    const other = await service.start('flow');
    const childOf = async (runId: string) => (await service.detail(runId)).children[0]?.runId ?? '';
    const [left, kept] = [await childOf(parent.runId), await childOf(other.runId)];
    const whole = new Map<string, string>();
    for (const runId of [left, kept]) {
      whole.set(runId, (await service.store.findRun(runId))?.stored.record.snapshot ?? '');
      await spoil(service, runId, encodeSnapshot(99, { value: 'created', context: {} }));
    }
    // As a commit leaves it that ended more children than it could cancel.
    const ended = (await service.store.findRun(parent.runId))?.stored.record;
    if (ended === undefined) throw new Error('no run');
    const { context } = decodeSnapshot(ended.snapshot);
    const changes: Changes = noChanges();
    changes.runsUpdated.push({
      before: ended,
      after: {
        ...ended,
        status: 'cancelled',
        endedAt: service.time.now(),
        snapshot: encodeSnapshot(1, { value: 'cancelled', context }),
        version: ended.version + 1,
      },
    });
    changes.timersSet.push({ runId: left, name: 'cancel', dueAt: service.time.now() });
    await service.store.commit(changes);
    const met = await service.reopen();
    await until(async () => {
      await settled(met);
      const now = service.time.now() + 3_599_999;
      const [due] = await service.store.load([{ kind: 'carried_over', wall: now, steady: now, limit: 10 }]);
      return (await met.counts()).quarantined === 1 && Array.isArray(due) && due.length === 0;
    });
    for (const [runId, snapshot] of whole) await spoil(service, runId, snapshot);
    const again = await service.reopen();
    await untilReleased(again);
    const released = must(await again.getRun({ ...ALL, runId: left }));
    expect(released).toMatchObject({ status: 'cancelled', timers: [] });
    expect(must(await again.getRun({ ...ALL, runId: kept }))).toMatchObject({
      status: 'waiting',
      timers: [{ name: 'sleep' }],
    });
  });

  it('is tried again by the next sweep when the store failed at the start', async () => {
    const service = await createHarness({ definitions: [flow] });
    const { runId } = await service.start('flow');
    const snapshot = await snapshotOf(service, runId);
    await spoil(service, runId, spoilt);
    const unable = await service.reopen();
    await cancel(unable, runId);
    await settled(unable);
    await spoil(service, runId, snapshot);
    let failing = true;
    const able = await startRuns({
      store: {
        ...service.store,
        commit: (changes) => (failing ? Promise.reject(new Error('the disk said')) : service.store.commit(changes)),
      },
      writeSpans: () => Promise.resolve(),
      price: () => undefined,
      clock: service.time.clock,
      ticks: false,
    });
    await settled(able);
    expect((await able.counts()).quarantined).toBe(1);
    failing = false;
    service.time.advance(60_000);
    await untilReleased(able);
  });

  /** Runs of the definitions, all quarantined, then released together. */
  const allReleased = async (
    service: Harness,
    starts: readonly string[],
    publishWhileAside: number,
  ): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (const definition of starts) ids.push((await service.start(definition)).runId);
    const snapshots = await Promise.all(ids.map((id) => snapshotOf(service, id)));
    for (const id of ids) await spoil(service, id, spoilt);
    const unable = await service.reopen();
    service.time.advance(10);
    const published = { ...ALL, project: 'p', event: 'go', key: '', payload: 1 };
    for (let n = 0; n < publishWhileAside; n += 1)
      expect(must(await unable.publishEvent(published)).outcome).toBe('parked');
    for (const id of ids) await cancel(unable, id);
    await settled(unable);
    expect((await unable.counts()).quarantined).toBe(ids.length);
    for (const [index, id] of ids.entries()) await spoil(service, id, snapshots[index] ?? '');
    await untilReleased(await service.reopen());
    return Promise.all(ids.map(async (id) => (await service.detail(id)).status));
  };
  const asking = (id: string, acceptParked: boolean) =>
    aDefinition(id, [{ id: 'ask', kind: 'wait_event', event: 'go', accept_parked: acceptParked }]);

  it.each([1, 64, 65, 80])('%i that waited for the same event take as many that were parked', async (count) => {
    const service = await createHarness({ definitions: [asking('ask', true)] });
    const states = await allReleased(service, Array<string>(count + 1).fill('ask'), count);
    expect(states.toSorted()).toEqual([...Array<string>(count).fill('succeeded'), 'waiting']);
  });

  it('takes an event that came while its wait stood, also where it accepts none that were parked before', async () => {
    const service = await createHarness({ definitions: [asking('strict', false), asking('ask', true)] });
    expect(await allReleased(service, ['strict', 'ask'], 2)).toEqual(['succeeded', 'succeeded']);
    const other = await createHarness({ definitions: [asking('strict', false)] });
    must(await other.runs.publishEvent({ ...ALL, project: 'p', event: 'go', key: '', payload: 1 }));
    other.time.advance(10);
    expect(await allReleased(other, ['strict'], 0)).toEqual(['waiting']);
  });
});
