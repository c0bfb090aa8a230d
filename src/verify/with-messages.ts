import { sql, type SQL } from 'drizzle-orm';
import type { Range } from '../range.ts';
import { during } from './finding.ts';

/** Messages this much older than the stretch are looked up one by one; nearly all are received within seconds. */
const NEAR = 3600;

/**
 * A query: the transactions of a stretch, each with the stored message that it received (`received` false where it has
 * none or it is not stored) and the number and value of those that it sent. A message that was sent has its sender's
 * time, so all of them lie in the stretch too.
 */
export function transactionsWithMessages(stretch: Range, columns: SQL): SQL {
  const near = { from: stretch.from - NEAR, to: stretch.to };
  const received = (join: SQL) => sql`
    select ${columns}, t.utime, t.hash, t.in_msg_hash, t.in_msg_utime, t.out_msg_count,
      m.hash is not null as received, m.value as in_value, m.ihr_fee as in_ihr_fee,
      coalesce(s.messages, 0) as sent, coalesce(s.value, 0) as out_value
    from ton.transactions t left join sent s on s.hash = t.hash ${join}`;
  return sql`
    with sent as (
      select out_msg_tx_hash as hash, count(*) as messages,
        sum(coalesce(value, 0) + coalesce(fwd_fee, 0) + coalesce(ihr_fee, 0)) as value
      from ton.messages m where ${during('m', stretch)} and out_msg_tx_hash is not null group by 1)
    ${received(sql`
      left join ton.messages m on m.hash = t.in_msg_hash and m.utime = t.in_msg_utime and ${during('m', near)}
      where ${during('t', stretch)} and (t.in_msg_utime is null or t.in_msg_utime >= to_timestamp(${near.from}::float8))`)}
    union all
    ${received(sql`
      left join lateral (select * from ton.messages m where m.hash = t.in_msg_hash and m.utime = t.in_msg_utime) m on true
      where ${during('t', stretch)} and t.in_msg_utime < to_timestamp(${near.from}::float8)`)}`;
}
