import { describe, expect, it } from 'vitest';
import { type PackedRun, recordPieces, unpackRun } from '../../../src/store/sqlite/runs/record-pieces.ts';

const attemptsOf = (count: number): object[] =>
  Array.from({ length: count }, (_, place) => ({
    leaseId: `lease-${place}`,
    bodyRan: place % 2 === 0,
    output: '"é\\u0000"',
  }));
const packed = (attempts: object[], children: object[]): PackedRun =>
  ({ timers: [], attempts: recordPieces(attempts), children: recordPieces(children) }) as unknown as PackedRun;

describe('a run on its way to another thread', () => {
  it.each([
    [0, 0],
    [1, 1],
    [256, 1],
    [257, 2],
    [600, 3],
  ])('comes whole with %i attempts and as many children, in %i pieces of each', async (count, pieces) => {
    const [attempts, children] = [attemptsOf(count), attemptsOf(count).toReversed()];
    const run = packed(attempts, children);
    expect([run.attempts.length, run.children.length]).toEqual([pieces, pieces]);
    expect(await unpackRun(run)).toEqual({ timers: [], attempts, children });
  });

  it('lets other work of the event loop in between two pieces', async () => {
    const turns: string[] = [];
    const unpacked = unpackRun(packed(attemptsOf(600), [])).then(() => turns.push('unpacked'));
    setImmediate(() => turns.push('other work'));
    await unpacked;
    expect(turns).toEqual(['other work', 'unpacked']);
  });
});
