/** The client libraries, and how the programs that the tests run of each are started: its fixture, and its refund agent. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

export type Command = readonly [string, ...string[]];
type Program = { readonly build?: Command; readonly command: Command };

export type SdkLanguage = {
  readonly name: string;
  /** The source of its fixture, from the root: where it is there, the language is judged. */
  readonly fixture: string;
  /** A command that succeeds where its toolchain is there. */
  readonly probe: Command;
  readonly needed: string;
  /** Builds the fixture. */
  readonly build?: Command;
  /** Starts the fixture. */
  readonly command: Command;
  /** The worker of its refund agent: all of them serve examples/refund-agent/refund.json. */
  readonly agent: Program;
};

const CARGO = join(ROOT, 'tools', 'cargo.ts');

const debianJackson = (part: string): string => `/usr/share/java/jackson-${part}.jar`;
const at = (...path: readonly string[]): string => join(ROOT, 'sdk', ...path);

const buildOfGo = (folder: string, binary: string): Command => [
  'env',
  'GOTOOLCHAIN=local',
  'go',
  'build',
  '-C',
  folder,
  '-o',
  binary,
  '.',
];
/** Two tests build at once, and Ninja has no lock. */
const buildOfCpp = (workflow: string): Command => [
  'flock',
  at('cpp', 'build.lock'),
  'env',
  '-C',
  at('cpp'),
  'cmake',
  '--workflow',
  '--preset',
  workflow,
];
const CLASS_PATH = [at('java', '.build', 'all.jar'), ...['databind', 'core', 'annotations'].map(debianJackson)].join(
  ':',
);

export const sdkLanguages: readonly SdkLanguage[] = [
  {
    name: 'typescript',
    fixture: 'sdk/typescript/conformance/fixture.ts',
    probe: [process.execPath, '--version'],
    needed: 'Node',
    command: [process.execPath, at('typescript', 'conformance', 'fixture.ts')],
    agent: { command: [process.execPath, join(ROOT, 'examples', 'refund-agent', 'worker.ts')] },
  },
  {
    name: 'python',
    fixture: 'sdk/python/conformance/fixture.py',
    probe: ['python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 10))'],
    needed: 'Python 3.10 or newer',
    command: ['env', `PYTHONPATH=${at('python', 'src')}`, 'python3', at('python', 'conformance', 'fixture.py')],
    agent: {
      command: [
        'env',
        `PYTHONPATH=${at('python', 'src')}`,
        'python3',
        at('python', 'examples', 'refund_agent', 'worker.py'),
      ],
    },
  },
  {
    name: 'go',
    fixture: 'sdk/go/conformance/main.go',
    // It fails where Go is older than what the module asks for, instead of fetching a newer one.
    probe: ['env', 'GOTOOLCHAIN=local', 'go', 'list', '-C', at('go'), '-m'],
    needed: 'Go 1.25 or newer, from go.dev: Debian 12 has an older one',
    build: buildOfGo(at('go', 'conformance'), at('go', '.build', 'conformance')),
    command: [at('go', '.build', 'conformance')],
    agent: {
      build: buildOfGo(at('go', 'examples', 'refund-agent'), at('go', '.build', 'refund-agent')),
      command: [at('go', '.build', 'refund-agent'), 'work'],
    },
  },
  {
    name: 'rust',
    fixture: 'sdk/rust/conformance/src/main.rs',
    probe: [process.execPath, CARGO, 'probe'],
    needed: 'cargo 1.85 or newer (in Debian 12: cargo-web, and the packages of crates that .ci/run names)',
    build: [process.execPath, CARGO, 'build'],
    command: [at('rust', 'target', 'debug', 'svc-conformance')],
    agent: {
      build: [process.execPath, CARGO, 'build', '--package', 'svc-sdk', '--example', 'refund_agent'],
      command: [at('rust', 'target', 'debug', 'examples', 'refund_agent'), 'worker'],
    },
  },
  {
    name: 'java',
    fixture: 'sdk/java/conformance/dev/svc/conformance/Fixture.java',
    probe: [at('java', 'build.sh'), '--probe'],
    needed: 'a JDK of 17 or newer and Jackson: `apt-get install default-jdk-headless libjackson2-databind-java`',
    build: [at('java', 'build.sh')],
    command: [
      'java',
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      `-XX:SharedArchiveFile=${at('java', '.build', 'fixture.jsa')}`,
      '-Xshare:auto',
      // Its warnings would go to standard output.
      '-Xlog:disable',
      '-cp',
      CLASS_PATH,
      'dev.svc.conformance.Fixture',
    ],
    agent: {
      build: [at('java', 'build.sh')],
      command: [
        'java',
        '-cp',
        CLASS_PATH,
        'refundagent.ServeRefunds',
        join(ROOT, 'examples', 'refund-agent', 'refund.json'),
      ],
    },
  },
  {
    name: 'cpp',
    fixture: 'sdk/cpp/conformance/main.cpp',
    // The compiler is asked for the headers, wherever they stand.
    probe: [
      'sh',
      '-c',
      'cmake --version && ninja --version && printf "#include <curl/curl.h>\\n#include <nlohmann/json.hpp>\\n#include <gtest/gtest.h>\\n" | c++ -std=c++20 -M -x c++ -',
    ],
    needed:
      'a compiler of C++20, CMake, Ninja, libcurl, nlohmann/json or GoogleTest (in Debian 12: g++ cmake ninja-build libcurl4-openssl-dev nlohmann-json3-dev libgtest-dev)',
    build: buildOfCpp('conformance'),
    command: [at('cpp', 'build', 'conformance', 'conformance', 'svc_fixture')],
    agent: {
      build: buildOfCpp('conformance-agent'),
      command: [at('cpp', 'build', 'conformance', 'examples', 'refund_worker')],
    },
  },
];

/** How `npm test -- --sdk go,python` tells the tests which languages to judge. */
export const SDK_VARIABLE = 'SVC_TEST_SDK';

/**
 * The languages to judge: those that are named, else all that have a fixture.
 * @throws Error that names a language that is not there
 */
export const chosenLanguages = (named: string | undefined): readonly SdkLanguage[] => {
  if (named === undefined || named === '') return sdkLanguages.filter(({ fixture }) => existsSync(join(ROOT, fixture)));
  return named.split(',').map((name) => {
    const language = sdkLanguages.find((each) => each.name === name.trim());
    if (language === undefined)
      throw new Error(
        `--sdk: no library is named ${name}; there are ${sdkLanguages.map((each) => each.name).join(', ')}`,
      );
    return language;
  });
};

/** @returns why a program of a language, its fixture by default, cannot be started; `undefined` once it is built */
export const prepare = (
  language: SdkLanguage,
  { build }: { readonly build?: Command } = language,
): string | undefined => {
  if (!existsSync(join(ROOT, language.fixture))) return `${language.fixture} is not there`;
  const run = ([command, ...args]: Command) => spawnSync(command, args, { encoding: 'utf8' });
  if (run(language.probe).status !== 0) return `this machine lacks ${language.needed}`;
  if (build === undefined) return undefined;
  const built = run(build);
  return built.status === 0 ? undefined : `it does not build:\n${built.stdout}${built.stderr}`;
};

/** Where the exclusions of a language stand, when it has any. */
export const exclusionsOf = (language: SdkLanguage): string | undefined => {
  const path = at(language.name, 'conformance', 'exclusions.json');
  return existsSync(path) ? path : undefined;
};
