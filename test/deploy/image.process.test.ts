import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../daemon.ts';

const root = join(import.meta.dirname, '../..');
const temporary = temporaryFolder();
afterAll(temporary.remove);

describe('what .dockerignore lets into the image', () => {
  it('is enough: the service starts, is healthy by its own command, and a SIGTERM ends it with 0', async () => {
    const rules = readFileSync(join(root, '.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(rules[0]).toBe('*');
    const app = join(temporary.path, 'app');
    mkdirSync(join(app, 'sdk'), { recursive: true });
    // The interface is built in the image, from sources of its own.
    for (const [, path = ''] of rules.map((rule) => /^!(.*)$/.exec(rule) ?? []))
      if (path !== '' && path !== 'ui') cpSync(join(root, path), join(app, path), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(app, 'node_modules'));

    const program = join(app, 'bin/svc.mjs');
    const environment = { PATH: process.env['PATH'], NODE_ENV: 'production', NODE_COMPILE_CACHE: temporary.path };
    const data = join(temporary.path, 'data');
    mkdirSync(data);
    const service = spawn(process.execPath, [program], {
      cwd: data,
      env: {
        ...environment,
        SVCD_PORT: '0',
        SVCD_DATA: join(data, 'svc.db'),
        SVCD_RUNS_DATA: join(data, 'svc-runs.db'),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(service, 'exit');
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: service.stdout }).on('line', (line) => {
        const address = /"address":"(http:[^"]+)"/.exec(line)?.[1];
        if (address !== undefined) resolve(address);
      });
      void ended.then(([code]) => reject(new Error(`the service ended with ${String(code)}`)));
    });
    const health = (...flags: string[]) =>
      spawnSync(process.execPath, [program, 'health', '--endpoint', url, ...flags], {
        env: environment,
        encoding: 'utf8',
      });
    for (const flags of [[], ['--ready']])
      expect(health(...flags)).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ok: svc /), stderr: '' });
    service.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(health()).toMatchObject({ status: 1, stderr: expect.stringContaining('nothing answers') });
  });
});
