import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';

const root = join(import.meta.dirname, '../..');

/** A clone in which each of the two says which one it is. */
describe('the command runs the bundle where it was made after every source, else the sources', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  const write = (path: string, text: string, second: number): void => {
    mkdirSync(dirname(join(folder.path, path)), { recursive: true });
    writeFileSync(join(folder.path, path), text);
    utimesSync(join(folder.path, path), second, second);
  };
  const touch = (path: string, second: number): void => utimesSync(join(folder.path, path), second, second);
  const run = (): string =>
    spawnSync(process.execPath, [join(folder.path, 'bin/svc.mjs')], { encoding: 'utf8' }).stdout.trim();

  beforeEach(() => {
    folder = temporaryFolder();
    cpSync(join(root, 'bin'), join(folder.path, 'bin'), { recursive: true });
    write('package.json', '{"type":"module"}', 100);
    write('package-lock.json', '{}', 100);
    write('src/store/sqlite/thread.ts', '', 100);
    write('src/main.ts', 'console.log("sources" as string)', 100);
    for (const made of ['src/store/sqlite', 'src/store', 'src']) touch(made, 100);
    write('dist/main.js', 'console.log("bundle")', 200);
  });
  afterEach(() => folder.remove());

  it('made later, or at the same time', () => {
    expect(run()).toBe('bundle');
    touch('src/store/sqlite/thread.ts', 200);
    expect(run()).toBe('bundle');
  });

  it.each(['src/store/sqlite/thread.ts', 'src/main.ts', 'package-lock.json'])('%s is newer', (path) => {
    touch(path, 201);
    expect(run()).toBe('sources');
  });

  it('a source was added or taken away', () => {
    rmSync(join(folder.path, 'src/store/sqlite/thread.ts'));
    expect(run()).toBe('sources');
  });

  it.runIf(process.platform === 'linux')(
    'as the same process, which tells the allocator to give memory back where it will be the service',
    () => {
      write('dist/main.js', 'console.log(process.pid, process.env.MALLOC_ARENA_MAX, ...process.argv.slice(2))', 200);
      const started = (args: string[], env: NodeJS.ProcessEnv = {}): string => {
        const { pid, stdout } = spawnSync(process.execPath, [join(folder.path, 'bin/svc.mjs'), ...args], {
          encoding: 'utf8',
          env: { ...process.env, MALLOC_ARENA_MAX: undefined, ...env },
        });
        return stdout.trim().replace(`${pid} `, 'itself: ');
      };
      expect(started([])).toBe('itself: 2');
      expect(started(['serve', '--port', '0'])).toBe('itself: 2 serve --port 0');
      expect(started(['--port', '0'])).toBe('itself: 2 --port 0');
      expect(started(['--port', '0'], { MALLOC_ARENA_MAX: '7' })).toBe('itself: 7 --port 0');
      expect(started(['runs', 'start'])).toBe('itself: undefined runs start');
    },
  );

  it('there is no bundle', () => {
    rmSync(join(folder.path, 'dist'), { recursive: true });
    expect(run()).toBe('sources');
  });
});

describe('what the bundle holds', () => {
  it('finds the files beside its sources, those of the kit for client libraries among them', () => {
    const folder = temporaryFolder();
    try {
      for (const path of [
        'bin',
        'src',
        'spec',
        'sdk/conformance',
        'tools/bundle.mjs',
        'package.json',
        'package-lock.json',
      ])
        cpSync(join(root, path), join(folder.path, path), { recursive: true });
      symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'));
      const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: folder.path, encoding: 'utf8' });
      expect(run('tools/bundle.mjs')).toMatchObject({ status: 0 });
      // V8 keeps other files with two bytes a character.
      for (const name of readdirSync(join(folder.path, 'dist')))
        expect(readFileSync(join(folder.path, 'dist', name), 'utf8').match(/[^\0-\x7f]/)?.[0], name).toBeUndefined();
      // Nothing is left to start from but the bundle.
      rmSync(join(folder.path, 'src/cli'), { recursive: true });
      utimesSync(join(folder.path, 'src'), 1, 1);
      const listed = run('bin/svc.mjs', 'conformance', '--list');
      expect(listed).toMatchObject({ status: 0, stderr: '' });
      expect(listed.stdout).toMatch(/^ +1 settings\//);
      expect(run('bin/svc.mjs', '--version')).toMatchObject({ status: 0 });
    } finally {
      folder.remove();
    }
  });
});
