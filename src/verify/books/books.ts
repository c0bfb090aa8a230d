import { sql } from 'drizzle-orm';
import { secondAt, secondOf } from '../../db/connection/seconds.ts';

/** An account that does not exist has no state, and no money. */
const BEFORE = sql`coalesce(before_balance, case when orig_status = 'nonexist' then 0 end)`;
const AFTER = sql`coalesce(after_balance, case when end_status = 'nonexist' then 0 end)`;

/**
 * balance after = balance before + value received - fees - (value + forward fee + ihr fee) of all that was sent. Of `x`,
 * transactions with their messages.
 */
const DIFFERENCE = sql`${AFTER} - ${BEFORE} - coalesce(in_value, 0) + total_fees + out_value`;

/**
 * The transactions of `x` that have books: not those whose messages are missing, or whose source gives no balances. A
 * message that did not come by instant routing brings its ihr fee along: that much is no difference, and null here.
 * @internal `npm run books` counts them.
 */
export const books = sql`
  select *, nullif(${DIFFERENCE}, coalesce(in_ihr_fee, 0)) as difference
  from x where ${BEFORE} is not null and ${AFTER} is not null and (in_msg_hash is null or received) and sent = out_msg_count`;

/** True of an `x` whose books may be wrong: a quick sieve, which passes some that have none. */
export const bookSieve = sql`${DIFFERENCE} not in (0, coalesce(in_ihr_fee, 0))`;

/** A changed amount or fee shows in the books of the sender or the receiver; so both seconds are doubtful. */
export const bookDoubts = sql`
  select 'books' as "check", 'unbalanced_' || description_type as kind, 'doubt' as outcome,
    hash || ' by ' || difference || ' nanotons' as id, span
  from (select * from (${books}) b where difference <> 0) b
  cross join lateral (values (${secondOf('b')}), (${secondAt(sql`coalesce(in_msg_utime, utime)`)})) s (span)`;
