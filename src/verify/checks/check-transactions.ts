import { sql } from 'drizzle-orm';
import { blocks } from '../../tables/ton/blocks.ts';
import { transactions as transactionsTable } from '../../tables/ton/transactions.ts';
import type { Session } from '../../postgres/database.ts';
import type { Range, Stretch } from '../../range.ts';
import {
  type Check,
  type CheckStep,
  type Result,
  eachStretch,
  joinByHash,
  resultOf,
  splitFollowing,
  findingsOf,
  spansOf,
  type Finding,
} from './check.ts';
import { quarantine } from '../../tables/etl/quarantine.ts';
import { blockKeyOf } from './check-blocks.ts';
import { during, partOf, secondAt, secondOf } from '../../postgres/sql.ts';

/*
 * Checks of transactions: against the blocks that count them, against the seconds of these blocks, and against each
 * other.
 */

const NAME = 'transactions';
const MISSING_TRANSACTIONS = 'missing_transactions';
/** Kinds of findings which say that seconds lack transactions, or that it is unknown whether they do. */
const LACKING = new Set([
  MISSING_TRANSACTIONS,
  'no_proved_blocks',
  'no_shard',
  'quarantined',
  'vanished_rows_of_transactions',
]);

export const transactions: Check = {
  name: NAME,
  needs: ['blocks'],
  reads: () => [transactionsTable],
  steps: (_, { stretches }) => stretches.map(countTransactions),
};

/** Seconds in which transactions may be missing, according to the findings of their dataset. */
export function missingTransactions(findings: readonly Finding[]): readonly Range[] {
  return spansOf(findings.filter(({ kind }) => LACKING.has(kind)));
}

/** The check of seconds whose blocks are known to be complete. */
export function countTransactions(proved: Stretch): CheckStep {
  return {
    check: NAME,
    stretch: proved,
    run: (look) => look((session) => checkTransactions(session, proved)),
  };
}

/**
 * Each block says how many transactions it holds, and that many must be stored for it. The blocks of `proved` are known
 * to be complete. Older servers omit the shard of a transaction's block, and their seconds get no verdict.
 */
async function checkTransactions(session: Session, proved: Stretch): Promise<Result> {
  const read = sql`ton.transactions t where ${during('t', proved)}`;
  const findings = await findingsOf(session, {
    check: NAME,
    dataset: 'transactions',
    query: sql`
      with held as (
        select utime, block_workchain as workchain, block_shard as shard, block_seqno as seqno, count(*) as transactions
        from ${read} and block_shard is not null group by 1, 2, 3, 4),
      listed as (select utime, workchain, shard, seqno, tx_count from ton.blocks b where ${during('b', proved)}),
      shardless as (
        select distinct utime from ${read} and block_shard is null),
      x as (
        select utime, workchain, shard, seqno, tx_count, coalesce(transactions, 0) as transactions
        from listed full join held using (utime, workchain, shard, seqno)
        where tx_count is distinct from coalesce(transactions, 0))
      select case when transactions > coalesce(tx_count, 0) then 'surplus_transactions' else ${MISSING_TRANSACTIONS}::text end as kind,
        case when exists (select 1 from ${quarantine}
          where ${quarantine.dataset} = 'transactions' and ${quarantine.utime} = x.utime) then 'known'
          when transactions > coalesce(tx_count, 0) then 'surplus' else 'hole' end as outcome,
        ${blockKeyOf('x')} || ' has ' || transactions || ' of ' || coalesce(tx_count, 0) as id,
        ${secondOf('x')} as span
      from x where not exists (select 1 from shardless s where s.utime = x.utime)
      union all
      select 'no_shard', 'open', utime::text, ${secondOf('s')} from shardless s`,
  });
  return resultOf(session, proved, findings, [[transactionsTable, read]]);
}

/** How many seconds around a stretch the neighbors of its blocks and transactions are searched for. */
const NEAR = 60;

/** Kind of the finding that names the transactions. */
const OF_TRANSACTIONS = 'other_second_than_block';

/**
 * If a block is moved to another second together with its links, the closure still holds. But no block is earlier than
 * its parent, and its stored transactions must lie in its second.
 */
export const blockSeconds: Check = {
  name: 'block-seconds',
  needs: [],
  reads: () => [blocks],
  steps: eachStretch('block-seconds', checkSeconds),
};

async function checkSeconds(session: Session, stretch: Stretch): Promise<Result> {
  await joinByHash(session);
  const near = { from: stretch.from - NEAR, to: stretch.to + NEAR };
  const read = sql`(select * from ton.blocks b where ${during('b', near)}) b`;
  const findings = await findingsOf(session, {
    check: blockSeconds.name,
    dataset: 'blocks',
    // It is unknown which of the two is wrong.
    query: sql`
      select n.kind, 'doubt' as outcome, n.id, s.span
      from ${read} join ton.transactions t
        on t.block_workchain = b.workchain and t.block_shard = b.shard and t.block_seqno = b.seqno
      cross join lateral (values (${secondOf('b')}), (${secondOf('t')})) s (span)
      cross join lateral (values
        ('other_second_than_transactions', ${blockKeyOf('b')}), (${OF_TRANSACTIONS}::text, t.hash)) n (kind, id)
      where ${during('t', near)} and (${during('b', stretch)} or ${during('t', stretch)})
        and t.utime <> b.utime
      union all
      select 'earlier_than_parent', 'doubt', ${blockKeyOf('p')}, s.span
      from ton.block_parents p join ${read}
        on b.workchain = p.parent_workchain and b.shard = p.parent_shard and b.seqno = p.parent_seqno
      cross join lateral (values (${secondOf('p')}), (${secondOf('b')})) s (span)
      where ${during('p', near)} and (${during('p', stretch)} or ${during('b', stretch)})
        and b.utime > p.utime`,
  });
  return resultOf(session, stretch, findings.map(withTable), [[blocks, read]]);
}

function withTable(finding: Finding): Finding {
  if (finding.kind !== OF_TRANSACTIONS) return finding;
  return { ...finding, rows: finding.rows.map((row) => ({ ...row, table: 'transactions' })) };
}

const MISSING = 'missing_predecessor';

export const stateChain: Check = {
  name: 'state-chain',
  needs: [],
  reads: () => [transactionsTable],
  steps: eachStretch('state-chain', checkStateChain),
  // If a transaction is missing, its own second is known. Its neighbors are all there, and need not be read again.
  unexplained: (finding, others) =>
    finding.kind === MISSING ? splitFollowing(finding, missingTransactions(others)) : [finding],
};

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
  return resultOf(session, stretch, findings, [[transactionsTable, read]]);
}
