import { DatabaseAccessError, DatabaseError, EtlError, isAbort, RAISE_FILE_LIMIT } from '../errors.ts';

export const USE_ANOTHER_SERVER = 'set DATABASE_URL to a Postgres 14 or newer';

interface Remedy {
  readonly pattern: RegExp;
  readonly hint: string;
  /** True: only another directory, or rights to this one, help. */
  readonly isLasting?: true;
}

/** Messages of initdb, postgres and the operating system, with a remedy. The first match counts. */
const REMEDIES: readonly Remedy[] = [
  {
    pattern: /no space left on device|free disk space|ENOSPC|disk quota/i,
    hint: 'Free some space on that disk, or set ETL_DATA_DIR to a directory on a larger one.',
  },
  {
    pattern: /read-only file system|EROFS/i,
    hint: 'Set ETL_DATA_DIR to a directory that can be written to.',
    isLasting: true,
  },
  {
    pattern: /wrong ownership/i,
    hint: 'Give the directory back to the user that Postgres runs as (`chown -R`), or set ETL_DATA_DIR to a new one.',
    isLasting: true,
  },
  {
    pattern: /permission denied|operation not permitted|EACCES|EPERM|invalid permissions/i,
    hint: 'Run it as the user who owns that directory, or set ETL_DATA_DIR to a directory of your own.',
    isLasting: true,
  },
  { pattern: /file descriptors|EMFILE|ENFILE/i, hint: RAISE_FILE_LIMIT, isLasting: true },
  {
    pattern: /shared memory|out of memory|ENOMEM|cannot allocate/i,
    hint: `Free some memory (the server wants about 0.5 GB), or ${USE_ANOTHER_SERVER}.`,
  },
  {
    pattern: /error while loading shared libraries|library not loaded|image not found|exec format|ENOEXEC/i,
    hint: `Run \`npm rebuild\`, which lets the package's install script link its libraries, or ${USE_ANOTHER_SERVER}.`,
  },
  {
    pattern:
      /could not locate a valid checkpoint|invalid checkpoint|invalid data in file|incorrect checksum|PANIC/i,
    hint: 'The directory is damaged: restore it from a backup, or move it away and read the data again.',
  },
  {
    pattern: /spawn .* ENOENT/,
    hint: `These binaries need a system with glibc (Alpine has another libc): ${USE_ANOTHER_SERVER}.`,
  },
  {
    pattern: /ENOTDIR/,
    hint: 'Set ETL_DATA_DIR to a directory: part of the path is a file.',
    isLasting: true,
  },
  {
    pattern: /ENOENT.*mkdir/,
    hint: 'Set ETL_DATA_DIR to a directory that can be created.',
    isLasting: true,
  },
  { pattern: /locale/i, hint: `Run it with LC_ALL=C, or ${USE_ANOTHER_SERVER}.` },
];

const NO_REMEDY = { hint: `Read the server's messages above, or ${USE_ANOTHER_SERVER}.`, isLasting: false };

/** An error about the embedded server, with the remedy for its reason. */
export function embeddedFailure(what: string, reason: string, cause?: unknown): DatabaseError {
  const { hint, isLasting } = REMEDIES.find(({ pattern }) => pattern.test(reason)) ?? NO_REMEDY;
  const Failure = isLasting === true ? DatabaseAccessError : DatabaseError;
  // The last lines of a program's output name the reason.
  return new Failure(`${what}: ${reason.trim().split('\n').slice(-6).join('\n')}`, { hint, cause });
}

/** Turns any other error into one of this program's. Aborts pass unchanged. */
export function translateFailure(error: unknown, dataDir: string): Error {
  if (error instanceof EtlError || (error instanceof Error && isAbort(error))) return error;
  return embeddedFailure(`the embedded Postgres in ${dataDir} cannot be used`, String(error), error);
}
