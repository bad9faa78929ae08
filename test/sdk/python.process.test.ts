import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

const RUNNER = join(import.meta.dirname, '..', '..', 'sdk', 'python', 'tests', 'run.py');
const NEEDED = 'Python 3.10 or newer: `apt-get install python3` on Debian 12 and later, python.org elsewhere';

type Outcome = { readonly test: string; readonly state: 'passed' | 'failed' | 'skipped'; readonly text: string };

const runFile = promisify(execFile);
const python = async (...args: readonly string[]): Promise<string> => {
  const { stdout } = await runFile('python3', [RUNNER, ...args], {
    maxBuffer: 64 * 1024 * 1024,
    // The interpreter that starts daemons for them.
    env: { ...process.env, SVC_TEST_NODE: process.execPath },
  });
  return stdout;
};

const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']).status === 0;
// Listed first, so that each test of that language counts here as one of its own.
const names = hasPython ? (JSON.parse(await python('--list')) as readonly string[]) : [];

describe('the library for Python', () => {
  let outcomes: ReadonlyMap<string, Outcome> = new Map();
  beforeAll(async () => {
    if (!hasPython) return;
    const lines = (await python()).split('\n').filter((line) => line !== '');
    outcomes = new Map(lines.map((line) => JSON.parse(line) as Outcome).map((outcome) => [outcome.test, outcome]));
  });

  it('has an interpreter on this machine, and runs no other tests than those listed', () => {
    expect(hasPython, `this machine lacks ${NEEDED}`).toBe(true);
    expect([...outcomes.keys()].toSorted()).toEqual([...names].toSorted());
  });

  it.for(names)('%s', (name, { skip }) => {
    const { state, text } = outcomes.get(name) ?? { state: 'failed', text: 'it did not run' };
    if (state === 'skipped') skip(text);
    expect(state, text).toBe('passed');
  });
});
