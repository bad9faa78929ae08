import { describe, expect, it } from 'vitest';
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

describe('runs that another service may take over', () => {
  const runId = '01a20ba1-530f-7ae8-963f-e893e56ad5bf';
  const open: SpanDraft = {
    traceId: '01a20ba1530f7ae8963fe893e56ad5bf',
    spanId: '963fe893e56ad5bf',
    name: 'flow',
    kind: 'workflow_run',
    status: 'unset',
    startMs: 1_700_000_000_000,
    correlation: {},
    project: 'default',
    runId,
    attributes: {},
  };
  const ended: SpanDraft = { ...open, status: 'ok', endMs: open.startMs + 5 };

  /** The row of one run in a database, the trace that is stored of it, and services that send it. */
  const createShared = () => {
    const database = { rows: [{ no: 1, runId, span: ROOT_SPAN }], stored: open };
    const trace: (bigint | undefined)[] = [];
    const serve = (options: Partial<Parameters<typeof createOutbox>[0]> = {}) => {
      const { clock, advance, now } = createFakeClock();
      const outbox = createOutbox({
        store: { readOutbox: async (after) => database.rows.filter(({ no }) => no > after) },
        clock,
        defer: (callback) => setImmediate(callback),
        now,
        writeSpans: async (spans) => void trace.push(...spans.map(({ endTime }) => endTime)),
        holding: { isHeld: () => true },
        rootSpan: async () => ({ draft: database.stored, characters: 0 }),
        delivered: async (upTo) => void (database.rows = database.rows.filter(({ no }) => no > upTo)),
        backlog: async () => undefined,
        onFault: () => {},
        ...options,
      });
      return { outbox, advance };
    };
    return { database, trace, serve };
  };

  it('a service that loses its runs while it writes leaves no span without an end over that of the end', async () => {
    const { database, trace, serve } = createShared();
    let isHeld = true;
    const { outbox } = serve({
      holding: { isHeld: () => isHeld },
      writeSpans: async (spans) => {
        database.stored = ended; // by the next owner, who sent it before this one's arrives
        isHeld = false;
        trace.push(...spans.map(({ endTime }) => endTime));
      },
      delivered: () => Promise.reject(new StoreUnavailable('another service owns the runs')),
    });
    await expect(outbox.flush()).rejects.toThrow('another service');
    expect(trace).toEqual([undefined, expect.anything()]);
  });

  it('a service that may have lost its runs writes no rows', async () => {
    const { trace, serve } = createShared();
    const { outbox } = serve({ holding: { isHeld: () => false } });
    await expect(outbox.flush()).rejects.toThrow('another service may own the runs by now');
    expect(trace).toEqual([]);
  });

  it('a service that took runs over sends their rows at once, and once more before it deletes them, when nobody else writes any more', async () => {
    const { database, trace, serve } = createShared();
    const { outbox, advance } = serve();
    database.stored = ended;
    await outbox.flush();
    trace.push(undefined); // by the service before, which was killed then
    advance(29_999);
    await outbox.flush();
    expect([trace.at(-1), database.rows.length]).toEqual([undefined, 1]);
    advance(1);
    advance(250);
    await outbox.flush();
    expect(trace).toEqual([expect.anything(), undefined, expect.anything()]);
    expect(database.rows).toEqual([]);
  });

  it('rows that a service had not sent for good when it was killed are sent so by the next', async () => {
    const { database, trace, serve } = createShared();
    database.stored = ended;
    const first = serve();
    await first.outbox.flush();
    await first.outbox.stop();
    const { outbox, advance } = serve();
    await outbox.flush();
    expect(database.rows.length).toBe(1);
    advance(30_000);
    await outbox.flush();
    expect([trace.length, database.rows.length]).toEqual([3, 0]);
  });
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
