import { sql } from 'drizzle-orm';
import { transactions as transactionsTable } from '../../tables/ton/transactions.ts';
import type { Session } from '../../postgres/database.ts';
import type { Range, Stretch } from '../../range.ts';
import type { Check, Result, CheckStep } from './check.ts';
import { findingsOf, spansOf, type Finding } from './finding.ts';
import { countReadRows } from '../../write/seals.ts';
import { quarantine } from '../../tables/etl/quarantine.ts';
import { blockKeyOf } from './check-blocks.ts';
import { during, secondOf } from '../../postgres/sql.ts';

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
  const counted = await countReadRows(session, transactionsTable, { read, stretch: proved });
  return { findings, rows: counted.rows, readRows: [counted] };
}
