import { expect, it } from 'vitest';
import { createSettling } from '../../src/cli/settle.ts';

const MIB = 1024 * 1024;

const settlingOf = (process: { share: number; mebibytes: number }) => {
  let collections = 0;
  const look = createSettling({
    busyShare: () => process.share,
    heapBytes: () => process.mebibytes * MIB,
    collect: () => {
      collections += 1;
      process.mebibytes = 25;
    },
  });
  return () => {
    look();
    return collections;
  };
};

it('collects what the start left when the process is quiet, and no sooner', () => {
  const process = { share: 0.02, mebibytes: 20 };
  const collectionsAfterLook = settlingOf(process);
  expect(collectionsAfterLook()).toBe(0);
  process.share = 0.019;
  expect(collectionsAfterLook()).toBe(1);
  expect(collectionsAfterLook()).toBe(1);
});

it('collects once after a busy time, when the process is quiet', () => {
  const process = { share: 0, mebibytes: 20 };
  const collectionsAfterLook = settlingOf(process);
  expect(collectionsAfterLook()).toBe(1);
  Object.assign(process, { share: 0.02, mebibytes: 300 });
  expect(collectionsAfterLook()).toBe(1);
  process.share = 0.019;
  expect(collectionsAfterLook()).toBe(2);
  expect(collectionsAfterLook()).toBe(2);
});

it('leaves a heap alone that has hardly grown since it was settled', () => {
  const process = { share: 0, mebibytes: 20 };
  const collectionsAfterLook = settlingOf(process);
  expect(collectionsAfterLook()).toBe(1);
  process.mebibytes = 40.9;
  expect(collectionsAfterLook()).toBe(1);
  process.mebibytes = 41;
  expect(collectionsAfterLook()).toBe(2);
});
