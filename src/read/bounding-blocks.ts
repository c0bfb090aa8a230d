import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { HOUR, type Range } from '../range.ts';
import type { Session } from '../postgres/database.ts';
import { during } from '../postgres/seconds.ts';
import { MASTERCHAIN } from '../ton/shard.ts';

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

interface NamedBlock {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
  /** The second of the block that names it. */
  readonly namedAt: number;
}

/** The blocks that are not stored. */
export async function blocksNotStored<T extends NamedBlock>(
  session: Session,
  named: readonly T[],
): Promise<T[]> {
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
