/**
 * Installs the clients of other makers that `test/clients` runs, and the servers of `test/engines`: each in a folder of its own, at the
 * pins and digests that stand there, and only when they changed since. As a program it installs all of them and prints, as JSON, what
 * failed.
 */
import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const TESTS = join(import.meta.dirname, '..', 'test');
const CLIENTS = join(TESTS, 'clients');
const PYTHON = join(CLIENTS, 'python');

/** Where the interpreter of a Python environment stands, from its folder. */
export const PYTHON_OF_VENV = join('.venv', 'bin', 'python');
/** Where what was built of Go and Java stands, from their folders: a program, and two entries of a class path. */
export const GO_PROGRAM = join('.build', 'client');
export const JAVA_CLASS_PATH = ['.build', '.lib/*'].join(':');

/** What a language needs on the machine, beside npm. */
type Toolchain = {
  /** A command that succeeds where the toolchain is there and new enough. */
  readonly probe: readonly [command: string, ...args: string[]];
  readonly needed: string;
};

export const toolchains = {
  python: {
    probe: ['python3', '-c', 'import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 11))'],
    needed: 'Python 3.11 or newer with its venv module',
  },
  go: {
    // From 1.21 on, Go fetches the release that a module asks for.
    probe: ['sh', '-c', "go version | grep -qE 'go1\\.(2[1-9]|[3-9][0-9])'"],
    needed: 'Go 1.21 or newer',
  },
  java: {
    probe: ['sh', '-c', 'javac --version && mvn --version'],
    needed: 'a JDK with javac, and Maven',
  },
} as const satisfies Record<string, Toolchain>;
export type Language = keyof typeof toolchains;

/** @returns why clients of a language cannot run on this machine; `undefined` where they can */
export const missingToolchain = (language: Language): string | undefined => {
  const { probe, needed }: Toolchain = toolchains[language];
  const [command, ...args] = probe;
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0 ? undefined : `this machine lacks ${needed}`;
};

type Step = readonly [command: string, ...args: string[]];

/** A folder to be filled: `pins` are the files that say with what, `steps` the commands that do it. */
type Install = {
  readonly folder: string;
  readonly pins: readonly string[];
  /** Written last, with the digest of the pins, into what the steps made: who deletes that deletes the stamp. */
  readonly stamp: string;
  readonly steps: readonly Step[];
  readonly env?: NodeJS.ProcessEnv;
};

const digestOf = (files: readonly string[]): string => {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex');
};

const run = ([command, ...args]: Step, options: SpawnOptions): Promise<boolean> =>
  new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 2, 2] });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });

/** @returns whether the folder holds, now, what its pins say */
const install = async ({ folder, pins, stamp, steps, env }: Install): Promise<boolean> => {
  const digest = digestOf(pins.map((pin) => join(folder, pin)));
  const stampFile = join(folder, stamp);
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === digest) return true;
  console.error(`installing ${folder.slice(TESTS.length + 1)}`);
  // One after the other: each needs what the one before it made.
  // oxlint-disable-next-line eslint/no-await-in-loop
  for (const step of steps) if (!(await run(step, { cwd: folder, env: { ...process.env, ...env } }))) return false;
  writeFileSync(stampFile, digest);
  return true;
};

const foldersWith = (pins: string): string[] =>
  globSync(pins, { cwd: CLIENTS })
    .toSorted()
    .map((file) => join(CLIENTS, dirname(file)));

const ofNpm: readonly Install[] = [join(TESTS, 'engines'), ...foldersWith('*/package-lock.json')].map((folder) => ({
  folder,
  pins: ['package-lock.json'],
  stamp: join('node_modules', '.installed'),
  steps: [['npm', 'ci', '--silent']],
}));

const UV_VENV = '.uv';
const uv = join(PYTHON, UV_VENV, 'bin', 'uv');

/** uv fetches all environments within seconds, and links what they share; it is itself installed from its digests. */
const installerOfPython: Install = {
  folder: PYTHON,
  pins: ['uv.txt'],
  stamp: join(UV_VENV, '.installed'),
  steps: [
    ['python3', '-m', 'venv', '--clear', UV_VENV],
    [
      join(PYTHON, UV_VENV, 'bin', 'python'),
      ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes', '-r', 'uv.txt'],
    ],
  ],
};

const ofPython: readonly Install[] = foldersWith('python/*/requirements.txt').map((folder) => ({
  folder,
  pins: ['requirements.txt', '../build.txt'],
  stamp: join('.venv', '.installed'),
  env: { UV_PYTHON_DOWNLOADS: 'never' },
  steps: [
    [uv, 'venv', '--quiet', '--clear', '--python', join(PYTHON, UV_VENV, 'bin', 'python')],
    [
      uv,
      ...['pip', 'sync', '--quiet', '--python', PYTHON_OF_VENV, '--require-hashes', 'requirements.txt'],
      // Nothing is built from source, but for one dependency of traceloop-sdk that is published in no other form.
      ...['--only-binary', ':all:', '--no-binary', 'cuid', '--build-constraints', '../build.txt'],
    ],
  ],
}));

const ofGo: Install = {
  folder: join(CLIENTS, 'go'),
  // Go itself verifies what it fetches by go.sum.
  pins: ['go.mod', 'go.sum', 'main.go'],
  stamp: join('.build', '.installed'),
  steps: [['go', 'build', '-mod=readonly', '-o', GO_PROGRAM, '.']],
};

const MAVEN_COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies';
const ofJava: Install = {
  folder: join(CLIENTS, 'java'),
  pins: ['pom.xml', 'digests.txt', 'Client.java'],
  stamp: join('.build', '.installed'),
  steps: [
    ['rm', '-rf', '.lib', '.build'],
    ['mvn', '--batch-mode', '--quiet', '--strict-checksums', MAVEN_COPY, '-DoutputDirectory=.lib'],
    // Maven 3.8 knows no digests of its own project; this refuses an archive that changed, or that nobody pinned.
    ['sh', '-c', 'cd .lib && sha256sum *.jar | cmp - ../digests.txt'],
    ['javac', '-classpath', '.lib/*', '-d', '.build', 'Client.java'],
  ],
};

/** Installs some folders, one after the other. @returns those that could not be installed */
const installAll = async (installs: readonly Install[]): Promise<string[]> => {
  const failed: string[] = [];
  // One at a time a language: they share a cache, a network and two cores.
  // oxlint-disable-next-line eslint/no-await-in-loop
  for (const one of installs) if (!(await install(one))) failed.push(one.folder.slice(TESTS.length + 1));
  return failed;
};

const installBuilt = (language: Language, one: Install): Promise<string[]> =>
  missingToolchain(language) === undefined ? installAll([one]) : Promise.resolve([]);

const installPython = async (): Promise<string[]> => {
  if (missingToolchain('python') !== undefined) return [];
  const failed = await installAll([installerOfPython]);
  return failed.length > 0 ? failed : installAll(ofPython);
};

/** Installs what is not current, the languages beside each other. @returns the folders that could not be installed */
const installClients = async (): Promise<string[]> =>
  (
    await Promise.all([installAll(ofNpm), installPython(), installBuilt('go', ofGo), installBuilt('java', ofJava)])
  ).flat();

/** The same in a process of its own, so that the caller may block meanwhile. */
export const startInstallingClients = (): Promise<readonly string[]> => {
  const child = spawn(process.execPath, [import.meta.filename], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  return new Promise((resolve) => {
    child.once('close', (code) => resolve(code === 0 ? (JSON.parse(printed) as string[]) : ['clients']));
  });
};

if (import.meta.main) console.log(JSON.stringify(await installClients()));
