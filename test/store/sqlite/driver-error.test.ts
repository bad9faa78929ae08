import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { describeFault, isDiskFull } from '../../../src/store/sqlite/driver-error.ts';

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

it('a quota that is used up is a full disk for its user, though libuv has no name for it', () => {
  const error = Object.assign(new Error('unknown error'), {
    code: 'UNKNOWN',
    errno: -constants.errno.EDQUOT,
    syscall: 'write',
  });
  expect(isDiskFull(error)).toBe(true);
  expect(describeFault('/data/svc.db', error, 'signal store')).toBe(
    'signal store /data/svc.db: the quota of this user is used up (EDQUOT)',
  );
});
