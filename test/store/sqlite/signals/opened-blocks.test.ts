import { describe, expect, it } from 'vitest';
import { type OpenedBlock, openedBlocksOf } from '../../../../src/store/sqlite/signals/opened-blocks.ts';

const KIB = 1024;
const indexOf = (spans: string): Buffer => Buffer.from(spans);
const aBlock = (block: number, spans = 'spans'): OpenedBlock => ({
  block,
  index: indexOf(spans),
  entries: [{ span: block, offset: 0, bytes: 1, hasText: true, repeated: 0 }],
  last: block,
  firstPart: 1,
  parts: 1,
});
const body = (bytes: number): Buffer => Buffer.allocUnsafeSlow(bytes);

describe('opened blocks', () => {
  it('are found as long as they hold the same spans', () => {
    const blocks = openedBlocksOf();
    const block = aBlock(1);
    blocks.add(block);
    blocks.open(block, body(10));
    expect(blocks.find(1, indexOf('spans'))).toBe(block);
    expect(blocks.find(1, indexOf('span'))).toBeUndefined();
    expect(blocks.find(2, indexOf('spans'))).toBeUndefined();
  });

  it('weigh no more than they may, and the one that was asked for longest ago leaves first', () => {
    const blocks = openedBlocksOf(64 * KIB);
    const all = [1, 2, 3, 4].map((number) => aBlock(number));
    for (const block of all.slice(0, 3)) {
      blocks.add(block);
      blocks.open(block, body(20 * KIB));
    }
    blocks.find(1, indexOf('spans'));
    blocks.add(all[3] as OpenedBlock);
    blocks.open(all[3] as OpenedBlock, body(20 * KIB));
    expect([1, 2, 3, 4].filter((number) => blocks.find(number, indexOf('spans')) !== undefined)).toEqual([1, 3, 4]);
    expect(all.map((block) => block.body?.length)).toEqual([20 * KIB, undefined, 20 * KIB, 20 * KIB]);
  });

  it('that are larger than all room are not kept', () => {
    const blocks = openedBlocksOf(64 * KIB);
    const large = aBlock(1);
    blocks.open(large, body(65 * KIB));
    expect([large.body, blocks.find(1, indexOf('spans'))]).toEqual([undefined, undefined]);
    const small = aBlock(2);
    blocks.open(small, body(KIB));
    expect(blocks.find(2, indexOf('spans'))).toBe(small);
  });

  it('are counted by what they hold in memory, also when they were never opened, or are opened again', () => {
    const blocks = openedBlocksOf(64 * KIB);
    for (let round = 0; round < 100; round++) {
      const block = aBlock(1);
      blocks.add(block);
      // A view of a larger buffer holds all of it.
      blocks.open(block, body(30 * KIB).subarray(0, KIB));
    }
    const other = aBlock(2);
    blocks.open(other, body(30 * KIB));
    expect([1, 2].filter((number) => blocks.find(number, indexOf('spans')) !== undefined)).toEqual([1, 2]);
    for (let number = 3; number < 2_000; number++) blocks.add(aBlock(number));
    expect(other.body).toBeUndefined();
    expect(blocks.find(1_000, indexOf('spans'))).toBeUndefined();
  });

  it('are all let go of at once', () => {
    const blocks = openedBlocksOf();
    const block = aBlock(1);
    blocks.open(block, body(KIB));
    blocks.clear();
    expect([block.body, blocks.find(1, indexOf('spans'))]).toEqual([undefined, undefined]);
  });
});
