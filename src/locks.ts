/**
 * Every advisory lock of the program, and what it protects. Postgres hashes these names, some of them with a
 * path appended. `writeTransaction` takes the locks.
 */
export const LOCKS = {
  /** The schema: one process migrates at a time. */
  migrate: 'migrate',
  /** The floors of retention: writers hold it shared, and the process that moves a floor holds it exclusively. */
  retention: 'retention',
  /** The free seconds of a stream: one process claims leases at a time. */
  claim: 'claim',
  /** The partitions of a table: one process creates some at a time. */
  partitions: 'partitions',
  /** The rows of a table: writers hold it shared, and the process that certifies rows holds it exclusively. */
  rows: 'rows',
  /** The kept days of a report: `etl.keep_day` takes it, in `migrations/feeds.sql`. */
  report: 'report',
} as const;

type Lock = (typeof LOCKS)[keyof typeof LOCKS];

/** A lock, or one for a single object of its kind. */
export type LockName = Lock | `${Lock}/${string}`;

/**
 * The first key of the locks that say for which lease a session copies rows; the second key is the lease. No
 * process waits for these locks, they are only looked up.
 */
export const COPYING_KEY = 1_668_247_673;

/** The key of the lock that says that a process uses the embedded server. */
export const EMBEDDED_KEY = 0x746f6e63;
