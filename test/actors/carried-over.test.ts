import { describe, expect, it } from 'vitest';
import { createCarriedOver } from '../../src/actors/carried-over.ts';
import type { Message } from '../../src/actors/kernel/message.ts';
import type { CarriedOverTimer } from '../../src/store/runs/run-store.ts';
import { createMemoryRunStore } from '../../src/store/runs/memory-run-store.ts';
import { createFakeClock } from './run-harness.ts';

/** Work carried over whose messages the test lets through, one slice after the other. */
const aQueue = (room: (runId: string) => boolean = () => true, closing = new AbortController().signal) => {
  const { clock, now } = createFakeClock();
  const sent: string[][] = [[]];
  let open: (() => void)[] = [];
  const queue = createCarriedOver({
    store: createMemoryRunStore(),
    send: ({ id }: Message) => {
      sent.at(-1)?.push(id);
      return new Promise<void>((resolve) => {
        open.push(() => {
          if (!room(id)) queue.addFirst(timers.get(id) ?? aTimer(id));
          resolve();
        });
      });
    },
    servedSince: () => false,
    clock,
    now,
    steady: now,
    closing,
  });
  const timers = new Map<string, CarriedOverTimer>();
  return {
    sent,
    queue,
    add: (timer: CarriedOverTimer) => {
      timers.set(timer.runId, timer);
      queue.add(timer);
    },
    /** The commit of the slice in hand is through. */
    land: async () => {
      const landing = open;
      open = [];
      sent.push([]);
      for (const answer of landing) answer();
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    },
  };
};
const aTimer = (runId: string, traceId = 'tree', project = 'p', name = 'children'): CarriedOverTimer => ({
  runId,
  name,
  dueAt: 1,
  project,
  traceId,
});
const numbered = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

describe('work that commits carry over', () => {
  it.each([
    ['32 for starts', 'children', 100, [1, 32, 32, 32, 3, 0, 0]],
    ['256 for cancels, each of which ends a run', 'cancel', 600, [1, 256, 256, 87, 0, 0, 0]],
  ])('goes in slices, however much waits: %s', async (_, name, count, slices) => {
    const { add, sent, land, queue } = aQueue();
    for (const id of numbered('a', count)) add(aTimer(id, 'tree', 'p', name));
    for (let slice = 0; slice < 6; slice += 1) await land();
    // The first was alone when it came.
    expect(sent.map(({ length }) => length)).toEqual(slices);
    expect(queue.size()).toBe(0);
  });

  it('takes projects in turn, and trees of a project in turn: a large tree keeps none waiting', async () => {
    const { add, sent, land } = aQueue();
    for (const id of numbered('bomb', 1000)) add(aTimer(id, 'bomb'));
    for (const id of numbered('small', 2)) add(aTimer(id, 'small'));
    for (const id of numbered('other', 16)) add(aTimer(id, 'other', 'q'));
    await land();
    const [, second = []] = sent;
    expect(second.filter((id) => id.startsWith('other'))).toHaveLength(16);
    expect(second.filter((id) => id.startsWith('small'))).toHaveLength(2);
    expect(second.filter((id) => id.startsWith('bomb'))).toHaveLength(14);
  });

  it('cancels before it starts', async () => {
    const { add, sent, land } = aQueue();
    for (const id of numbered('start', 40)) add(aTimer(id));
    for (const id of numbered('cancel', 32)) add(aTimer(id, 'tree', 'p', 'cancel'));
    await land();
    expect(sent[1]?.slice(0, 32).every((id) => id.startsWith('cancel'))).toBe(true);
    expect(sent[1]?.slice(32).every((id) => id.startsWith('start'))).toBe(true);
    // As much as 256 cancels are.
    expect(sent[1]).toHaveLength(32 + (256 - 32) / 8);
  });

  it('one message a timer is on its way, however often it is carried over meanwhile', async () => {
    const { add, sent, land } = aQueue();
    for (let time = 0; time < 5; time += 1) add(aTimer('a'));
    expect(sent).toEqual([['a']]);
    await land();
    await land();
    await land();
    expect(sent).toEqual([['a'], ['a'], [], []]);
  });

  it('ends with the slice in hand when the service stops: the rest are rows', async () => {
    const stop = new AbortController();
    const { add, sent, land, queue } = aQueue(() => true, stop.signal);
    for (const id of numbered('a', 100)) add(aTimer(id));
    await land();
    stop.abort();
    await land();
    await land();
    expect(sent.map(({ length }) => length)).toEqual([1, 32, 0, 0]);
    await queue.idle();
  });

  it('what a commit had no room for is among the first of the next', async () => {
    let full = true;
    const { add, sent, land } = aQueue((id) => !full || !id.startsWith('late'));
    for (const id of ['first', 'late', ...numbered('more', 62)]) add(aTimer(id, id === 'late' ? 'late' : 'tree'));
    await land();
    expect(sent[1]).toContain('late');
    await land();
    full = false;
    expect(sent[2]?.[0]).toBe('late');
    await land();
    expect(sent.slice(3).flat()).not.toContain('late');
  });
});
