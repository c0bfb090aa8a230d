import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { during } from '../connection/seconds.ts';
import { MASTERCHAIN } from '../../ton/shard.ts';

const Block = z.object({
  gen_utime: z.coerce.number(),
  start_lt: z.coerce.bigint(),
  end_lt: z.coerce.bigint(),
});

/** A masterchain block's second and logical times. */
export type BoundingBlock = z.output<typeof Block>;

/** The stored masterchain blocks of some seconds, at most `count`: the last of them, or the first. */
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
