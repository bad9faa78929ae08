import { afterEach, describe, expect, it } from 'vitest';
import { createDecodeThread, type DecodedSlice, type DecodeThread } from '../../src/ingest/decode-thread.ts';
import { createPace } from '../../src/ingest/pace.ts';
import { holdTimers } from '../held-timers.ts';
import { turn, until } from '../until.ts';
import { Refusal } from '../../src/model/failure.ts';

const context = { receivedAt: 0n, defaultProject: 'default', maxSignals: 10_000 };

/** A thread program whose answer to each body is the body's own text, run as code. */
const scripted = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    const send = (message) => parentPort.postMessage(message);
    const slice = (name) => ({ kind: 'slice', slice: { element: 0, decoded: { ingestKey: name, batch: {}, refusals: [] } } });
    let left = [];
    parentPort.on('message', (message) => {
      if (message.kind === 'next') return send(left.length > 0 ? slice(left.shift()) : { kind: 'done' });
      new Function('send', 'slices', Buffer.from(message.payload.body).toString())(send, (...names) => {
        left = names;
        send(slice(left.shift()));
      });
    });
  `)}`,
);

const bodyOf = (script: string) => ({ kind: 'native' as const, body: Buffer.from(script) });

let thread: DecodeThread | undefined;
afterEach(() => thread?.close());

const open = (options: { timeoutMs?: number; idleMs?: number; heapMebibytes?: number } = {}): DecodeThread => {
  thread = createDecodeThread({ finish: { redaction: {} }, pace: createPace(), program: scripted, ...options });
  return thread;
};

const decode = async (on: DecodeThread, script: string, take?: (slice: DecodedSlice) => void): Promise<unknown> => {
  const names: (string | undefined)[] = [];
  try {
    await on.decode(bodyOf(script), context, take ?? ((slice) => void names.push(slice.decoded.ingestKey)));
    return names;
  } catch (error) {
    return error instanceof Refusal ? error.failure : error;
  }
};

const healthy = "slices('a', 'b')";

describe('decode thread', () => {
  it('does not exist before the first body, and gives the slices in order', async () => {
    const on = open();
    expect(on.isRunning()).toBe(false);
    expect(await decode(on, "slices('a', 'b', 'c')")).toEqual(['a', 'b', 'c']);
    expect(on.isRunning()).toBe(true);
  });

  it('takes bodies one after another', async () => {
    const on = open();
    expect(await Promise.all([decode(on, "slices('a', 'b')"), decode(on, "slices('c')"), decode(on, healthy)])).toEqual(
      [['a', 'b'], ['c'], ['a', 'b']],
    );
  });

  it('hands on the refusal of a decoder', async () => {
    const failure = { code: 'invalid_body', message: 'body is not valid JSON' };
    expect(await decode(open(), `send({ kind: 'refused', failure: ${JSON.stringify(failure)} })`)).toEqual(failure);
  });

  it('fails on a bug with the name of the error alone, for its message may quote the body', async () => {
    const error = await decode(open(), "send({ kind: 'failed', errorName: 'RangeError' })");
    expect(String(error)).toBe('Error: a body could not be decoded: RangeError in the decode thread');
  });

  it('refuses only the body that takes too long, and serves the next one', async () => {
    const on = open({ timeoutMs: 29_000 });
    const deadline = holdTimers((ms) => ms > 28_000 && ms <= 29_000);
    const both = Promise.all([decode(on, 'for (;;);'), decode(on, healthy)]);
    await deadline.untilArmed();
    deadline.fire();
    const [stuck, next] = await both;
    expect(stuck).toMatchObject({ code: 'request_timeout', retryAfterSeconds: 5 });
    expect(next).toEqual(['a', 'b']);
  });

  it('does not count how long a slice waits to be taken over', async () => {
    const deadline = holdTimers((ms) => ms > 28_000 && ms <= 29_000);
    const runningWhileItWaited: number[] = [];
    const nextTurn = async (): Promise<void> => {
      await turn();
      runningWhileItWaited.push(deadline.armed());
    };
    const pace = { ...createPace(), nextTurn };
    thread = createDecodeThread({ finish: { redaction: {} }, pace, program: scripted, timeoutMs: 29_000 });
    expect(await decode(thread, "slices('a', 'b', 'c', 'd')")).toEqual(['a', 'b', 'c', 'd']);
    expect(runningWhileItWaited).toEqual([0, 0, 0, 0]);
  });

  it('refuses only the body that needs more memory than the thread has, and serves the next one', async () => {
    const on = open({ heapMebibytes: 16 });
    const hoard = 'const held = []; for (;;) held.push(Array.from({ length: 1000 }, () => ({})));';
    const [greedy, next] = await Promise.all([decode(on, hoard), decode(on, healthy)]);
    expect(greedy).toEqual({
      code: 'payload_too_large',
      message: 'decoding this body needs more than 16 MiB of memory; send smaller batches',
    });
    expect(next).toEqual(['a', 'b']);
  });

  it.each([
    ['throws', "throw new Error('secret payload')"],
    ['ends', 'process.exit(7)'],
  ])('fails only the body under which the thread %s, without its words, and serves the next one', async (_, script) => {
    const on = open();
    const [broken, next] = await Promise.all([decode(on, script), decode(on, healthy)]);
    expect(broken).toBeInstanceOf(Error);
    expect(String(broken)).not.toContain('secret');
    expect(next).toEqual(['a', 'b']);
  });

  it('stops at a slice that is not taken, and serves the next body from its beginning', async () => {
    const on = open();
    const refusal = new Refusal({ code: 'payload_too_large', message: 'enough' });
    const [stopped, next] = await Promise.all([
      decode(on, "slices('a', 'b', 'c')", ({ decoded }) => {
        if (decoded.ingestKey === 'b') throw refusal;
      }),
      decode(on, "slices('d', 'e')"),
    ]);
    expect(stopped).toEqual(refusal.failure);
    expect(next).toEqual(['d', 'e']);
  });

  it('copies a body that shares its memory with others, and leaves those others alone', async () => {
    const shared = Buffer.from(`xx${healthy}xx`);
    const neighbour = new Uint8Array(shared.buffer, shared.byteOffset, 2);
    const names: unknown[] = [];
    await open().decode({ kind: 'native', body: shared.subarray(2, -2) }, context, ({ decoded }) =>
      names.push(decoded.ingestKey),
    );
    expect(names).toEqual(['a', 'b']);
    expect(String.fromCharCode(...neighbour)).toBe('xx');
  });

  it('ends when it has nothing to do, and starts again', async () => {
    const on = open({ idleMs: 0 });
    await decode(on, healthy);
    await until(() => !on.isRunning());
    expect(await decode(on, healthy)).toEqual(['a', 'b']);
  });
});
