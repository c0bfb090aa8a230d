import { DatabaseAccessError, DatabaseError, EtlError, isAbort } from '../errors.ts';

export const USE_ANOTHER_SERVER = 'set DATABASE_URL to a Postgres 14 or newer';

/** What initdb, postgres and the operating system say, and what the user can do about it. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /no space left on device|free disk space|ENOSPC|disk quota/i,
    'Free some space on that disk, or set ETL_DATA_DIR to a directory on a larger one.',
  ],
  [/read-only file system|EROFS/i, 'Set ETL_DATA_DIR to a directory that can be written to.'],
  [
    /wrong ownership/i,
    'Give the directory back to the user that Postgres runs as (`chown -R`), or set ETL_DATA_DIR to a new one.',
  ],
  [
    /permission denied|operation not permitted|EACCES|EPERM|invalid permissions/i,
    'Run it as the user who owns that directory, or set ETL_DATA_DIR to a directory of your own.',
  ],
  [
    /shared memory|out of memory|ENOMEM|cannot allocate/i,
    `Free some memory (the server wants about 0.5 GB), or ${USE_ANOTHER_SERVER}.`,
  ],
  [
    /error while loading shared libraries|library not loaded|image not found|exec format|ENOEXEC/i,
    `Run \`npm rebuild\`, which lets the package's install script link its libraries, or ${USE_ANOTHER_SERVER}.`,
  ],
  [
    /could not locate a valid checkpoint|invalid checkpoint|invalid data in file|incorrect checksum|PANIC/i,
    'The directory is damaged: restore it from a backup, or move it away and let the data be read again.',
  ],
  [
    /spawn .* ENOENT/,
    `These binaries need a system with glibc (Alpine has another libc): ${USE_ANOTHER_SERVER}.`,
  ],
  [/ENOTDIR/, 'Set ETL_DATA_DIR to a directory: a file stands in its way.'],
  [/locale/i, `Run it with LC_ALL=C, or ${USE_ANOTHER_SERVER}.`],
];

/** What the directory is, and stays until a person gives another one or rights to it. */
const ABOUT_DIRECTORY =
  /read-only file system|EROFS|wrong ownership|permission denied|operation not permitted|EACCES|EPERM|invalid permissions|ENOTDIR/i;

/** An error about the embedded server, with the remedy that its reason calls for. */
export function embeddedFailure(what: string, reason: string, cause?: unknown): DatabaseError {
  const remedy = REMEDIES.find(([pattern]) => pattern.test(reason))?.[1];
  const Failure = ABOUT_DIRECTORY.test(reason) ? DatabaseAccessError : DatabaseError;
  return new Failure(`${what}: ${lastLines(reason)}`, {
    hint: remedy ?? `Read the server's own words above, or ${USE_ANOTHER_SERVER}.`,
    cause,
  });
}

/** Anything that was not thrown on purpose, as one of this program's errors; aborts pass unchanged. */
export function translateFailure(error: unknown, dataDir: string): Error {
  if (error instanceof EtlError || (error instanceof Error && isAbort(error))) return error;
  return embeddedFailure(`the embedded Postgres in ${dataDir} cannot be used`, String(error), error);
}

/** The end of a program's output: its last words name the reason. */
function lastLines(text: string, count = 6): string {
  return text.trim().split('\n').slice(-count).join('\n');
}
