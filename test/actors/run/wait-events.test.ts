import { describe, expect, it } from 'vitest';
import { nextShowing } from '../../../src/actors/run/show-waits.ts';
import { MOST_WAIT_EVENTS, waitEventsOf } from '../../../src/actors/run/wait-events.ts';
import { ROOT_SPAN } from '../../../src/actors/run/run-spans.ts';
import { noChanges } from '../../../src/store/runs/run-store.ts';
import type { JournalEntry, JournalKind } from '../../../src/model/run.ts';
import type { Span } from '../../../src/model/span.ts';
import { onEachEngine } from '../engines.ts';
import { ALL, aDefinition, type Harness, must, task, tasks } from '../run-harness.ts';

const T0 = '2026-03-01T12:00:';
const eventsOf = (span: Span | undefined) =>
  span?.events.map(({ name, time, attributes: { step_id: _step, visit: _visit, ...rest } }) => ({
    name: name.replace('wait.', ''),
    at: new Date(Number(time / 1_000_000n)).toISOString().slice(T0.length, -1),
    ...rest,
  }));

onEachEngine('the root span of a run tells its waits', ({ createHarness }) => {
  const rootOf = async (service: Harness, traceId?: string): Promise<Span | undefined> => {
    await service.runs.flushOutbox();
    return service.spans.findLast(
      (span) => span.parentSpanId === undefined && (traceId === undefined || span.traceId === traceId),
    );
  };

  it('an event: opened while the run goes on, ended when it came, both still there after the end', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          { id: 'ask', kind: 'wait_event', event: 'approval', key: 'ticket/${input.n}', timeout_ms: 60_000 },
          ...tasks('last'),
        ]),
      ],
    });
    await service.start('flow', { n: 7 });
    const open = await rootOf(service);
    expect(open).toMatchObject({ status: 'unset', input: { n: 7 }, attributes: { 'svc.run.status': 'waiting' } });
    expect(open?.events).toEqual([
      {
        name: 'wait.opened',
        time: BigInt(service.time.now()) * 1_000_000n,
        attributes: {
          step_id: 'ask',
          visit: 1,
          kind: 'event',
          event: 'approval',
          key: 'ticket/7',
          due_at: '2026-03-01T12:01:00Z',
        },
      },
    ]);
    service.time.advance(2000);
    must(await service.runs.publishEvent({ ...ALL, project: 'p', event: 'approval', key: 'ticket/7', payload: {} }));
    const events = [
      {
        name: 'opened',
        at: '00.000',
        kind: 'event',
        event: 'approval',
        key: 'ticket/7',
        due_at: '2026-03-01T12:01:00Z',
      },
      { name: 'ended', at: '02.000', reason: 'delivered' },
    ];
    expect(eventsOf(await rootOf(service))).toEqual(events);
    must(await service.complete(await service.take(), { ok: true }));
    const ended = await rootOf(service);
    expect(ended).toMatchObject({ status: 'ok', output: { ok: true }, attributes: { 'svc.run.waits': 1 } });
    expect(eventsOf(ended)).toEqual(events);
    expect(ended?.events[1]?.attributes).toEqual({ step_id: 'ask', visit: 1, reason: 'delivered' });
  });

  it.each([
    ['a sleep that is over', { id: 'nap', kind: 'sleep', sleep_ms: 3000 }, 'sleep', 'due'],
    [
      'an event that did not come',
      { id: 'nap', kind: 'wait_event', event: 'e', key: '', timeout_ms: 3000, on_timeout: 'continue' },
      'event',
      'timeout',
    ],
    [
      'an event that did not come, handled as an error',
      {
        id: 'nap',
        kind: 'wait_event',
        event: 'e',
        key: '',
        timeout_ms: 3000,
        on_error: [{ class: 'timeout', to: 'last' }],
      },
      'event',
      'timeout',
    ],
  ])('%s', async (_what, step, kind, reason) => {
    const service = await createHarness({ definitions: [aDefinition('flow', [step, ...tasks('last')])] });
    await service.start('flow');
    await service.pass(3000);
    expect(eventsOf(await rootOf(service))).toMatchObject([
      { name: 'opened', at: '00.000', kind, due_at: '2026-03-01T12:00:03Z' },
      { name: 'ended', at: '03.000', reason },
    ]);
  });

  it('the wait before the next try, by visit', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          task('one', {
            retry: { backoff_ms: 2000, jitter: 'none' },
            next: [{ when: 'visits.one > 1', to: 'end' }, { to: 'one' }],
          }),
        ]),
      ],
    });
    await service.start('flow');
    must(await service.complete(await service.take()));
    must(await service.fail(await service.take(), 'retryable'));
    await service.pass(2000);
    const root = await rootOf(service);
    expect(root?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
      ['wait.opened', { step_id: 'one', visit: 2, kind: 'backoff', due_at: '2026-03-01T12:00:02Z' }],
      ['wait.ended', { step_id: 'one', visit: 2, reason: 'due' }],
    ]);
  });

  it('children: until the last has ended, and until one has failed', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('leaf', tasks('work')),
        aDefinition('flow', [
          {
            id: 'fan',
            kind: 'child',
            definition: 'leaf',
            for_each: '${input.items}',
            on_error: [{ class: 'fatal', to: 'last' }],
          },
          ...tasks('last'),
        ]),
      ],
    });
    const good = await service.start('flow', { items: [1, 2] });
    expect(eventsOf(await rootOf(service, good.traceId))).toEqual([{ name: 'opened', at: '00.000', kind: 'children' }]);
    for (const _ of [1, 2]) must(await service.complete(await service.take(), 1));
    expect(eventsOf(await rootOf(service, good.traceId))?.at(-1)).toEqual({
      name: 'ended',
      at: '00.000',
      reason: 'finished',
    });
    const bad = await service.start('flow', { items: [1, 2] });
    must(await service.complete(await service.take(), 1));
    must(await service.fail(await service.take(), 'fatal'));
    expect(eventsOf(await rootOf(service, bad.traceId))?.at(-1)).toMatchObject({ name: 'ended', reason: 'finished' });
  });

  it('a cancel and a limit end the wait with the run', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [{ id: 'ask', kind: 'wait_event', event: 'e', key: '' }], {
          limits: { run_timeout_ms: 5000 },
        }),
      ],
    });
    const cancelled = await service.start('flow');
    must(await service.runs.cancelRun({ ...ALL, runId: cancelled.runId }));
    const late = await service.start('flow');
    await service.pass(5000);
    const root = await rootOf(service, cancelled.traceId);
    expect(root).toMatchObject({ status: 'unset', attributes: { 'svc.run.status': 'cancelled' } });
    expect(root?.endTime).toBeDefined();
    expect(eventsOf(root)?.at(-1)).toMatchObject({ name: 'ended', reason: 'cancelled' });
    const failed = await rootOf(service, late.traceId);
    expect(failed).toMatchObject({
      status: 'error',
      error: { type: 'limit' },
      attributes: { 'svc.run.limit': 'run_timeout_ms' },
    });
    expect(eventsOf(failed)?.at(-1)).toMatchObject({ name: 'ended', at: '05.000', reason: 'ended' });
  });

  it('a wait that a stop interrupted is shown after the start: the row of the outbox stands for the span', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [{ id: 'nap', kind: 'sleep', sleep_ms: 3000 }, ...tasks('last')])],
    });
    await service.start('flow', { big: 'x'.repeat(5000) });
    const rows = await service.store.readOutbox(0, 10);
    expect(rows.map(({ span }) => span.length < 10)).toEqual([false, true]);
    const again = await service.reopen();
    await again.flushOutbox();
    expect(eventsOf(service.spans.at(-1))).toMatchObject([{ name: 'opened', kind: 'sleep' }]);
    expect(await service.store.readOutbox(0, 10)).toEqual([]);
  });

  it('of a run that was erased before its span was sent, none is sent', async () => {
    const service = await createHarness({
      definitions: [aDefinition('flow', [{ id: 'nap', kind: 'sleep', sleep_ms: 3000 }])],
    });
    const { runId } = await service.start('flow');
    const [first] = await service.store.readOutbox(0, 1);
    await service.store.commit({ ...noChanges(), outboxDelivered: first?.no });
    await service.store.commit({ ...noChanges(), erased: [runId], outbox: [{ no: 999, runId, span: ROOT_SPAN }] });
    await service.runs.flushOutbox();
    expect(service.spans).toEqual([]);
  });

  it('a run that waits over and over holds the latest waits, counts all, and is sent ever more rarely', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          {
            id: 'poll',
            kind: 'sleep',
            sleep_ms: 1000,
            next: [{ when: 'visits.poll > 299', to: 'end' }, { to: 'poll' }],
          },
        ]),
      ],
    });
    const { runId } = await service.start('flow');
    for (let second = 0; second < 290; second += 1) {
      await service.pass(1000);
      await service.runs.flushOutbox();
    }
    const sent = service.spans.length;
    // One for the start, one each second for the first 32 waits, then sixteen each time the age doubles.
    expect(sent).toBeGreaterThan(70);
    expect(sent).toBeLessThan(100);
    expect((await service.detail(runId)).timers.map(({ name }) => name)).toEqual(['sleep']);
    await service.pass(10_000);
    const root = await rootOf(service);
    expect(root).toMatchObject({ status: 'ok', attributes: { 'svc.run.waits': 300 } });
    expect(root?.events).toHaveLength(MOST_WAIT_EVENTS);
    expect(root?.events.at(-1)?.time).toBe(root?.endTime);
    const later = service.time.now() + 10 ** 9;
    expect((await service.store.dueTimers(later, 10, later)).length).toBe(0);
  });

  it('a long wait after many short ones is shown before it ends', async () => {
    const service = await createHarness({
      definitions: [
        aDefinition('flow', [
          {
            id: 'poll',
            kind: 'sleep',
            sleep_ms: 1000,
            next: [{ when: 'visits.poll > 39', to: 'ask' }, { to: 'poll' }],
          },
          { id: 'ask', kind: 'wait_event', event: 'e', key: '' },
        ]),
      ],
    });
    await service.start('flow');
    await service.pass(40_000);
    await service.pass(4000);
    expect(eventsOf(await rootOf(service))?.at(-1)).toMatchObject({ name: 'opened', at: '40.000', kind: 'event' });
  });
});

describe('the moments at which a run with many waits is shown', () => {
  it('are the same however often they are asked for, and never later than a sixteenth of its age', () => {
    for (const age of [0, 1, 999, 1000, 16_000, 33_333, 86_400_000, 10 * 365 * 86_400_000]) {
      const next = nextShowing(5, 5 + age);
      expect(next).toBeGreaterThan(5 + age);
      expect(next - 5 - age).toBeLessThanOrEqual(Math.max(1024, age / 16));
      expect(nextShowing(5, next - 1)).toBe(next);
    }
  });

  it('are some hundreds in ten years', () => {
    let moments = 0;
    for (let at = 0; at < 10 * 365 * 86_400_000; at = nextShowing(0, at)) moments += 1;
    expect(moments).toBeLessThan(500);
  });
});

describe('events of waits, from the entries of a journal', () => {
  const entry = (seq: number, kind: JournalKind, data: JournalEntry['data'] = {}): JournalEntry => ({
    seq,
    kind,
    at: seq,
    stepId: 's',
    visit: 1,
    data,
  });
  const names = (...entries: JournalEntry[]) =>
    waitEventsOf(entries).map(({ name, attributes }) => attributes['reason'] ?? name);

  it('an end whose beginning lies before the entries is left out', () => {
    expect(names(entry(5, 'run.resumed'), entry(6, 'run.waiting', { reason: 'sleep' }))).toEqual(['wait.opened']);
  });

  it('a step that fails while it waits, its children not started, ends the wait', () => {
    expect(names(entry(1, 'run.waiting', { reason: 'children' }), entry(2, 'step.failed'))).toEqual([
      'wait.opened',
      'ended',
    ]);
  });

  it('an entry that is no end leaves the wait open', () => {
    const children = entry(1, 'run.waiting', { reason: 'children' });
    expect(names(children, entry(2, 'child.started'), entry(3, 'child.finished'))).toEqual(['wait.opened']);
  });
});
