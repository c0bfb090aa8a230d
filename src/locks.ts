/**
 * Every advisory lock that the program takes, and what it protects. Postgres hashes these names, with a path behind some
 * of them; `hold-lock.ts` takes them.
 */
export const LOCKS = {
  /** The schema: one process migrates at a time. */
  migrate: 'migrate',
  /** The floors of retention: writers hold them shared, and who moves one alone. */
  retention: 'retention',
  /** The free seconds of a stream: one process leases some at a time. */
  claim: 'claim',
  /** The partitions of a table: one process makes some at a time. */
  partitions: 'partitions',
  /** The rows of a table: writers hold them shared, and who certifies them alone. */
  rows: 'rows',
  /** The kept days of a report: `etl.keep_day` takes it, in `migrations/feeds.sql`. */
  report: 'report',
} as const;

type Lock = (typeof LOCKS)[keyof typeof LOCKS];

/** A lock, or that of one thing of its kind. */
export type LockName = Lock | `${Lock}/${string}`;

/** The first key of the locks that say for which lease a session copies rows: the second one is the lease. They are read, not waited for. */
export const COPYING_KEY = 1_668_247_673;

/** The key of the lock that says that somebody uses the embedded server. */
export const EMBEDDED_KEY = 0x746f6e63;
