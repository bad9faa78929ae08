import { describe, expect, it } from 'vitest';
import { environmentName, flagNames, flags } from '../../src/cli/flags.ts';
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

/** The flags that a help lists, sorted. */
const flagsOf = (help: string): string[] =>
  [...help.matchAll(/^ {2}(?:-\w, )?--([a-z-]+)/gm)].map(([, name = '']) => name).toSorted();

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
    [['serve', '--prot', '1'], /^svc: unknown option '--prot' \(Did you mean --port\?\)$/],
    [
      ['confg'],
      /^svc: unknown command "confg"; svc has serve, config, doctor, prices, runs, definitions, events, schedules, mcp/,
    ],
    [['--port', '1', 'prices'], /^svc: --port: a flag of the service; svc prices does not read it$/],
    [['--port', '1', 'runs', 'watch', 'x'], /^svc: --port: a flag of the service; svc runs watch does not read it$/],
    [['prices', '--port', '1'], /^svc: unknown option '--port'/],
    [['actors', '--projct', 'x'], /^svc: unknown option '--projct' \(Did you mean --project\?\)$/],
    [
      ['actors', '--at-seq', 'x'],
      /^svc: option '--at-seq <n>' argument 'x' is invalid\. It must be an integer from 0\.$/,
    ],
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

  it('adds up the occurrences of a flag on both sides of a command', async () => {
    const { served } = await run(['--read-key', 'a'.repeat(16), 'serve', '--read-key', 'b'.repeat(16), '--port', '7']);
    expect(served[0]?.keys.read).toHaveLength(2);
    expect(served[0]?.port).toBe(7);
    expect((await run(['--port', '1', 'serve', '--port', '2'])).served[0]?.port).toBe(2);
  });

  it('prints help and version with exit 0; the help of serve names each flag and its variable', async () => {
    for (const argv of [
      ['serve', '--help'],
      ['help', 'serve'],
      ['config', '--help'],
      ['doctor', '--help'],
    ]) {
      const help = await run(argv);
      expect(help.code).toBe(0);
      for (const name of flagNames) {
        expect(help.out, argv.join(' ')).toContain(`--${name} ${flags[name].argument}`);
        expect(help.out.replaceAll(/\s+/g, ''), argv.join(' ')).toContain(`[${environmentName(name)}]`);
      }
    }
    const shown = await run(['--version']);
    expect(shown.code).toBe(0);
    expect(shown.out.trim()).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it('the help of svc names its commands and where their flags are', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    for (const name of [
      'serve',
      'config',
      'doctor',
      'prices',
      'runs',
      'events',
      'mcp',
      'machines',
      'actors',
      'conformance',
    ])
      expect(out).toMatch(new RegExp(`^  ${name} `, 'm'));
    expect(out).toContain('svc serve --help');
    expect(flagsOf(out)).toEqual(['help', 'version']);
  });

  const connection = ['api-key', 'endpoint'];
  const filters = ['correlation', 'definition', 'from', 'parent', 'session', 'status', 'to', 'user', 'waiting-on'];
  it.each([
    [['prices'], ['diff', 'json']],
    [['conformance'], ['exclude', 'jobs', 'list', 'only', 'report']],
    [['mcp'], [...connection, 'project']],
    [['machines'], [...connection, 'format', 'project']],
    [['actors'], [...connection, 'at-seq', 'json', 'project']],
    [['runs'], [...connection, ...filters, 'cursor', 'json', 'limit', 'project']],
    [
      ['runs', 'start'],
      [...connection, 'correlation', 'idempotency-key', 'input', 'json', 'priority', 'project', 'start-at', 'wait'],
    ],
    [
      ['runs', 'signal'],
      [...connection, 'event-id', 'json', 'payload'],
    ],
    ...(['pause', 'resume', 'cancel'] as const).map((verb): [string[], string[]] => [
      ['runs', verb],
      [...connection, 'json', 'reason'],
    ]),
    ...(['pause', 'resume'] as const).map((verb): [string[], string[]] => [
      ['definitions', verb],
      [...connection, 'json', 'project', 'reason'],
    ]),
    [
      ['runs', 'restart'],
      [
        ...connection,
        'definition-version',
        'from-step',
        'idempotency-key',
        'input',
        'json',
        'state-patch',
        'visit',
        'wait',
      ],
    ],
    [
      ['runs', 'watch'],
      [...connection, 'after', 'json'],
    ],
    [
      ['runs', 'bulk'],
      [...connection, ...filters, 'event', 'idempotency-key', 'json', 'payload', 'project', 'reason', 'yes'],
    ],
    [['schedules'], [...connection, 'cursor', 'json', 'limit', 'project']],
    [
      ['schedules', 'create'],
      [
        ...connection,
        'catch-up',
        'cron',
        'definition',
        'every',
        'file',
        'input',
        'json',
        'overlap',
        'project',
        'timezone',
      ],
    ],
    ...['pause', 'resume', 'trigger', 'delete'].map((move) => [
      ['schedules', move],
      [...connection, 'json', 'project'],
    ]),
    [['events'], [...connection, 'cursor', 'json', 'limit', 'project']],
    [
      ['events', 'publish'],
      [...connection, 'event-id', 'json', 'payload', 'project'],
    ],
  ])('svc %j lists its own flags alone', async (argv, own) => {
    const { code, out } = await run([...argv, '--help']);
    expect(code).toBe(0);
    expect(flagsOf(out)).toEqual([...own, 'help'].toSorted());
  });
});
