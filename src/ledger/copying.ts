import { sql } from 'drizzle-orm';
import { COPYING_KEY } from '../locks.ts';
import type { Session } from '../postgres/database.ts';
import { leases } from '../tables/etl/coverage.ts';
import { isLive, type Lease } from './leases.ts';

/*
 * A process that freezes while it copies rows into their table keeps these rows locked, and no timeout of Postgres ends
 * a COPY that waits for its client. So the process marks the lease by an advisory lock, which ends with the
 * transaction. The lock is only read, never waited for.
 */

/** The number of a lease may be longer than a key of an advisory lock. */
const KEYS = 2 ** 31;

/** A younger transaction may be about to end by itself. */
const YOUNG_SECONDS = 10;

/** Marks, until the transaction ends, that it copies rows for a lease. */
export async function markCopying(session: Session, { id }: Pick<Lease, 'id'>): Promise<void> {
  await session.run(sql`select pg_advisory_xact_lock_shared(${COPYING_KEY}::int, ${id % KEYS}::int)`);
}

/**
 * Terminates sessions that wait for rows to copy, if their lease was lost: they could not commit, and other processes
 * wait for their rows. A session that does not wait for its client may hold its lease's row and be about to commit.
 * Sessions of roles that this one may not terminate are left alone.
 * @returns the number of terminated sessions
 */
export async function endStrayCopies(session: Session): Promise<number> {
  return session.run(sql`
    select pg_terminate_backend(held.pid) from pg_locks held join pg_stat_activity using (pid)
    where held.locktype = 'advisory' and held.classid = ${COPYING_KEY}::oid and held.objsubid = 2
      and held.database = (select oid from pg_database where datname = current_database())
      and state = 'active' and wait_event = 'ClientRead' and pg_has_role(usesysid, 'usage')
      and xact_start < clock_timestamp() - make_interval(secs => ${YOUNG_SECONDS})
      and not exists (select from ${leases}
        where ${leases.id} % ${KEYS}::int8 = held.objid::int8 and ${isLive})`);
}
