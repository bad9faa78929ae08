/** Everything that is checked without running the product: types, lint, layout, import floors. Same here and in CI. */
import { spawnSync } from 'node:child_process';
import { findFloorFaults } from './floors.ts';

const run = (title: string, command: string, args: readonly string[]): boolean => {
  console.log(`check: ${title}`);
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0;
};

const faults = findFloorFaults('src');
for (const fault of faults) console.error(fault);
console.log(`check: imports point down the floors (${faults.length} faults)`);

const passed = [
  faults.length === 0,
  run('types', 'tsc', ['-p', '.']),
  run('lint', 'oxlint', ['--type-aware', '--deny-warnings', 'src', 'test', 'bench', 'tools', 'sdk', 'examples']),
  run('layout', 'biome', ['format', '.']),
].every(Boolean);
process.exitCode = passed ? 0 : 1;
