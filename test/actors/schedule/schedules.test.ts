import { describe, expect, it } from 'vitest';
import type { GivenSchedule } from '../../../src/model/schedule/parse.ts';
import type { ScheduleView } from '../../../src/actors/schedule/messages.ts';
import { type ActorRecord, noChanges } from '../../../src/store/runs/run-store.ts';
import { ALL, aDefinition, codeOf, type Harness, must, task } from '../run-harness.ts';
import { onEachEngine } from '../engines.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;
/** A lease outlives each test, so that no worker has to beat. */
const flow = { definitions: [aDefinition('flow', [task('one')])], leaseTtlMs: HOUR };
const minutely: GivenSchedule = { definitionId: 'flow', everyMs: MINUTE, overlap: 'allow' };

const named = (id: string) => ({ ...ALL, project: 'p', id });
const create = async ({ runs }: Harness, given: GivenSchedule, id = 'nightly'): Promise<ScheduleView> =>
  must(await runs.createSchedule({ ...named(id), given })).schedule;
const get = async ({ runs }: Pick<Harness, 'runs'>, id = 'nightly'): Promise<ScheduleView> =>
  must(await runs.getSchedule(named(id)));
/** What became of the last times, oldest first: minutes after the start of the test's clock. */
const outcomes = async (harness: Pick<Harness, 'runs'>, origin: number): Promise<unknown[]> =>
  (await get(harness)).firings
    .toReversed()
    .map((one) => [
      one.triggerId === undefined ? (one.nominalAt - origin) / MINUTE : 'trigger',
      one.outcome === 'started' ? 'started' : one.reason,
    ]);
const runsOf = async ({ runs }: Pick<Harness, 'runs'>) =>
  must(await runs.listRuns({ ...ALL, reach: ['p'], limit: 1000 })).items;

onEachEngine('schedules', ({ createHarness }) => {
  it('start a run at each time, under the key of that time', async () => {
    const harness = await createHarness(flow);
    const created = await create(harness, { ...minutely, input: { n: 1 }, correlation: { user_id: 'u' } });
    expect(created).toMatchObject({ status: 'active', firings: [], started: 0 });
    expect(created.nextTimes.slice(0, 2)).toEqual([harness.time.now() + MINUTE, harness.time.now() + 2 * MINUTE]);
    await harness.pass(MINUTE - SECOND);
    expect(await runsOf(harness)).toHaveLength(0);
    await harness.pass(SECOND);
    const [run] = await runsOf(harness);
    expect(run).toMatchObject({ definitionId: 'flow', project: 'p', status: 'queued' });
    const detail = await harness.detail(run?.runId ?? '');
    expect(detail).toMatchObject({ input: { n: 1 }, correlation: { user_id: 'u' } });
    const again = must(
      await harness.runs.startRun({
        ...ALL,
        project: 'p',
        definitionId: 'flow',
        input: {},
        idempotencyKey: 'schedule/nightly/2026-03-01T12:01:00Z',
      }),
    );
    expect(again).toMatchObject({ created: false, run: { runId: run?.runId } });
    await harness.pass(2 * MINUTE);
    expect(await runsOf(harness)).toHaveLength(3);
    expect(await get(harness)).toMatchObject({ started: 3, running: expect.arrayContaining([run?.runId]) });
    expect(harness.faults).toEqual([]);
  });

  describe('overlap', () => {
    it('skip: a time that comes while a run is open is skipped, and the next one starts after its end', async () => {
      const harness = await createHarness(flow);
      const origin = harness.time.now();
      await create(harness, { ...minutely, overlap: 'skip' });
      await harness.pass(MINUTE);
      const lease = await harness.take();
      await harness.pass(MINUTE);
      must(await harness.complete(lease));
      expect(await get(harness)).toMatchObject({ running: [] });
      await harness.pass(MINUTE);
      expect(await outcomes(harness, origin)).toEqual([
        [1, 'started'],
        [2, 'overlap'],
        [3, 'started'],
      ]);
    });

    it('queue: one waits and starts in the commit that ends the run before it, later ones are skipped', async () => {
      const harness = await createHarness(flow);
      const origin = harness.time.now();
      await create(harness, { ...minutely, overlap: 'queue' });
      await harness.pass(MINUTE);
      const lease = await harness.take();
      await harness.pass(2 * MINUTE);
      expect(await get(harness)).toMatchObject({ waiting: { nominalAt: origin + 2 * MINUTE } });
      expect(await runsOf(harness)).toHaveLength(1);
      must(await harness.complete(lease));
      expect(await runsOf(harness)).toHaveLength(2);
      const { waiting, running, firings } = await get(harness);
      expect({ waiting, open: running.length }).toEqual({ waiting: undefined, open: 1 });
      expect(firings[0]).toMatchObject({ nominalAt: origin + 2 * MINUTE, firedAt: origin + 3 * MINUTE });
      expect(await outcomes(harness, origin)).toEqual([
        [1, 'started'],
        [3, 'overlap'],
        [2, 'started'],
      ]);
    });

    it('cancel_running: the run before is cancelled in the commit that starts the next', async () => {
      const harness = await createHarness(flow);
      await create(harness, { ...minutely, overlap: 'cancel_running' });
      await harness.pass(2 * MINUTE);
      const statuses = (await runsOf(harness)).map(({ status }) => status);
      expect(statuses.toSorted()).toEqual(['cancelled', 'queued']);
      expect((await get(harness)).running).toHaveLength(1);
    });

    it('cancel_running: the next run gets the key that the cancelled one held, though it refuses at its limit', async () => {
      const single = (key: string) =>
        aDefinition('single', [task('one')], { concurrency: { key, limit: 1, on_limit: 'reject' } });
      const harness = await createHarness({ definitions: [single('all')] });
      const origin = harness.time.now();
      await create(harness, { ...minutely, definitionId: 'single', overlap: 'cancel_running' });
      await harness.pass(2 * MINUTE);
      expect((await runsOf(harness)).map(({ status }) => status).toSorted()).toEqual(['cancelled', 'queued']);
      // A run that is none of the schedule's is not cancelled, and its key refuses as ever.
      must(await harness.runs.cancelRun({ ...ALL, runId: (await get(harness)).running[0] ?? '' }));
      await harness.start('single');
      await harness.pass(MINUTE);
      expect(await outcomes(harness, origin)).toEqual([
        [1, 'started'],
        [2, 'started'],
        [3, 'limit_reached'],
      ]);
      expect(harness.faults).toEqual([]);
    });

    it('allow: each time starts a run', async () => {
      const harness = await createHarness(flow);
      await create(harness, minutely);
      await harness.pass(3 * MINUTE);
      expect((await get(harness)).running).toHaveLength(3);
    });
  });

  describe('a pause', () => {
    it('misses times, which follow catch_up at the resume; the reason is the pause', async () => {
      const harness = await createHarness(flow);
      const origin = harness.time.now();
      await create(harness, minutely);
      expect(must(await harness.runs.pauseSchedule(named('nightly')))).toMatchObject({ status: 'paused' });
      expect(must(await harness.runs.pauseSchedule(named('nightly')))).toMatchObject({ status: 'paused' });
      await harness.pass(3 * MINUTE);
      expect(await runsOf(harness)).toHaveLength(0);
      expect(must(await harness.runs.resumeSchedule(named('nightly')))).toMatchObject({ status: 'active', started: 1 });
      await harness.pass(MINUTE);
      expect(await outcomes(harness, origin)).toEqual([
        [1, 'paused'],
        [2, 'paused'],
        [3, 'started'],
        [4, 'started'],
      ]);
    });

    it('a trigger works while it lasts, and obeys overlap', async () => {
      const harness = await createHarness(flow);
      await create(harness, { ...minutely, overlap: 'skip' });
      await harness.runs.pauseSchedule(named('nightly'));
      expect(must(await harness.runs.triggerSchedule(named('nightly')))).toMatchObject({ started: 1, skipped: 0 });
      expect(must(await harness.runs.triggerSchedule(named('nightly')))).toMatchObject({ started: 1, skipped: 1 });
      expect(await runsOf(harness)).toHaveLength(1);
      const [run] = await runsOf(harness);
      const again = { ...ALL, project: 'p', definitionId: 'flow', input: {} };
      const { firings } = await get(harness);
      const idempotencyKey = `schedule/nightly/trigger/${firings.at(-1)?.triggerId}`;
      expect(must(await harness.runs.startRun({ ...again, idempotencyKey }))).toMatchObject({
        created: false,
        run: { runId: run?.runId },
      });
    });

    it('a time that waits for the run before it goes on waiting; a trigger that waits does not', async () => {
      const harness = await createHarness(flow);
      await create(harness, { ...minutely, overlap: 'queue' });
      await harness.pass(MINUTE);
      const lease = await harness.take();
      await harness.pass(MINUTE);
      await harness.runs.pauseSchedule(named('nightly'));
      must(await harness.complete(lease));
      expect(await get(harness)).toMatchObject({ running: [], waiting: {} });
      must(await harness.runs.resumeSchedule(named('nightly')));
      expect(await get(harness)).toMatchObject({ running: [expect.any(String)] });
      await harness.runs.pauseSchedule(named('nightly'));
      const second = await harness.take();
      must(await harness.runs.triggerSchedule(named('nightly')));
      must(await harness.complete(second));
      expect((await get(harness)).running).toHaveLength(1);
    });
  });

  describe('times that were missed while the service was away', () => {
    it.each([
      ['none', [1, 2, 3].map((minute) => [minute, 'missed'])],
      [
        'last',
        [
          [1, 'missed'],
          [2, 'missed'],
          [3, 'started'],
        ],
      ],
      ['all', [1, 2, 3].map((minute) => [minute, 'started'])],
    ] as const)('%s', async (catchUp, expected) => {
      const harness = await createHarness(flow);
      const origin = harness.time.now();
      await create(harness, { ...minutely, catchUp });
      harness.time.advance(3 * MINUTE + 30 * SECOND);
      await harness.runs.tick();
      expect(await outcomes(harness, origin)).toEqual(expected);
      await harness.pass(30 * SECOND);
      expect((await outcomes(harness, origin)).at(-1)).toEqual([4, 'started']);
    });
  });

  describe('a wall clock that is set', () => {
    it('ten years ahead starts no more than catch_up allows, and back again nothing waits for years', async () => {
      const harness = await createHarness(flow);
      const origin = harness.time.now();
      await create(harness, { ...minutely, catchUp: 'all', catchUpWindowMs: 20 * YEAR });
      await harness.pass(MINUTE);
      harness.time.jumpWall(10 * YEAR);
      await harness.pass(SECOND);
      expect((await get(harness)).started).toBe(101);
      harness.time.jumpWall(-10 * YEAR);
      await harness.pass(SECOND);
      expect((await get(harness)).nextTimes[0]).toBe(origin + 2 * MINUTE);
      await harness.pass(MINUTE);
      expect((await outcomes(harness, origin)).at(-1)).toEqual([2, 'started']);
    });

    it('back over a time that has fired starts no second run for it', async () => {
      const harness = await createHarness(flow);
      const origin = harness.time.now();
      await create(harness, minutely);
      await harness.pass(20 * MINUTE);
      harness.time.jumpWall(-18 * MINUTE);
      await harness.pass(20 * MINUTE);
      const started = await runsOf(harness);
      expect(started).toHaveLength(22);
      expect((await outcomes(harness, origin)).at(-1)).toEqual([22, 'started']);
    });

    it('back while the service was away is noticed by the next start', async () => {
      const harness = await createHarness(flow);
      const origin = harness.time.now();
      await create(harness, minutely);
      harness.time.jumpWall(10 * YEAR);
      await harness.pass(SECOND);
      harness.time.jumpWall(-10 * YEAR);
      const reopened = await harness.reopen();
      await reopened.tick();
      expect((await get({ runs: reopened })).nextTimes[0]).toBe(origin + MINUTE);
    });
  });

  describe('what cannot be started', () => {
    it('is refused when the schedule is made, and skipped with its reason at its time', async () => {
      const strict = aDefinition('strict', [task('one')], {
        input_schema: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } },
      });
      const harness = await createHarness({ definitions: [strict] });
      const origin = harness.time.now();
      const { runs } = harness;
      expect(await runs.createSchedule({ ...named('a'), given: minutely })).toMatchObject({
        ok: false,
        failure: { code: 'not_found', field: 'definition_id' },
      });
      const wrong = { ...minutely, definitionId: 'strict', input: { n: 'x' } };
      expect(codeOf(await runs.createSchedule({ ...named('a'), given: wrong }))).toBe('input_invalid');
      await create(harness, { ...minutely, definitionId: 'strict', input: { n: 1 } });
      const next = { ...(strict as object), version: 2, input_schema: { type: 'object', required: ['m'] } };
      must(await runs.storeDefinitions({ ...ALL, definitions: [JSON.parse(JSON.stringify(next))] }));
      await harness.pass(MINUTE);
      expect(await outcomes(harness, origin)).toEqual([[1, 'input_invalid']]);
      expect(await runsOf(harness)).toHaveLength(0);
    });

    it('is skipped as limit_reached where its key has no room and refuses, and not as refused', async () => {
      const single = aDefinition('single', [task('one')], {
        concurrency: { key: 'all', limit: 1, on_limit: 'reject' },
      });
      const harness = await createHarness({ definitions: [single] });
      const origin = harness.time.now();
      await create(harness, { ...minutely, definitionId: 'single', overlap: 'allow' });
      await harness.pass(2 * MINUTE);
      expect(await outcomes(harness, origin)).toEqual([
        [1, 'started'],
        [2, 'limit_reached'],
      ]);
    });
  });

  describe('the life of a schedule', () => {
    it('ends after its last time, and a change that gives it times makes it active', async () => {
      const harness = await createHarness(flow);
      const origin = harness.time.now();
      const given = { ...minutely, endsAt: origin + MINUTE + 1 };
      await create(harness, given);
      await harness.pass(MINUTE);
      expect(await get(harness)).toMatchObject({ status: 'ended', nextTimes: [], started: 1 });
      for (const call of ['pauseSchedule', 'resumeSchedule', 'triggerSchedule'] as const)
        expect(codeOf(await harness.runs[call](named('nightly')))).toBe('conflict');
      expect(must(await harness.runs.createSchedule({ ...named('nightly'), given }))).toMatchObject({ created: false });
      const changed = await harness.runs.changeSchedule({ ...named('nightly'), given: minutely });
      expect(must(changed)).toMatchObject({ status: 'active', started: 1 });
      await harness.pass(MINUTE);
      expect(await get(harness)).toMatchObject({ started: 2 });
    });

    it('a change keeps the next time where the times stay, and begins with the next one where they do not', async () => {
      const harness = await createHarness(flow);
      const origin = harness.time.now();
      await create(harness, minutely);
      await harness.pass(30 * SECOND);
      const kept = await harness.runs.changeSchedule({ ...named('nightly'), given: { ...minutely, overlap: 'skip' } });
      expect(must(kept).nextTimes[0]).toBe(origin + MINUTE);
      await harness.runs.pauseSchedule(named('nightly'));
      await harness.pass(5 * MINUTE);
      const hourly = { ...minutely, everyMs: HOUR };
      expect(must(await harness.runs.changeSchedule({ ...named('nightly'), given: hourly }))).toMatchObject({
        status: 'paused',
      });
      must(await harness.runs.resumeSchedule(named('nightly')));
      expect(await get(harness)).toMatchObject({ started: 0, nextTimes: expect.arrayContaining([origin + HOUR]) });
    });

    it('a repeated id is the same schedule, or a conflict', async () => {
      const harness = await createHarness(flow);
      await create(harness, minutely);
      const again = await harness.runs.createSchedule({ ...named('nightly'), given: { ...minutely, input: {} } });
      expect(must(again)).toMatchObject({ created: false });
      const other = await harness.runs.createSchedule({ ...named('nightly'), given: { ...minutely, everyMs: HOUR } });
      expect(other).toMatchObject({ ok: false, failure: { code: 'conflict', message: /PUT .*nightly/ } });
    });

    it('a deleted one fires no more; its run goes on, and its id is free', async () => {
      const harness = await createHarness(flow);
      await create(harness, minutely);
      await harness.pass(MINUTE);
      must(await harness.runs.deleteSchedule(named('nightly')));
      expect(codeOf(await harness.runs.deleteSchedule(named('nightly')))).toBe('not_found');
      expect(codeOf(await harness.runs.getSchedule(named('nightly')))).toBe('not_found');
      await harness.pass(5 * MINUTE);
      expect(await runsOf(harness)).toHaveLength(1);
      must(await harness.complete(await harness.take()));
      await create(harness, { ...minutely, everyMs: HOUR });
      expect(await get(harness)).toMatchObject({ started: 0 });
      expect(harness.faults).toEqual([]);
    });

    it('jitter puts each time off, and fires it under its nominal time', async () => {
      const harness = await createHarness(flow);
      await create(harness, { ...minutely, jitterMs: MINUTE });
      await harness.pass(5 * MINUTE);
      const { firings, started } = await get(harness);
      expect(started).toBeGreaterThanOrEqual(4);
      for (const one of firings) {
        const late = one.outcome === 'started' ? one.firedAt - one.nominalAt : Number.NaN;
        expect(late).toBeGreaterThanOrEqual(0);
        expect(late).toBeLessThanOrEqual(MINUTE + SECOND);
      }
    });
  });

  it('are actors: listed, shown with their snapshot, and drawn', async () => {
    const harness = await createHarness(flow);
    await create(harness, minutely);
    const { runs } = harness;
    const listed = must(await runs.listActors({ ...ALL, type: 'schedule', limit: 10 })).items;
    expect(listed).toEqual([expect.objectContaining({ id: 'p:nightly', machine: 'schedule', value: 'active' })]);
    expect(must(await runs.getActor({ ...ALL, type: 'schedule', id: 'p:nightly' }))).toMatchObject({
      machineVersion: 1,
      status: 'active',
      context: { overlap: 'allow', nextAt: expect.any(Number) },
    });
    expect(codeOf(await runs.getActor({ reach: ['q'], type: 'schedule', id: 'p:nightly' }))).toBe('forbidden');
    expect(must(await runs.listActors({ reach: ['q'], type: 'schedule', limit: 10 })).items).toEqual([]);
    expect(must(await runs.getMachineDiagram({ ...ALL, name: 'schedule' }))).toContain('active --> paused');
  });

  it('of two projects may bear one id, and neither sees the other', async () => {
    const harness = await createHarness(flow);
    const { runs } = harness;
    await create(harness, minutely);
    const inQ = { ...named('nightly'), project: 'q' };
    must(await runs.createSchedule({ ...inQ, given: { ...minutely, everyMs: HOUR } }));
    expect(must(await runs.getSchedule(inQ)).spec.timing).toEqual({ kind: 'every', everyMs: HOUR });
    expect(must(await runs.listSchedules({ reach: ['q'], limit: 10 })).items).toHaveLength(1);
    for (const call of ['getSchedule', 'pauseSchedule', 'deleteSchedule', 'triggerSchedule'] as const)
      expect(codeOf(await runs[call]({ ...inQ, reach: ['p'] }))).toBe('forbidden');
  });

  it('one whose row is damaged is quarantined, and stops neither the others nor the run that it started', async () => {
    const harness = await createHarness(flow);
    const { store } = harness;
    await create(harness, minutely);
    await create(harness, minutely, 'other');
    await harness.pass(MINUTE);
    const [found] = await store.load([{ kind: 'kept_actor', type: 'schedule', id: 'p:nightly' }]);
    const record = found as ActorRecord;
    const reopened = await harness.reopen();
    const changes = noChanges();
    const broken = { ...record, snapshot: '{"m":1', version: record.version + 1 };
    changes.actorsUpdated.push({ before: record, after: broken });
    await store.commit(changes);
    harness.time.advance(MINUTE);
    await reopened.tick();
    const listed = must(
      await reopened.listActors({ ...ALL, type: 'schedule', limit: 10, status: 'quarantined' }),
    ).items;
    expect(listed.map(({ id }) => id)).toEqual(['p:nightly']);
    expect(codeOf(await reopened.getSchedule(named('nightly')))).toBe('conflict');
    expect(must(await reopened.getSchedule(named('other')))).toMatchObject({ started: 2 });
    const items = must(await reopened.listSchedules({ ...ALL, limit: 10 })).items;
    expect(items).toEqual([
      expect.objectContaining({ fault: expect.any(String) }),
      expect.objectContaining({ id: 'other' }),
    ]);
    must(await reopened.deleteSchedule(named('nightly')));
  });
});
