import { describe, expect, it } from 'vitest';
import { describeFault } from '../../../src/store/sqlite/driver-error.ts';

const lineOf = (code: string): string =>
  describeFault(
    '/data/svc.db',
    Object.assign(new Error('words of the driver'), { code, syscall: 'open' }),
    'signal store',
  );

describe('what an operator reads of a fault', () => {
  it.each([
    ['SQLITE_FULL', 'the disk is full'],
    ['SQLITE_READONLY_DIRECTORY', 'the file cannot be written'],
    ['EACCES', 'access is denied to this user'],
    ['EPERM', 'access is denied to this user'],
    ['EROFS', 'the file system is mounted read-only'],
    ['ENOSPC', 'the disk is full'],
    ['EDQUOT', 'the quota of this user is used up'],
    ['EIO', 'an input/output error'],
    ['EISDIR', 'this is a folder, not a file'],
    ['ENOTDIR', 'a part of the path is a file, not a folder'],
    ['ESTALE', 'the storage engine failed'],
  ])('%s: %s', (code, cause) => expect(lineOf(code)).toBe(`signal store /data/svc.db: ${cause} (${code})`));
});
