import { sql, type SQL } from 'drizzle-orm';
import { action_accounts, action_transactions, actions as actionsTable } from '../../tables/ton/actions.ts';
import type { Session } from '../../postgres/database.ts';
import type { Stretch } from '../../range.ts';
import { type Check, type Result, joinByHash } from './check.ts';
import { findingsOf } from './finding.ts';
import { countReadRows } from '../../write/seals.ts';
import { during, secondOf } from '../../postgres/sql.ts';

const NAME = 'actions';

/** Compares actions with traces whose seconds are proved. Nothing tells whether an action is missing. */
export const actions: Check = {
  name: NAME,
  needs: ['traces'],
  reads: () => [actionsTable, action_transactions, action_accounts],
  isOptional: true,
  steps: (_, { stretches }) =>
    stretches.map((stretch) => ({
      check: NAME,
      stretch,
      run: (look) => look((session) => checkActions(session, stretch)),
    })),
};

/**
 * Each action belongs to a stored trace that ended when the action says, and lies within it. Each transaction that it
 * names belongs to that trace. It has as many accounts and transactions as it counts.
 */
async function checkActions(session: Session, stretch: Stretch): Promise<Result> {
  await joinByHash(session);
  const findings = await findingsOf(session, { check: NAME, dataset: 'actions', query: doubts(stretch) });
  const hold = (table: object, read: SQL) => countReadRows(session, table, { read, stretch });
  const counted = [
    await hold(actionsTable, actionsOf(stretch)),
    await hold(action_transactions, membersOf(stretch)),
    await hold(action_accounts, accountsOf(stretch)),
  ];
  return { findings, rows: counted[0]?.rows ?? 0, readRows: counted };
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
