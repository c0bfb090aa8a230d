import { expect, test } from 'vitest';
import { embeddedFailure, translateFailure } from '../../src/embedded/failure.ts';
import { DatabaseAccessError, DatabaseError, EXIT, WrongDatabaseError } from '../../src/errors.ts';

test.each([
  ['FATAL:  could not write lock file "postmaster.pid": No space left on device', 'Free some space'],
  [
    'FATAL:  could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 10\nHINT:  Check free disk space.\nPANIC:  cannot abort transaction 1, it was already committed',
    'Free some space',
  ],
  ["Error: EROFS: read-only file system, access '/data'", 'that can be written to'],
  ["Error: EACCES: permission denied, stat '/root/x/postgres'", 'Run it as the user who owns'],
  ['FATAL:  data directory "/data/postgres" has wrong ownership', 'chown -R'],
  ['postgres: error while loading shared libraries: libicuuc.so.60: cannot open', 'npm rebuild'],
  ['FATAL:  could not map anonymous shared memory: Cannot allocate memory', 'Free some memory'],
  ['PANIC:  could not locate a valid checkpoint record', 'damaged'],
  ['spawn /app/node_modules/postgres ENOENT', 'glibc'],
  ['initdb: error: invalid locale name "xx_XX"', 'LC_ALL=C'],
  ['an unknown error', 'DATABASE_URL'],
])('the remedy fits the reason: %s', (reason, remedy) => {
  const error = embeddedFailure('it does not start', reason);
  expect(error).toBeInstanceOf(DatabaseError);
  expect(error.message).toBe(`it does not start: ${reason}`);
  expect(error.hint).toContain(remedy);
});

test.each([
  "Error: EACCES: permission denied, access '/root'",
  "Error: EPERM: operation not permitted, mkdir '/data'",
  "Error: ENOENT: no such file or directory, mkdir '/proc/foo'",
  "Error: ENOTDIR: not a directory, stat '/dev/null/postgres'",
  "Error: EROFS: read-only file system, access '/data'",
  'FATAL:  data directory "/data/postgres" has wrong ownership',
])('a directory that no retry improves is a setting to change: %s', (reason) => {
  const error = embeddedFailure('it does not start', reason);
  expect(error).toBeInstanceOf(DatabaseAccessError);
  expect(error.exitCode).toBe(EXIT.usage);
});

test('a full disk is waited for', () => {
  expect(embeddedFailure('it does not start', 'No space left on device').exitCode).toBe(EXIT.failed);
});

test('deliberate errors and aborts pass unchanged', () => {
  const wrong = new WrongDatabaseError('not ours');
  const abort = new DOMException('stop', 'AbortError');
  expect(translateFailure(wrong, '/data')).toBe(wrong);
  expect(translateFailure(abort, '/data')).toBe(abort);
});
