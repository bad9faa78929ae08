import { afterEach, describe, expect, it } from 'vitest';
import { createAdmission } from '../../src/ingest/admission.ts';
import { createPipeline, type Pipeline, type PipelineOptions } from '../../src/ingest/pipeline.ts';
import { createQuota } from '../../src/ingest/quota.ts';
import { createSampler } from '../../src/ingest/sample.ts';
import { type Counters, createCounters } from '../../src/model/counters.ts';
import { type Failure, Refusal } from '../../src/model/failure.ts';
import type { Span } from '../../src/model/span.ts';
import { createMemoryStore, type MemoryStore } from '../memory-store.ts';
import { turn, until } from '../until.ts';
import { aBatch, aFeedback, aLog, aScore, aSpan, noon, spanId, traceId } from './signals.ts';

let pipeline: Pipeline | undefined;
afterEach(() => pipeline?.close());

type Given = Partial<PipelineOptions> & { readonly perMinute?: number; readonly keep?: number };
type Opened = { readonly pipeline: Pipeline; readonly store: MemoryStore; readonly counters: Counters };

const open = ({ perMinute, keep = 1, ...given }: Given = {}): Opened => {
  const store = createMemoryStore();
  const counters = createCounters();
  pipeline = createPipeline({
    store,
    counters,
    limits: { maxBodyBytes: 1000, maxInflatedBytes: 4000, maxSignals: 100 },
    admission: createAdmission(1_000_000),
    defaultProject: 'default',
    sample: createSampler({ default: keep, projects: {} }),
    quota: createQuota({ ...(perMinute === undefined ? {} : { perMinute }), projects: {} }),
    finish: { redaction: {} },
    clock: () => noon + 30_000_000_000n,
    ...given,
  });
  return { pipeline, store, counters };
};

const outcomeOf = async (work: Promise<unknown>): Promise<Failure | undefined> => {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.failure;
    throw error;
  }
};

describe('one judgement by itself', () => {
  it('is written and given back as stored: redacted', async () => {
    const { pipeline: on, store, counters } = open();
    const stored = await on.ingestFeedback(aFeedback({ metadata: { password: 'canary', screen: 'checkout' } }), 'all');
    expect(stored.metadata).toEqual({ password: '[redacted]', screen: 'checkout' });
    expect(store.units.map(({ batch }) => batch.feedback)).toEqual([[stored]]);
    expect(counters).toMatchObject({ signalsAccepted: 1, signalsUnbounded: 1 });
  });

  it('counts against the ceiling of its project, and beyond it is refused with 429 over_quota to the next minute', async () => {
    const { pipeline: on, store, counters } = open({ perMinute: 1 });
    expect(await outcomeOf(on.ingestScore(aScore(), 'all'))).toBeUndefined();
    expect(await outcomeOf(on.ingestScore(aScore({ scoreId: 'score-2' }), 'all'))).toMatchObject({
      code: 'over_quota',
      retryAfterSeconds: 30,
    });
    expect(await outcomeOf(on.ingestScore(aScore({ project: 'other' }), 'all'))).toBeUndefined();
    expect(store.signals()).toBe(2);
    expect(counters).toMatchObject({
      signalsAccepted: 2,
      signalsRejected: 1,
      signalsOverQuota: 1,
      signalsUnbounded: 0,
    });
  });

  it('of a project out of reach is forbidden, and never stored', async () => {
    const { pipeline: on, store, counters } = open();
    expect(await outcomeOf(on.ingestScore(aScore({ project: 'theirs' }), ['mine']))).toMatchObject({
      code: 'forbidden',
      field: 'correlation.project',
    });
    expect([store.units, counters.signalsRejected]).toEqual([[], 1]);
  });

  it('is answered 503 when the store fails, and its quota is given back', async () => {
    const { pipeline: on, store } = open({ perMinute: 1 });
    store.failWhen(() => true);
    expect(await outcomeOf(on.ingestScore(aScore(), 'all'))).toMatchObject({
      code: 'store_unavailable',
      retryAfterSeconds: 1,
    });
    store.failWhen();
    expect(await outcomeOf(on.ingestScore(aScore(), 'all'))).toBeUndefined();
  });

  it('is never sampled out: the rest is kept', async () => {
    const { pipeline: on, store } = open({ keep: 0 });
    await on.ingestScore(aScore(), 'all');
    expect(store.signals()).toBe(1);
  });
});

describe('signals that the service makes', () => {
  const spans = (count: number): Span[] =>
    Array.from({ length: count }, (_, n) => aSpan({ traceId: traceId(n), spanId: spanId(n) }));

  it('are redacted, priced and forwarded as any other', async () => {
    const forwarded: Span[] = [];
    const { pipeline: on, store } = open({ forward: (written) => void forwarded.push(...written) });
    const span = aSpan({ model: 'gpt-4o-mini', usage: { inputTokens: 1 }, attributes: { password: 'canary' } });
    expect(await on.write(aBatch({ spans: [span] }), { quota: false, sample: false })).toMatchObject({ accepted: 1 });
    const [stored] = store.spans();
    expect(stored).toMatchObject({ attributes: { password: '[redacted]' }, cost: { priceBookId: 'builtin' } });
    expect(forwarded).toEqual([stored]);
  });

  it('are held to ceiling and sampling where their maker says so, and counted unbounded only then', async () => {
    const free = open({ perMinute: 2, keep: 0 });
    await free.pipeline.write(aBatch({ spans: spans(5) }), { quota: false, sample: false });
    expect([free.store.signals(), free.counters.signalsUnbounded]).toEqual([5, 0]);

    const bounded = open({ perMinute: 2 });
    const result = await bounded.pipeline.write(aBatch({ spans: spans(5) }), { quota: true, sample: true });
    expect(result).toMatchObject({ accepted: 2, refusals: [{ index: 2 }, { index: 3 }, { index: 4 }] });

    const sampled = open({ keep: 0 });
    expect(
      await sampled.pipeline.write(aBatch({ spans: spans(2), logs: [aLog()] }), { quota: true, sample: true }),
    ).toMatchObject({ accepted: 1, sampledOut: 2 });
  });

  it('are one unit, however many slices they were finished in', async () => {
    const { pipeline: on, store } = open();
    const batch = aBatch({ spans: spans(500), logs: [aLog()], scores: [aScore()], feedback: [aFeedback()] });
    await on.write(batch, { quota: false, sample: false });
    expect(store.units).toEqual([{ batch }]);
  });
});

describe('stopping', () => {
  it('waits for what is in flight, also for a request that is still being read', async () => {
    const { pipeline: on, store } = open();
    const seen: string[] = [];
    let goOn: () => void = () => undefined;
    const reading = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const request = on.ingest({ reach: 'all' }, async (intake) => {
      await reading;
      await intake.add([
        {
          kind: 'native',
          body: Buffer.from('{"scores":[{"trace_id":"' + traceId(0) + '","scorer_id":"s","value":1}]}'),
        },
      ]);
      seen.push('read');
    });
    const closed = on.close().then(() => seen.push(`closed with ${store.signals()} signals`));
    goOn();
    await Promise.all([request, closed]);
    expect(seen).toEqual(['read', 'closed with 1 signals']);
  });

  it('is done at once when nothing is in flight', async () => {
    const { pipeline: on } = open();
    await on.drain();
    expect(await outcomeOf(on.close())).toBeUndefined();
  });

  it('lets go of a request that failed while it was read', async () => {
    const { pipeline: on, store } = open();
    const failing = on.ingest({ reach: 'all' }, async (intake) => {
      intake.reservation.hold(100);
      throw new Refusal({ code: 'invalid_body', message: 'cut' });
    });
    expect(await outcomeOf(failing)).toMatchObject({ code: 'invalid_body' });
    await on.drain();
    expect(store.units).toEqual([]);
  });
});

describe('decoding while others want the event loop', () => {
  const SHORT = 64 * 1024;
  const LIGHT = 3 * 1024 * 1024;
  const CHANNEL = 'heavy body';
  /** A thread program that refuses each body in its own words; one that begins with 0 it keeps until the channel lets it go. */
  const counting = new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { parentPort } from 'node:worker_threads';
      parentPort.on('message', (message) => {
        if (message.kind === 'next') return parentPort.postMessage({ kind: 'done' });
        const { body } = message.payload;
        const answer = () => parentPort.postMessage({ kind: 'refused', failure: { code: 'malformed_body', message: 'thread' } });
        if (body[0] !== 0x30) return answer();
        const channel = new BroadcastChannel('${CHANNEL}');
        channel.onmessage = () => (channel.close(), answer());
        channel.postMessage('taken');
      });
    `)}`,
  );
  const limits = { maxBodyBytes: 8_000_000, maxInflatedBytes: 8_000_000, maxSignals: 100 };
  const padded = (bytes: number, first = '{'): Uint8Array => Buffer.from(first.padEnd(bytes, ' '));
  /** Where a body was decoded: neither place can read these. */
  const placeOf = async (on: Pipeline, body: Uint8Array): Promise<string> => {
    const failure = await outcomeOf(
      on.ingest({ reach: 'all' }, (intake) => intake.add([{ kind: 'otlp_protobuf', signal: 'traces', body }])),
    );
    return failure?.message.startsWith('thread') === true ? 'thread' : 'main';
  };
  const openWanted = (wanted: () => boolean): Pipeline =>
    open({ loopIsWanted: wanted, limits, admission: createAdmission(64_000_000), decodeThread: { program: counting } })
      .pipeline;

  it.each([
    [false, SHORT + 1, 'main'],
    [false, LIGHT, 'main'],
    [false, LIGHT + 1, 'thread'],
    [true, SHORT, 'main'],
    [true, SHORT + 1, 'thread'],
    [true, LIGHT + 1, 'thread'],
  ])('wanted %s: a body of %i bytes is decoded on: %s', async (wanted, bytes, place) => {
    expect(
      await placeOf(
        openWanted(() => wanted),
        padded(bytes),
      ),
    ).toBe(place);
  });

  it('is done on the main thread while a heavy body has the thread', async () => {
    const on = openWanted(() => true);
    const channel = new BroadcastChannel(CHANNEL);
    const taken = new Promise((resolve) => {
      channel.onmessage = resolve;
    });
    const heavy = placeOf(on, padded(LIGHT + 1, '0'));
    await taken;
    expect(await placeOf(on, padded(SHORT + 1))).toBe('main');
    channel.postMessage('let go');
    channel.close();
    expect(await heavy).toBe('thread');
    expect(await placeOf(on, padded(SHORT + 1))).toBe('thread');
  });
});

describe('long requests beside short ones', () => {
  const limits = { maxBodyBytes: 10_000_000, maxInflatedBytes: 10_000_000, maxSignals: 10_000 };
  const admission = createAdmission(1_000_000_000);
  const send = (on: Pipeline, elements: number, key?: string) =>
    on.ingest({ reach: 'all' }, async (intake) => {
      const lines = Array.from({ length: elements }, (_, n) => ({
        ...(key === undefined ? {} : { ingest_key: `${key} ${n}` }),
        spans: [{ trace_id: traceId(n), span_id: spanId(n), name: 'a span', start_time: '2026-11-20T09:00:00Z' }],
      }));
      await intake.add([{ kind: 'native', body: Buffer.from(JSON.stringify(lines)) }]);
    });

  it('a request of many keyed elements has 512 of them in the store at one time, and a short one does not wait for the others', async () => {
    const { pipeline: on, store } = open({ limits, admission });
    const release = store.hold();
    const long = send(on, 1_100, 'key');
    await until(() => store.waiting() >= 512);
    const short = send(on, 1, 'other');
    await until(() => store.waiting() >= 513);
    for (let turns = 0; turns < 100; turns += 1) await turn();
    expect(store.waiting()).toBe(513);
    release();
    expect(await Promise.all([long, short])).toMatchObject([{ accepted: 1_100 }, { accepted: 1 }]);
  });

  it('a short request does not wait until the long ones before it are gated, redacted and priced', async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const quota = createQuota({ projects: {} });
    const { pipeline: on } = open({
      limits,
      admission,
      quota: {
        ...quota,
        reserve: async (demand) => {
          if ((demand.get('default') ?? 0) > 1) await held;
          return { admit: () => 'unbounded', release: () => {} };
        },
      },
    });
    const long = Array.from({ length: 8 }, () => send(on, 1_100));
    expect(await send(on, 1)).toMatchObject({ accepted: 1 });
    release();
    for (const { accepted } of await Promise.all(long)) expect(accepted).toBe(1_100);
  });

  it('long ones are worked on four at a time until they are stored, and one at a time for a second after a short one', async () => {
    let now = 0;
    const { pipeline: on, store } = open({ limits, admission, monotonic: () => now });
    const stored = async (atOnce: number): Promise<void> => {
      const release = store.hold();
      const requests = Array.from({ length: 6 }, () => send(on, 1_025));
      await until(() => store.waiting() >= atOnce);
      for (let turns = 0; turns < 100; turns += 1) await turn();
      expect(store.waiting()).toBe(atOnce);
      release();
      for (const { accepted } of await Promise.all(requests)) expect(accepted).toBe(1_025);
    };
    await stored(4);
    await send(on, 1_024);
    await stored(1);
    now = 1_000;
    await stored(1);
    now = 1_001;
    await stored(4);
  });
});
