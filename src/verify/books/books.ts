import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Session } from '../../db/connection/database.ts';
import type { Range } from '../../range.ts';
import { secondAt, secondOf } from '../finding.ts';
import { transactionsWithMessages } from './with-messages.ts';

/** What the books of a stretch came to, by kind of transaction. */
const Tally = z.object({ kind: z.string(), checked: z.coerce.number(), differing: z.coerce.number() });

type Tally = z.infer<typeof Tally>;

/** An account that does not exist has no state, and no money. */
const BEFORE = sql`coalesce(before_balance, case when orig_status = 'nonexist' then 0 end)`;
const AFTER = sql`coalesce(after_balance, case when end_status = 'nonexist' then 0 end)`;

/**
 * balance after = balance before + value received - fees - (value + forward fee + ihr fee) of all that was sent. A
 * message that did not come by instant routing brings its ihr fee along, so either sum is right. Where messages are
 * missing or the source gives no balances, there are no books. Of `x`, transactions with their messages.
 */
const books = sql`
  select *, ${AFTER} - ${BEFORE} - coalesce(in_value, 0) + total_fees + out_value as difference
  from x where ${BEFORE} is not null and ${AFTER} is not null and (in_msg_hash is null or received) and sent = out_msg_count`;

const differs = sql`difference <> 0 and difference <> coalesce(in_ihr_fee, 0)`;

/** True of an `x` whose books may be wrong: a quick sieve, which passes some that have none. */
export const bookSieve = sql`
  ${AFTER} - ${BEFORE} - coalesce(in_value, 0) + total_fees + out_value not in (0, coalesce(in_ihr_fee, 0))`;

/** A changed amount or fee shows in the books of the sender or the receiver; so both seconds are doubtful. */
export const bookDoubts = sql`
  select 'books' as "check", 'unbalanced_' || description_type as kind, 'doubt' as outcome,
    hash || ' by ' || difference || ' nanotons' as id, span
  from (select * from (${books}) b where ${differs}) b
  cross join lateral (values (${secondOf('b')}), (${secondAt(sql`coalesce(in_msg_utime, utime)`)})) s (span)`;

/**
 * Counts the books of each kind of transaction, and those of them that do not balance.
 * @internal `npm run books` prints it.
 */
export function tallyBooks(session: Session, stretch: Range): Promise<Tally[]> {
  return session.rows(
    sql`
      with x as materialized (${transactionsWithMessages(stretch)})
      select description_type as kind, count(*) as checked, count(*) filter (where ${differs}) as differing
      from (${books}) b group by 1 order by 1`,
    Tally,
  );
}
