import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';

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
  { from, to }: Range,
  which: 'last' | 'first',
  count: number,
): Promise<BoundingBlock[]> {
  const direction = which === 'last' ? sql`desc` : sql`asc`;
  return session.rows(
    sql`
      select extract(epoch from utime)::int8 as gen_utime, start_lt, end_lt from ton.blocks
      where workchain = -1 and utime >= to_timestamp(${from}) and utime < to_timestamp(${to})
      order by utime ${direction}, seqno ${direction} limit ${count}`,
    Block,
  );
}
