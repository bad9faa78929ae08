import { describe, expect, it } from 'vitest';
import { createAdmission } from '../../src/ingest/admission.ts';
import { createPipeline } from '../../src/ingest/pipeline.ts';
import { createQuota } from '../../src/ingest/quota.ts';
import { createSampler } from '../../src/ingest/sample.ts';
import { createCounters } from '../../src/model/counters.ts';
import { millisFromUnixNano } from '../../src/model/time.ts';
import { createMemoryStore } from '../memory-store.ts';
import { aBatch, aScore, aSpan, noon } from './signals.ts';

const NOON = millisFromUnixNano(noon);

/** A pipeline on a clock that stands still, over a store that confirms on command. */
const open = () => {
  let elapsed = 0;
  const writes: { readonly confirm: () => void; readonly fail: () => void }[] = [];
  const memory = createMemoryStore();
  const pipeline = createPipeline({
    store: {
      isWritten: memory.isWritten,
      write: (unit) =>
        new Promise((resolve, reject) => {
          writes.push({
            confirm: () => resolve(memory.write(unit)),
            fail: () => reject(new Error('the disk is full: /secret/path')),
          });
        }),
    },
    counters: createCounters(),
    limits: { maxBodyBytes: 1000, maxInflatedBytes: 4000, maxSignals: 100 },
    admission: createAdmission(1_000_000, 2),
    defaultProject: 'default',
    sample: createSampler({ default: 1, projects: {} }),
    quota: createQuota({ projects: {} }),
    finish: { redaction: {} },
    clock: () => noon + BigInt(elapsed) * 1_000_000n,
    monotonic: () => elapsed,
  });
  const { actor } = pipeline;
  return {
    pipeline,
    actor,
    value: () => actor.state().value,
    read: () => actor.read('all'),
    pass: (ms: number): void => {
      elapsed += ms;
    },
    /** Sends a batch and waits until the store has it. */
    send: async () => {
      const before = writes.length;
      const answer = pipeline.write(aBatch({ spans: [aSpan()] }), { quota: true, sample: true }).then(
        () => 'written',
        () => 'failed',
      );
      while (writes.length === before) await new Promise(setImmediate);
      const write = writes[before];
      if (write === undefined) throw new Error('nothing reached the store');
      return { ...write, answer };
    },
    refused: () =>
      pipeline.ingestScore(aScore(), 'all').then(
        () => false,
        () => true,
      ),
  };
};

describe('the pipeline as an actor', () => {
  it('is idle, accepts while requests are inside, and is idle again a second after the last has left', async () => {
    const { actor, value, pass, send, read } = open();
    expect(actor.state()).toEqual({ value: 'idle', version: 1, updatedAt: NOON });
    const one = await send();
    expect(value()).toBe('accepting');
    pass(1500);
    expect((await read()).context).toMatchObject({ requests: 1, oldestMs: 1500, pendingWrites: 1 });
    one.confirm();
    expect(await one.answer).toBe('written');
    pass(999);
    expect(value()).toBe('accepting');
    pass(1);
    pass(60_000);
    expect(actor.state()).toEqual({ value: 'idle', version: 3, updatedAt: NOON + 2500 });
    const { context } = await read();
    expect(context).toMatchObject({
      requests: 0,
      heldBytes: 0,
      maxRequests: 2,
      pendingWrites: 0,
      waitingTurns: 0,
      lastTurn: { at: NOON + 1500, durationMs: 1500, accepted: 1, refused: 0 },
    });
    expect(context).not.toHaveProperty('oldestMs');
    expect(context).not.toHaveProperty('lastFault');
  });

  it('does not change between the requests of a client that sends one by one', async () => {
    const { actor, pass, send } = open();
    for (let n = 0; n < 20; n += 1) {
      const one = await send();
      one.confirm();
      await one.answer;
      pass(500);
    }
    expect(actor.state()).toEqual({ value: 'accepting', version: 2, updatedAt: NOON });
  });

  it('is full when a request found no room, until one is let in', async () => {
    const { value, send, refused, read, pass } = open();
    const first = await send();
    const second = await send();
    expect(value()).toBe('accepting');
    expect(await refused()).toBe(true);
    expect(value()).toBe('full');
    expect((await read()).context).toMatchObject({ requests: 2, lastFault: { at: NOON, code: 'overloaded' } });
    first.confirm();
    await first.answer;
    expect(value()).toBe('full');
    const third = await send();
    expect(value()).toBe('accepting');
    expect(await refused()).toBe(true);
    for (const { confirm, answer } of [second, third]) {
      confirm();
      await answer;
    }
    pass(1000);
    expect(value()).toBe('idle');
    expect((await read()).context).toMatchObject({ perSecond: { requests: 1.5, signals: 1.5, refused: 1 } });
  });

  it('says that the store failed, and not with what words', async () => {
    const { send, read, pass } = open();
    const one = await send();
    pass(70);
    one.fail();
    expect(await one.answer).toBe('failed');
    const text = JSON.stringify(await read());
    expect(text).toContain(`"lastFault":{"at":${NOON + 70},"code":"store_unavailable"}`);
    expect(text).not.toContain('disk');
    expect(text).not.toContain('default');
  });

  it('drains what is inside, then is closed', async () => {
    const { pipeline, value, send } = open();
    const one = await send();
    const closed = pipeline.close();
    expect(value()).toBe('draining');
    one.confirm();
    await closed;
    expect(value()).toBe('closed');
    await pipeline.close();
    expect(value()).toBe('closed');
  });
});
