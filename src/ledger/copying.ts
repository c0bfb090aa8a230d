import { sql } from 'drizzle-orm';
import { COPYING_KEY } from '../locks.ts';
import type { Session } from '../postgres/database.ts';
import { leases } from '../tables/etl/coverage.ts';
import { isLive, type Lease } from './leases.ts';

/*
 * A process that stands still while it copies rows into their table holds these rows, and no timeout of Postgres ends a
 * COPY that waits for its client. So whoever copies says for which lease, by a lock that ends with the transaction. Nobody
 * waits for this lock: it is there to be read.
 */

/** The number of a lease may be longer than a key. */
const KEYS = 2 ** 31;

/** A transaction that is younger may be ending by itself just now. */
const YOUNG_SECONDS = 10;

/** Says until the transaction ends that it copies rows for a lease. */
export async function markCopying(session: Session, { id }: Pick<Lease, 'id'>): Promise<void> {
  await session.run(sql`select pg_advisory_xact_lock_shared(${COPYING_KEY}::int, ${id % KEYS}::int)`);
}

/**
 * Ends the sessions that wait for rows to copy, for a lease which is theirs no longer: they could not commit them, and
 * others wait. One that waits for nothing from its client may hold its lease by the row of it, and be about to commit. Those
 * of roles whose sessions this one may not end are left alone.
 * @returns how many there were
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
