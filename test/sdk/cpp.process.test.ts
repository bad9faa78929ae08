import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chosenLanguages, prepare, SDK_VARIABLE } from '../../tools/sdk.ts';

const LIBRARY = join(import.meta.dirname, '..', '..', 'sdk', 'cpp');

const run = (command: string, ...args: readonly string[]): Promise<{ code: number | null; text: string }> =>
  new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'pipe', cwd: LIBRARY });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (more: string) => (text += more));
    child.once('close', (code) => resolve({ code, text }));
  });

const cpp = chosenLanguages(process.env[SDK_VARIABLE]).find(({ name }) => name === 'cpp');

describe.runIf(cpp !== undefined)('the library for C++', () => {
  it('passes its own tests', async () => {
    if (cpp === undefined) return;
    // The library is built once for its fixture and these tests.
    expect(prepare(cpp), 'C++ is there').toBeUndefined();
    const { code, text } = await run('flock', 'build.lock', 'cmake', '--workflow', '--preset', 'conformance-tests');
    expect(code, text).toBe(0);
    expect(text).toMatch(/100% tests passed, 0 tests failed out of (?:[3-9]\d|\d{3,})/);
  });
});
