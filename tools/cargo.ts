/**
 * Runs cargo for the library for Rust: on the crates of Debian where they are installed, else on crates.io. What the suite builds
 * needs no more than Debian 12 has; who works on the library gets the newest versions. `probe` alone says whether cargo is there, and
 * new enough.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const LIBRARY = join(import.meta.dirname, '..', 'sdk', 'rust');
const WORKSPACE = join(LIBRARY, 'conformance');
const DEBIAN = '/usr/share/cargo/registry';
/** Where one of these is missing, others are too. See .ci/run for the packages. */
const CRATES = [
  'futures-core',
  'httparse',
  'httpdate',
  'pin-project-lite',
  'serde_derive',
  'serde_json',
  'tokio',
  'tracing-subscriber',
];
const [MAJOR, MINOR] = [1, 85];

const isNewEnough = (): boolean => {
  const { stdout } = spawnSync('cargo', ['--version'], { encoding: 'utf8' });
  const found = /^cargo (\d+)\.(\d+)/.exec(stdout ?? '');
  const [major, minor] = [Number(found?.[1]), Number(found?.[2])];
  return major > MAJOR || (major === MAJOR && minor >= MINOR);
};

const hasDebianCrates = (): boolean => {
  if (!existsSync(DEBIAN)) return false;
  const names = readdirSync(DEBIAN);
  return CRATES.every((crate) =>
    names.some((name) => name.startsWith(`${crate}-`) && /\d/.test(name[crate.length + 1] ?? '')),
  );
};

const source = (): readonly string[] =>
  hasDebianCrates()
    ? [
        '--offline',
        '--config',
        'source.crates-io.replace-with="debian"',
        '--config',
        `source.debian.directory="${DEBIAN}"`,
      ]
    : [];

const run = (args: readonly string[]): number | null =>
  spawnSync('cargo', [...source(), ...args], { cwd: WORKSPACE, stdio: 'inherit' }).status;

const [verb, ...args] = process.argv.slice(2);
if (verb === undefined) throw new Error('usage: node tools/cargo.ts probe | <command of cargo> [arguments]');
if (verb === 'probe') process.exitCode = isNewEnough() ? 0 : 1;
else {
  const lock = join(WORKSPACE, 'Cargo.lock');
  const isResolved =
    spawnSync('cargo', [...source(), 'metadata', '--format-version', '1'], { cwd: WORKSPACE }).status === 0;
  // A lock that was made of crates of the other kind names versions that are not there.
  if (!isResolved) rmSync(lock, { force: true });
  process.exitCode = run([verb, '--target-dir', join(LIBRARY, 'target'), ...args]) ?? 1;
}
