import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { prepare, sdkLanguages } from '../../tools/sdk.ts';

const FOLDER = join(import.meta.dirname, '..', '..', 'sdk', 'java');

type Outcome = { readonly test: string; readonly state: 'passed' | 'failed'; readonly text: string };

const java = sdkLanguages.find(({ name }) => name === 'java');
const runFile = promisify(execFile);
/** Runs the unit tests by the virtual machine and the class path of the fixture. */
const suite = async (...args: readonly string[]): Promise<readonly string[]> => {
  const [machine = '', ...options] = java?.command.slice(0, -1) ?? [];
  const { stdout } = await runFile(machine, [`-Dsvc.root=${FOLDER}`, ...options, 'dev.svc.Suite', ...args]);
  return stdout.split('\n').filter((line) => line !== '');
};

const lacking = java === undefined ? 'no row in tools/sdk.ts' : prepare(java);
// Listed first, so that each test of that language counts here as one of its own.
const names = lacking === undefined ? (JSON.parse((await suite('--list')).join('')) as readonly string[]) : [];

describe('the library for Java', () => {
  let outcomes: ReadonlyMap<string, Outcome> = new Map();
  beforeAll(async () => {
    if (lacking !== undefined) return;
    const ended = (await suite()).map((line) => JSON.parse(line) as Outcome);
    outcomes = new Map(ended.map((outcome) => [outcome.test, outcome]));
  });

  it('can be built on this machine, and runs no other tests than those listed', () => {
    expect(lacking).toBeUndefined();
    expect([...outcomes.keys()].toSorted()).toEqual([...names].toSorted());
  });

  it.for(names)('%s', (name) => {
    const { state, text } = outcomes.get(name) ?? { state: 'failed', text: 'it did not run' };
    expect(state, text).toBe('passed');
  });
});
