import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { LeaseLostError } from '../../errors.ts';
import { toMultirangeText, type Range } from '../../range.ts';
import { coveredOf, refusedOf, type Stream } from '../coverage/coverage.ts';
import type { Database, Session } from '../connection/database.ts';
import { multirangeParam, rangeParam } from '../connection/sql.ts';

/** A range that one worker reads; nobody else asks for it until it expires. */
export interface Lease {
  readonly id: number;
  readonly stream: Stream;
  readonly owner: string;
  readonly span: Range;
}

/** A lease that no commit prolongs is free again after this many seconds. */
export const LEASE_SECONDS = 30;

const Claimed = z.object({ id: z.coerce.number(), from: z.coerce.number(), to: z.coerce.number() });

interface Claim {
  readonly stream: Stream;
  /** Where to look for work. */
  readonly wanted: readonly Range[];
  /** At most so many seconds, from the newest gap's end. */
  readonly length: number;
  readonly owner: string;
  readonly priority: string;
}

/**
 * Takes the newest free part of `wanted - covered - leased - refused`; undefined where there is none.
 *
 * The lock stands in a statement of its own, because a statement that waits for it would go on with the snapshot from
 * before; covered and leased are read in one, because a commit between two would move a range from one to the other.
 */
export async function claimLease(database: Database, claim: Claim): Promise<Lease | undefined> {
  const { stream, owner } = claim;
  const { dataset, scope, pass } = stream;
  return database.transaction(async (session) => {
    await session.run(
      sql`select pg_advisory_xact_lock(hashtextextended(${`toncenter-etl/claim/${dataset}/${scope}/${pass}`}, 0))`,
    );
    // A lease whose row is locked is being committed just now: its owner is alive.
    await session.run(sql`
      delete from etl.leases where id in (
        select id from etl.leases
        where dataset = ${dataset} and scope = ${scope} and pass = ${pass} and expires_at <= clock_timestamp()
        for update skip locked)`);
    const [row] = await session.rows(
      sql`
        with free as (
          select unnest(${multirangeParam(claim.wanted)} - ${coveredOf(stream)} - ${refusedOf(stream)}
            - coalesce((select range_agg(span) from etl.leases
                where dataset = ${dataset} and scope = ${scope} and pass = ${pass}), '{}')) as gap),
        newest as (
          select int8range(greatest(lower(gap), upper(gap) - ${claim.length}::int8), upper(gap)) as span
          from free order by lower(gap) desc limit 1)
        insert into etl.leases (dataset, scope, pass, span, owner, priority, expires_at)
        select ${dataset}, ${scope}, ${pass}, span, ${owner}, ${claim.priority}, ${expiry} from newest
        returning id, lower(span) as "from", upper(span) as "to"`,
      Claimed,
    );
    return row === undefined
      ? undefined
      : { id: row.id, stream, owner, span: { from: row.from, to: row.to } };
  });
}

const Free = z.object({ index: z.coerce.number() });

/** What is wanted of a stream. */
interface Wish {
  readonly stream: Stream;
  readonly wanted: readonly Range[];
}

/**
 * Which of the wishes have something free, by their index: one statement for all, where claiming in vain takes a lock and
 * a transaction each. What it says may be out of date at once; only a claim decides.
 */
export async function findFree(session: Session, wishes: readonly Wish[]): Promise<number[]> {
  if (wishes.length === 0) return [];
  const asked = wishes.map(({ stream, wanted }) => ({ ...stream, wanted: toMultirangeText(wanted) }));
  const own = sql`dataset = w.dataset and scope = w.scope and pass = w.pass`;
  const rows = await session.rows(
    sql`
      with w as (
        select ordinality - 1 as index, j->>'dataset' as dataset, j->>'scope' as scope, (j->>'pass')::int as pass,
          (j->>'wanted')::int8multirange as wanted
        from json_array_elements(${JSON.stringify(asked)}::json) with ordinality as a (j, ordinality))
      select index from w
      where not isempty(wanted - coalesce((select covered from etl.coverage where ${own}), '{}')
        - coalesce((select range_agg(span) from etl.refused where ${own} and retry_at > clock_timestamp()), '{}')
        - coalesce((select range_agg(span) from etl.leases where ${own} and expires_at > clock_timestamp()), '{}'))
      order by index`,
    Free,
  );
  return rows.map(({ index }) => index);
}

const expiry = sql`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`;

/**
 * Holds the lease's row until the transaction ends and makes sure that it is still ours and still good for `part`.
 * @throws LeaseLostError where it expired, was taken away, or does not hold `part`
 */
export async function holdLease(session: Session, lease: Lease, part: Range): Promise<void> {
  const held = await session.run(sql`
    select 1 from etl.leases
    where id = ${lease.id} and owner = ${lease.owner} and span @> ${rangeParam(part)} and expires_at > clock_timestamp()
    for update`);
  if (held === 0) {
    throw new LeaseLostError(
      `the lease of ${lease.stream.dataset} was lost; what was read for it is not written`,
    );
  }
}

/** Gives back what was done up to `until`, prolongs the rest; an empty lease ends. Within the commit's transaction. */
export async function shortenLease(session: Session, lease: Lease, until: number): Promise<void> {
  const ended = await session.run(
    sql`delete from etl.leases where id = ${lease.id} and upper(span) <= ${until}::int8`,
  );
  if (ended > 0) return;
  await session.run(sql`
    update etl.leases set span = int8range(greatest(lower(span), ${until}::int8), upper(span)), expires_at = ${expiry}
    where id = ${lease.id}`);
}

/** Gives back the end of a lease that turned out longer than its share; what is left, or undefined if it was lost. */
export async function cutLease(database: Database, lease: Lease, to: number): Promise<Lease> {
  const { dataset } = lease.stream;
  const held = await database.run(sql`
    update etl.leases set span = int8range(lower(span), ${to}::int8)
    where id = ${lease.id} and owner = ${lease.owner} and lower(span) < ${to}::int8 and upper(span) >= ${to}::int8
      and expires_at > clock_timestamp()`);
  if (held === 0) throw new LeaseLostError(`the lease of ${dataset} was lost before it could be shortened`);
  return { ...lease, span: { from: lease.span.from, to } };
}

/** Keeps a lease while a page is waited for. */
export async function prolongLease(session: Session, lease: Lease): Promise<boolean> {
  const held = await session.run(sql`
    update etl.leases set expires_at = ${expiry}
    where id = ${lease.id} and owner = ${lease.owner} and expires_at > clock_timestamp()`);
  return held > 0;
}

export async function releaseLease(session: Session, lease: Lease): Promise<void> {
  await session.run(sql`delete from etl.leases where id = ${lease.id} and owner = ${lease.owner}`);
}

/** True where anybody is reading part of a range for one of the datasets just now. */
export async function isLeased(
  session: Session,
  datasets: readonly string[],
  range: Range,
): Promise<boolean> {
  const held = await session.run(sql`
    select 1 from etl.leases
    where dataset in (select json_array_elements_text(${JSON.stringify(datasets)}::json))
      and span && ${rangeParam(range)} and expires_at > clock_timestamp() limit 1`);
  return held > 0;
}

/** Frees what is held by owners of whom it is known that they are gone, without waiting for their leases to expire. */
export async function releaseLeasesOf(session: Session, isGone: (owner: string) => boolean): Promise<void> {
  const owners = await session.rows(
    sql`select distinct owner from etl.leases`,
    z.object({ owner: z.string() }),
  );
  for (const { owner } of owners.filter((row) => isGone(row.owner))) {
    await session.run(sql`delete from etl.leases where owner = ${owner}`);
  }
}
