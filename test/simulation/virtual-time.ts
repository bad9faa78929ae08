import type { Clock } from '../../src/actors/kernel/clock.ts';

/**
 * Time that passes only when nothing is left to do: work waits in two queues, what is to happen at once and what is to
 * happen later, and the clock jumps from one moment at which something happens to the next.
 */
export const createVirtualTime = (start: number) => {
  let now = start;
  let number = 0;
  let wallOffset = 0;
  type Later = { readonly at: number; readonly no: number; readonly run: () => void; gone: boolean };
  /** A binary heap by time, then by order of asking. */
  const heap: Later[] = [];
  const before = (a: Later, b: Later): boolean => a.at < b.at || (a.at === b.at && a.no < b.no);
  const push = (item: Later): void => {
    let at = heap.push(item) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up] as Later;
      if (before(parent, item)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = item;
  };
  const pop = (): Later | undefined => {
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      const left = heap[down];
      const right = heap[down + 1];
      if (left === undefined) break;
      if (right !== undefined && before(right, left)) down += 1;
      const child = heap[down] as Later;
      if (before(last, child)) break;
      heap[at] = child;
      at = down;
    }
    heap[at] = last;
    return top;
  };

  const soon: (() => void)[] = [];
  const after = (ms: number, run: () => void): (() => void) => {
    const item: Later = { at: now + Math.max(0, ms), no: (number += 1), run, gone: false };
    push(item);
    return () => {
      item.gone = true;
    };
  };
  const clock: Clock = { wall: () => now + wallOffset, monotonic: () => now - start + 1000, after };
  /** Until every promise that can go on has gone on. */
  const settle = async (): Promise<void> => {
    for (;;) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      if (soon.length === 0) return;
      for (const run of soon.splice(0)) run();
    }
  };
  return {
    clock,
    now: () => now,
    after,
    jumpWall: (ms: number): void => {
      wallOffset += ms;
    },
    /** What the kernel puts off until the messages of the moment are in. */
    defer: (run: () => void): void => {
      soon.push(run);
    },
    sleep: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        after(ms, resolve);
      }),
    /** Lets time pass up to a moment, or until `isOver`. */
    runUntil: async (end: number, isOver: () => boolean = () => false): Promise<void> => {
      await settle();
      while (!isOver()) {
        const next = heap[0];
        if (next === undefined || next.at > end) break;
        pop();
        if (next.gone) continue;
        now = next.at;
        next.run();
        await settle();
      }
      now = Math.max(now, isOver() ? now : end);
    },
  };
};
export type VirtualTime = ReturnType<typeof createVirtualTime>;
