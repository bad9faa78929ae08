import { expect, it } from 'vitest';
import type { RunStore } from '../../../src/store/runs/run-store.ts';
import { publish, waiting } from './approvals.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, createHarness as createOn, must } from '../run-harness.ts';

const DAY = 24 * 3600_000;

onEachEngine('events', ({ createHarness, open }) => {
  it('a run that memory has dropped is found by its event', async () => {
    const service = await createHarness({ definitions: [waiting()] });
    const { runId } = await service.start('flow', { id: 7 });
    const again = await service.reopen();
    expect(
      must(await again.publishEvent({ ...ALL, project: 'p', event: 'approval', key: 'ticket/7', payload: 1 })),
    ).toEqual({
      outcome: 'delivered',
      runId,
    });
  });

  it('a run that waits says under which key, in lists too', async () => {
    const service = await createHarness({ definitions: [waiting()] });
    await service.start('flow', { id: 7 });
    expect(must(await service.runs.listRuns({ ...ALL, limit: 1 })).items).toMatchObject([
      { status: 'waiting', waitingOn: 'event', waitingKeys: ['ticket/7'] },
    ]);
    must(await publish(service, 'ticket/7'));
    const [run] = must(await service.runs.listRuns({ ...ALL, limit: 1 })).items;
    expect(run?.waitingOn).not.toBe('event');
    expect(run?.waitingKeys).toBe(undefined);
  });

  it('one event goes to one wait, the oldest', async () => {
    const service = await createHarness({ definitions: [waiting()] });
    const ids = [];
    for (let n = 0; n < 3; n += 1) ids.push((await service.start('flow', { id: 1 })).runId);
    const outcomes = await Promise.all(ids.map(() => publish(service, 'ticket/1')));
    expect(outcomes.map((outcome) => must(outcome).runId)).toEqual(ids);
    expect(must(await publish(service, 'ticket/1')).outcome).toBe('parked');
  });

  it('more waits than one group looks at are all served', async () => {
    const service = await createHarness({ definitions: [waiting()] });
    const ids = await Promise.all(
      Array.from({ length: 150 }, async () => (await service.start('flow', { id: 1 })).runId),
    );
    const outcomes = await Promise.all(ids.map(() => publish(service, 'ticket/1')));
    expect(new Set(outcomes.map((outcome) => must(outcome).runId))).toEqual(new Set(ids));
  });

  // Memory keeps up to 64 waits and events of a name and key; of more it asks the store, again and again.
  it.each([63, 64, 65, 66, 130])(
    '%i waits of one key, opened one by one, are served from the oldest',
    async (count) => {
      const service = await createHarness({ definitions: [waiting()] });
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1) ids.push((await service.start('flow', { id: 1 })).runId);
      const served: unknown[] = [];
      for (let n = 0; n < count; n += 1) served.push(must(await publish(service, 'ticket/1')).runId);
      expect(served).toEqual(ids);
      expect(must(await publish(service, 'ticket/1'))).toEqual({ outcome: 'parked' });
    },
  );

  it.each([63, 64, 65, 66, 130])(
    '%i events of one key, parked one by one, are taken from the oldest',
    async (count) => {
      const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
      for (let n = 0; n < count; n += 1) must(await publish(service, 'ticket/1', { payload: n }));
      const taken: unknown[] = [];
      for (let n = 0; n < count; n += 1) {
        await service.start('flow', { id: 1 });
        taken.push(((await service.take()).input as { got: unknown }).got);
      }
      expect(taken).toEqual(Array.from({ length: count }, (_, n) => n));
      expect((await service.start('flow', { id: 1 })).status).toBe('waiting');
    },
  );

  it.each([63, 64, 65, 66, 130])('%i parked events are taken by as many runs that start at once', async (count) => {
    const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
    for (let n = 0; n < count; n += 1) must(await publish(service, 'ticket/1'));
    const again = await service.reopen();
    const start = async () =>
      must(await again.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: { id: 1 } })).run.status;
    const started = await Promise.all(Array.from({ length: count + 1 }, start));
    expect(started).toEqual([...Array.from({ length: count }, () => 'queued'), 'waiting']);
  });

  const mailbox = { id: 'inbox', kind: 'wait_event', event: 'approval', accept_parked: true };

  const letters = async (service: Awaited<ReturnType<typeof createHarness>>, count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) must(await publish(service, ''));
  };

  it.each([64, 65, 260])('%i parked events are all taken by one run, in the turn that starts it', async (count) => {
    const next = [{ when: `visits.inbox >= ${count}`, to: 'end' }, { to: 'inbox' }];
    const service = await createHarness({ definitions: [aDefinition('flow', [{ ...mailbox, next }])] });
    await letters(service, count);
    expect((await service.start('flow')).status).toBe('succeeded');
  });

  it('more parked events than a turn looks at are taken by a run that a timer moves', async () => {
    const next = [{ when: 'visits.inbox >= 65', to: 'end' }, { to: 'inbox' }];
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          { id: 'nap', kind: 'sleep', sleep_ms: 1000 },
          { ...mailbox, next },
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    await letters(service, 65);
    await service.pass(2000);
    expect((await service.detail(runId)).status).toBe('succeeded');
  });

  it('more parked events than a turn looks at are taken by children that start together', async () => {
    const many = { id: 'many', kind: 'child', definition: 'kid', for_each: '${input}', max_parallel: 100 };
    const service = await createHarness({
      definitions: [aDefinition('kid', [mailbox]), aDefinition('flow', [many])],
    });
    await letters(service, 80);
    const { runId } = await service.start(
      'flow',
      Array.from({ length: 81 }, (_, n) => n),
    );
    expect((await service.detail(runId)).status).toBe('waiting');
    must(await publish(service, ''));
    expect((await service.detail(runId)).status).toBe('succeeded');
  });

  it.each([63, 64, 65, 66, 130])('%i waits and events of one key, found again in the store', async (count) => {
    const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push((await service.start('flow', { id: 1 })).runId);
    const second = { ...service, runs: await service.reopen() };
    const served: unknown[] = [];
    for (let n = 0; n < count; n += 1) served.push(must(await publish(second, 'ticket/1')).runId);
    expect(served).toEqual(ids);
    for (let n = 0; n < count; n += 1) must(await publish(second, 'ticket/1'));
    const third = await second.reopen();
    const start = async () =>
      must(await third.startRun({ ...ALL, project: 'p', definitionId: 'flow', input: { id: 1 } })).run.status;
    const found: unknown[] = [];
    for (let n = 0; n < count; n += 1) found.push(await start());
    expect(found).toEqual(Array.from({ length: count }, () => 'queued'));
    expect(await start()).toBe('waiting');
  });

  it('an event asks the store nothing of a wait that memory knows, and finds one that it does not', async () => {
    const store = await open();
    let asked = 0;
    const load: RunStore['load'] = (lookups) => {
      asked += lookups.filter(({ kind }) => kind === 'event_mailbox').length;
      return store.load(lookups);
    };
    const service = await createOn({ definitions: [waiting({ accept_parked: true })], store: { ...store, load } });
    const { runId } = await service.start('flow', { id: 1 });
    expect(asked).toBe(1);
    expect(must(await publish(service, 'ticket/1'))).toEqual({ outcome: 'delivered', runId });
    expect(asked).toBe(1);
    // Nothing waits and nothing is parked any more: memory has let go of it.
    expect(must(await publish(service, 'ticket/1'))).toEqual({ outcome: 'parked' });
    expect(asked).toBe(2);
    expect((await service.start('flow', { id: 1 })).status).toBe('queued');
    expect(asked).toBe(2);
  });

  it('an event is delivered to a wait that opens in the same moment', async () => {
    const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
    const [run, outcome] = await Promise.all([service.start('flow', { id: 1 }), publish(service, 'ticket/1')]);
    expect(must(outcome)).toEqual({ outcome: 'delivered', runId: run.runId });
  });

  it('a parked event is taken by a later wait that accepts parked events, and only by such a one', async () => {
    const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
    must(await publish(service, 'ticket/1'));
    const taker = await service.start('flow', { id: 1 });
    expect(taker).toMatchObject({ status: 'queued', cursor: 'then' });
    expect((await service.start('flow', { id: 1 })).status).toBe('waiting');

    const strict = await createHarness({ definitions: [waiting()] });
    must(await publish(strict, 'ticket/1'));
    expect((await strict.start('flow', { id: 1 })).status).toBe('waiting');
  });

  it('lists what is parked and may still be taken, newest first, without payloads', async () => {
    const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
    const list = async (more: object = {}) => must(await service.runs.listParkedEvents({ ...ALL, limit: 10, ...more }));
    const keys = async (more: object = {}) => (await list(more)).items.map(({ key }) => key);
    expect(await list()).toEqual({ items: [] });
    const first = service.time.now();
    await publish(service, 'ticket/1', { eventId: 'e' });
    service.time.advance(1000);
    await publish(service, 'ticket/2', { project: 'q' });
    await publish(service, 'ticket/3');
    expect(await keys()).toEqual(['ticket/3', 'ticket/2', 'ticket/1']);
    expect(await keys({ reach: ['p'] })).toEqual(['ticket/3', 'ticket/1']);
    const page = await list({ limit: 2 });
    expect(await list({ limit: 2, after: page.next })).toEqual({
      items: [
        {
          event: 'approval',
          key: 'ticket/1',
          project: 'p',
          eventId: 'e',
          parkedAt: first,
          expiresAt: first + DAY,
          payloadBytes: '{"ok":true}'.length,
        },
      ],
    });
    await service.start('flow', { id: 3 });
    expect(await keys()).toEqual(['ticket/2', 'ticket/1']);
    // No sweep has come by: the event that no run can take any more is not listed all the same.
    service.time.advance(DAY - 1001);
    expect(await keys()).toEqual(['ticket/2', 'ticket/1']);
    service.time.advance(1);
    expect(await keys()).toEqual(['ticket/2']);
  });

  it('a parked event expires after 24 hours', async () => {
    const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
    must(await publish(service, 'ticket/1'));
    must(await publish(service, 'ticket/2'));
    service.time.advance(24 * 3600_000 - 1);
    expect((await service.start('flow', { id: 1 })).status).toBe('queued');
    service.time.advance(1);
    expect((await service.start('flow', { id: 2 })).status).toBe('waiting');
  });

  it('an event_id seen before in the project is a duplicate: nothing is written', async () => {
    const service = await createHarness({ definitions: [waiting()] });
    const { runId } = await service.start('flow', { id: 1 });
    const second = await service.start('flow', { id: 1 });
    const sent = await Promise.all([
      publish(service, 'ticket/1', { eventId: 'e' }),
      publish(service, 'ticket/1', { eventId: 'e' }),
    ]);
    expect(sent.map((one) => must(one).outcome).toSorted()).toEqual(['delivered', 'duplicate']);
    expect(must(await publish(service, 'ticket/1', { eventId: 'e' }))).toEqual({ outcome: 'duplicate', runId });
    expect((await service.detail(second.runId)).status).toBe('waiting');
    expect(must(await publish(service, 'ticket/1', { eventId: 'e', project: 'other' })).outcome).toBe('parked');
  });

  it('event_id seen before: a parked event that a wait took is a duplicate for as long as its run is kept', async () => {
    const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
    const resend = async () => must(await publish(service, 'ticket/1', { eventId: 'e' }));
    expect((await resend()).outcome).toBe('parked');
    expect(await resend()).toEqual({ outcome: 'duplicate' });
    service.time.advance(DAY - 1);
    const { runId } = await service.start('flow', { id: 1 });
    expect((await service.detail(runId)).status).toBe('queued');
    const again = await service.start('flow', { id: 1 });
    for (const ms of [0, 1, DAY, 30 * DAY]) {
      service.time.advance(ms);
      await service.runs.tick();
      expect(await resend()).toEqual({ outcome: 'duplicate', runId });
    }
    expect((await service.detail(again.runId)).status).toBe('waiting');
    must(await service.runs.cancelRun({ ...ALL, runId }));
    expect(await resend()).toEqual({ outcome: 'duplicate', runId });
    await service.runs.trimFinishedRuns('p', service.time.now() + 1, 10);
    expect(await resend()).toEqual({ outcome: 'delivered', runId: again.runId });
  });

  it('event_id seen before: known to the event that is parked and taken in the same moment', async () => {
    const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
    const [parked, run, again] = await Promise.all([
      publish(service, 'ticket/1', { eventId: 'e' }),
      service.start('flow', { id: 1 }),
      publish(service, 'ticket/1', { eventId: 'e' }),
    ]);
    expect(must(parked)).toEqual({ outcome: 'parked' });
    expect(must(again)).toEqual({ outcome: 'duplicate', runId: run.runId });
    service.time.advance(DAY + 1);
    await service.runs.tick();
    expect(must(await publish(service, 'ticket/1', { eventId: 'e' }))).toMatchObject({ outcome: 'duplicate' });
  });

  it('event_id seen before: one that nobody took is known for the 24 hours that its event can be taken', async () => {
    const service = await createHarness({ definitions: [waiting({ accept_parked: true })] });
    const resend = async () => must(await publish(service, 'ticket/1', { eventId: 'e' }));
    expect((await resend()).outcome).toBe('parked');
    service.time.advance(DAY - 1);
    expect(await resend()).toEqual({ outcome: 'duplicate' });
    // Gone to the millisecond, whether or not the rows were swept since.
    service.time.advance(1);
    expect(await resend()).toEqual({ outcome: 'parked' });
    await service.runs.tick();
    const { runId } = await service.start('flow', { id: 1 });
    expect((await service.detail(runId)).status).toBe('queued');
    expect(await resend()).toEqual({ outcome: 'duplicate', runId });
  });
});
