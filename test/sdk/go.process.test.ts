import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const MODULE = join(import.meta.dirname, '..', '..', 'sdk', 'go');
const NEEDED = 'Go 1.25 or newer, from go.dev: Debian 12 has an older one';

type Outcome = { readonly code: number; readonly text: string };
const runFile = promisify(execFile);

/** Runs a tool of Go in the module. No toolchain and no module is fetched: the library depends on nothing. */
const run = async (tool: string, ...args: readonly string[]): Promise<Outcome> => {
  try {
    const { stdout, stderr } = await runFile(tool, args, {
      cwd: MODULE,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, GOTOOLCHAIN: 'local', GOPROXY: 'off', GOFLAGS: '-mod=readonly' },
    });
    return { code: 0, text: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, text: `${stdout}${stderr}` };
  }
};

type Event = { readonly Action: string; readonly Test?: string; readonly Output?: string };

describe('the library for Go', () => {
  it('has a toolchain on this machine', async () => {
    const { code, text } = await run('go', 'list', '-m');
    expect(code, `this machine lacks ${NEEDED}\n${text}`).toBe(0);
  });

  it('is laid out by gofmt', async () => {
    expect(await run('gofmt', '-l', '.')).toEqual({ code: 0, text: '' });
  });

  it('has nothing that go vet objects to, its example, benchmark and fixture included', async () => {
    expect(await run('go', 'vet', './...')).toEqual({ code: 0, text: '' });
  });

  it('depends on nothing', async () => {
    const { code, text } = await run(
      'go',
      'list',
      '-deps',
      '-f',
      '{{if not .Standard}}{{.ImportPath}}{{end}}',
      './...',
    );
    expect(code, text).toBe(0);
    const foreign = text.split('\n').filter((path) => path !== '' && !path.startsWith('svc.dev/sdk/go'));
    expect(foreign).toEqual([]);
  });

  it('passes its tests while races are looked for (needs gcc)', async () => {
    const { code, text } = await run('go', 'test', '-race', '-json', './...');
    const events = text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Event);
    const of = (action: string) => events.filter((event) => event.Action === action && event.Test !== undefined);
    const said = events.map(({ Output = '' }) => Output).filter((line) => !/^(?:=== |--- PASS|PASS|ok )/.test(line));
    expect(
      of('fail').map(({ Test }) => Test),
      said.join(''),
    ).toEqual([]);
    expect(code, text).toBe(0);
    expect(of('pass').length).toBeGreaterThan(40);
    expect(of('skip')).toEqual([]);
  });
});
