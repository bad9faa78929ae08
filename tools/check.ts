/**
 * Everything that is checked without running the product: import floors, circles of imports, lock files, types,
 * lint, layout. Same here and in CI.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findCircles } from './circles.ts';
import { findFloorFaults, interfaceHouse } from './floors.ts';
import { findAllLockFaults } from './lock.ts';

/** What the linter and the compiler look at; a folder that a release does not have is left out. */
const FOLDERS = ['src', 'test', 'bench', 'tools', 'sdk', 'examples', 'ui'].filter((folder) => existsSync(folder));

export type Check = { readonly title: string; readonly passes: () => boolean };

const isFaultless = (faults: readonly string[]): boolean => {
  for (const fault of faults) console.error(fault);
  return faults.length === 0;
};

const runs =
  (command: string, args: readonly string[]): (() => boolean) =>
  () =>
    spawnSync(command, args, { stdio: 'inherit' }).status === 0;

/** Each check prints what it finds. They need `node_modules/.bin` on the path, as `npm run` puts it there. */
export const checks: readonly Check[] = [
  { title: 'imports point down the floors', passes: () => isFaultless(findFloorFaults('src')) },
  {
    title: 'imports of the interface point down its floors',
    passes: () => isFaultless(findFloorFaults('ui/src', interfaceHouse)),
  },
  { title: 'no two files import each other', passes: () => isFaultless(findCircles('.', FOLDERS)) },
  { title: 'lock files are complete', passes: () => isFaultless(findAllLockFaults('.')) },
  { title: 'types', passes: runs('tsc', ['-p', '.']) },
  { title: 'types of the interface', passes: runs('tsc', ['-p', 'ui']) },
  {
    title: 'lint',
    passes: runs('oxlint', ['--type-aware', '--deny-warnings', ...FOLDERS]),
  },
  { title: 'layout', passes: runs('biome', ['format', '.']) },
];

/** Runs every check, also after one has failed. @returns how many passed, and the titles of those that did not */
export const runChecks = (): { passed: number; failed: readonly string[] } => {
  const failed: string[] = [];
  for (const { title, passes } of checks) {
    const passed = passes();
    console.log(`check: ${title}: ${passed ? 'passed' : 'FAILED'}`);
    if (!passed) failed.push(title);
  }
  return { passed: checks.length - failed.length, failed };
};

if (import.meta.main) process.exitCode = runChecks().failed.length === 0 ? 0 : 1;
