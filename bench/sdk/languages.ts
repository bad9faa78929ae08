/** The programs that measure the client libraries, a row a language. @see README.md */
import { join } from 'node:path';

export type Command = readonly [string, ...string[]];

export type Language = {
  readonly name: string;
  readonly build?: Command;
  /** Takes the address of the stalled service as its last argument. */
  readonly spans: Command;
  /** Takes its plan on standard input. */
  readonly runs: Command;
  /** Microseconds of a span at the median. */
  readonly aimUs: number;
  /** Of the steps per second of TypeScript. */
  readonly aimSteps: number;
};

const ROOT = join(import.meta.dirname, '..', '..');
const sdk = (...path: readonly string[]): string => join(ROOT, 'sdk', ...path);

/** A program with the two verbs. */
const verbs = (...command: Command): Pick<Language, 'spans' | 'runs'> => ({
  spans: [...command, 'spans'],
  runs: [...command, 'runs'],
});

const go = sdk('go', '.build', 'bench');
const jackson = ['databind', 'core', 'annotations'].map((part) => `/usr/share/java/jackson-${part}.jar`);
const java = ['-cp', [sdk('java', '.build', 'all.jar'), ...jackson].join(':'), 'Bench'];

/** TypeScript is first: the others are compared with it. */
export const languages: readonly Language[] = [
  {
    name: 'typescript',
    ...verbs(process.execPath, join(import.meta.dirname, 'typescript.ts')),
    aimUs: 20,
    aimSteps: 1,
  },
  { name: 'python', ...verbs('python3', sdk('python', 'bench', 'bench.py')), aimUs: 40, aimSteps: 0.6 },
  {
    name: 'go',
    build: ['env', 'GOTOOLCHAIN=local', 'go', 'build', '-C', sdk('go', 'bench'), '-o', go, '.'],
    ...verbs(go),
    aimUs: 5,
    aimSteps: 0.9,
  },
  {
    name: 'rust',
    build: [
      ...(['cargo', 'build', '--quiet', '--release', '--manifest-path', sdk('rust', 'bench', 'Cargo.toml')] as const),
      ...['--target-dir', sdk('rust', 'target')],
    ],
    ...verbs(sdk('rust', 'target', 'release', 'svc-bench')),
    aimUs: 5,
    aimSteps: 0.9,
  },
  {
    name: 'java',
    build: [sdk('java', 'build.sh')],
    // A virtual machine takes what it may have before it collects: with a small heap, what grows is what is held.
    spans: ['java', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmn3m', '-Xmx52m', ...java, 'spans'],
    runs: ['java', ...java, 'runs'],
    aimUs: 5,
    aimSteps: 0.9,
  },
  {
    name: 'cpp',
    build: [
      ...(['flock', sdk('cpp', 'build.lock'), 'env', '-C', sdk('cpp')] as const),
      ...['cmake', '--workflow', '--preset', 'bench'],
    ],
    ...verbs(sdk('cpp', 'build', 'bench', 'bench', 'svc_bench')),
    aimUs: 5,
    aimSteps: 0.9,
  },
];
