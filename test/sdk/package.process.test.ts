import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aLease, startFakeService } from '../../sdk/conformance/opposite/scripted.ts';

const root = join(import.meta.dirname, '..', '..');
const sdk = join(root, 'sdk', 'typescript');
const folder = mkdtempSync(join(tmpdir(), 'svc-sdk-'));
const tsc = join(root, 'node_modules', '.bin', 'tsc');

type Packed = { readonly filename: string; readonly files: readonly { readonly path: string }[] };
let files: readonly string[] = [];

const manifest = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8')) as Record<string, unknown>;

const run = (command: string, args: readonly string[], cwd: string): string => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
};

beforeAll(() => {
  // What would be published, packed by npm and installed by it, in a project that holds nothing else.
  const source = join(folder, 'source');
  mkdirSync(source, { recursive: true });
  run(tsc, ['-p', sdk, '--outDir', join(source, 'dist')], root);
  for (const file of ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE'])
    cpSync(join(sdk, file), join(source, file));
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts'], source)) as [Packed];
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const quietly = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  run('npm', ['install', ...quietly, join(source, packed.filename)], folder);
  files = packed.files.map(({ path }) => path);
  mkdirSync(join(folder, 'node_modules', '@types'));
  symlinkSync(join(root, 'node_modules', '@types', 'node'), join(folder, 'node_modules', '@types', 'node'));
  symlinkSync(join(root, 'node_modules', 'undici-types'), join(folder, 'node_modules', 'undici-types'));
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the published package', () => {
  it('holds the library with its types, what to read about it, and no sources', () => {
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json']));
    for (const entry of ['index', 'otel', 'browser'])
      expect(files).toEqual(expect.arrayContaining([`dist/${entry}.js`, `dist/${entry}.d.ts`]));
    expect(files.filter((file) => !file.startsWith('dist/'))).toHaveLength(4);
  });

  it('depends on nothing', () => {
    expect(manifest).not.toHaveProperty('dependencies');
    expect(manifest).not.toHaveProperty('peerDependencies');
  });

  it('loads as JavaScript, by each of its doors', () => {
    const namesOf = (door: string): string[] => {
      const script = `import * as sdk from '${door}'; console.log(Object.keys(sdk).join(' '))`;
      return run(process.execPath, ['--input-type=module', '-e', script], folder).split(/\s/);
    };
    expect(namesOf('@svc/sdk')).toEqual(
      expect.arrayContaining([
        'createWorker',
        'createClient',
        'createInstrumentation',
        'defineWorkflow',
        'StepFailure',
      ]),
    );
    expect(namesOf('@svc/sdk/otel')).toEqual(expect.arrayContaining(['bridgeOpenTelemetry', 'otlpPreset']));
    expect(namesOf('@svc/sdk/browser')).toEqual(expect.arrayContaining(['createInstrumentation']));
  });

  it('runs: a program that installed it starts a run and records a span', async () => {
    const service = await startFakeService();
    writeFileSync(
      join(folder, 'program.js'),
      `import { createClient, createInstrumentation } from '@svc/sdk';
       const client = createClient();
       const svc = createInstrumentation();
       const run = await svc.span('start', {}, () => client.start('refund', { amount: 1 }));
       console.log(run.run_id);
       await svc.close();
       client.close();
      `,
    );
    const program = spawn(process.execPath, ['program.js'], {
      cwd: folder,
      env: { ...process.env, SVC_ENDPOINT: service.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const printed = await text(program.stdout);
    await service.stop();
    expect(printed).toBe('run-1\n');
    expect(service.callsTo('runs')[0]?.body).toMatchObject({ definition_id: 'refund', input: { amount: 1 } });
    expect(service.callsTo('ingest')[0]?.body['spans']).toMatchObject([{ name: 'start', status: 'ok' }]);
  });

  it('a body that blocks the thread of its program keeps its lease: another thread sends the heartbeats', async () => {
    const service = await startFakeService({ heartbeatMs: 100, leaseTtlMs: 2000 });
    writeFileSync(
      join(folder, 'blocks.js'),
      `import { createWorker, defineWorkflow } from '@svc/sdk';
       const definition = { id: 'refund', version: 1, steps: [{ id: 'pay', kind: 'task' }] };
       // Waits 3 s, longer than a lease lives: meanwhile only a heartbeat of another thread can keep the lease.
       const nothing = new Int32Array(new SharedArrayBuffer(4));
       const pay = () => { Atomics.wait(nothing, 0, 0, 3000); return 'paid'; };
       const logger = { warn: console.log, error: console.log };
       await createWorker({ workflows: [defineWorkflow({ definition, bodies: { pay } })], logger }).run();
      `,
    );
    const program = spawn(process.execPath, ['blocks.js'], {
      cwd: folder,
      env: { ...process.env, SVC_ENDPOINT: service.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const printed = text(program.stdout);
    service.offer(aLease({ lease_id: 'blocked' }));
    const report = await service.seen('complete');
    const beats = service.callsTo('heartbeat');
    program.kill('SIGTERM');
    expect(await printed).toBe('');
    await service.stop();
    expect(beats.length).toBeGreaterThanOrEqual(2);
    expect(beats.every(({ at, path }) => at < report.at && path.includes('blocked'))).toBe(true);
  });

  it('sends what is queued when the program has nothing left to do, without a close', async () => {
    const service = await startFakeService();
    writeFileSync(
      join(folder, 'careless.js'),
      `import { createInstrumentation } from '@svc/sdk';
       await createInstrumentation({ delayMs: 60_000 }).span('careless', {}, () => {});
      `,
    );
    const program = spawn(process.execPath, ['careless.js'], {
      cwd: folder,
      env: { ...process.env, SVC_ENDPOINT: service.url },
      stdio: 'inherit',
    });
    const [code] = (await once(program, 'exit')) as [number];
    await service.stop();
    expect(code).toBe(0);
    expect(service.callsTo('ingest')[0]?.body['spans']).toMatchObject([{ name: 'careless' }]);
  });

  it('its door for pages holds nothing of Node, neither in its code nor in its types', () => {
    const needed = new Set<string>();
    const follow = (file: string): void => {
      if (needed.has(file)) return;
      needed.add(file);
      const code = readFileSync(join(folder, 'node_modules', '@svc', 'sdk', 'dist', file), 'utf8');
      expect(code).not.toMatch(/from ['"]node:|\bBuffer\b|require\(/);
      for (const [, next = ''] of code.matchAll(/from ['"]\.\/([^'"]+)['"]/g)) follow(next);
    };
    follow('browser.js');
    expect([...needed]).toEqual(expect.arrayContaining(['browser.js', 'recorder.js', 'export-queue.js']));
    writeFileSync(
      join(folder, 'page.ts'),
      `import { createInstrumentation, type Span } from '@svc/sdk/browser';
       const svc = createInstrumentation({ endpoint: '/observability' });
       export const traced: Promise<string> = svc.span('a', {}, (span: Span) => span.traceId);
      `,
    );
    const options = { module: 'esnext', moduleResolution: 'bundler', target: 'es2022', lib: ['es2022', 'dom'] };
    const checked = { ...options, strict: true, noEmit: true, types: [], skipLibCheck: false };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: checked, files: ['page.ts'] }));
    const check = spawnSync(tsc, ['-p', folder], { encoding: 'utf8' });
    expect(check.stdout).toBe('');
    expect(check.status).toBe(0);
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
