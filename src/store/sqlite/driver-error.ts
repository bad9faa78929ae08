import { constants } from 'node:os';

/** What a code of the driver or of the system says to an operator. Matched by prefix: SQLite refines its codes with suffixes. */
const causes: readonly (readonly [prefix: string, cause: string])[] = [
  ['SQLITE_FULL', 'the disk is full'],
  ['SQLITE_IOERR_SHMSIZE', 'the disk is full'],
  ['SQLITE_IOERR', 'an input/output error'],
  ['SQLITE_CORRUPT', 'the file is damaged'],
  ['SQLITE_NOTADB', 'the file is not a database, or is damaged'],
  ['SQLITE_BUSY', 'the file is locked'],
  ['SQLITE_LOCKED', 'the file is locked'],
  ['SQLITE_PROTOCOL', 'the lock of the file is damaged'],
  ['SQLITE_READONLY', 'the file cannot be written'],
  ['SQLITE_PERM', 'access is denied'],
  ['SQLITE_CANTOPEN', 'the file cannot be opened'],
  ['SQLITE_NOMEM', 'memory is used up'],
  ['SQLITE_TOOBIG', 'a value is larger than the store can hold'],
  ['EACCES', 'access is denied to this user'],
  ['EPERM', 'access is denied to this user'],
  ['EROFS', 'the file system is mounted read-only'],
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the quota of this user is used up'],
  ['EIO', 'an input/output error'],
  ['EISDIR', 'this is a folder, not a file'],
  ['ENOTDIR', 'a part of the path is a file, not a folder'],
];

/** The code of an error of SQLite or of the file system; `undefined` for any other error, which is a bug of ours. */
export const driverCode = (error: unknown): string | undefined => {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  // The one error of a disk that libuv has no name for.
  if ('errno' in error && error.errno === -constants.errno.EDQUOT) return 'EDQUOT';
  return error.code.startsWith('SQLITE_') || 'syscall' in error ? error.code : undefined;
};

/** Whether an error says that storage failed or is away. Any other, such as a broken constraint, is a bug of ours. */
export const isStorageFault = (code: string): boolean =>
  !code.startsWith('SQLITE_') || (code !== 'SQLITE_TOOBIG' && causes.some(([prefix]) => code.startsWith(prefix)));

/** Whether an error says that another connection is in the way, not that storage failed. */
export const isLocked = (code: string | undefined): boolean =>
  code !== undefined && (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'));

const noRoom = ['SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE', 'ENOSPC', 'EDQUOT'];
/**
 * Whether an error says that there is no room, or none for this user: for rows, for the shared memory file beside a log, or for a
 * file of ours.
 */
export const isDiskFull = (error: unknown): boolean => {
  const code = driverCode(error);
  return code !== undefined && noRoom.some((one) => code.startsWith(one));
};

/** After these the state of the connection is unknown: it is dropped, and opened and checked again. */
export const needsReopening = (code: string): boolean =>
  (code.startsWith('SQLITE_IOERR') && code !== 'SQLITE_IOERR_SHMSIZE') ||
  code.startsWith('SQLITE_CORRUPT') ||
  code.startsWith('SQLITE_NOTADB');

/** One line for an operator: the file and the cause. It never holds a stored value. */
export const describeFault = (path: string, error: unknown, store: string): string => {
  const code = driverCode(error);
  if (code === undefined) return `${store} ${path}: ${error instanceof Error ? error.message : String(error)}`;
  const cause = causes.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'the storage engine failed';
  return `${store} ${path}: ${cause} (${code})`;
};
