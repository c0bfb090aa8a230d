import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { ACCOUNT } from '../../ton/address.ts';
import type { Session } from '../connection/database.ts';
import { watch } from '../schema/etl/watch-list.ts';

const Pool = z.object({ address: z.string() });

/**
 * Addresses that may be nominator pools, raw form: the watch list, because no endpoint lists pools, and every account
 * that staked with the elector. One that is none answers with an empty list. What is no account never becomes a scope: its
 * requests would be refused for ever.
 */
export async function readPools(session: Session): Promise<string[]> {
  const rows = await session.rows(
    sql`
      select address from (
        select ${watch.address} from ${watch}
        union select distinct stake_holder_address from ton.validator_events
        union select distinct pool_address from ton.nominator_pool_events) named
      where address ~ ${ACCOUNT.source} order by 1`,
    Pool,
  );
  return rows.map(({ address }) => address);
}
