import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCompactList } from '../../src/scoring/compact-list.ts';

/** What one pass says of a run: much alike from run to run, but for its ids. */
const entry = (n: number) => ({
  scoreId: `0198a7b2-0000-7000-8000-${(n * 2_654_435_761).toString(16).padStart(12, '0').slice(-12)}`,
  traceId: (BigInt(n + 1) * 0x9e3779b97f4a7c15f39cc0605cedc835n).toString(16).padStart(32, '0').slice(-32),
  scorerId: 'latency_budget',
  value: n % 2,
  reason: `the run took ${n} ms, inside of 60000 ms`,
  timestamp: 1_795_165_200_000_000_000n + BigInt(n),
  correlation: { project: 'default', environment: 'production', tags: ['a', 'b'] },
});

describe('a compact list', () => {
  it('gives back what was added, in its order, as often as it is read, from no entry to several blocks', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 6 }), (sizes) => {
        const list = createCompactList<ReturnType<typeof entry>>();
        const added = [];
        for (const size of sizes) {
          const more = Array.from({ length: size }, (_, i) => entry(added.length + i));
          list.add(...more);
          added.push(...more);
        }
        expect(list.length).toBe(added.length);
        expect([...list]).toEqual(added);
        expect([...list]).toEqual(added);
      }),
      { numRuns: 30 },
    );
  });

  it('may be added to after it was read', () => {
    const list = createCompactList<number>();
    list.add(...Array.from({ length: 256 }, (_, i) => i));
    expect([...list]).toHaveLength(256);
    list.add(256);
    expect([...list]).toEqual(Array.from({ length: 257 }, (_, i) => i));
  });

  it('holds a hundred thousand entries in less than a fifth of what they take as objects', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const live = async (): Promise<number> => {
      // Bytes outside of the heap are given back in turns after the collection that found them dead.
      for (let turn = 0; turn < 3; turn += 1) {
        collectGarbage();
        await setImmediate();
      }
      // Not `external`: the compressor's own memory is in there, and is given back some time later.
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const COUNT = 100_000;
    const grown = async (add: (n: number) => void): Promise<number> => {
      const before = await live();
      for (let n = 0; n < COUNT; n += 1) add(n);
      return (await live()) - before;
    };
    const list = createCompactList<ReturnType<typeof entry>>();
    const compact = await grown((n) => list.add(entry(n)));
    const objects: ReturnType<typeof entry>[] = [];
    const plain = await grown((n) => void objects.push(entry(n)));
    expect(list.length).toBe(objects.length);
    expect(compact).toBeLessThan(plain / 5);
  });
});
