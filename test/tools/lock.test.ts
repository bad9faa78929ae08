import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { completeLock, findAllLockFaults, findLockFaults, findPinFaults } from '../../tools/lock.ts';

const project = { name: 'svc', engines: { node: '>=20' } };
const verified = { version: '1.0.0', integrity: 'sha512-a' };
const lockOf = (packages: object, root: object = project) => ({ packages: { '': root, ...packages } });
const faultsOf = (entry: object, root?: object) => findLockFaults('lock', lockOf({ 'node_modules/a': entry }, root));
const nothingKnown = () => undefined;

describe('every lock file of the repository', () => {
  it('has the digest of each package, and the address of no registry', () => {
    expect(findAllLockFaults('.')).toEqual([]);
  });

  it('stays as it is when it is completed again', () => {
    const files = globSync('**/package-lock.json', {
      exclude: (name) => /(?:^|\/)(?:node_modules|\.venv|\.uv)$/.test(name),
    });
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) {
      const text = readFileSync(file, 'utf8');
      const again = completeLock(JSON.parse(text) as Parameters<typeof completeLock>[0], nothingKnown);
      expect(`${JSON.stringify(again, null, 2)}\n` === text, file).toBe(true);
    }
  });
});

describe('the check of lock files', () => {
  it('takes a verified package, and a folder of the repository, which has no archive', () => {
    expect(faultsOf(verified)).toEqual([]);
    expect(faultsOf({ resolved: 'packages/a', link: true })).toEqual([]);
  });

  it('names a package without digest, one with the address of a registry, and one that npm would compare with Node 20', () => {
    expect(faultsOf({ version: '1.0.0' })).toEqual(['lock: node_modules/a has no integrity: run npm run lock']);
    expect(faultsOf({ ...verified, resolved: 'https://registry.example/a.tgz' })).toEqual([
      'lock: node_modules/a names the registry it came from: run npm run lock',
    ]);
    expect(faultsOf({ ...verified, engines: { node: '>=22' } })).toEqual([
      'lock: node_modules/a has engines, which npm compares with the installing Node: run npm run lock',
    ]);
  });

  it('names a package that would run a script of its own while it is installed, unless no system of ours takes it', () => {
    expect(faultsOf({ ...verified, hasInstallScript: true })).toEqual([
      'lock: node_modules/a runs a script while it is installed: take a package that does not',
    ]);
    expect(faultsOf({ ...verified, hasInstallScript: true, os: ['darwin'], optional: true })).toEqual([]);
  });

  it('names a package with binaries of its own that npm would compile all the same, and completes its entry', () => {
    const lock = lockOf({ 'node_modules/better-sqlite3': verified });
    expect(findLockFaults('lock', lock)).toEqual([
      'lock: node_modules/better-sqlite3 brings its binaries, and npm would compile it: run npm run lock',
    ]);
    expect(findLockFaults('lock', completeLock(lock, nothingKnown))).toEqual([]);
  });

  it('asks nothing of a workspace, which is a folder of the repository', () => {
    expect(findLockFaults('lock', lockOf({ ui: { name: 'svc-ui', engines: { node: '>=22' } } }))).toEqual([]);
  });

  it('leaves engines to projects that promise no Node: their packages run on the Node that installs them', () => {
    expect(faultsOf({ ...verified, engines: { node: '>=22' } }, { name: 'client' })).toEqual([]);
  });

  it('finds lock files in folders, but not among what is installed', () => {
    const root = mkdtempSync(join(tmpdir(), 'svc-lock-'));
    try {
      for (const folder of ['clients/a', 'node_modules/b']) {
        mkdirSync(join(root, folder), { recursive: true });
        const lock = lockOf({ 'node_modules/c': { version: '1.0.0' } });
        writeFileSync(join(root, folder, 'package-lock.json'), JSON.stringify(lock));
      }
      expect(findAllLockFaults(root)).toEqual([
        `${join(root, 'clients/a/package-lock.json')}: node_modules/c has no integrity: run npm run lock`,
      ]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe('the check of Python pins', () => {
  const pinned =
    'openai==2.1.0 ; python_version >= "3.9" \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via -r requirements.in\n';

  it('takes releases with a digest each, on the lines that uv writes', () => {
    expect(findPinFaults('pins', `# made by uv\n${pinned}click[x]==8.5.1 \\\n    --hash=sha256:cc\n`)).toEqual([]);
  });

  it('names a pin without digest, a range of releases, and what comes from an address of its own', () => {
    expect(findPinFaults('pins', `${pinned}click==8.5.1\n`)).toEqual(['pins: click==8.5.1 has no digest']);
    expect(findPinFaults('pins', 'click>=8 --hash=sha256:cc\n')).toEqual([
      'pins: click>=8 is not pinned to one release',
    ]);
    expect(findPinFaults('pins', '--index-url https://index.example\n')).toHaveLength(1);
    expect(findPinFaults('pins', 'a==1 @ https://a.example/a.whl --hash=sha256:cc\n')).toHaveLength(1);
  });
});

describe('a lock file that is completed', () => {
  it('has no fault left, and keeps its other members where npm writes them', () => {
    const asked: string[] = [];
    const lock = lockOf({
      'node_modules/a': { version: '1.0.0', resolved: 'https://registry.example/a.tgz', dev: true },
      'node_modules/a/node_modules/@scope/b': { version: '2.0.0', engines: { node: '>=22' } },
    });
    const completed = completeLock(lock, (release) => {
      asked.push(release);
      return `sha512-${release}`;
    });
    expect(asked).toEqual(['a@1.0.0', '@scope/b@2.0.0']);
    expect(findLockFaults('lock', completed)).toEqual([]);
    expect(JSON.stringify(completed.packages['node_modules/a'])).toBe(
      '{"version":"1.0.0","integrity":"sha512-a@1.0.0","dev":true}',
    );
    expect(completed.packages['']).toEqual(project);
  });

  it('still has the fault where the registry does not know the release: nothing is made up', () => {
    const completed = completeLock(lockOf({ 'node_modules/a': { version: '1.0.0' } }), nothingKnown);
    expect(findLockFaults('lock', completed)).toHaveLength(1);
  });
});
