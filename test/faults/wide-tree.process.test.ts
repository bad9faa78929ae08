import { expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';
import { wideTree } from './wide-tree.ts';

// "Bounds that were missing" in short: 20 branches instead of 510, 30 leaves instead of 1,000.
it.each([
  ['at the bound all of them begin', 0, 20],
  ['one over it, one branch fails for the bound and the others go on', 1, 19],
])('a for_each over 20 that are each a for_each over 30: %s, and a cancel ends them', async (_, over, branches) => {
  const folder = temporaryFolder();
  try {
    expect(await wideTree({ branches: 20, leaves: 30, over, folder: folder.path })).toMatchObject({
      most: 620 - over,
      branchesOpen: branches,
      branchesFailed: 20 - branches,
      leavesOpen: branches * 30,
    });
  } finally {
    folder.remove();
  }
});
