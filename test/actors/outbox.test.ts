import { expect, it } from 'vitest';
import { createOutbox } from '../../src/actors/outbox.ts';
import { ROOT_SPAN, type SpanDraft } from '../../src/actors/run/run-spans.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { onEachEngine } from './engines.ts';
import { aDefinition, createFakeClock, createHarness as createHarnessOn, tasks } from './run-harness.ts';

it('a retry that falls due at once begins when the failed turn has ended: never two turns at a time', async () => {
  const { clock, now } = createFakeClock();
  const faults: unknown[] = [];
  let reads = 0;
  const outbox = createOutbox({
    store: {
      readOutbox: async () => {
        reads += 1;
        if (reads === 1) throw new StoreUnavailable('away');
        await new Promise((resolve) => setImmediate(resolve));
        return [];
      },
    },
    clock: {
      ...clock,
      after: (_ms, callback) => {
        queueMicrotask(callback);
        return () => {};
      },
    },
    defer: (callback) => setImmediate(callback),
    now,
    writeSpans: async () => {},
    rootSpan: async () => undefined,
    delivered: async () => {},
    backlog: async () => undefined,
    onFault: (error) => faults.push(error),
  });
  outbox.kick();
  while (reads < 2) await Promise.resolve();
  expect(outbox.actor.state().value).toBe('sending');
  outbox.kick();
  await outbox.flush();
  expect(outbox.actor.state().value).toBe('idle');
  expect(faults).toMatchObject([{ message: 'away' }]);
});

it('a stop sends one batch beyond that in hand, however many rows wait', async () => {
  const { clock, now } = createFakeClock();
  const delivered: number[] = [];
  const outbox = createOutbox({
    store: {
      readOutbox: async (after, limit) =>
        Array.from({ length: limit }, (_, n) => ({ no: after + n + 1, runId: 'r', span: ROOT_SPAN })),
    },
    clock,
    defer: (callback) => setImmediate(callback),
    now,
    writeSpans: async () => {},
    rootSpan: async () => undefined,
    delivered: async (upTo) => {
      delivered.push(upTo);
    },
    backlog: async () => undefined,
    onFault: () => {},
  });
  const sending = outbox.flush();
  await outbox.sendLast();
  await sending;
  expect(delivered).toEqual([2000, 4000]);
});

it('a service that loses its runs while it writes leaves no span without an end over that of the end', async () => {
  const { clock, now } = createFakeClock();
  const runId = '01a20ba1-530f-7ae8-963f-e893e56ad5bf';
  const open: SpanDraft = {
    traceId: '01a20ba1530f7ae8963fe893e56ad5bf',
    spanId: '963fe893e56ad5bf',
    name: 'flow',
    kind: 'workflow_run',
    status: 'unset',
    startMs: now(),
    correlation: {},
    project: 'default',
    runId,
    attributes: {},
  };
  const ended: SpanDraft = { ...open, status: 'ok', endMs: now() + 5 };
  let stored = open;
  const ends: unknown[] = [];
  const outbox = createOutbox({
    store: { readOutbox: async (after) => (after === 0 ? [{ no: 1, runId, span: JSON.stringify(open) }] : []) },
    clock,
    defer: (callback) => setImmediate(callback),
    now,
    writeSpans: async (spans) => {
      stored = ended; // by the next owner, who sent it before this one's arrives
      ends.push(...spans.map(({ endTime }) => endTime));
    },
    rootSpan: async () => ({ draft: stored, characters: 0 }),
    delivered: () => Promise.reject(new StoreUnavailable('another service owns the runs')),
    backlog: async () => undefined,
    onFault: () => {},
  });
  await expect(outbox.flush()).rejects.toThrow('another service');
  expect(ends).toEqual([undefined, expect.anything()]);
});

onEachEngine('the outbox', ({ open, createHarness }) => {
  it('keeps spans in the outbox while the trace store is away', async () => {
    let away = true;
    const spans: string[] = [];
    const service = await createHarness({
      definitions: [aDefinition('flow', tasks('one'))],
      writeSpans: async (batch) => {
        if (away) throw new Error('away');
        spans.push(...batch.map(({ name }) => name));
      },
    });
    await service.start('flow');
    await expect(service.runs.flushOutbox()).rejects.toThrow('away');
    expect((await service.store.readOutbox(0, 10)).length).toBe(1);
    away = false;
    await service.runs.flushOutbox();
    expect(spans).toEqual(['flow']);
  });

  it('sends the spans of a moment ago when the service stops, and keeps them when the trace store is away then', async () => {
    let away = true;
    const spans: string[] = [];
    const store = await open();
    const service = await createHarnessOn({
      store: { ...store, close: async () => {} },
      definitions: [aDefinition('flow', tasks('one'))],
      writeSpans: async (batch) => {
        if (away) throw new Error('away');
        spans.push(...batch.map(({ name }) => name));
      },
    });
    await service.start('flow');
    await service.runs.stop();
    expect(service.faults).toMatchObject([{ message: 'away' }]);
    expect((await store.readOutbox(0, 10)).length).toBe(1);
    away = false;
    await (await service.reopen()).stop();
    expect(spans).toEqual(['flow']);
    expect(await store.readOutbox(0, 10)).toEqual([]);
  });
});
