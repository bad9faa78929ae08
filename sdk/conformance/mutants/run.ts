/**
 * Plants each fault of `typescript.ts` and runs the scenarios that must catch it: `node sdk/conformance/mutants/run.ts [--slim]`.
 * Exit status 1 when one is not caught.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Mutant, mutants } from './typescript.ts';

const KIT = join(import.meta.dirname, '..', 'run.ts');
const LIBRARY = join(import.meta.dirname, '..', '..', 'typescript');
const AT_ONCE = 3;

export type Verdict = {
  readonly mutant: Mutant;
  /** Scenarios that passed in spite of the fault. */
  readonly missedBy: readonly string[];
  readonly text: string;
};

/** @throws Error where the place of the fault is not there exactly once */
const plant = (folder: string, { file, find, replace, fault }: Mutant): void => {
  const path = join(folder, file);
  const pieces = readFileSync(path, 'utf8').split(find);
  if (pieces.length !== 2)
    throw new Error(`${fault}: its place stands ${pieces.length - 1} times in ${file}, not once`);
  writeFileSync(path, pieces.join(replace));
};

const runKit = (argv: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [KIT, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (more: string) => (text += more));
    child.once('close', () => resolve(text));
  });

const judge = async (mutant: Mutant): Promise<Verdict> => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mutant-'));
  try {
    for (const part of ['src', 'conformance', 'package.json'])
      cpSync(join(LIBRARY, part), join(folder, part), { recursive: true });
    plant(folder, mutant);
    const fixture = [process.execPath, join(folder, 'conformance', 'fixture.ts')];
    const text = await runKit(['--only', mutant.caughtBy.join(','), '--', ...fixture]);
    const missedBy = mutant.caughtBy.filter((name) => !new RegExp(`^FAIL +\\d+ ${name} `, 'm').test(text));
    return { mutant, missedBy, text };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Judges mutants, some at a time. @returns the verdicts, in the order of the mutants */
export const judgeMutants = async (
  chosen: readonly Mutant[],
  onVerdict: (verdict: Verdict) => void = () => {},
): Promise<readonly Verdict[]> => {
  const verdicts: Verdict[] = [];
  const waiting = chosen.entries();
  const lane = async (): Promise<void> => {
    for (const [at, mutant] of waiting) {
      // oxlint-disable-next-line eslint/no-await-in-loop
      const verdict = await judge(mutant);
      verdicts[at] = verdict;
      onVerdict(verdict);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return verdicts;
};

export const slimMutants: readonly Mutant[] = mutants.filter(({ slim }) => slim === true);

if (import.meta.main) {
  const verdicts = await judgeMutants(
    process.argv.includes('--slim') ? slimMutants : mutants,
    ({ mutant, missedBy, text }) => {
      if (missedBy.length === 0) console.log(`caught: ${mutant.fault}`);
      else console.log(`NOT CAUGHT by ${missedBy.join(', ')}: ${mutant.fault}\n${text}`);
    },
  );
  const missed = verdicts.filter(({ missedBy }) => missedBy.length > 0).length;
  console.log(`${verdicts.length - missed} of ${verdicts.length} faults are caught by each scenario that they name`);
  process.exitCode = missed === 0 ? 0 : 1;
}
