import { sql } from 'drizzle-orm';
import { transactions } from '../../tables/ton/transactions.ts';
import type { Session } from '../../postgres/database.ts';
import type { Stretch } from '../../range.ts';
import { type Check, type Result, joinByHash, splitFollowing } from './check.ts';
import { missingTransactions } from './check-transactions.ts';
import { findingsOf } from './finding.ts';
import { countReadRows } from '../../write/seals.ts';
import { quarantine } from '../../tables/etl/quarantine.ts';
import { during, partOf, secondAt, secondOf } from '../../postgres/sql.ts';

const MISSING = 'missing_predecessor';

export const stateChain: Check = {
  name: 'state-chain',
  needs: [],
  reads: () => [transactions],
  steps: (_, { stretches }) =>
    stretches.map((stretch) => ({
      check: 'state-chain',
      stretch,
      run: (look) => look((session) => checkStateChain(session, stretch)),
    })),
  // If a transaction is missing, its own second is known. Its neighbors are all there, and need not be read again.
  unexplained: (finding, others) =>
    finding.kind === MISSING ? splitFollowing(finding, missingTransactions(others)) : [finding],
};

/** How many seconds after the stretch the next transaction of an account is searched for. */
const NEAR = 60;

/**
 * A message names the account of its receiver. If a transaction has none, such as a tick of the chain, only its
 * predecessor and its successor know the account. The predecessor is looked up in the whole table.
 */
const strangers = (stretch: Stretch) => sql`
  quiet as materialized (
    select account, utime, hash, prev_trans_hash from ton.transactions t
    where ${during('t', stretch)} and in_msg_hash is null),
  strangers as (
    select q.hash, q.utime, p.utime as last_utime from quiet q
      join lateral (
        select account, utime from ton.transactions p where p.hash = q.prev_trans_hash limit 1) p on p.account <> q.account
    union all
    select t.hash, t.utime, q.utime from quiet q join ton.transactions t on t.prev_trans_hash = q.hash
    where ${during('t', { from: stretch.from, to: stretch.to + NEAR })} and t.account <> q.account)`;

/**
 * Each transaction names its account's previous one, and its state before is the previous one's state after. A chain
 * that begins again (0, with status nonexist) has no predecessor. For an account's first transaction in a part of the
 * stretch, only the account can be compared. A transaction between the two is missing only if the state has changed
 * meanwhile. Both ends of a broken link are doubtful.
 */
async function checkStateChain(session: Session, stretch: Stretch): Promise<Result> {
  await joinByHash(session);
  const read = sql`ton.transactions t where ${during('t', stretch)}`;
  const findings = await findingsOf(session, {
    check: 'state-chain',
    dataset: 'transactions',
    query: sql`
      with t as (
        select account, lt, utime, hash, prev_trans_lt, prev_trans_hash, orig_status, before_hash, before_balance,
          before_account_status, lag(lt) over w as last_lt, lag(hash) over w as last_hash, lag(utime) over w as last_utime,
          lag(after_hash) over w as last_after, lag(after_balance) over w as last_balance,
          lag(after_account_status) over w as last_status
        from ${read} window w as (
          partition by ${partOf('t', stretch)}, account collate "C" order by lt)),
      broken as (
        select *, case
          when prev_trans_lt > last_lt and prev_trans_hash <> last_hash and (before_hash <> last_after) is not false
            then ${MISSING}::text
          when prev_trans_lt <> last_lt or prev_trans_hash <> last_hash then 'broken_link'
          when before_hash <> last_after or before_balance <> last_balance or before_account_status <> last_status
            then 'broken_state' end as kind
        from t where last_lt is not null and not (prev_trans_lt = 0 and orig_status = 'nonexist')),
      ${strangers(stretch)}
      select kind, case when exists (
          select 1 from ${quarantine} where ${quarantine.record_id} = b.prev_trans_hash) then 'known'
          when kind = ${MISSING} then 'hole' else 'doubt' end as outcome,
        hash as id, span
      from broken b cross join lateral (values (${secondOf('b')}), (${secondAt(sql`last_utime`)})) s (span)
      where kind is not null
      union all
      select 'other_account', 'doubt', hash, span
      from strangers s cross join lateral (values (${secondOf('s')}), (${secondAt(sql`last_utime`)})) d (span)`,
  });
  const counted = await countReadRows(session, transactions, { read, stretch });
  return { findings, rows: counted.rows, readRows: [counted] };
}
