import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { MASTERCHAIN } from '../../ton/shard.ts';

/** A shard's block is registered in the masterchain within seconds; a shard that lags may take so many. */
const LATEST = 60;

const Registering = z.object({ seqno: z.number() });

/** The masterchain blocks, ascending, that register what happened in a range, as far as blocks are stored. */
export async function registeringBlocks(session: Session, { from, to }: Range): Promise<number[]> {
  const rows = await session.rows(
    sql`
      select distinct case workchain when ${MASTERCHAIN} then seqno else masterchain_block_ref_seqno end as seqno
      from ton.blocks
      where utime >= to_timestamp(${from}::float8) and utime < to_timestamp(${to + LATEST}::float8)
        and (workchain = ${MASTERCHAIN}
          or (utime < to_timestamp(${to}::float8) and masterchain_block_ref_seqno is not null))
      order by 1`,
    Registering,
  );
  return rows.map(({ seqno }) => seqno);
}
