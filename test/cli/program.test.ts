import { describe, expect, it } from 'vitest';
import { type ProgramIo, runProgram } from '../../src/cli/program.ts';
import type { Settings } from '../../src/cli/settings.ts';

const run = async (argv: readonly string[], environment: Record<string, string> = {}) => {
  const out: string[] = [];
  const err: string[] = [];
  const served: Settings[] = [];
  const io: ProgramIo = {
    environment,
    out: (text) => out.push(text),
    err: (line) => err.push(line),
    serve: async (settings) => {
      served.push(settings);
      return undefined;
    },
  };
  const code = await runProgram(argv, io);
  return { code, out: out.join(''), err, served };
};

describe('the command line', () => {
  it('serves without a subcommand and with serve, and takes flags before and after it', async () => {
    for (const argv of [
      ['--port', '99'],
      ['serve', '--port', '99'],
      ['--port=99', 'serve'],
    ]) {
      const { served, code } = await run(argv);
      expect(served.map(({ port }) => port)).toEqual([99]);
      expect(code).toBeUndefined();
    }
  });

  it('collects every occurrence of a key flag', async () => {
    const { served } = await run(['--read-key', 'a'.repeat(16), '--read-key', 'b'.repeat(16)]);
    expect(served[0]?.keys.read).toHaveLength(2);
  });

  it('config prints JSON and exits 0, with flags on either side and from the environment', async () => {
    for (const argv of [
      ['config', '--port', '99'],
      ['--port', '99', 'config'],
    ]) {
      const { out, code } = await run(argv, { SVCD_HOST: '0.0.0.0' });
      expect(JSON.parse(out)).toMatchObject({ port: 99, host: '0.0.0.0', monitors_armed: 0 });
      expect(code).toBe(0);
    }
  });

  it('config prints warnings beside the JSON, not in it', async () => {
    const { out, err } = await run(['config', '--read-key', 'short']);
    expect(() => JSON.parse(out) as unknown).not.toThrow();
    expect(err).toEqual(['svc: warning: --read-key: 1 of 1 keys are shorter than 16 characters and can be guessed']);
  });

  it('refuses a bad value with one line that names the flag, exit 2', async () => {
    const { code, err, served } = await run(['--port', '70000']);
    expect(code).toBe(2);
    expect(err).toEqual(['svc: --port: must be an integer from 0 to 65535, is "70000"']);
    expect(served).toEqual([]);
  });

  const misuse: readonly [string[], RegExp][] = [
    [['--prot', '1'], /^svc: unknown option '--prot' \(Did you mean --port\?\)$/],
    [['--port'], /^svc: option '--port <n>' argument missing$/],
    [['confg'], /^svc: unknown command "confg"; svc has serve, config, doctor, prices, mcp/],
    [['config', 'extra'], /^svc: too many arguments for 'config'/],
    [['--config-file', '/nowhere/svc.json'], /^svc: --config-file: \/nowhere\/svc\.json: there is no such file$/],
  ];
  for (const [argv, line] of misuse)
    it(`refuses "svc ${argv.join(' ')}" with one line, exit 2`, async () => {
      const { code, err } = await run(argv);
      expect(code).toBe(2);
      expect(err).toHaveLength(1);
      expect(err[0]).toMatch(line);
      expect(err[0]).not.toContain('\n');
    });

  it('prints help and version with exit 0; the help names each flag and its variable', async () => {
    const help = await run(['--help']);
    expect(help.code).toBe(0);
    expect(help.out).toContain('--max-body-bytes <n>');
    expect(help.out).toContain('SVCD_MAX_BODY_BYTES');
    const shown = await run(['--version']);
    expect(shown.code).toBe(0);
    expect(shown.out.trim()).toMatch(/^\d+\.\d+\.\d+$/);
  });
});
