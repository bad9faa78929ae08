/** The bridges to OpenTelemetry of the libraries whose fixture is built without it: it comes from the registry of each language. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { chosenLanguages, type Command, prepare, sdkLanguages, SDK_VARIABLE } from '../../tools/sdk.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const KIT = join(ROOT, 'sdk', 'conformance', 'run.ts');
const sdk = (...path: readonly string[]): string => join(ROOT, 'sdk', ...path);
/** A registry that does not answer is as good as none. */
const PATIENCE_MS = 240_000;

const runFile = promisify(execFile);
type Outcome = { readonly code: number; readonly text: string };
const run = async ([command, ...args]: Command, env: NodeJS.ProcessEnv = {}): Promise<Outcome> => {
  try {
    const { stdout, stderr } = await runFile(command, args, {
      timeout: PATIENCE_MS,
      env: { ...process.env, ...env },
    });
    return { code: 0, text: stdout + stderr };
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    return { code: 1, text: stdout + stderr || message };
  }
};

type Bridged = {
  readonly language: string;
  /** Brings what the build needs. Where it fails, no registry is within reach. */
  readonly fetch: Command;
  readonly build: Command;
  readonly command: (plain: Command) => Command;
};

const goBinary = sdk('go', '.build', 'otel-conformance');
const cargoFolder = sdk('rust', 'otel-conformance');
const cargo = (...args: readonly string[]): Command => ['env', '-C', cargoFolder, 'cargo', ...args];
const javaClasses = sdk('java', '.build', 'otel');

const bridged: readonly Bridged[] = [
  {
    language: 'go',
    fetch: ['env', 'GOTOOLCHAIN=local', 'go', 'mod', 'download', '-C', sdk('go', 'otel')],
    build: [
      ...(['env', 'GOTOOLCHAIN=local', 'go', 'build', '-C', sdk('go', 'otel', 'conformance')] as const),
      ...['-o', goBinary, '.'],
    ],
    command: () => [goBinary],
  },
  {
    language: 'rust',
    fetch: cargo('fetch', '--quiet'),
    build: cargo('build', '--quiet', '--offline', '--target-dir', sdk('rust', 'target')),
    command: () => [sdk('rust', 'target', 'debug', 'svc-otel-conformance')],
  },
  {
    language: 'java',
    fetch: [sdk('java', 'otel', 'conformance', 'build.sh'), '--fetch'],
    build: [sdk('java', 'otel', 'conformance', 'build.sh')],
    command: (plain) => {
      const jars = ['classes', 'opentelemetry-api.jar', 'opentelemetry-context.jar'].map((part) =>
        join(javaClasses, part),
      );
      const [program, ...args] = plain;
      // Its archive of classes is good for the class path of the plain fixture alone.
      const kept = args.filter((each) => !each.startsWith('-XX:SharedArchiveFile'));
      return [program, ...kept.map((each, at) => (kept[at - 1] === '-cp' ? [each, ...jars].join(':') : each))];
    },
  },
];

const chosen = chosenLanguages(process.env[SDK_VARIABLE]).map(({ name }) => name);

describe('the bridge to OpenTelemetry', () => {
  for (const { language, fetch, build, command } of bridged.filter((each) => chosen.includes(each.language)))
    it(`of the library for ${language} makes a span of ours the child of an active one`, {
      timeout: 3 * PATIENCE_MS,
    }, async ({ skip }) => {
      const plain = sdkLanguages.find(({ name }) => name === language);
      if (plain === undefined) throw new Error(`no row for ${language}`);
      expect(prepare(plain), `${language} can be judged`).toBeUndefined();
      const fetched = await run(fetch);
      if (fetched.code !== 0) skip(`no registry of ${language} gives the packages of OpenTelemetry: ${fetched.text}`);
      const built = await run(build);
      expect(built.code, built.text).toBe(0);
      const judged = await run([process.execPath, KIT, '--only', '9,10,83', '--', ...command(plain.command)]);
      expect(judged.text).toMatch(/ok +83 /);
      expect(judged.code, judged.text).toBe(0);
    });

  it.runIf(chosen.includes('cpp'))('of the library for C++ is compiled by its users', ({ skip }) =>
    skip('Debian 12 has no package of opentelemetry-cpp'),
  );
});
