import { sql, type SQL } from 'drizzle-orm';
import { action_accounts, action_transactions, actions as actionsTable } from '../../tables/ton/actions.ts';
import { trace_nodes, traces as tracesTable } from '../../tables/ton/traces.ts';
import type { Session } from '../../postgres/database.ts';
import { readCoverage } from '../../ledger/stored-coverage.ts';
import { floorOfTable } from '../../ledger/stored-settings.ts';
import { HOUR, type Range, type Stretch } from '../../range.ts';
import {
  type Check,
  type Result,
  type CheckStep,
  NEAR,
  eachStretch,
  joinByHash,
  resultOf,
  findingsOf,
  type Finding,
} from './check.ts';
import { quarantine } from '../../tables/etl/quarantine.ts';
import { during, secondOf } from '../../postgres/sql.ts';

/* Checks of traces, and of actions against the traces that they belong to. */

const NAME = 'traces';
/** How long after the stretch continuations and copies are searched for: later ones belong to the next stretch. */
const AFTERMATH = HOUR;

export const traces: Check = {
  name: NAME,
  reads: () => [trace_nodes, tracesTable],
  async steps({ database }, { stretches }) {
    const known = await readCoverage(database, { dataset: 'transactions', scope: '', pass: 0 });
    return stretches.map((stretch): CheckStep => {
      const end = known.find(({ from, to }) => from < stretch.to && to >= stretch.to)?.to ?? stretch.to;
      const until = Math.min(end, stretch.to + AFTERMATH);
      return {
        check: NAME,
        stretch,
        run: (look) => look((session) => checkTraces(session, stretch, until)),
      };
    });
  },
};

/**
 * A complete trace has as many transactions as it says, each of them is stored, and it lies in the second of its latest
 * transaction. And every trace is stored whose transactions are all stored and have no message that waits for its
 * receiver. Transactions are proved up to `transactionsUntil`.
 */
async function checkTraces(session: Session, stretch: Stretch, transactionsUntil: number): Promise<Result> {
  const near = { from: stretch.from - NEAR, to: transactionsUntil };
  await joinByHash(session);
  const findings: Finding[] = [];
  for (const query of [
    bodiless(stretch),
    unlisted(stretch, near),
    incomplete(stretch),
    stray(stretch, { ...near, to: stretch.to + AFTERMATH }),
    misplaced(stretch),
  ])
    findings.push(...(await findingsOf(session, { check: NAME, dataset: 'traces', query })));
  return resultOf(session, stretch, findings, [
    [trace_nodes, nodesOf(stretch)],
    [tracesTable, tracesOf(stretch)],
  ]);
}

const tracesOf = (stretch: Stretch) => sql`(select * from ton.traces t where ${during('t', stretch)}) t`;
const nodesOf = (stretch: Stretch) => sql`ton.trace_nodes e where ${during('e', stretch)}`;

/**
 * Traces that are larger than the source returns come without their tree, and say so. If a tree has too many nodes,
 * some are from an earlier reading, and another reading would not remove them.
 */
const incomplete = (stretch: Stretch) => sql`
  select case when e.nodes > t.transactions then 'surplus_nodes' else 'missing_nodes' end as kind,
    case when e.nodes > t.transactions then 'surplus' else 'hole' end as outcome, t.trace_id as id, ${secondOf('t')} as span
  from ${tracesOf(stretch)}
  left join (select utime, trace_id, count(*) as nodes from ${nodesOf(stretch)} group by 1, 2) e
    using (utime, trace_id)
  where t.is_incomplete is not true and t.transactions is not null
    and coalesce(e.nodes, 0) <> t.transactions`;

/** Nodes of no stored trace, and transactions that belong to two traces, one of which may end beyond the stretch. */
const stray = (stretch: Stretch, near: Range) => sql`
  select 'stray_node' as kind, 'surplus' as outcome, e.tx_hash as id, ${secondOf('e')} as span
  from ${nodesOf(stretch)} and not exists (
    select 1 from ton.traces t where ${during('t', stretch)} and t.utime = e.utime and t.trace_id = e.trace_id)
  union all
  select 'doubled_node', 'surplus', e.tx_hash, ${secondOf('e')}
  from ton.trace_nodes e join (
    select tx_hash from ton.trace_nodes e where ${during('e', near)} group by 1
    having count(*) > 1 and bool_or(${during('e', stretch)})) d using (tx_hash)
  where ${during('e', near)}`;

/** The second of a trace's latest transaction; null if one is not stored. Each is looked up without a hash join. */
const last = sql`(
  select max(x.utime) from ton.trace_nodes e
    left join lateral (select x.utime from ton.transactions x where x.hash = e.tx_hash limit 1) x on true
  where e.utime = t.utime and e.trace_id = t.trace_id having count(*) = count(x.utime))`;

/** Traces whose second is not that of their latest transaction. */
const misplaced = (stretch: Stretch) => sql`
  with placed as (
    select e.utime, e.trace_id, bool_or(x.utime = e.utime) as is_there, bool_or(x.utime > e.utime) as goes_on
    from ton.trace_nodes e join ton.transactions x on x.hash = e.tx_hash and x.utime >= e.utime
    where ${during('e', stretch)} and ${during('x', { from: stretch.from, to: stretch.to + AFTERMATH })} group by 1, 2),
  suspect as materialized (
    select t.utime, t.trace_id, ${last} as last from ton.traces t left join placed p using (utime, trace_id)
    where ${during('t', stretch)} and (p.goes_on or p.is_there is not true))
  select 'misplaced_trace' as kind, 'surplus' as outcome, s.trace_id as id, ${secondOf('s')} as span
  from suspect s where s.last <> s.utime`;

/**
 * The trace began before the time from which retention keeps transactions: reading it again brings none of them back.
 */
const isPartlyExpired = sql`exists (
  select 1 from ton.traces t where t.utime = g.utime and t.trace_id = g.trace_id
    and t.start_utime < to_timestamp(${floorOfTable('transactions')}))`;

/**
 * The transactions of a trace are older than its end, so they may lie before the stretch. Few of them are far away.
 * Each of those is looked up by itself, because a hash join would read the whole table.
 */
const bodiless = (stretch: Stretch) => sql`
  with unseen as materialized (
    select e.* from ${nodesOf(stretch)} and not exists (
      select 1 from ton.transactions t where t.hash = e.tx_hash
        and ${during('t', { from: stretch.from - NEAR, to: stretch.to })})),
  gone as (
    select u.* from unseen u where (select true from ton.transactions t where t.hash = u.tx_hash limit 1) is null)
  select 'missing_transaction' as kind,
    ${knownIf(sql`g.tx_hash`, sql`case when ${isPartlyExpired} then 'expired' else 'hole' end`)} as outcome, g.tx_hash as id,
    ${secondOf('g')} as span
  from gone g`;

/** A trace is over if no message within the chain waits for its receiver. In another second it counts as missing. */
const unlisted = (stretch: Stretch, near: Range) => sql`
  with ends as (
    select trace_id, max(utime) as utime from ton.transactions t
    where ${during('t', near)} and trace_id is not null group by 1),
  unseen as materialized (
    select e.* from ends e where ${during('e', stretch)} and not exists (
      select 1 from ton.traces t where ${during('t', stretch)} and t.trace_id = e.trace_id and t.utime = e.utime)),
  absent as materialized (
    select u.* from unseen u where (select true from ton.traces t where t.trace_id = u.trace_id limit 1) is null),
  sent as (
    select t.trace_id, m.hash, m.utime from ton.messages m join ton.transactions t on t.hash = m.out_msg_tx_hash
    where ${during('m', near)} and ${during('t', near)} and m.destination is not null
      and t.trace_id in (select trace_id from absent)),
  waiting as (
    select distinct trace_id from sent s where not exists (
      select 1 from ton.transactions r where ${during('r', near)} and r.in_msg_hash = s.hash and r.in_msg_utime = s.utime))
  select 'missing_trace' as kind, ${knownIf(sql`a.trace_id`, 'doubt')} as outcome, a.trace_id as id,
    ${secondOf('a')} as span
  from absent a where a.trace_id not in (select trace_id from waiting)
  union all
  select 'misplaced_trace', 'hole', u.trace_id, ${secondOf('u')}
  from unseen u
    cross join lateral (select t.utime, t.trace_id from ton.traces t where t.trace_id = u.trace_id offset 0) t
  where ${last} = u.utime
  union all
  select 'no_trace_named', 'open', t.hash, ${secondOf('t')} from ton.transactions t
  where ${during('t', stretch)} and t.trace_id is null
    and not exists (select 1 from ton.trace_nodes e where ${during('e', near)} and e.tx_hash = t.hash)`;

function knownIf(recordId: SQL, otherwise: string | SQL): SQL {
  return sql`case when exists (select 1 from ${quarantine}
    where ${quarantine.dataset} in ('traces', 'transactions') and ${quarantine.record_id} = ${recordId}) then 'known' else ${otherwise} end`;
}

/** Compares actions with traces whose seconds are proved. Nothing tells whether an action is missing. */
export const actions: Check = {
  name: 'actions',
  reads: () => [actionsTable, action_transactions, action_accounts],
  isOptional: true,
  steps: eachStretch('actions', checkActions),
};

/**
 * Each action belongs to a stored trace that ended when the action says, and lies within it. Each transaction that it
 * names belongs to that trace. It has as many accounts and transactions as it counts.
 */
async function checkActions(session: Session, stretch: Stretch): Promise<Result> {
  await joinByHash(session);
  const findings = await findingsOf(session, {
    check: 'actions',
    dataset: 'actions',
    query: doubts(stretch),
  });
  return resultOf(session, stretch, findings, [
    [actionsTable, actionsOf(stretch)],
    [action_transactions, membersOf(stretch)],
    [action_accounts, accountsOf(stretch)],
  ]);
}

const actionsOf = (stretch: Stretch) => sql`ton.actions a where ${during('a', stretch)}`;
const membersOf = (stretch: Stretch) => sql`ton.action_transactions m where ${during('m', stretch)}`;
const accountsOf = (stretch: Stretch) => sql`ton.action_accounts c where ${during('c', stretch)}`;

/** A trace that is larger than the server returns has no tree, so its transactions cannot be compared with one. */
const doubts = (stretch: Stretch) => sql`
  with a as materialized (
    select utime, trace_id, action_id, start_utime, start_lt, end_utime, end_lt, trace_end_lt, trace_mc_seqno_end,
      account_count, transaction_count
    from ${actionsOf(stretch)}),
  t as materialized (
    select utime, trace_id, start_utime, start_lt, end_lt, mc_seqno_end, is_incomplete
    from ton.traces t where ${during('t', stretch)}),
  members as materialized (
    select utime, trace_id, action_id, tx_hash from ${membersOf(stretch)}),
  accounts as (
    select utime, trace_id, action_id, count(*) as rows from ${accountsOf(stretch)}
    group by 1, 2, 3),
  transactions as (select utime, trace_id, action_id, count(*) as rows from members group by 1, 2, 3),
  placed as (
    select a.*, case
        when t.trace_id is null then 'action_without_trace'
        when a.trace_end_lt <> t.end_lt or a.trace_mc_seqno_end <> t.mc_seqno_end then 'other_trace_end'
        when a.start_lt < t.start_lt or a.end_lt > t.end_lt or a.start_lt > a.end_lt or a.start_utime < t.start_utime
          or a.end_utime > a.utime or a.start_utime > a.end_utime then 'action_beyond_trace' end as kind
    from a left join t using (utime, trace_id)),
  counted as (
    select utime, trace_id || ' ' || action_id as id
    from a full join accounts c using (utime, trace_id, action_id) full join transactions m using (utime, trace_id, action_id)
    where a.action_id is null or coalesce(a.account_count, c.rows, 0) <> coalesce(c.rows, 0)
      or coalesce(a.transaction_count, m.rows, 0) <> coalesce(m.rows, 0)),
  strangers as (
    select m.utime, m.trace_id || ' ' || m.action_id as id from members m join t using (utime, trace_id)
    where t.is_incomplete is not true and not exists (
      select 1 from ton.trace_nodes e where ${during('e', stretch)}
        and e.utime = m.utime and e.trace_id = m.trace_id and e.tx_hash = m.tx_hash))
  select kind, 'doubt' as outcome, trace_id || ' ' || action_id as id, ${secondOf('p')} as span from placed p where kind is not null
  union all
  select 'other_members', 'doubt', id, ${secondOf('c')} from counted c
  union all
  select 'transaction_of_no_trace', 'doubt', id, ${secondOf('s')} from strangers s`;
