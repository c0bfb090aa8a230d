import { sql, type SQL, type SQLWrapper } from 'drizzle-orm';
import * as z from 'zod';
import type { OtherReaders, Priority } from '../budget/request-budget.ts';
import { LeaseLostError } from '../errors.ts';
import { toMultirangeText, type Range } from '../range.ts';
import {
  coveredOf,
  refusedOf,
  type Stream,
  ofStream,
  type StreamColumns,
  gapSeconds,
} from './stored-coverage.ts';
import { belowFloor, holdFloors } from './stored-settings.ts';
import {
  answersOf,
  bare,
  multirangeParam,
  rangeParam,
  texts,
  insertInto,
  setExcluded,
} from '../postgres/sql.ts';
import {
  oneRow,
  type Database,
  type Session,
  writeTransaction,
  holdLock,
  oneValue,
} from '../postgres/database.ts';
import { leases } from '../tables/etl/coverage.ts';
import { LOCKS, COPYING_KEY } from '../locks.ts';
import { workers } from '../tables/etl/budget.ts';
import { cursors } from '../tables/etl/cursors.ts';
import { settings } from '../tables/etl/pages.ts';
import { every, type Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';

/*
 * A worker holds a thing for a time: the lease of a range, the claim on the cursor of a walk, a duty. It renews what it
 * holds while it works. A hold that is not renewed expires.
 */

/** Leases and claims that no commit renews expire after this many seconds. */
export const HOLD_SECONDS = 30;

/** The expiry of a hold that is taken or renewed now, within a statement. */
export function heldFor(seconds: number): SQL {
  return sql`clock_timestamp() + make_interval(secs => ${seconds})`;
}

/**
 * True while a hold of this duration is live. A hold that ends much later was written before the server's clock was set
 * back: a live owner renews it, and a dead owner's hold must not block others.
 */
export function isHeldUntil(moment: SQLWrapper, seconds: number): SQL {
  return sql`coalesce(${moment} > clock_timestamp()
    and ${moment} <= clock_timestamp() + make_interval(secs => ${2 * seconds}), false)`;
}

/** Duties that one process at a time has, and the names under which the database stores them. */
const DUTIES = { watermark: 'lookout', verification: 'guard', lake: 'lake writer' } as const;
const isDuty = sql`${settings.name} in (${texts(Object.values(DUTIES))})`;
const dutyOwner = sql`${settings.value}->>'owner'`;

/**
 * Gives a process a duty for this many seconds from now; true if it has it. Of several processes that share a database,
 * one keeps the duty as long as it renews it in time.
 */
export async function takeDuty(
  session: Session,
  duty: keyof typeof DUTIES,
  owner: string,
  forSeconds: number,
): Promise<boolean> {
  const value = sql`jsonb_build_object('owner', ${owner}::text, 'until', ${heldFor(forSeconds)})`;
  const until = sql`(${settings.value}->>'until')::timestamptz`;
  const taken = await session.run(sql`
    ${insertInto(settings, { name: DUTIES[duty], value })}
    on conflict (${bare(settings.name)}) do update
      set ${setExcluded(settings.value)}, ${bare(settings.updated_at)} = default
    where ${dutyOwner} = ${owner} or not ${isHeldUntil(until, forSeconds)}`);
  return taken > 0;
}

/** The last owner of a duty, and the seconds since it last wrote, heartbeats included. Undefined if there was none. */
export async function readOwner(
  session: Session,
  duty: keyof typeof DUTIES,
): Promise<{ owner: string; silence: number } | undefined> {
  const [row] = await session.rows(
    sql`select ${dutyOwner} as owner, extract(epoch from clock_timestamp() - greatest(${settings.updated_at},
          (select max(${workers.seen_at}) from ${workers} where ${workers.worker} = ${dutyOwner})))::float8 as seconds
        from ${settings} where ${settings.name} = ${DUTIES[duty]}`,
    z.object({ owner: z.string(), seconds: z.number() }),
  );
  return row && { owner: row.owner, silence: Math.max(0, Math.round(row.seconds)) };
}

/** Frees everything that is held by owners that are known to be gone, before it expires. */
export async function releaseHeldBy(session: Session, isGone: (owner: string) => boolean): Promise<void> {
  const rows = await session.rows(
    sql`
      select ${leases.owner} from ${leases}
      union select ${cursors.owner} from ${cursors} where ${cursors.owner} is not null
      union select ${dutyOwner} from ${settings} where ${isDuty}`,
    z.object({ owner: z.string() }),
  );
  const gone = sql`in (${texts(rows.map(({ owner }) => owner).filter(isGone))})`;
  await session.run(sql`delete from ${leases} where ${leases.owner} ${gone}`);
  await session.run(sql`
    update ${cursors} set ${bare(cursors.owner)} = null, ${bare(cursors.expires_at)} = null where ${cursors.owner} ${gone}`);
  // The last owner of a duty stays known.
  await session.run(sql`
    update ${settings} set ${bare(settings.value)} = ${settings.value} || jsonb_build_object('until', clock_timestamp())
    where ${isDuty} and ${dutyOwner} ${gone}`);
}

interface Held {
  /** What is held, for the log. */
  readonly what: string;
  /** Seconds after which it expires if it is not renewed; default: those of leases and claims. */
  readonly heldSeconds?: number;
  readonly renew: () => Promise<unknown>;
}

/**
 * Renews a lease, a claim or a duty until the returned function is called, so that long work does not lose
 * it. A frozen process renews nothing, so what it holds expires.
 */
export function keepAlive(
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  { what, heldSeconds = HOLD_SECONDS, renew }: Held,
): () => void {
  const ended = new AbortController();
  const rhythm = { pauseMs: (heldSeconds * 1000) / 3, signal: ended.signal, isLater: true };
  // If the database is down, the work itself reports it.
  const tryToRenew = () =>
    renew().catch((error: unknown) => {
      logger.debug({ what, reason: String(error) }, 'could not renew lease');
    });
  void every(clock, rhythm, tryToRenew);
  return () => ended.abort();
}

/*
 * A process that freezes while it copies rows keeps them or their tables locked, and no timeout of Postgres ends a COPY
 * that waits for its client. So the process marks the lease by an advisory lock, which ends with the transaction. The
 * lock is only read, never waited for.
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

/** A range that one worker reads; no other worker requests it until the lease expires. */
export interface Lease {
  readonly id: number;
  readonly stream: Stream;
  readonly owner: string;
  readonly span: Range;
}

const Claimed = z.object({ id: z.coerce.number(), from: z.coerce.number(), to: z.coerce.number() });

interface LeaseClaim {
  readonly stream: Stream;
  readonly wanted: readonly Range[];
  /** Maximum number of seconds to take from the end of the newest hole, given how many are free. */
  readonly length: (free: number) => number;
  readonly owner: string;
  readonly priority: string;
}

/** Takes the newest free part of `wanted - covered - refused - gaps - leased - expired`; undefined if nothing is free. */
export async function claimLease(database: Database, claim: LeaseClaim): Promise<Lease | undefined> {
  const [lease] = await claimLeases(database, claim, 1);
  return lease;
}

/**
 * Takes the newest free part of `wanted - covered - refused - gaps - leased - expired`, then the newest of the rest, up to
 * `most` leases; none if nothing is free.
 *
 * The lock is a statement of its own: a statement that waits for it would continue with its old snapshot. Covered and
 * leased are read in one statement: a commit between two would move a range from one to the other.
 */
export async function claimLeases(database: Database, claim: LeaseClaim, most: number): Promise<Lease[]> {
  const { stream } = claim;
  const { dataset, scope, pass } = stream;
  return writeTransaction(database, async (session) => {
    await answersOf([
      holdLock(session, `${LOCKS.claim}/${dataset}/${scope}/${pass}`),
      holdFloors(session, 'shared'),
    ]);
    // A locked lease is being committed, so its owner is alive.
    await session.run(sql`
      delete from ${leases} where ${leases.id} in (
        select ${leases.id} from ${leases} where ${ofStream(leases, stream)} and not ${isLive}
        for update skip locked)`);
    const claimed: Lease[] = [];
    while (claimed.length < most) {
      const lease = await claimNewest(session, claim);
      if (lease === undefined) break;
      claimed.push(lease);
    }
    return claimed;
  });
}

async function claimNewest(session: Session, claim: LeaseClaim): Promise<Lease | undefined> {
  const { stream, owner, priority } = claim;
  const free = freeOf(multirangeParam(claim.wanted), stream, leasedOf(stream));
  const seconds = await oneValue(
    session,
    sql`select coalesce(sum(upper(hole) - lower(hole)), 0) from unnest(${free}) hole`,
    z.coerce.number(),
  );
  // Another lease may end between these two statements, and leave a hole that the length was not asked for.
  if (seconds === 0) return undefined;
  const length = claim.length(seconds);
  const newest = sql`
    select int8range(greatest(lower(hole), upper(hole) - ${length}::int8), upper(hole)) as span
    from unnest(${free}) hole order by lower(hole) desc limit 1`;
  return insertLease(session, { stream, owner, priority }, newest);
}

/** The part of `wanted` that is to be read and is not being read, as a scalar within a statement. */
function freeOf(wanted: SQL, stream: StreamColumns, leased: SQL): SQL {
  return sql`${wanted} - ${coveredOf(stream)} - ${refusedOf(stream)} - ${gapSeconds()} - ${leased} - ${belowFloor(stream.dataset)}`;
}

/** The leased ranges of a stream, as a scalar within a statement. */
function leasedOf(stream: StreamColumns, where = sql`true`): SQL {
  return sql`coalesce((select range_agg(${leases.span}) from ${leases} where ${ofStream(leases, stream)} and ${where}), '{}')`;
}

/** Leases the one `span` that a query returns; undefined if it returns none. */
export async function insertLease(
  session: Session,
  { stream, owner, priority }: Pick<LeaseClaim, 'stream' | 'owner' | 'priority'>,
  query: SQL,
): Promise<Lease | undefined> {
  const { dataset, scope, pass, span } = leases;
  const [row] = await session.rows(
    sql`
      insert into ${leases} (${bare(dataset, scope, pass, span, leases.owner, leases.priority, leases.expires_at)})
      select ${stream.dataset}, ${stream.scope}, ${stream.pass}::int, q.span, ${owner}, ${priority}, ${expiry} from (${query}) q
      returning ${leases.id}, lower(${span}) as "from", upper(${span}) as "to"`,
    Claimed,
  );
  return row && { id: row.id, stream, owner, span: { from: row.from, to: row.to } };
}

const Free = z.object({ index: z.coerce.number() });

/**
 * The indexes of the streams that have something free. It is one statement for all, because each failed claim takes a
 * lock and a transaction. The result may be out of date at once; only a claim decides.
 */
export async function findFree(
  session: Session,
  all: readonly Pick<LeaseClaim, 'stream' | 'wanted'>[],
): Promise<number[]> {
  if (all.length === 0) return [];
  const asked = all.map(({ stream, wanted }) => ({ ...stream, wanted: toMultirangeText(wanted) }));
  const stream = { dataset: sql`w.dataset`, scope: sql`w.scope`, pass: sql`w.pass` };
  const leased = leasedOf(stream, isLive);
  const rows = await session.rows(
    sql`
      with w as (
        select ordinality - 1 as index, j->>'dataset' as dataset, j->>'scope' as scope, (j->>'pass')::int as pass,
          (j->>'wanted')::int8multirange as wanted
        from json_array_elements(${JSON.stringify(asked)}::json) with ordinality as a (j, ordinality))
      select index from w
      where not isempty(${freeOf(sql`wanted`, stream, leased)})
      order by index`,
    Free,
  );
  return rows.map(({ index }) => index);
}

/** True of a lease that other workers must respect. */
export const isLive = isHeldUntil(leases.expires_at, HOLD_SECONDS);

const expiry = heldFor(HOLD_SECONDS);

/** True of the row of a lease that is still its owner's. */
const isHeld = ({ id, owner }: Lease): SQL =>
  sql`${leases.id} = ${id} and ${leases.owner} = ${owner} and ${leases.expires_at} > clock_timestamp()`;

/**
 * Locks the lease's row until the transaction ends, and checks that it is still ours and contains `part`.
 * @throws LeaseLostError if it expired, was taken away, or does not contain `part`
 */
export async function holdLease(session: Session, lease: Lease, part: Range): Promise<void> {
  const held = await session.run(sql`
    select 1 from ${leases} where ${isHeld(lease)} and ${leases.span} @> ${rangeParam(part)} for update`);
  if (held === 0) throw leaseLost(lease);
}

/** The error for a lease that is no longer ours. */
export function leaseLost({ stream }: Lease, cause?: unknown): LeaseLostError {
  return new LeaseLostError(`the lease of ${stream.dataset} was lost; what was read for it is not written`, {
    cause,
  });
}

/** Shortens a lease up to `until` and renews the rest; an empty lease ends. Runs in the commit's transaction. */
export async function shortenLease(session: Session, lease: Lease, until: number): Promise<void> {
  await session.run(sql`
    with ended as (
      delete from ${leases} where ${leases.id} = ${lease.id} and upper(${leases.span}) <= ${until}::int8)
    update ${leases} set ${bare(leases.expires_at)} = ${expiry},
      ${bare(leases.span)} = int8range(greatest(lower(${leases.span}), ${until}::int8), upper(${leases.span}))
    where ${leases.id} = ${lease.id} and upper(${leases.span}) > ${until}::int8`);
}

/** Gives back the end of a lease that is longer than its share. Returns the rest. */
export async function cutLease(database: Database, lease: Lease, to: number): Promise<Lease> {
  const { dataset } = lease.stream;
  const held = await database.run(sql`
    update ${leases} set ${bare(leases.span)} = int8range(lower(${leases.span}), ${to}::int8)
    where ${isHeld(lease)} and lower(${leases.span}) < ${to}::int8 and upper(${leases.span}) >= ${to}::int8`);
  if (held === 0) throw new LeaseLostError(`the lease of ${dataset} was lost before it could be shortened`);
  return { ...lease, span: { from: lease.span.from, to } };
}

/** Renews a lease while its page is awaited. False if it was lost. */
export async function renewLease(session: Session, lease: Lease): Promise<boolean> {
  return (await renewLeases(session, [lease])).length > 0;
}

/** Renews leases that wait for a reader. Returns those that are still held. */
export async function renewLeases(session: Session, waiting: readonly Lease[]): Promise<Lease[]> {
  const ids = sql.param(waiting.map(({ id }) => id));
  const rows = await session.rows(
    sql`update ${leases} set ${bare(leases.expires_at)} = ${expiry}
        where ${leases.id} = any(${ids}::int8[]) and ${leases.owner} = ${waiting[0]?.owner ?? ''}
          and ${leases.expires_at} > clock_timestamp()
        returning ${leases.id}`,
    z.object({ id: z.coerce.number() }),
  );
  const held = new Set(rows.map(({ id }) => id));
  return waiting.filter(({ id }) => held.has(id));
}

export async function releaseLease(session: Session, lease: Lease): Promise<void> {
  await session.run(sql`
    delete from ${leases} where ${leases.id} = ${lease.id} and ${leases.owner} = ${lease.owner}`);
}

/** True if a worker is reading part of a range for one of the datasets. */
export async function isLeased(
  session: Session,
  datasets: readonly string[],
  range: Range,
): Promise<boolean> {
  const held = await session.run(sql`
    select 1 from ${leases}
    where ${leases.dataset} in (${texts(datasets)}) and ${leases.span} && ${rangeParam(range)}
      and ${isLive} limit 1`);
  return held > 0;
}

const Others = z.object({ requests: z.coerce.number(), processes: z.coerce.number() });

/** What other workers read at this priority: one request for each of their leases. */
export async function readOthers(session: Session, owner: string, priority: Priority): Promise<OtherReaders> {
  return oneRow(
    session,
    sql`
      select count(*) as requests, count(distinct ${leases.owner}) as processes from ${leases}
      where ${leases.owner} <> ${owner} and ${leases.priority} = ${priority} and ${isLive}`,
    Others,
  );
}
