/** `npm run lock`, after each change of dependencies: completes every lock file and takes out what it must not hold. */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** What this tool reads of a lock file, in npm's third format. */
type Lock = { readonly packages: Readonly<Record<string, LockedPackage>> };
type LockedPackage = {
  readonly name?: string;
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly engines?: Readonly<Record<string, string>>;
  /** A folder of this repository: it has no archive, and no digest of one. */
  readonly link?: boolean;
  /** False: it has a `binding.gyp`, and is not compiled where it is installed. npm does not copy this from its manifest. */
  readonly gypfile?: boolean;
  /** It would run a program of its own while it is installed. */
  readonly hasInstallScript?: boolean;
  /** Systems it is for; npm passes over an optional one elsewhere. */
  readonly os?: readonly string[];
};

/** Packages that bring their binaries beside a `binding.gyp`. Unless the lock says so, `npm ci` compiles them. */
const PREBUILT = ['node_modules/better-sqlite3'];

/** The systems that the service runs on. */
const SYSTEM = 'linux';

/** The entry of the project itself. */
const PROJECT = '';

const isRegistry = (address: string): boolean => /^https?:/.test(address);

/**
 * Whether the dependencies of a lock never run on the Node that installs them. npm warns about each one that excludes the
 * installing Node. A project that promises a Node of its own brings the one its dependencies run on, so that the warnings
 * would be untrue. @see ARCHITECTURE.md, "Decisions"
 */
const bringsItsNode = ({ packages }: Lock): boolean => packages[PROJECT]?.engines?.['node'] !== undefined;

/** Whether an entry comes from a registry. The project, its workspaces and links to them are folders of this repository. */
const isInstalledFrom = (path: string, { link }: LockedPackage): boolean =>
  link !== true && path.includes('node_modules/');

/** @returns one line a fault, naming file and entry; empty when every entry is verified and none names a registry */
export const findLockFaults = (file: string, lock: Lock): string[] => {
  const faults: string[] = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (!isInstalledFrom(path, entry)) continue;
    if (entry.integrity === undefined) faults.push(`${file}: ${path} has no integrity: run npm run lock`);
    if (entry.resolved !== undefined && isRegistry(entry.resolved))
      faults.push(`${file}: ${path} names the registry it came from: run npm run lock`);
    if (PREBUILT.includes(path) && entry.gypfile !== false)
      faults.push(`${file}: ${path} brings its binaries, and npm would compile it: run npm run lock`);
    if (entry.hasInstallScript === true && entry.os?.includes(SYSTEM) !== false && bringsItsNode(lock))
      faults.push(`${file}: ${path} runs a script while it is installed: take a package that does not`);
    if (entry.engines !== undefined && bringsItsNode(lock))
      faults.push(`${file}: ${path} has engines, which npm compares with the installing Node: run npm run lock`);
  }
  return faults;
};

/** Asks the registry for the digest of one release. @returns `undefined` when the registry does not have that release */
type FindIntegrity = (release: string) => string | undefined;

/** @returns the same lock without its faults, as far as the registry knows its releases */
export const completeLock = (lock: Lock, findIntegrity: FindIntegrity): Lock => {
  const withoutEngines = bringsItsNode(lock);
  const complete = (path: string, entry: LockedPackage): LockedPackage => {
    if (!isInstalledFrom(path, entry)) return entry;
    const { resolved, engines, integrity, version } = entry;
    const name = entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const digest = integrity ?? findIntegrity(`${name}@${version}`);
    const dropped = [
      ...(resolved !== undefined && isRegistry(resolved) ? ['resolved'] : []),
      ...(engines !== undefined && withoutEngines ? ['engines'] : []),
    ];
    const kept = Object.fromEntries(Object.entries(entry).filter(([member]) => !dropped.includes(member)));
    // What is there keeps its place, so that a complete lock stays as npm wrote it.
    return {
      ...(integrity === undefined && version !== undefined ? { version } : {}),
      ...(integrity === undefined && digest !== undefined ? { integrity: digest } : {}),
      ...kept,
      ...(PREBUILT.includes(path) ? { gypfile: false } : {}),
    };
  };
  const packages = Object.entries(lock.packages).map(([path, entry]) => [path, complete(path, entry)] as const);
  return { ...lock, packages: Object.fromEntries(packages) };
};

const isInstalled = (folder: string): boolean => ['node_modules', '.venv', '.uv'].includes(folder);

/** @returns the paths of every lock file below a folder */
const listLocks = (root: string): string[] =>
  globSync('**/package-lock.json', { cwd: root, exclude: (name) => isInstalled(basename(name)) })
    .toSorted()
    .map((file) => join(root, file));

/** @returns one line a fault: pins of a Python environment without a digest, or with the address of an index */
export const findPinFaults = (file: string, text: string): string[] => {
  const lines = text.split(/(?<!\\)\n/).filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#'));
  return lines.flatMap((line) => {
    const pin = line.split(/[\s\\]/, 1).join();
    if (/https?:|^-/.test(line)) return [`${file}: ${pin} names where it comes from, or an option`];
    if (!/^[\w.[\]-]+==[\w.+!]+$/.test(pin)) return [`${file}: ${pin} is not pinned to one release`];
    return line.includes('--hash=sha256:') ? [] : [`${file}: ${pin} has no digest`];
  });
};

/** What fills a Python environment: the pins of a client, of the installer of them all, and of what it builds. */
const PINS = '**/{requirements,uv,build}.txt';

const readLock = (file: string): Lock => JSON.parse(readFileSync(file, 'utf8')) as Lock;

/** @returns the faults of every lock file below a folder, of npm and of Python */
export const findAllLockFaults = (root: string): string[] => [
  ...listLocks(root).flatMap((file) => findLockFaults(file, readLock(file))),
  ...globSync(PINS, { cwd: root, exclude: (name) => isInstalled(basename(name)) })
    .toSorted()
    .flatMap((file) => findPinFaults(join(root, file), readFileSync(join(root, file), 'utf8'))),
];

const askRegistry: FindIntegrity = (release) => {
  const { stdout } = spawnSync('npm', ['view', release, 'dist.integrity'], { encoding: 'utf8' });
  return stdout.trim() === '' ? undefined : stdout.trim();
};

if (import.meta.main) {
  for (const file of listLocks('.')) {
    const before = readFileSync(file, 'utf8');
    const after = `${JSON.stringify(completeLock(readLock(file), askRegistry), null, 2)}\n`;
    if (after === before) continue;
    writeFileSync(file, after);
    console.log(`${file}: completed`);
  }
  const faults = findAllLockFaults('.');
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
