import { spawn } from 'node:child_process';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { describe, expect, it } from 'vitest';
import { chosenLanguages, exclusionsOf, prepare, SDK_VARIABLE } from '../../tools/sdk.ts';

const KIT = join(import.meta.dirname, '..', '..', 'sdk', 'conformance', 'run.ts');
/** Other process tests run beside this one. */
const JOBS = '4';
/** Languages that are judged at once: most of the time of each is waiting. */
const judges = new PQueue({ concurrency: 2 });
/** Ends what hangs; the languages before it in the queue, and their builds, count as well. */
const HANGS_AFTER_MS = 2_700_000;

const judge = (
  options: readonly string[],
  command: readonly string[],
): Promise<{ code: number | null; text: string }> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [KIT, '--jobs', JOBS, ...options, '--', ...command], { stdio: 'pipe' });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (more: string) => (text += more));
    child.once('close', (code) => resolve({ code, text }));
  });

/** What did not pass, and why, from what the kit printed. */
const faultsIn = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !/^(?:ok|skip|excl) /.test(line))
    .join('\n');

describe('client libraries', () => {
  for (const language of chosenLanguages(process.env[SDK_VARIABLE]))
    it.concurrent(`${language.name} keeps every promise that all libraries make`, { timeout: HANGS_AFTER_MS }, async ({
      expect,
    }) => {
      expect(prepare(language), `${language.name} can be judged`).toBeUndefined();
      const exclusions = exclusionsOf(language);
      const options = exclusions === undefined ? [] : ['--exclude', exclusions];
      const { code, text } = await judges.add(() => judge(options, language.command));
      expect(code, faultsIn(text)).toBe(0);
      expect(text).toMatch(/ 0 failed, /);
    });

  it('a fixture that does not start is a failure, with its words', async () => {
    const { code, text } = await judge(
      ['--only', '1'],
      [process.execPath, '-e', 'console.error("no library"); process.exit(3)'],
    );
    expect(code).toBe(1);
    expect(text).toContain('no library');
  });

  it('a language that is not there is named', () => {
    expect(() => chosenLanguages('cobol')).toThrow(
      '--sdk: no library is named cobol; there are typescript, python, go, rust, java, cpp',
    );
  });
});
