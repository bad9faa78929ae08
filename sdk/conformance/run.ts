/**
 * Judges a client library through its fixture: `node sdk/conformance/run.ts [options] -- <command of the fixture>`.
 * @see README.md
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Exclusions, readExclusions } from './kit/exclusions.ts';
import { startFixture } from './kit/fixture.ts';
import { junitOf } from './kit/junit.ts';
import { type Outcome, playAll } from './kit/play.ts';
import type { Scenario } from './kit/scenario.ts';
import { createServices } from './opposite/daemon.ts';
import { scenarios } from './scenarios/all.ts';

const USAGE = `usage: svc conformance [options] -- <command of the fixture>

  --only <words>     scenarios whose number or name is in the list: 34, worker, worker/claims
  --exclude <file>   scenarios that the library does not pass, each with its reason (JSON)
  --report <file>    write a JUnit report
  --jobs <n>         scenarios at once; 8
  --list             print the scenarios, run none
`;
const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;
const EXIT_USAGE = 2;
const JOBS_LIMIT = 64;

type Order = {
  readonly chosen: readonly Scenario[];
  readonly command: readonly [string, ...string[]] | undefined;
  readonly exclusions: Exclusions;
  readonly report: string | undefined;
  readonly jobs: number;
  readonly list: boolean;
};

const isNamed = (scenario: Scenario, word: string): boolean =>
  word === String(scenario.number) || word === scenario.name || scenario.name.startsWith(`${word}/`);

/** @throws Error that says what is wrong with the command line */
const readOrder = (argv: readonly string[]): Order => {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      exclude: { type: 'string' },
      report: { type: 'string' },
      jobs: { type: 'string', default: '8' },
      list: { type: 'boolean', default: false },
    },
  });
  const [program, ...args] = positionals;
  const jobs = /^\d{1,2}$/.test(values.jobs) ? Number(values.jobs) : 0;
  if (jobs < 1 || jobs > JOBS_LIMIT) throw new Error(`--jobs is a whole number from 1 to ${JOBS_LIMIT}`);
  const words = values.only?.split(',').map((word) => word.trim()) ?? [];
  for (const word of words)
    if (!scenarios.some((scenario) => isNamed(scenario, word))) throw new Error(`--only: no scenario is named ${word}`);
  if (program === undefined && !values.list) throw new Error('the command of the fixture is missing');
  return {
    chosen:
      values.only === undefined ? scenarios : scenarios.filter((each) => words.some((word) => isNamed(each, word))),
    command: program === undefined ? undefined : [program, ...args],
    exclusions: values.exclude === undefined ? new Map() : readExclusions(values.exclude, scenarios),
    report: values.report,
    jobs,
    list: values.list,
  };
};

const marks: Record<Outcome['state'], string> = {
  passed: 'ok  ',
  failed: 'FAIL',
  skipped: 'skip',
  excluded: 'excl',
  'needlessly excluded': 'FAIL',
};

const lineOf = ({ scenario, state, ms, message }: Outcome): string => {
  const head = `${marks[state]} ${String(scenario.number).padStart(3)} ${scenario.name} (${Math.round(ms)} ms)`;
  return message === undefined
    ? head
    : `${head}\n       ${scenario.sentence}\n       ${message.replaceAll('\n', '\n       ')}`;
};

/**
 * Runs the kit.
 * @param argv what follows the name of the program
 * @returns the exit status
 */
export const runConformance = async (argv: readonly string[], print: (line: string) => void): Promise<number> => {
  let order: Order;
  try {
    order = readOrder(argv);
  } catch (error) {
    print(`conformance: ${(error as Error).message}\n\n${USAGE}`);
    return EXIT_USAGE;
  }
  const { chosen, command, exclusions, report, jobs } = order;
  if (order.list || command === undefined) {
    for (const { number, name, sentence } of chosen) print(`${String(number).padStart(3)} ${name}: ${sentence}`);
    return 0;
  }

  const startedAt = performance.now();
  const services = createServices();
  // What was started ends with this process, where it ends by `exit`.
  const onSignal = (): void => process.exit(EXIT_INTERRUPTED);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal);
  try {
    const first = await startFixture(command, {});
    first.hangUp();
    const { language, library, version } = first.hello;
    print(`${library} ${version} (${language}): ${chosen.length} scenarios, ${jobs} at a time`);
    const outcomes = await playAll(chosen, {
      ...{ command, services, exclusions, jobs },
      onOutcome: (outcome) => print(lineOf(outcome)),
    });
    const ms = performance.now() - startedAt;
    if (report !== undefined) writeFileSync(report, junitOf(`${library} ${version}`, outcomes, ms));
    const count = (...states: readonly Outcome['state'][]): number =>
      outcomes.filter(({ state }) => states.includes(state)).length;
    const failed = count('failed', 'needlessly excluded');
    print(
      `${library}: ${count('passed')} passed, ${failed} failed, ${count('excluded')} excluded, ${count('skipped')} skipped in ${(ms / 1000).toFixed(1)} s`,
    );
    return failed === 0 ? 0 : EXIT_FAILED;
  } catch (error) {
    print(`conformance: ${(error as Error).message}`);
    return EXIT_FAILED;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
    await services.stop();
  }
};

if (import.meta.main) process.exit(await runConformance(process.argv.slice(2), (line) => console.log(line)));
