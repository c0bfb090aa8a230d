import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { coveredOf } from './stored-coverage.ts';
import { during } from '../postgres/seconds.ts';
import { MASTERCHAIN } from '../ton/shard.ts';

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
