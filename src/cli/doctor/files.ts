import { accessSync, constants, existsSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type FileKind, FileRefused, openDataFile } from '../../store/sqlite/connection.ts';
import { describeFault, driverCode, isLocked } from '../../store/sqlite/driver-error.ts';
import type { ProbeOutcome } from '../../store/signals/probe.ts';
import { probeSpan } from '../../store/sqlite/signals/probe.ts';
import { inspectSignals } from '../../store/sqlite/signals/inspect.ts';
import { inspectRuns } from '../../store/sqlite/runs/inspect.ts';
import { RUNS_FILE } from '../../store/sqlite/runs/schema.ts';
import { SIGNALS_FILE } from '../../store/sqlite/signals/schema.ts';
import type { Settings } from '../settings.ts';
import type { Examined, RunReads, SignalReads } from './deployment.ts';
import { type Finding, fault, ok, skipped, warning } from './finding.ts';
import { runReadsOf } from './run-reads.ts';
import { judgeMove } from './moves.ts';

/** An examined store and how to let go of it. */
export type Opened<Reads> = Examined<Reads> & { readonly close: () => void };

const CACHE_MIB = 4;

const nothingToClose = (): void => {};
const unread = (findings: readonly Finding[], why: string): Opened<never> => ({
  findings,
  unread: why,
  close: nothingToClose,
});

/** What an error of the engine or of the system says to do, by its code; a longer code goes before its beginning. */
const mends: readonly (readonly [prefix: string, mend: string])[] = [
  ['SQLITE_FULL', 'free space on the disk, or shorten --retention-days'],
  ['ENOSPC', 'free space on the disk, or shorten --retention-days'],
  ['EDQUOT', 'free space of this user, raise the quota, or shorten --retention-days'],
  ['SQLITE_READONLY', 'mount the file system writable, and give the user of the service the right to write there'],
  ['EROFS', 'mount the file system writable'],
  [
    'SQLITE_CANTOPEN',
    'give the user of the service the right to read and write the file, its folder and its side files',
  ],
  ['SQLITE_PERM', 'give the user of the service the right to write the file and its folder'],
  ['SQLITE_AUTH', 'give the user of the service the right to write the file and its folder'],
  ['EACCES', 'give the user of the service the right to write the file and its folder'],
  ['EPERM', 'give the user of the service the right to write the file and its folder; lsattr shows immutable files'],
  ['EISDIR', 'name a file; this is a folder'],
  ['ENOTDIR', 'correct the path: a part of it is a file'],
  ['ENAMETOOLONG', 'choose a shorter path'],
  ['ELOOP', 'correct the symbolic links of the path'],
  [
    'SQLITE_PROTOCOL',
    'stop every process on the file, remove its -shm side file, start again; do not keep the file on a network file system',
  ],
  ['SQLITE_IOERR', 'check the disk: the log of the system tells what it said'],
  ['SQLITE_CORRUPT', 'put a backup in its place'],
  ['SQLITE_NOTADB', 'put a backup in its place'],
];
const mendOf = (code: string): string =>
  mends.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'the log of the system may tell more';

const OWN_USER = 'run the check as the user of the service';
const REFUSED =
  'run the release that wrote the file, name another file, or put a backup in its place; nothing was changed';

/** What happened to the probe span. @see Interface specification, "Deployment check" */
export const judgeProbe = (path: string, outcome: ProbeOutcome): Finding => {
  switch (outcome.kind) {
    case 'survived':
      return ok('a probe span survived write, read and delete');
    case 'busy':
      return skipped(
        `the probe span was not written: another process held the write lock through ${outcome.attempts} attempts`,
      );
    case 'failed': {
      const error = Object.assign(new Error(), { code: outcome.code });
      const why = describeFault(path, error, SIGNALS_FILE.store);
      return fault(`the ${outcome.step} of a probe span failed: ${why}`, mendOf(outcome.code));
    }
    case 'wrong':
      return fault(
        outcome.step === 'read'
          ? `${path}: a probe span did not come back as it was written`
          : `${path}: a probe span was still there after its deletion`,
        'do not trust this disk: put a backup on another one',
      );
    default:
      return outcome satisfies never;
  }
};

/** An error on the way into a file, as a finding; a bug travels on. */
const judgeError = (path: string, error: unknown, store: string): Finding => {
  if (error instanceof FileRefused) return fault(error.message, REFUSED);
  const code = driverCode(error);
  if (code === undefined) throw error;
  if (isLocked(code))
    return skipped(`${store} ${path}: another process keeps everybody out of the file; it was not looked at`);
  return fault(describeFault(path, error, store), mendOf(code));
};

/** Why the file or its folder cannot be written, asked of the system before the engine gives it a vaguer name. */
const findUnwritable = (path: string): Finding | undefined => {
  for (const one of existsSync(path) ? [path, dirname(path)] : [dirname(path)])
    try {
      accessSync(one, constants.W_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      const why = code === 'EROFS' ? 'is mounted read-only' : 'may not be written by this user';
      return fault(`${one} ${why} (${code})`, mendOf(code));
    }
  const { bavail } = statfsSync(dirname(path));
  if (bavail === 0) return fault(`${path}: the disk is full`, mendOf('ENOSPC'));
  return undefined;
};

/** That nobody, or not this user, can see whether a file is there. */
const findHidden = (path: string): Finding | undefined => {
  try {
    statSync(path, { throwIfNoEntry: false });
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code !== 'EACCES' && code !== 'EPERM') return fault(`${path} leads nowhere (${code})`, mendOf(code));
    return fault(`${path}: this user may not look into its folder (${code})`, OWN_USER);
  }
};

/** What keeps the engine from a file in a folder that cannot be written: without its side files there, it reads nothing. */
const NEEDS_SIDE_FILES = /^SQLITE_(?:READONLY|CANTOPEN)/;

/**
 * An error about this user's rights or the folder, not about the file itself.
 * @returns `undefined` when it is about the file
 */
const judgeAccess = (path: string, error: unknown, readOnly: boolean): Finding | undefined => {
  const code = error instanceof FileRefused ? error.code : driverCode(error);
  if (code === 'EACCES' || code === 'EPERM') return fault(`${path} may not be read by this user (${code})`, OWN_USER);
  if (code === undefined || !NEEDS_SIDE_FILES.test(code)) return undefined;
  const unwritable = findUnwritable(path);
  if (unwritable === undefined || !readOnly) return unwritable;
  return skipped(
    `${path} was not read: SQLite would have to make its side files (-wal, -shm) beside it, and ${unwritable.message}; ` +
      'run the check as the user of the service, where the folder can be written',
  );
};

/** Proves a place for a file that is not there yet: a new file beside it takes the probe, and goes. */
const probeBeside = (path: string): Finding => {
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(dirname(path), '.svc-doctor-'));
    const { db } = openDataFile(join(folder, 'probe.db'), CACHE_MIB, SIGNALS_FILE);
    try {
      return judgeProbe(path, probeSpan(db));
    } finally {
      db.close();
    }
  } catch (error) {
    return judgeError(path, error, 'signal store');
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
};

const READ_ONLY_PROBE = skipped(
  'no probe span was written (--read-only): that the file answers proves that it can be read, not that it can be written',
);

/** What there is to say about a file that is not there. */
const examineAbsent = (path: string, readOnly: boolean): Opened<never> => {
  const why = 'there is no data file yet';
  const folder = dirname(path);
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    return unread(
      [fault(`${path} is missing, but its write-ahead log ${path}-wal is not`, 'put the file back beside its log')],
      'the data file is missing',
    );
  if (!existsSync(folder))
    return unread(
      [
        warning(
          `there is no folder ${folder}; the first start makes it`,
          'check --data, and that its volume is mounted',
        ),
      ],
      why,
    );
  const first = skipped(`there is no data file ${path} yet; the first start makes it`);
  if (readOnly) return unread([first, READ_ONLY_PROBE], why);
  return unread([first, findUnwritable(path) ?? probeBeside(path)], why);
};

const hasFault = (findings: readonly Finding[]): boolean => findings.some(({ level }) => level === 'fault');

/**
 * Examines the file of the signals: whether it answers, and whether a probe span survives. Takes no lock that keeps a
 * service from starting, and works beside one that runs.
 * @param damage what reading the file for damage found
 * @param index what reading the full-text index beside it found
 */
export const openSignals = (
  settings: Settings,
  readOnly: boolean,
  damage: readonly Finding[] = [],
  index: readonly Finding[] = [],
): Opened<SignalReads> => {
  const path = resolve(settings.data);
  const why = 'the signal store could not be read';
  const hidden = findHidden(path);
  if (hidden !== undefined) return unread([hidden], why);
  if (!existsSync(path)) return examineAbsent(path, readOnly);
  if (hasFault(damage)) return unread([...damage, ...index], why); // no probe is written to it
  const unwritable = readOnly ? undefined : findUnwritable(path);
  if (unwritable !== undefined) return unread([unwritable], why);
  try {
    const { facts, reads, probe, close } = inspectSignals(path, !readOnly);
    const { schemaVersion, fileBytes } = facts;
    const findings: Finding[] = [
      ok(`${path} answers: schema version ${schemaVersion}, ${Math.ceil(fileBytes / 1024)} KiB`),
      probe === undefined ? READ_ONLY_PROBE : judgeProbe(path, probe()),
    ];
    findings.push(...damage, ...index, ...foretell(schemaVersion, SIGNALS_FILE));
    return { findings, reads, close };
  } catch (error) {
    return unread([judgeAccess(path, error, readOnly) ?? judgeError(path, error, 'signal store')], why);
  }
};

/** What the next start does to a file of an earlier schema. */
const foretell = (found: number, { schemaVersion }: Pick<FileKind, 'schemaVersion'>): readonly Finding[] =>
  found < schemaVersion
    ? [
        warning(
          `the next start brings the file from schema version ${found} to ${schemaVersion}; no older release reads it then`,
          'back the file up first',
        ),
      ]
    : [];

/**
 * Examines the file of durable runs, without writing a row.
 * @param damage what reading the file for damage found
 */
export const openRuns = (settings: Settings, readOnly: boolean, damage: readonly Finding[] = []): Opened<RunReads> => {
  if (settings.runsData === undefined) return unread([], 'durable runs are off');
  const path = resolve(settings.runsData);
  const why = 'the runs store could not be read';
  const hidden = findHidden(path);
  if (hidden !== undefined) return unread([hidden], why);
  if (!existsSync(path))
    return unread(
      [skipped(`there is no runs file ${path} yet; the first start makes it`)],
      'there is no runs file yet',
    );
  if (hasFault(damage)) return unread(damage, why);
  const mayWrite = !readOnly && findUnwritable(path) === undefined;
  try {
    const { schemaVersion, moved, reads, close } = inspectRuns(path, mayWrite);
    const findings = [
      ok(`${path} answers: schema version ${schemaVersion}`),
      ...damage,
      ...foretell(schemaVersion, RUNS_FILE),
      ...judgeMove(moved),
    ];
    if (reads === undefined) return unread(findings, 'the runs file is of an earlier release, until the next start');
    return {
      findings,
      reads: runReadsOf(reads),
      close,
    };
  } catch (error) {
    return unread([judgeAccess(path, error, readOnly) ?? judgeError(path, error, RUNS_FILE.store)], why);
  }
};
