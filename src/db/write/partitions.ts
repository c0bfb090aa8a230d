import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { DAY, formatTime, type Range } from '../../range.ts';
import type { Database, Session } from '../connection/database.ts';
import { insertInto, rangeParam } from '../connection/sql.ts';
import { partitions } from '../schema/etl/pages.ts';
import { targetOf } from './rows/target.ts';

/** How much time one partition holds. */
export type PartitionSize = 'day' | 'week' | 'month';

const FIRST_MONDAY = Date.UTC(1970, 0, 5) / 1000;

/** Makes the partitions that rows need, ahead of the transaction that writes them. */
export interface Partitions {
  /** Resolves when every table has partitions for all of the times (ISO 8601). */
  ensure(tables: readonly object[], times: Iterable<string>): Promise<void>;
  /** What was there may be there no longer: another process drops what is not kept. */
  forget(): void;
}

export function createPartitions(database: Database, size: PartitionSize): Partitions {
  const known = new Set<string>();
  return {
    forget: () => known.clear(),
    async ensure(tables, times) {
      const periods = new Map<number, Range>();
      for (const time of times) {
        const period = periodOf(Date.parse(time) / 1000, size);
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
 * `create … like` and `attach` lock only what they must; `create … partition of` would queue every reader behind it.
 * Where partitions of another size exist, only what is free between them is filled.
 */
async function makePartition(database: Database, parent: string, period: Range): Promise<void> {
  await database.transaction(async (session) => {
    await session.run(
      sql`select pg_advisory_xact_lock(hashtextextended(${`toncenter-etl/partitions/${parent}`}, 0))`,
    );
    for (const free of await freeSpans(session, parent, period)) await attach(session, parent, free);
  });
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

async function attach(session: Session, parent: string, { from, to }: Range): Promise<void> {
  const name = `${parent}_${formatTime(from).slice(0, 10).replaceAll('-', '_')}`;
  const partition = sql`etl_partitions.${sql.identifier(name)}`;
  const table = sql`ton.${sql.identifier(parent)}`;
  const bounds = sql.raw(`from ('${formatTime(from)}') to ('${formatTime(to)}')`);
  await session.run(
    sql`create table ${partition} (like ${table} including defaults including generated including constraints including storage)`,
  );
  await session.run(sql`alter table ${table} attach partition ${partition} for values ${bounds}`);
  await session.run(insertInto(partitions, { parent, span: rangeParam({ from, to }), name }));
}
