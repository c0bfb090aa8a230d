import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { DatabaseConflictError, WrongDatabaseError } from '../errors.ts';
import { DAY, formatRange, formatTime, type Range, secondOfTime } from '../range.ts';
import { type Database, type Session, writeTransaction, holdLock } from '../postgres/database.ts';
import { insertInto, rangeParam, spanOfRow } from '../postgres/sql.ts';
import { partitions } from '../tables/etl/pages.ts';
import { targetOf } from './target.ts';
import { LOCKS } from '../locks.ts';

/** The length of time that one partition holds. */
export type PartitionSize = 'day' | 'week' | 'month';

const FIRST_MONDAY = Date.UTC(1970, 0, 5) / 1000;

/** Creates the partitions that rows need, before the transaction that writes them. */
export interface Partitions {
  readonly size: PartitionSize;
  /** Resolves when every table has partitions for all of the times (ISO 8601). */
  ensure(tables: readonly object[], times: Iterable<string>): Promise<void>;
  /** Drops the cache: another process may have dropped expired partitions. */
  forget(): void;
}

export function createPartitions(database: Database, size: PartitionSize): Partitions {
  const known = new Set<string>();
  return {
    size,
    forget: () => known.clear(),
    async ensure(tables, times) {
      const periods = new Map<number, Range>();
      for (const time of times) {
        const period = periodOf(secondOfTime(time), size);
        periods.set(period.from, period);
      }
      for (const { name } of tables.map(targetOf).filter(({ facts }) => facts.partitioned)) {
        for (const period of periods.values()) {
          const key = `${name}/${period.from}`;
          if (known.has(key)) continue;
          await makePartition(database, name, period);
          known.add(key);
        }
      }
    },
  };
}

/** The whole day, week (from Monday) or month in UTC that a second lies in. */
export function periodOf(time: number, size: PartitionSize): Range {
  if (size === 'month') {
    const date = new Date(time * 1000);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    return { from: Date.UTC(year, month) / 1000, to: Date.UTC(year, month + 1) / 1000 };
  }
  const [length, origin] = size === 'week' ? [7 * DAY, FIRST_MONDAY] : [DAY, 0];
  const from = origin + Math.floor((time - origin) / length) * length;
  return { from, to: from + length };
}

/**
 * `create … like` and `attach` take weak locks; `create … partition of` would block every reader. If partitions of
 * another size exist, only the free time between them is filled.
 */
async function makePartition(database: Database, parent: string, period: Range): Promise<void> {
  await writeTransaction(database, async (session) => {
    await holdPartitions(session, parent);
    await forgetDetached(session, parent, period);
    for (const free of await freeSpans(session, parent, period)) {
      await makeTable(session, parent, nameOf(parent, free));
      await attach(session, parent, free);
    }
  });
}

const Detached = z.object({ name: z.string(), span: spanOfRow, exists: z.boolean() });

/**
 * Forgets partitions of a period that a person has dropped, so that they are created again.
 * @throws WrongDatabaseError if one is detached: its rows exist, and only a person can decide about them
 */
async function forgetDetached(session: Session, parent: string, period: Range): Promise<void> {
  const detached = await session.rows(
    sql`
      with places as (
        select ${partitions.name} as name, ${partitions.span} as span, true as listed from ${partitions}
        where ${partitions.parent} = ${parent} and ${partitions.span} && ${rangeParam(period)}
        union all
        select ${nameOf(parent, period)}, ${rangeParam(period)}, false)
      select name, span::text, there is not null as "exists"
      from places, to_regclass('etl_partitions.' || quote_ident(name)) there
      where (listed or there is not null) and not ${isAttached(parent, sql`name`)}`,
    Detached,
  );
  const [kept] = detached.filter(({ exists }) => exists);
  if (kept !== undefined)
    throw new WrongDatabaseError(
      `the table etl_partitions.${kept.name} was detached from ton.${parent} and still exists`,
      {
        hint: `Attach it: alter table ton.${parent} attach partition etl_partitions.${kept.name} for values ${boundsOf(kept.span)}; or, if its rows may be lost and read again: drop table etl_partitions.${kept.name}.`,
      },
    );
  for (const { name } of detached)
    await session.run(sql`delete from ${partitions} where ${partitions.name} = ${name}`);
}

/** True if a table is attached as a partition and is not being detached, within a statement. */
export function isAttached(parent: string, name: SQL): SQL {
  return sql`exists (
    select from pg_inherits where inhrelid = to_regclass('etl_partitions.' || quote_ident(${name})) and not inhdetachpending
      and inhparent = to_regclass('ton.' || quote_ident(${parent})))`;
}

/** Locks out other processes that create partitions of the table, until the transaction ends. */
async function holdPartitions(session: Session, parent: string): Promise<void> {
  await holdLock(session, `${LOCKS.partitions}/${parent}`);
}

/** True if a table has no partition that overlaps a period. */
export async function isFree(session: Session, parent: string, period: Range): Promise<boolean> {
  const [free] = await freeSpans(session, parent, period);
  return free?.from === period.from && free.to === period.to;
}

/**
 * Attaches a table that was filled under another name as a partition.
 * @throws DatabaseConflictError if another process has created one of the period meanwhile
 */
export async function attachFilled(
  session: Session,
  parent: string,
  { period, name }: { readonly period: Range; readonly name: string },
): Promise<void> {
  await holdPartitions(session, parent);
  await forgetDetached(session, parent, period);
  if (!(await isFree(session, parent, period)))
    throw new DatabaseConflictError(
      `another process has created a partition of ${parent} for ${formatRange(period)}`,
    );
  await session.run(sql`alter table ${tableNamed(name)} rename to ${sql.identifier(nameOf(parent, period))}`);
  await attach(session, parent, period);
}

const Span = z.object({ from: z.coerce.number(), to: z.coerce.number() });

async function freeSpans(session: Session, parent: string, period: Range): Promise<Range[]> {
  return session.rows(
    sql`
      with free as (
        select unnest(int8multirange(${rangeParam(period)}) - coalesce(range_agg(${partitions.span}), '{}')) as span
        from ${partitions} where ${partitions.parent} = ${parent} and ${partitions.span} && ${rangeParam(period)})
      select lower(span) as "from", upper(span) as "to" from free`,
    Span,
  );
}

/** The name of a table's partition for a period. */
export function nameOf(parent: string, { from }: Range): string {
  return `${parent}_${formatTime(from).slice(0, 10).replaceAll('-', '_')}`;
}

/** A table in the schema of partitions, within a statement. */
export function tableNamed(name: string): SQL {
  return sql`etl_partitions.${sql.identifier(name)}`;
}

/** Creates a table that can become a partition. Its parent does not show its rows yet. */
export async function makeTable(session: Session, parent: string, name: string): Promise<void> {
  await session.run(
    sql`create table ${tableNamed(name)}
      (like ton.${sql.identifier(parent)} including defaults including generated including constraints including storage
        including statistics)`,
  );
}

function boundsOf({ from, to }: Range): string {
  return `from ('${formatTime(from)}') to ('${formatTime(to)}')`;
}

async function attach(session: Session, parent: string, span: Range): Promise<void> {
  const name = nameOf(parent, span);
  const bounds = sql.raw(boundsOf(span));
  await session.run(
    sql`alter table ton.${sql.identifier(parent)} attach partition ${tableNamed(name)} for values ${bounds}`,
  );
  await session.run(insertInto(partitions, { parent, span: rangeParam(span), name }));
}
