import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Session } from '../db/database.ts';
import type { Range } from '../range.ts';
import { countOf, during, findingsOf, secondAt, secondOf, type Finding } from './finding.ts';
import { transactionsWithMessages } from './with-messages.ts';

/** What the books of a stretch came to, by kind of transaction. */
const Tally = z.object({ kind: z.string(), checked: z.coerce.number(), differing: z.coerce.number() });

type Tally = z.infer<typeof Tally>;

/**
 * balance after = balance before + value received - fees - (value + forward fee + ihr fee) of all that was sent. A
 * message that did not come by instant routing brings its ihr fee along, so either sum is right. Where messages are
 * missing or the source gives no balances, there are no books.
 */
const books = (stretch: Range) => sql`
  select *, after - before - coalesce(in_value, 0) + total_fees + out_value as difference
  from (${transactionsWithMessages(stretch, sql`t.description_type, ${BALANCE_BEFORE} as before, ${BALANCE_AFTER} as after, t.total_fees`)}) t
  where before is not null and after is not null and (in_msg_hash is null or received) and sent = out_msg_count`;

/** An account that does not exist has no state, and no money. */
const BALANCE_BEFORE = sql`coalesce(t.before_balance, case when t.orig_status = 'nonexist' then 0 end)`;
const BALANCE_AFTER = sql`coalesce(t.after_balance, case when t.end_status = 'nonexist' then 0 end)`;

const differs = sql`difference <> 0 and difference <> coalesce(in_ihr_fee, 0)`;

/** A changed amount or fee shows in the books of the sender or the receiver; so both seconds are doubtful. */
export async function checkBooks(
  session: Session,
  stretch: Range,
): Promise<{ findings: Finding[]; rows: number }> {
  const findings = await findingsOf(session, {
    check: 'books',
    dataset: 'transactions',
    query: sql`
      with b as (select * from (${books(stretch)}) b where ${differs})
      select 'unbalanced_' || description_type as kind, 'doubt' as outcome,
        hash || ' by ' || difference || ' nanotons' as id, span
      from b cross join lateral (
        values (${secondOf('b')}), (${secondAt(sql`coalesce(in_msg_utime, utime)`)})) s (span)`,
  });
  const rows = await countOf(
    session,
    sql`select count(*) as count from ton.transactions t
        where ${during('t', stretch)} and ${BALANCE_BEFORE} is not null and ${BALANCE_AFTER} is not null`,
  );
  return { findings, rows };
}

/** How many books there are of each kind of transaction, and how many of them do not balance. */
export function tallyBooks(session: Session, stretch: Range): Promise<Tally[]> {
  return session.rows(
    sql`select description_type as kind, count(*) as checked, count(*) filter (where ${differs}) as differing
        from (${books(stretch)}) b group by 1 order by 1`,
    Tally,
  );
}
