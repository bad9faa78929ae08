/** Runs, schedules and definitions: what the calls of a client do. */
import assert from 'node:assert/strict';
import { meanwhile, until } from '../kit/judging.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { StoredRun } from '../opposite/daemon.ts';
import { isCallTo, type Passed } from '../opposite/proxy.ts';
import type { Json } from './arrived.ts';
import { echo, waits } from './definitions.ts';
import { client, fixtureAt, waitingRun, signalRun } from './client-stage.ts';

export const clientRunsScenarios: readonly Scenario[] = [
  client(
    33,
    'start',
    'A start carries its input, version and correlation, and gives the run as it is stored.',
    async (world) => {
      const service = await world.service();
      const id = world.unique('echo');
      await service.api.store(echo(id));
      const fixture = await fixtureAt(world, service);
      const input = { amount: 40.5, text: 'Grüße 😀', list: [1, null, { a: false }], empty: {} };
      const run = await fixture.ask<StoredRun>('client.start', {
        ...{ definition_id: id, input, version: 1, correlation: { user_id: 'u-7' }, wait_ms: 5000 },
      });
      const stored = await service.api.run(run.run_id);
      assert.deepEqual(stored.input, input);
      assert.deepEqual((stored as unknown as Json)['correlation'], { user_id: 'u-7' });
      assert.equal(run.trace_id, stored.trace_id);
      assert.equal(run.status, 'succeeded', 'with wait_ms the answer is the end');
      assert.deepEqual(run.output, input);
    },
  ),

  client(34, 'idempotency-key', 'Two starts with one key are one run, and two without are two.', async (world) => {
    const service = await world.service();
    const id = world.unique('echo');
    await service.api.store(echo(id));
    const fixture = await fixtureAt(world, service);
    const start = (more: object): Promise<StoredRun> =>
      fixture.ask('client.start', { definition_id: id, input: {}, ...more });
    const idempotency_key = world.unique('order');
    const [first, again, other, another] = [
      await start({ idempotency_key }),
      await start({ idempotency_key }),
      await start({}),
      await start({}),
    ];
    assert.equal(again.run_id, first.run_id);
    assert.equal(new Set([first.run_id, other.run_id, another.run_id]).size, 3);
  }),

  client(84, 'pause-resume', 'A run is paused and resumed, with its reason.', async (world) => {
    const service = await world.service();
    const { run } = await waitingRun(world, service);
    await service.api.runWhere(run.run_id, 'that waits', ({ status }) => status === 'waiting');
    const fixture = await fixtureAt(world, service);
    const paused = await fixture.ask<StoredRun>('client.pause', { run_id: run.run_id, reason: 'holiday' });
    assert.equal(paused.status, 'paused');
    await fixture.ask('client.signal', { run_id: run.run_id, event: 'go1', payload: { n: 1 } });
    assert.equal((await service.api.run(run.run_id)).status, 'paused', 'what comes meanwhile waits');
    await fixture.ask('client.resume', { run_id: run.run_id });
    assert.deepEqual((await service.api.ended(run.run_id)).output, { n: 1 });
    const journal = await service.api.journal(run.run_id);
    const entry = journal.find(({ kind }) => kind === 'run.paused');
    assert.equal(entry?.data['reason'], 'holiday');
  }),

  client(85, 'restart', 'An ended run is restarted from a step, as a new run.', async (world) => {
    const service = await world.service();
    const { run } = await waitingRun(world, service, 2);
    const fixture = await fixtureAt(world, service);
    await service.api.runWhere(run.run_id, 'that waits', ({ status }) => status === 'waiting');
    await signalRun(service, run.run_id, 'go1');
    await service.api.runWhere(run.run_id, 'at its second wait', (each) => JSON.stringify(each.waits).includes('go2'));
    await fixture.ask('client.cancel', { run_id: run.run_id });
    const key = world.unique('restart');
    const restart = (): Promise<StoredRun> =>
      fixture.ask('client.restart', {
        run_id: run.run_id,
        from_step: 'wait2',
        state_patch: { again: true },
        idempotency_key: key,
      });
    const restarted = await restart();
    assert.notEqual(restarted.run_id, run.run_id);
    assert.equal((await restart()).run_id, restarted.run_id, 'the same key is the same run');
    const stored = await service.api.run(restarted.run_id);
    assert.deepEqual(stored.state, { again: true });
    const { restarted_from: from } = stored as unknown as { restarted_from: Json };
    assert.deepEqual([from['run_id'], from['step_id']], [run.run_id, 'wait2']);
    assert.equal((await service.api.run(run.run_id)).status, 'cancelled', 'the ended run stays as it is');
  }),

  client(86, 'start-at-priority', 'A start may lie ahead, and has a priority.', async (world) => {
    const service = await world.service();
    const id = world.unique('echo');
    await service.api.store(echo(id));
    const fixture = await fixtureAt(world, service);
    const run = await fixture.ask<StoredRun>('client.start', {
      definition_id: id,
      input: {},
      start_at: '+1h',
      priority: 7,
    });
    const stored = await service.api.run(run.run_id);
    assert.deepEqual([stored.status, stored.priority], ['scheduled', 7]);
    assert.equal(run.status, 'scheduled', 'a status of later releases is read too');
  }),

  client(
    87,
    'schedules',
    'A schedule is made, read, replaced, paused, resumed, triggered, listed and deleted.',
    async (world) => {
      const service = await world.service();
      const definition = world.unique('echo');
      const id = world.unique('nightly');
      await service.api.store(echo(definition));
      const fixture = await fixtureAt(world, service);
      const schedule = {
        definition_id: definition,
        cron: '0 3 * * *',
        timezone: 'Europe/Vienna',
        input: { n: 1 },
        overlap: 'queue',
      };
      const made = await fixture.ask<Json>('client.create_schedule', { id, schedule });
      assert.deepEqual(
        [made['cron'], made['timezone'], made['overlap'], made['input']],
        ['0 3 * * *', 'Europe/Vienna', 'queue', { n: 1 }],
      );
      const conflict = await fixture.refused('client.create_schedule', {
        id,
        schedule: { ...schedule, cron: '0 4 * * *' },
      });
      assert.equal(conflict.status, 409);
      await fixture.ask('client.replace_schedule', {
        id,
        schedule: { definition_id: definition, every_ms: 3_600_000 },
      });
      assert.equal((await fixture.ask<Json>('client.pause_schedule', { id }))['status'], 'paused');
      assert.equal((await fixture.ask<Json>('client.resume_schedule', { id }))['status'], 'active');
      const fired = await fixture.ask<{ firings: readonly Json[] }>('client.trigger_schedule', { id });
      assert.equal(fired.firings[0]?.['outcome'], 'started');
      const runId = String(fired.firings[0]?.['run_id']);
      assert.equal((await service.api.ended(runId)).status, 'succeeded');
      const read = await fixture.ask<Json>('client.get_schedule', { id });
      assert.equal(read['every_ms'], 3_600_000);
      assert.equal(read['cron'], undefined, 'what was replaced is gone');
      const listed = await fixture.ask<{ schedules: readonly Json[] }>('client.list_schedules', {});
      assert.ok(listed.schedules.some((each) => each['id'] === id));
      await fixture.ask('client.delete_schedule', { id });
      assert.equal((await fixture.refused('client.get_schedule', { id })).status, 404);
    },
  ),

  client(
    88,
    'trigger-once',
    'A trigger whose answer is lost is not sent again: it may have started a run.',
    async (world) => {
      const service = await world.service();
      const definition = world.unique('echo');
      const id = world.unique('manual');
      await service.api.store(echo(definition));
      await service.api.post('/v1/api/schedules', {
        id,
        definition_id: definition,
        every_ms: 86_400_000,
        overlap: 'allow',
      });
      const fixture = await fixtureAt(world, service);
      service.proxy.break(isCallTo('POST', /\/trigger$/), { kind: 'cut after' });
      assert.equal((await fixture.refused('client.trigger_schedule', { id })).type, 'ConnectionError');
      await meanwhile(200);
      const { runs } = await service.api.get<{ runs: readonly StoredRun[] }>(
        `/v1/api/runs?definition_id=${definition}`,
      );
      assert.equal(runs.length, 1);
    },
  ),

  client(89, 'bulk', 'An action on many runs is counted, begun once, and followed.', async (world) => {
    const service = await world.service();
    const id = world.unique('waits');
    await service.api.store(waits(id, 1));
    const started = await Promise.all([1, 2, 3].map((n) => service.api.start(id, { key: `k${n}` })));
    const fixture = await fixtureAt(world, service);
    const work = { action: 'cancel', reason: 'cleared', filter: { definition_id: id } };
    const counted = await fixture.ask<{ count: number; sample: readonly string[] }>('client.count_bulk', work);
    assert.equal(counted.count, 3);
    assert.deepEqual(counted.sample.toSorted(), started.map(({ run_id }) => run_id).toSorted());
    assert.notEqual((await service.api.run(started[0]?.run_id ?? '')).status, 'cancelled', 'counting does nothing');
    const { bulk_id } = await fixture.ask<{ bulk_id: string }>('client.start_bulk', work);
    await Promise.all(started.map(({ run_id }) => service.api.ended(run_id)));
    const done = await until('end of the action', undefined, async () => {
      const bulk = await fixture.ask<Json>('client.get_bulk', { bulk_id });
      return bulk['done'] === 3 ? bulk : undefined;
    });
    assert.deepEqual([done['count'], done['refused']], [3, 0]);
  }),

  client(
    103,
    'bulk-after-a-cut',
    'An action on many runs whose answer is lost is sent again under the same key, and is one action.',
    async (world) => {
      const service = await world.service();
      const id = world.unique('waits');
      await service.api.store(waits(id, 1));
      for (const n of [1, 2]) await service.api.start(id, { key: `k${n}` });
      const fixture = await fixtureAt(world, service);
      const work = { action: 'pause', filter: { definition_id: id } };
      const isBegun = ({ method, path, text }: Passed): boolean =>
        method === 'POST' && path === '/v1/api/runs/bulk' && !(JSON.parse(text) as { dry_run?: boolean }).dry_run;
      const begun = () => service.proxy.passed.filter(isBegun);
      const keyIn = ({ text }: Passed): unknown => (JSON.parse(text) as Json)['idempotency_key'];
      type Answer = { readonly bulk_id?: string; readonly count: number };

      service.proxy.break(isBegun, { kind: 'cut after' });
      const own = await fixture.ask<Answer>('client.start_bulk', work);
      const [lost, again] = begun();
      assert.ok(lost !== undefined && again !== undefined, 'it is sent again');
      assert.equal(typeof keyIn(lost), 'string', 'without a key of the user it has one of its own');
      assert.equal(keyIn(again), keyIn(lost));
      assert.equal(own.bulk_id, (JSON.parse(lost.answer ?? '{}') as Answer).bulk_id, 'the answer is that of the first');

      const idempotency_key = world.unique('tidy');
      const [first, second, other] = [
        await fixture.ask<Answer>('client.start_bulk', { ...work, idempotency_key }),
        await fixture.ask<Answer>('client.start_bulk', { ...work, idempotency_key }),
        await fixture.ask<Answer>('client.start_bulk', work),
      ];
      assert.deepEqual(begun().slice(2, 4).map(keyIn), [idempotency_key, idempotency_key]);
      assert.deepEqual(second, first, 'the same key again is the action that it began');
      assert.equal(new Set([own.bulk_id, first.bulk_id, other.bulk_id]).size, 3, 'another key is another action');
    },
  ),

  client(90, 'definitions', 'Definitions are checked, stored, paused and resumed without a worker.', async (world) => {
    const service = await world.service();
    const id = world.unique('echo');
    const fixture = await fixtureAt(world, service);
    const checked = await fixture.ask<{ definitions: readonly { faults: readonly Json[] }[] }>(
      'client.check_definitions',
      {
        definitions: [{ id, version: 1, steps: [] }],
      },
    );
    assert.ok((checked.definitions[0]?.faults.length ?? 0) > 0, 'its faults are named');
    await fixture.ask('client.store_definitions', { definitions: [echo(id)] });
    await fixture.ask('client.pause_definition', { id, reason: 'deploy' });
    const run = await fixture.ask<StoredRun>('client.start', { definition_id: id, input: 7 });
    assert.equal((await service.api.run(run.run_id)).status, 'queued', 'nothing begins meanwhile');
    await fixture.ask('client.resume_definition', { id });
    assert.equal((await service.api.ended(run.run_id)).output, 7);
  }),

  client(
    92,
    'reads',
    'Runs are listed by filter and page, journals by page, and any read has a way.',
    async (world) => {
      const service = await world.service();
      const id = world.unique('echo');
      await service.api.store(echo(id));
      for (const n of [1, 2, 3]) await service.api.start(id, n, { wait_ms: 5000, correlation: { user_id: `u-${n}` } });
      const fixture = await fixtureAt(world, service);
      type Page = { runs: readonly StoredRun[]; next_cursor?: string };
      const first = await fixture.ask<Page>('client.list', { definition_id: id, status: 'succeeded', limit: 2 });
      assert.equal(first.runs.length, 2);
      const rest = await fixture.ask<Page>('client.list', {
        ...{ definition_id: id, status: 'succeeded', limit: 2 },
        cursor: first.next_cursor,
      });
      assert.equal(rest.runs.length, 1);
      assert.equal(new Set([...first.runs, ...rest.runs].map(({ run_id }) => run_id)).size, 3);
      const own = await fixture.ask<Page>('client.list', { definition_id: id, user_id: 'u-2' });
      assert.equal(own.runs.length, 1);
      const runId = own.runs[0]?.run_id ?? '';
      const page = await fixture.ask<{ events: readonly { seq: number }[] }>('client.journal', {
        run_id: runId,
        after: 0,
        limit: 1,
      });
      assert.deepEqual(
        page.events.map(({ seq }) => seq),
        [1],
      );
      const read = await fixture.ask<Page>('client.read', {
        path: '/v1/api/runs',
        query: { definition_id: id, limit: 1 },
      });
      assert.equal(read.runs.length, 1);
    },
  ),
];
