import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, type TestContext } from 'vitest';
import { judgeProbe, openRuns, openSignals } from '../../src/cli/doctor/files.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { openDataFile } from '../../src/store/sqlite/connection.ts';
import { openSqliteRunStore } from '../../src/store/sqlite/runs/open.ts';
import { RUNS_FILE } from '../../src/store/sqlite/runs/schema.ts';
import { openSqliteSignalStore } from '../../src/store/sqlite/signals/open.ts';
import type { ProbeOutcome } from '../../src/store/signals/probe.ts';
import { probeSpan } from '../../src/store/sqlite/signals/probe.ts';
import { temporaryFolder } from '../daemon.ts';
import { settingsOf } from './deployments.ts';

let folder: { path: string; remove: () => void };
let path: string;
const cleanups: (() => void)[] = [];
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder.path, 'svc.db');
});
afterEach(() => {
  for (const cleanup of cleanups.splice(0).toReversed()) cleanup();
  folder.remove();
});

/** A data file as a service leaves it that was stopped. */
const aFile = async (at = path): Promise<void> => (await openSqliteSignalStore({ path: at })).close();

const lines = (findings: readonly Finding[]): string[] =>
  findings.map((finding) => `${finding.level}: ${finding.message}${'mend' in finding ? ` -> ${finding.mend}` : ''}`);

/** What is said of the signal store, and whether it could be asked. */
const examined = (at = path, readOnly = false): { lines: string[]; isRead: boolean } => {
  const opened = openSignals(settingsOf({ data: [at] }), readOnly);
  opened.close();
  return { lines: lines(opened.findings), isRead: 'reads' in opened };
};

describe('the storage probe', () => {
  it('"a probe span survives write, read and delete", and leaves no row behind', async () => {
    await aFile();
    expect(examined()).toEqual({
      lines: [
        expect.stringMatching(/^ok: .*svc\.db answers: schema version 2, /),
        'ok: a probe span survived write, read and delete',
      ],
      isRead: true,
    });
    const db = new Database(path, { readonly: true });
    cleanups.push(() => db.close());
    for (const table of ['spans', 'span_payloads', 'payload_blocks', 'payload_parts', 'projects', 'traces'])
      expect(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(), table).toBe(0);
  });

  it.each([
    [
      'does not take it',
      "BEFORE INSERT ON payload_blocks BEGIN SELECT raise(ABORT, 'no')",
      'write',
      'SQLITE_CONSTRAINT_TRIGGER',
    ],
    [
      'gives back other bytes',
      'AFTER INSERT ON payload_parts BEGIN UPDATE payload_parts SET bytes = zeroblob(9) WHERE part = new.part',
      'read',
      'SQLITE_CORRUPT',
    ],
  ])('of a payload in a block finds a file that %s', async (_what, trigger, step, code) => {
    await aFile();
    const db = new Database(path);
    cleanups.push(() => db.close());
    db.exec(`CREATE TRIGGER spoils ${trigger}; END`);
    expect(probeSpan(db)).toEqual({ kind: 'failed', step, code });
    // What it left goes with a later one.
    db.exec('DROP TRIGGER spoils; UPDATE spans SET received_ns = received_ns - 7200000000000');
    expect(probeSpan(db)).toEqual({ kind: 'survived' });
    for (const table of ['spans', 'span_payloads', 'payload_blocks', 'payload_parts'])
      expect(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(), table).toBe(0);
  });

  it('of a file that has no blocks yet is of a row alone', async () => {
    await aFile();
    const db = new Database(path);
    cleanups.push(() => db.close());
    db.exec('DROP TABLE payload_blocks; DROP TABLE payload_parts');
    expect(probeSpan(db)).toEqual({ kind: 'survived' });
  });

  it('waits for no writer of a named pipe', ({ skip }) => {
    const runs = join(folder.path, 'svc-runs.db');
    if (spawnSync('mkfifo', [path, runs]).status !== 0) skip('this user cannot make a named pipe here');
    const settings = settingsOf({ data: [path], 'runs-data': [runs] });
    expect(lines(openSignals(settings, true).findings)).toEqual([
      expect.stringMatching(/^fault: signal store .*svc\.db: this is a named pipe, not a file -> .*name another file/),
    ]);
    expect(lines(openRuns(settings, true).findings)).toEqual([
      expect.stringMatching(
        /^fault: runs store .*svc-runs\.db: this is a named pipe, not a file -> .*name another file/,
      ),
    ]);
    expect(readdirSync(folder.path).toSorted()).toEqual(['svc-runs.db', 'svc.db']);
  });

  it('leaves the folder as it found it', async () => {
    await aFile();
    const before = readdirSync(folder.path).toSorted();
    examined();
    expect(readdirSync(folder.path).toSorted()).toEqual(before);
  });

  it('works while a service holds the file, is seen by none of its reads, and disturbs none of its writes', async () => {
    const store = await openSqliteSignalStore({ path });
    expect(examined().lines).toContain('ok: a probe span survived write, read and delete');
    expect((await store.listProjects({ projects: 'all', limit: 10 })).items).toEqual([]);
    expect((await store.listSpans({ projects: 'all', limit: 10, order: 'asc', payloads: true })).items).toEqual([]);
    await store.appendAudit([]);
    await store.ping();
    await store.close();
  });

  it('does not keep a service from starting: its lock is not taken', async () => {
    await aFile();
    const opened = openSignals(settingsOf({ data: [path] }), false);
    const store = await openSqliteSignalStore({ path });
    await expect(store.ping()).resolves.toBeUndefined();
    await store.close();
    opened.close();
  });

  it('removes what a check left that was killed half way, and leaves alone what another one is doing', async () => {
    await aFile();
    const db = new Database(path);
    const plant = (span: number, receivedNs: bigint): void => {
      db.prepare(
        `INSERT INTO spans (span, trace, context, span_id, name, kind, status, start_ns, repeats_usage, project, received_ns, is_event)
         VALUES (?, ?, 0, 'x', 'probe', 0, 0, 0, 0, -1, ?, 0)`,
      ).run(span, span, receivedNs);
    };
    const now = BigInt(Date.now()) * 1_000_000n;
    plant(-1, now - 2n * 3_600_000_000_000n);
    plant(-2, now);
    expect(probeSpan(db)).toEqual({ kind: 'survived' });
    expect(db.prepare('SELECT span FROM spans').pluck().all()).toEqual([-2]);
    db.close();
  });

  it('"--read-only writes nothing; storage check then proves only readability and says so"', async () => {
    await aFile();
    const before = readFileSync(path);
    const { lines: said, isRead } = examined(path, true);
    expect(isRead).toBe(true);
    expect(said[0]).toMatch(/^ok: .* answers/);
    expect(said[1]).toMatch(
      /^skipped: no probe span was written \(--read-only\): .* can be read, not that it can be written/,
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('"cannot get the write lock after three attempts is reported skipped"', async () => {
    await aFile();
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');
    cleanups.push(() => other.close());
    const { lines: said, isRead } = examined();
    expect(said[1]).toBe(
      'skipped: the probe span was not written: another process held the write lock through 3 attempts',
    );
    expect(isRead).toBe(true);
  });

  it('a file that another process keeps everybody out of is skipped, not called damaged', async () => {
    await aFile();
    const other = new Database(path);
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    cleanups.push(() => other.close());
    expect(examined()).toEqual({
      lines: [expect.stringMatching(/^skipped: .*another process keeps everybody out of the file/)],
      isRead: false,
    });
  });

  const outcomes: readonly (readonly [string, ProbeOutcome, RegExp])[] = [
    [
      'read-only mounts',
      { kind: 'failed', step: 'write', code: 'SQLITE_READONLY' },
      /^fault: .*cannot be written.*-> mount/,
    ],
    ['full disks', { kind: 'failed', step: 'write', code: 'SQLITE_FULL' }, /^fault: .*the disk is full.*-> free space/],
    [
      "a corrupted lock ('locking protocol')",
      { kind: 'failed', step: 'write', code: 'SQLITE_PROTOCOL' },
      /^fault: .*the lock of the file is damaged \(SQLITE_PROTOCOL\).*-> stop every process.*-shm/,
    ],
    [
      'no permission to insert',
      { kind: 'failed', step: 'write', code: 'SQLITE_PERM' },
      /^fault: .*access is denied.*-> give/,
    ],
    [
      'a failing disk',
      { kind: 'failed', step: 'delete', code: 'SQLITE_IOERR_FSYNC' },
      /^fault: the delete of a probe span.*-> check the disk/,
    ],
    ['a span that comes back wrong', { kind: 'wrong', step: 'read' }, /^fault: .*did not come back as it was written/],
    ['a span that does not go', { kind: 'wrong', step: 'delete' }, /^fault: .*still there after its deletion/],
    ['a busy file', { kind: 'busy', attempts: 3 }, /^skipped: /],
  ];
  it.each(outcomes)('%s', (_name, outcome, line) => expect(lines([judgeProbe('/x', outcome)])[0]).toMatch(line));
});

describe('a file that is not as it should be', () => {
  it('is not there yet: a probe beside its place proves the place, and goes', () => {
    expect(examined().lines).toEqual([
      `skipped: there is no data file ${path} yet; the first start makes it`,
      'ok: a probe span survived write, read and delete',
    ]);
    expect(readdirSync(folder.path)).toEqual([]);
    expect(examined(path, true).lines[1]).toMatch(/^skipped: no probe span was written/);
  });

  it('its folder is not there: a warning, and nothing is made', () => {
    const missing = join(folder.path, 'none', 'svc.db');
    expect(examined(missing).lines).toEqual([expect.stringMatching(/^warning: there is no folder .*check --data/)]);
    expect(existsSync(join(folder.path, 'none'))).toBe(false);
  });

  it.each([
    ['is a folder', () => folder.path, / -> name a file; this is a folder$/],
    [
      'has a name that is too long',
      () => join(folder.path, 'a'.repeat(300)),
      /\(ENAMETOOLONG\) -> choose a shorter path$/,
    ],
    [
      'goes round in links',
      () => {
        symlinkSync(join(folder.path, 'round'), join(folder.path, 'round'));
        return join(folder.path, 'round', 'svc.db');
      },
      /\(ELOOP\) -> correct the symbolic links of the path$/,
    ],
  ] as const)('%s: a fault that says what to do', (_name, at, said) => {
    for (const readOnly of [true, false]) {
      const { lines: faults } = examined(at(), readOnly);
      expect(faults.join('\n')).toMatch(/^fault: /m);
      expect(faults.at(-1)).toMatch(said);
      rmSync(join(folder.path, 'round'), { force: true });
    }
  });

  it('is gone, but its log is not: a fault', () => {
    writeFileSync(`${path}-wal`, 'x');
    expect(examined().lines).toEqual([expect.stringMatching(/^fault: .* is missing, but its write-ahead log/)]);
  });

  it('was written by a newer release: a fault that names both versions; nothing is changed', async () => {
    await aFile();
    const db = new Database(path);
    db.prepare("INSERT INTO schema_version VALUES (3, 'later')").run();
    db.close();
    const before = readFileSync(path);
    expect(examined()).toEqual({
      lines: [
        expect.stringMatching(
          /^fault: .*newer release \(schema version 3; this build reads up to 2\) -> run the release/,
        ),
      ],
      isRead: false,
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('is an older one: a warning before the start that changes it, and no change', async () => {
    await aFile();
    const db = new Database(path);
    db.prepare('DELETE FROM schema_version WHERE version >= 2').run();
    db.close();
    expect(examined().lines.at(-1)).toMatch(
      /^warning: the next start brings the file from schema version 1 to 2.*back the file up/,
    );
    const after = new Database(path);
    expect(after.prepare('SELECT max(version) FROM schema_version').pluck().get()).toBe(1);
    after.close();
  });

  it.each([
    [
      'another program’s database',
      (at: string) => new Database(at).exec('CREATE TABLE t (x)').close(),
      /database of another program/,
    ],
    ['no database', (at: string) => writeFileSync(at, 'hello '.repeat(100)), /not a SQLite database/],
    ['a directory', (at: string) => mkdirSync(at), /EISDIR/],
  ])('is %s: a fault', (_name, make, line) => {
    make(path);
    const { lines: said, isRead } = examined();
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/^fault: /);
    expect(said[0]).toMatch(line);
    expect(isRead).toBe(false);
  });

  it('is damaged: a fault', async () => {
    await aFile();
    const file = openSync(path, 'r+');
    for (let page = 1; page < 6; page += 1) writeSync(file, Buffer.alloc(4096, 0xab), 0, 4096, page * 16_384);
    closeSync(file);
    expect(examined().lines).toEqual([expect.stringMatching(/^fault: .*damaged/)]);
  });
});

/** A small file system of its own; tests that cannot have one say so. */
const aMount = (context: TestContext, size: string): string => {
  const at = join(folder.path, 'mount');
  mkdirSync(at);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', at], { stdio: 'pipe' });
  } catch {
    context.skip('this machine does not let the tests mount a file system');
  }
  cleanups.push(() => execFileSync('umount', ['-l', at]));
  return at;
};

describe('real faults of the file system', () => {
  it('a read-only mount is a fault that names it', async (context) => {
    const mount = aMount(context, '8m');
    const at = join(mount, 'svc.db');
    await aFile(at);
    execFileSync('mount', ['-o', 'remount,ro', mount]);
    expect(examined(at)).toEqual({
      lines: [expect.stringMatching(/^fault: .* is mounted read-only \(EROFS\) -> mount the file system writable$/)],
      isRead: false,
    });
  });

  it('--read-only on a read-only mount cannot read, since SQLite makes side files to do so: skipped, and no damage is claimed', async (context) => {
    const mount = aMount(context, '8m');
    const at = join(mount, 'svc.db');
    const runsAt = join(mount, 'runs.db');
    await aFile(at);
    await (await openSqliteRunStore({ path: runsAt })).close();
    execFileSync('mount', ['-o', 'remount,ro', mount]);
    const said = /^skipped: .* was not read: SQLite .* side files .* is mounted read-only \(EROFS\); run the check as/;
    expect(examined(at, true)).toEqual({ lines: [expect.stringMatching(said)], isRead: false });
    const runsOf = (readOnly: boolean) => {
      const opened = openRuns(settingsOf({ data: [at], 'runs-data': [runsAt] }), readOnly);
      opened.close();
      return lines(opened.findings);
    };
    expect(runsOf(true)).toEqual([expect.stringMatching(said)]);
    expect(runsOf(false)).toEqual([
      expect.stringMatching(/^fault: .* is mounted read-only \(EROFS\) -> mount the file system writable$/),
    ]);
  });

  it('--read-only on a read-only mount reads a copy, which needs no side files', async (context) => {
    const mount = aMount(context, '8m');
    await aFile();
    const copy = join(mount, 'copy.db');
    const db = new Database(path, { readonly: true });
    db.prepare('VACUUM INTO ?').run(copy);
    db.close();
    execFileSync('mount', ['-o', 'remount,ro', mount]);
    expect(examined(copy, true)).toMatchObject({ isRead: true });
  });

  it('a read-only mount without a file yet is a fault, not a promise', (context) => {
    const mount = aMount(context, '1m');
    execFileSync('mount', ['-o', 'remount,ro', mount]);
    expect(examined(join(mount, 'svc.db')).lines.at(-1)).toMatch(/^fault: .*read-only/);
  });

  it('a full disk is a fault that says so', async (context) => {
    const mount = aMount(context, '8m');
    const at = join(mount, 'svc.db');
    await aFile(at);
    try {
      for (;;) appendFileSync(join(mount, 'filler'), Buffer.alloc(64 * 1024));
    } catch {
      // Full to the last block.
    }
    for (let bytes = 4096; statfsSync(mount).bavail > 0 && bytes > 0; bytes -= 1024)
      try {
        appendFileSync(join(mount, 'filler'), Buffer.alloc(bytes));
      } catch {
        // A smaller piece may still fit.
      }
    expect(examined(at).lines).toEqual([expect.stringMatching(/^fault: .*the disk is full -> free space/)]);
  });

  it('a disk that the probe fills is a fault as well', async (context) => {
    const mount = aMount(context, '8m');
    const at = join(mount, 'svc.db');
    await aFile(at);
    // Room for one page, and not for the side files that a write needs.
    const room = statfsSync(mount);
    writeFileSync(join(mount, 'filler'), Buffer.alloc((room.bavail - 1) * room.bsize));
    const { lines: said } = examined(at);
    expect(said.join('\n')).toMatch(/^fault: /m);
    expect(said.join('\n')).not.toContain('survived');
  });

  it('a file that this user may not write is a fault', async (context) => {
    await aFile();
    if (process.getuid?.() !== 0) chmodSync(path, 0o400);
    else
      try {
        execFileSync('chattr', ['+i', path], { stdio: 'pipe' });
        cleanups.push(() => execFileSync('chattr', ['-i', path]));
      } catch {
        context.skip('root may write everything, and this file system has no immutable files');
      }
    const { lines: said } = examined();
    expect(said.join('\n')).toMatch(/^fault: /m);
    expect(said.join('\n')).toMatch(/-> give the user of the service the right/);
    expect(said.join('\n')).not.toContain('survived');
  });
});

describe('the runs file', () => {
  const ask = async (at: string, readOnly = false) => {
    const opened = openRuns(settingsOf({ data: [path], 'runs-data': [at] }), readOnly);
    cleanups.push(() => opened.close());
    return opened;
  };

  it('answers beside a service that runs, and without one', async () => {
    const at = join(folder.path, 'runs.db');
    const store = await openSqliteRunStore({ path: at });
    const beside = await ask(at);
    expect(lines(beside.findings)).toEqual([expect.stringMatching(/^ok: .*runs\.db answers: schema version \d+$/)]);
    if (!('reads' in beside)) throw new Error('the runs file was not read');
    expect(await beside.reads.counts()).toEqual({ definitionVersions: 0, openRuns: 0, quarantined: 0 });
    expect(await beside.reads.stuckRuns()).toEqual([]);
    expect(await beside.reads.pinnedVersions()).toEqual([]);
    expect(await beside.reads.workers()).toEqual([]);
    await store.close();
    expect('reads' in (await ask(at, true))).toBe(true);
  });

  it('of an earlier release: a warning that names both versions, and its rows are not read before the next start', async () => {
    const at = join(folder.path, 'runs.db');
    const { standing: _standing, ...kind } = RUNS_FILE;
    const { db } = openDataFile(at, 4, { ...kind, schemaVersion: 1, migrations: kind.migrations.slice(0, 1) });
    db.prepare("INSERT INTO worker VALUES ('w', NULL, NULL, NULL, NULL, '[]', 40)").run();
    db.close();
    const old = await ask(at);
    expect(lines(old.findings)).toEqual([
      expect.stringMatching(/^ok: .*runs\.db answers: schema version 1$/),
      expect.stringMatching(
        new RegExp(
          `^warning: the next start brings the file from schema version 1 to ${RUNS_FILE.schemaVersion}.*back the file up`,
        ),
      ),
    ]);
    expect(old).toMatchObject({ unread: 'the runs file is of an earlier release, until the next start' });
  });

  it('is not there yet, or is the file of something else', async () => {
    const at = join(folder.path, 'runs.db');
    expect(lines((await ask(at)).findings)).toEqual([expect.stringMatching(/^skipped: there is no runs file/)]);
    await aFile(at);
    expect(lines((await ask(at)).findings)).toEqual([
      expect.stringMatching(/^fault: runs store .*database of another program -> /),
    ]);
  });
});
