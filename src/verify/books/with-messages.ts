import { sql, type SQL } from 'drizzle-orm';
import type { Range, Stretch } from '../../range.ts';
import { NEAR } from '../near.ts';
import { during } from '../../db/connection/seconds.ts';

/** The chain itself sends messages in this name, and no transaction does. */
const SYSTEM = `-1:${'0'.repeat(64)}`;

/** An address as a number: the lists hold a row for each message, and addresses are the widest that they would hold. */
const addressed = (column: string) => sql`hashtextextended(coalesce(${sql.identifier(column)}, ''), 0)`;

const nearOf = ({ from, to }: Range): Range => ({ from: from - NEAR, to });

/**
 * Queries by name: `near`, the messages of a stretch and of shortly before (`was_sent` where they say that a transaction
 * sent them, by its hash or by its account); `own`, its transactions; `sent`, what each of these sent in its own second,
 * which is that of its messages. The tables are read once: joined as a whole, and not looked up one by one.
 */
export function messageLists(stretch: Stretch): SQL {
  return sql`
    near as materialized (
      select utime, hash, out_msg_tx_hash, value, ihr_fee, fwd_fee,
        ${addressed('source')} as sender, ${addressed('destination')} as receiver,
        out_msg_tx_hash is not null or (source is not null and source <> ${SYSTEM} and created_lt is not null) as was_sent
      from ton.messages m where ${during('m', nearOf(stretch))}),
    own as materialized (
      select utime, hash, ${addressed('account')} as account, in_msg_hash, in_msg_utime, out_msg_count, orig_status, end_status, description_type,
        before_balance, after_balance, total_fees, action_success, action_msgs_created, bounce_type
      from ton.transactions t where ${during('t', stretch)}),
    sent as (
      select out_msg_tx_hash as hash, utime, count(*) as messages, min(sender) as first_sender, max(sender) as last_sender,
        sum(coalesce(value, 0) + coalesce(fwd_fee, 0) + coalesce(ihr_fee, 0)) as value
      from near m where ${during('m', stretch)} and out_msg_tx_hash is not null group by 1, 2)`;
}

/**
 * A query over these lists: the transactions of a stretch, each with the stored message that it received (`received` false where it has
 * none or it is not stored), the number and value of those that it sent, and whether they are another account's. A message that was sent has its sender's
 * time, so all of them lie in the stretch too.
 */
export function transactionsWithMessages(stretch: Stretch): SQL {
  const near = nearOf(stretch);
  const received = (join: SQL, receiver = sql`m.receiver`) => sql`
    select t.*, m.hash is not null as received, m.value as in_value, m.ihr_fee as in_ihr_fee,
      ${receiver} <> t.account as is_anothers,
      s.first_sender <> t.account or s.last_sender <> t.account as sends_anothers,
      coalesce(s.messages, 0) as sent, coalesce(s.value, 0) as out_value
    from own t left join sent s on s.hash = t.hash and s.utime = t.utime ${join}`;
  return sql`
    ${received(sql`
      left join near m on m.hash = t.in_msg_hash and m.utime = t.in_msg_utime
      where t.in_msg_utime is null or t.in_msg_utime >= to_timestamp(${near.from}::float8)`)}
    union all
    ${received(
      sql`
      left join lateral (
        select * from ton.messages m where m.hash = t.in_msg_hash and m.utime = t.in_msg_utime limit 1) m on true
      where t.in_msg_utime < to_timestamp(${near.from}::float8)`,
      addressed('destination'),
    )}`;
}
