import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Predecessor } from '../dataset/paginators/paginator.ts';
import { HOUR, type Range, lengthOf, common } from '../range.ts';
import type { Session } from '../postgres/database.ts';
import { during } from '../postgres/sql.ts';
import { MASTERCHAIN } from '../ton/shard.ts';
import { coveredOf } from '../ledger/stored-coverage.ts';
import { readVerified } from '../write/certificates.ts';

/** A shard block is registered in the masterchain within seconds; if the shard lags, it may take this many. */
const LATEST = 60;

const Registering = z.object({ index: z.coerce.number(), seqno: z.number().nullable() });

/**
 * The masterchain blocks, ascending, that register the content of each range, as far as blocks are stored.
 * The blocks of the range name them. If one of these names none, or may be missing, the masterchain blocks of
 * the minute after the range are added.
 */
export async function registeringBlocks(session: Session, ranges: readonly Range[]): Promise<number[][]> {
  if (ranges.length === 0) return [];
  const proved = await readVerified(session, { dataset: 'blocks', scope: '', pass: 0 });
  const named = await seqnosOf(session, ranges, 'all');
  const behind = await seqnosOf(
    session,
    ranges.map(({ to }, index) => {
      const range = ranges.slice(index, index + 1);
      const isSure =
        named[index]?.includes(null) === false && lengthOf(common(range, proved)) === lengthOf(range);
      return { from: to, to: isSure ? to : to + LATEST };
    }),
    'masterchain',
  );
  return ranges.map((_, index) => {
    const seqnos = [...(named[index] ?? []), ...(behind[index] ?? [])].filter((seqno) => seqno !== null);
    return [...new Set(seqnos)].sort((a, b) => a - b);
  });
}

/** The masterchain blocks that the stored blocks of each range name; null for a block that names none. */
async function seqnosOf(
  session: Session,
  ranges: readonly Range[],
  which: 'all' | 'masterchain',
): Promise<(number | null)[][]> {
  const [from, to] = [
    Math.min(...ranges.map((range) => range.from)),
    Math.max(...ranges.map((range) => range.to)),
  ];
  const rows = await session.rows(
    sql`
      with r as (
        select ordinality - 1 as index, (j->>'from')::int8 as "from", (j->>'to')::int8 as "to"
        from json_array_elements(${JSON.stringify(ranges)}::json) with ordinality as a (j, ordinality))
      select distinct index, case workchain when ${MASTERCHAIN} then seqno else masterchain_block_ref_seqno end as seqno
      from r join ton.blocks b on b.utime >= to_timestamp(r."from") and b.utime < to_timestamp(r."to")
      where ${during('b', { from, to })} and (${which === 'all'} or workchain = ${MASTERCHAIN})`,
    Registering,
  );
  const seqnos: (number | null)[][] = ranges.map(() => []);
  for (const { index, seqno } of rows) seqnos[index]?.push(seqno);
  return seqnos;
}

/** How many seconds before a border its last masterchain block is searched for. */
const LOOKBACK = 300;

/** The first masterchain seqno at or after a second, from stored blocks; undefined if blocks may be missing. */
export async function readStoredBorder(session: Session, utime: number): Promise<number | undefined> {
  const [row] = await session.rows(
    sql`
      with last as (
        select seqno, extract(epoch from b.utime)::int8 as at from ton.blocks b
        where workchain = ${MASTERCHAIN} and ${during('b', { from: utime - LOOKBACK, to: utime })}
        order by seqno desc limit 1)
      select seqno + 1 as seqno from last
      where ${coveredOf({ dataset: 'blocks', scope: '', pass: 0 })} @> int8range(last.at, ${utime}::int8)`,
    z.object({ seqno: z.number() }),
  );
  return row?.seqno;
}

const Block = z.object({
  gen_utime: z.coerce.number(),
  start_lt: z.coerce.bigint(),
  end_lt: z.coerce.bigint(),
});

/** The second and the logical times of a masterchain block. */
export type BoundingBlock = z.output<typeof Block>;

/** The stored masterchain blocks of some seconds, at most `count`: the last ones, or the first ones. */
export function readMasterchainBlocks(
  session: Session,
  range: Range,
  which: 'last' | 'first',
  count: number,
): Promise<BoundingBlock[]> {
  const direction = which === 'last' ? sql`desc` : sql`asc`;
  return session.rows(
    sql`
      select extract(epoch from utime)::int8 as gen_utime, start_lt, end_lt from ton.blocks b
      where workchain = ${MASTERCHAIN} and ${during('b', range)}
      order by utime ${direction}, seqno ${direction} limit ${count}`,
    Block,
  );
}

/** A block is searched among those that are at most this much older than the block that names it. */
const NEAR = HOUR;

/** The blocks that are not stored. */
export async function blocksNotStored(
  session: Session,
  named: readonly Predecessor[],
): Promise<Predecessor[]> {
  if (named.length === 0) return [];
  const times = named.map(({ namedAt }) => namedAt);
  const rows = await session.rows(
    sql`
      select p.index from jsonb_to_recordset(${JSON.stringify(named.map((one, index) => ({ ...one, index })))}::jsonb)
        as p (workchain int, shard text, seqno int, index int)
      where not exists (select from ton.blocks b
        where b.workchain = p.workchain and b.shard = p.shard and b.seqno = p.seqno
          and b.utime >= to_timestamp(${Math.min(...times) - NEAR}::float8)
          and b.utime <= to_timestamp(${Math.max(...times)}::float8))`,
    z.object({ index: z.coerce.number() }),
  );
  return rows.flatMap(({ index }) => named[index] ?? []);
}
