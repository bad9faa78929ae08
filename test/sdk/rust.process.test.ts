import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chosenLanguages, prepare, SDK_VARIABLE } from '../../tools/sdk.ts';

const CARGO = join(import.meta.dirname, '..', '..', 'tools', 'cargo.ts');

const run = (...args: readonly string[]): Promise<{ code: number | null; text: string }> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, [CARGO, ...args], { stdio: 'pipe' });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (more: string) => (text += more));
    child.once('close', (code) => resolve({ code, text }));
  });

const rust = chosenLanguages(process.env[SDK_VARIABLE]).find(({ name }) => name === 'rust');

describe.runIf(rust !== undefined)('the library for Rust', () => {
  it('passes its own tests', async () => {
    if (rust === undefined) return;
    expect(prepare(rust), 'Rust is there').toBeUndefined();
    const { code, text } = await run('test', '--package', 'svc-sdk', '--lib');
    expect(code, text).toBe(0);
    expect(text).toMatch(/test result: ok\. (?:[3-9]\d|\d{3,}) passed/);
  });
});
