import { randomInt } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { driverCode, isDiskFull, isLocked } from './driver-error.ts';
import { transactionsOf } from './transaction.ts';

/** A file that the start refuses. The message is one line that names the file and the cause. */
export class FileRefused extends Error {
  /** Of the error that kept the file from being read, where there was one. */
  readonly code: string | undefined;
  constructor(path: string, cause: string, store: string, code?: string) {
    super(`${store} ${path}: ${cause}`);
    this.name = 'FileRefused';
    this.code = code;
  }
}

/** What a file holds: the store it is named by in messages, the mark it carries, and its schema, step by step. */
export type FileKind = {
  readonly store: string;
  readonly applicationId: number;
  readonly schemaVersion: number;
  readonly migrations: readonly { readonly version: number; readonly sql: string }[];
  /** Idempotent statements that every start applies, after the migrations. */
  readonly standing?: string;
};

const PAGE_BYTES = 16_384;
/** Pages of write-ahead log after which a commit copies them into the file: 32 MiB. */
const CHECKPOINT_PAGES = 2_000;
/** How long a statement waits for a lock that another connection of this process holds for a moment. */
const BUSY_TIMEOUT_MS = 5_000;
/**
 * Up to this size the start reads the whole file to find damage: some forty milliseconds for runs, a hundred for signals. In a larger one a
 * damaged page is met when it is read, or by `doctor`, so that what is stored does not delay a start.
 */
const WHOLE_CHECK_BYTES = 32 * 1024 * 1024;
const FILE_MODE = 0o600;

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** SQLite's write versions. A copy by VACUUM INTO has the first. @see SQLite database file format, "The Database Header" */
const ROLLBACK_FORMAT = 1;
const WAL_FORMAT = 2;

type Header = {
  readonly pageBytes: number;
  readonly pages: number;
  readonly storeNumber: number;
  readonly format: number;
};

/** The header as it lies in the file itself; nothing where it is no database. */
const headerBytes = (path: string): Buffer | undefined => {
  const bytes = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, 'r');
  try {
    const read = readSync(file, bytes, 0, HEADER_BYTES, 0);
    return read === HEADER_BYTES && bytes.toString('latin1', 0, MAGIC.length) === MAGIC ? bytes : undefined;
  } finally {
    closeSync(file);
  }
};

/** The mark of what a file holds; nothing where it is no database. @see FileKind */
export const applicationIdOf = (path: string): number | undefined => headerBytes(path)?.readUInt32BE(68);

/** The header without what a write-ahead log beside the file would say. */
const readHeader = (path: string, { store }: FileKind): Header => {
  const bytes = headerBytes(path);
  if (bytes === undefined) throw new FileRefused(path, 'the file is not a SQLite database', store);
  const pageBytes = bytes.readUInt16BE(16);
  return {
    pageBytes: pageBytes === 1 ? 65_536 : pageBytes,
    format: bytes.readUInt8(18),
    pages: bytes.readUInt32BE(28),
    storeNumber: bytes.readUInt32BE(60),
  };
};

/**
 * Refuses what is neither file nor folder, before it is opened: opening a named pipe waits for a writer, and a device would be
 * moved away by the file that is made in its place.
 * @throws FileRefused
 */
const mustBeFile = (path: string, { store }: Pick<FileKind, 'store'>): void => {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined || facts.isFile() || facts.isDirectory()) return;
  const found = facts.isFIFO() ? 'a named pipe' : facts.isSocket() ? 'a socket' : 'a device';
  throw new FileRefused(path, `this is ${found}, not a file`, store);
};

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** What the file says about itself. Opens it read-only and leaves every byte as it was. */
export type FileFacts = {
  readonly schemaVersion: number;
  /** Drawn when the file was made; ties its side files to it. */
  readonly storeNumber: number;
  /** True for a copy that SQLite wrote, such as a backup: it has never had a write-ahead log. */
  readonly isCopy: boolean;
  readonly fileBytes: number;
};

export const hasLog = (path: string): boolean => existsSync(`${path}-wal`);

/** Reading makes an empty log and its scratch file where there were none. */
const removeEmptyLog = (path: string): void => {
  if (sizeOf(`${path}-wal`) === 0) for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
};

/**
 * Removes what reading left beside a file that had no log before, unless a service has opened it since: that writes to
 * the very log. Not for the process of a service: closing a descriptor of its lock would drop it.
 * @param lockOf the data file whose lock the service holds
 */
export const tidyAfterReading = (path: string, lockOf = path): void => {
  if (!hasLog(path)) return;
  if (!existsSync(`${lockOf}.lock`)) {
    removeEmptyLog(path); // no service has ever had it
    return;
  }
  let release: () => void;
  try {
    release = lockFile(lockOf, { store: '' });
  } catch {
    return; // a service has it, or this user may not write here: an empty log is no harm
  }
  try {
    removeEmptyLog(path);
  } finally {
    release();
  }
};

type Inspection = {
  /** Largest file, in bytes, that is read completely to find damage. */
  readonly wholeCheckBytes: number;
  readonly tidy: (path: string) => void;
};
/** Of the process that holds the lock of the file. */
const inspectedByOwner: Inspection = { wholeCheckBytes: WHOLE_CHECK_BYTES, tidy: removeEmptyLog };
/** Of another process, which reads files for damage in another way. */
export const inspectedBesideOthers: Inspection = { wholeCheckBytes: 0, tidy: tidyAfterReading };

/**
 * Reads and checks a data file without changing it.
 * @throws FileRefused when the file is foreign, damaged or newer than this build
 */
export const inspectFile = (path: string, kind: FileKind, { wholeCheckBytes, tidy } = inspectedByOwner): FileFacts => {
  const { store } = kind;
  mustBeFile(path, kind);
  const header = readHeader(path, kind);
  const fileBytes = sizeOf(path);
  if (sizeOf(`${path}-wal`) === 0 && fileBytes < header.pages * header.pageBytes)
    throw new FileRefused(
      path,
      `the file is cut short (${fileBytes} of ${header.pages * header.pageBytes} bytes)`,
      store,
    );
  const isCopy = header.format === ROLLBACK_FORMAT;
  // SQLite would take in any log that lies there.
  if (isCopy && sizeOf(`${path}-wal`) > 0)
    throw new FileRefused(
      path,
      `the file is a copy, and the write-ahead log ${basename(path)}-wal beside it belongs to another file; remove that`,
      store,
    );
  let db: Database.Database | undefined;
  const hadLog = hasLog(path);
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    if (db.pragma('application_id', { simple: true }) !== kind.applicationId)
      throw new FileRefused(path, 'the file is a database of another program', store);
    // The log of another file can replay without an error and put that file's pages into ours.
    if (db.pragma('user_version', { simple: true }) !== header.storeNumber)
      throw new FileRefused(path, `the write-ahead log ${basename(path)}-wal belongs to another file`, store);
    if ((header.format !== WAL_FORMAT && !isCopy) || header.pageBytes !== PAGE_BYTES)
      throw new FileRefused(path, 'the file has a damaged header', store);
    const schemaVersion = db.prepare<[], number>('SELECT max(version) FROM schema_version').pluck().get() ?? 0;
    if (schemaVersion > kind.schemaVersion)
      throw new FileRefused(
        path,
        `the file was written by a newer release (schema version ${schemaVersion}; this build reads up to ${kind.schemaVersion})`,
        store,
      );
    if (schemaVersion < 1) throw new FileRefused(path, 'the file is damaged (it records no schema version)', store);
    if (fileBytes <= wholeCheckBytes) {
      const found = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().get();
      if (found !== 'ok') throw new FileRefused(path, 'the file is damaged (integrity check failed)', store);
    }
    return { schemaVersion, storeNumber: header.storeNumber, isCopy, fileBytes };
  } catch (error) {
    if (error instanceof FileRefused || isDiskFull(error)) throw error;
    const code = driverCode(error);
    if (code === undefined) throw error;
    if (code.startsWith('SQLITE_ERROR'))
      throw new FileRefused(path, 'the file is damaged (its tables are not readable)', store);
    throw new FileRefused(path, `the file is damaged or not readable (${code})`, store, code);
  } finally {
    db?.close();
    if (!hadLog) tidy(path);
  }
};

/** Applies what the file lacks of the schema, one transaction a step. */
const migrate = (db: Database.Database, kind: FileKind): void => {
  const transactions = transactionsOf(db);
  transactions.run(() =>
    db.exec('CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)'),
  );
  const current = db.prepare<[], number | null>('SELECT max(version) FROM schema_version').pluck().get() ?? 0;
  for (const { version, sql } of kind.migrations) {
    if (version <= current) continue;
    transactions.run(() => {
      db.exec(sql);
      db.prepare('INSERT INTO schema_version (version, applied_at) VALUES (?, ?)').run(
        version,
        new Date().toISOString(),
      );
    });
  }
};

const syncFolder = (path: string): void => {
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
};

/**
 * Makes an empty file under another name and moves it into place, so that a crash leaves either no file or a complete one.
 * @param prepare fills the file; it runs before write-ahead logging is switched on
 */
export const createFile = (path: string, applicationId: number, prepare: (db: Database.Database) => void): void => {
  const draft = `${path}.new`;
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${draft}${suffix}`, { force: true });
  for (const suffix of ['-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true });
  closeSync(openSync(draft, 'w', FILE_MODE));
  chmodSync(draft, FILE_MODE);
  const db = new Database(draft);
  let isMade = false;
  try {
    db.pragma(`page_size = ${PAGE_BYTES}`);
    db.pragma('synchronous = FULL');
    transactionsOf(db).run(() => {
      db.pragma(`application_id = ${applicationId}`);
      db.pragma(`user_version = ${randomInt(1, 0x7fffffff)}`);
    });
    prepare(db);
    db.pragma('journal_mode = WAL');
    isMade = true;
  } finally {
    db.close();
    if (!isMade) rmSync(draft, { force: true }); // on a full disk its room serves others
  }
  renameSync(draft, path);
  syncFolder(path);
};

/** Makes the folder of a file, for its owner alone, and answers the file's real path: one file has one name for its lock. */
export const settlePath = (path: string): string => {
  const folder = dirname(path);
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
  return existsSync(path) ? realpathSync(path) : join(realpathSync(folder), basename(path));
};

/**
 * Holds a file for this process until the answer is called or the process ends, however it ends.
 * @throws FileRefused when another process, or another store of this one, holds it, or when it can be no data file
 */
export const lockFile = (path: string, { store }: Pick<FileKind, 'store'>): (() => void) => {
  mustBeFile(path, { store });
  const lockPath = `${path}.lock`;
  closeSync(openSync(lockPath, 'a', FILE_MODE));
  const lock = new Database(lockPath, { timeout: 0 });
  try {
    // A journal in memory: on a full disk one beside the lock could not be made.
    lock.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (driverCode(error)?.startsWith('SQLITE_BUSY') !== true) throw error;
    throw new FileRefused(path, `the file is in use by another process (${basename(lockPath)} is locked)`, store);
  }
  return () => lock.close();
};

/**
 * Opens a connection that writes: every commit is on the disk before it is answered, and freed bytes are overwritten.
 * @throws FileRefused when the connection cannot be made to sync its commits
 */
export const openForWriting = (
  path: string,
  cacheMiB: number,
  { store }: Pick<FileKind, 'store'>,
): Database.Database => {
  const db = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma('secure_delete = ON');
    db.pragma(`cache_size = ${-cacheMiB * 1024}`);
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.pragma('temp_store = MEMORY');
    const FULL = 2;
    if (db.pragma('synchronous', { simple: true }) !== FULL || db.pragma('journal_mode', { simple: true }) !== 'wal')
      throw new FileRefused(
        path,
        'commits cannot be made durable on this file system (synchronous=FULL is not kept)',
        store,
      );
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

/** What deletes have left unused inside a file: SQLite fills it before the file grows. */
export const unusedBytesOf = (db: Database.Database): number =>
  (db.pragma('freelist_count', { simple: true }) as number) * PAGE_BYTES;

/** Opens a connection that only reads. */
export const openForReading = (path: string, cacheMiB: number): Database.Database => {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    db.pragma(`cache_size = ${-cacheMiB * 1024}`);
    db.pragma('temp_store = MEMORY');
    return db;
  } catch (error) {
    // Left open, it would hold on to a damaged file that another takes the place of, and end the process when it is closed at last.
    db.close();
    throw error;
  }
};

/**
 * Makes a copy of a data file a file of its own: with a number that no side file of the original has, and a write-ahead
 * log. The number comes first, in the file itself, so that the log never says another one than the file.
 */
const adoptCopy = (path: string): number => {
  const storeNumber = randomInt(1, 0x7fffffff);
  const db = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    db.pragma('synchronous = FULL');
    transactionsOf(db).run(() => db.pragma(`user_version = ${storeNumber}`));
    db.pragma('journal_mode = WAL');
  } finally {
    db.close();
  }
  chmodSync(path, FILE_MODE);
  return storeNumber;
};

/**
 * Opens the data file, making it or bringing its schema forward as needed. The caller holds its lock.
 * @throws FileRefused when the file is foreign, damaged or newer; nothing was changed then
 */
export const openDataFile = (
  path: string,
  cacheMiB: number,
  kind: FileKind,
): { db: Database.Database; storeNumber: number } => {
  mustBeFile(path, kind);
  if (sizeOf(path) === 0) {
    if (sizeOf(`${path}-wal`) > 0)
      throw new FileRefused(
        path,
        `the file is empty or missing, but its write-ahead log ${basename(path)}-wal is not`,
        kind.store,
      );
    createFile(path, kind.applicationId, (db) => migrate(db, kind));
  }
  const { schemaVersion, isCopy, ...facts } = inspectFile(path, kind);
  const storeNumber = isCopy ? adoptCopy(path) : facts.storeNumber;
  const db = openForWriting(path, cacheMiB, kind);
  try {
    if (schemaVersion < kind.schemaVersion) migrate(db, kind);
    const { standing } = kind;
    if (standing !== undefined) transactionsOf(db).run(() => db.exec(standing));
    // Brings the first page into the write-ahead log, so that a log can be distinguished from that of another file.
    transactionsOf(db).run(() => db.pragma(`user_version = ${storeNumber}`));
    return { db, storeNumber };
  } catch (error) {
    db.close();
    throw error;
  }
};

/** How long an inspection waits for a file that another process locks completely. */
const KNOCK_MS = 1_000;

/**
 * Asks a file for nothing but an answer.
 * @throws an error of the driver when another process keeps everybody out, FileRefused for what can be no data file; any other
 * fault is left for the inspection to name
 */
export const knock = (path: string, kind: Pick<FileKind, 'store'>): void => {
  mustBeFile(path, kind);
  let db: Database.Database | undefined;
  try {
    db = openForReading(path, 1);
    db.pragma(`busy_timeout = ${KNOCK_MS}`);
    db.prepare('SELECT 1 FROM schema_version').get();
  } catch (error) {
    if (isLocked(driverCode(error))) throw error;
  } finally {
    db?.close();
  }
};
