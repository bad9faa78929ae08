import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const sdk = join(root, 'sdk', 'typescript');
const folder = mkdtempSync(join(tmpdir(), 'svc-sdk-'));
const installed = join(folder, 'node_modules', '@svc', 'sdk');
const tsc = join(root, 'node_modules', '.bin', 'tsc');

const manifest = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8')) as Record<string, unknown>;

beforeAll(() => {
  // What `npm pack` would publish, and what installing it would give.
  mkdirSync(installed, { recursive: true });
  const built = spawnSync(tsc, ['-p', sdk, '--outDir', join(installed, 'dist')], { encoding: 'utf8' });
  if (built.status !== 0) throw new Error(built.stdout);
  cpSync(join(sdk, 'package.json'), join(installed, 'package.json'));
  symlinkSync(join(root, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
  symlinkSync(join(root, 'node_modules', 'undici-types'), join(folder, 'node_modules', 'undici-types'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the published package', () => {
  it('depends on nothing', () => {
    expect(manifest).not.toHaveProperty('dependencies');
    expect(manifest).not.toHaveProperty('peerDependencies');
  });

  it('loads as JavaScript', () => {
    const script = "import * as sdk from '@svc/sdk'; console.log(Object.keys(sdk).join(' '))";
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: folder, encoding: 'utf8' });
    expect(run.stderr).toBe('');
    expect(run.stdout.split(/\s/)).toEqual(
      expect.arrayContaining([
        'createWorker',
        'createClient',
        'createInstrumentation',
        'defineWorkflow',
        'StepFailure',
      ]),
    );
  });

  it('gives its types to a strict consumer that checks libraries too', () => {
    writeFileSync(
      join(folder, 'consumer.ts'),
      `import { createClient, createWorker, defineWorkflow, type Run, type } from '@svc/sdk';
       const workflow = defineWorkflow({
         definition: { id: 'a', version: 1, steps: [{ id: 'x', kind: 'task' }] },
         input: type<{ n: number }>(),
         bodies: { x: (context, input: { n: number }) => input.n + context.visit },
       });
       export const run: Promise<Run> = createClient().start(workflow, { n: 1 });
       export const worker = createWorker({ workflows: [workflow] });
       // @ts-expect-error n is a number
       void createClient().start(workflow, { n: 'one' });
       // @ts-expect-error y is no task
       defineWorkflow({ definition: { id: 'a', version: 1, steps: [{ id: 'x', kind: 'task' }] }, bodies: { y: () => 1 } });
      `,
    );
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'nodenext',
          target: 'es2022',
          strict: true,
          noEmit: true,
          types: ['node'],
          skipLibCheck: false,
        },
        files: ['consumer.ts'],
      }),
    );
    const check = spawnSync(tsc, ['-p', folder], { encoding: 'utf8' });
    expect(check.stdout).toBe('');
    expect(check.status).toBe(0);
  });
});
