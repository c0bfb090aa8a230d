import { sql, type SQL } from 'drizzle-orm';
import { blocks } from '../../tables/ton/blocks.ts';
import {
  transactions as transactionsTable,
  messages as messagesTable,
} from '../../tables/ton/transactions.ts';
import type { Session } from '../../postgres/database.ts';
import { type Range, type Stretch, common, HOUR, partsOf, stretchesOf, without } from '../../range.ts';
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
  NEAR,
} from './check.ts';
import { quarantine } from '../../tables/etl/quarantine.ts';
import { blockKeyOf } from './check-blocks.ts';
import { during, partOf, secondAt, secondOf } from '../../postgres/sql.ts';
import { countByMinute } from '../../read/table-rows.ts';
import { floorOfTable } from '../../ledger/stored-settings.ts';

/** The chain itself sends messages from this address, and no transaction does. */
const SYSTEM = `-1:${'0'.repeat(64)}`;

/** An address as a number: the lists hold a row for each message, and addresses would be their widest columns. */
const addressed = (column: string) => sql`hashtextextended(coalesce(${sql.identifier(column)}, ''), 0)`;

const nearOf = ({ from, to }: Range): Range => ({ from: from - NEAR, to });

const messagesOf = (stretch: Stretch) => sql`ton.messages m where ${during('m', nearOf(stretch))}`;
const ownOf = (part: Stretch) => sql`ton.transactions t where ${during('t', part)}`;

/**
 * Named queries. `near`: the messages of a stretch and of the hour before it; `was_sent` if they name the transaction
 * or account that sent them. `own`: its transactions. `sent`: what each of these sent. A message lies in the second of
 * the transaction that sent it. The tables are read once and joined as a whole.
 */
export function messageLists(stretch: Stretch): SQL {
  return sql`
    near as materialized (
      select utime, hash, out_msg_tx_hash, value, ihr_fee, fwd_fee,
        ${addressed('source')} as sender, ${addressed('destination')} as receiver,
        out_msg_tx_hash is not null or (source is not null and source <> ${SYSTEM} and created_lt is not null) as was_sent
      from ${messagesOf(stretch)}),
    own as materialized (
      select utime, hash, ${addressed('account')} as account, in_msg_hash, in_msg_utime, out_msg_count, orig_status, end_status, description_type,
        before_balance, after_balance, total_fees, action_success, action_msgs_created, bounce_type
      from ${ownOf(stretch)}),
    sent as (
      select out_msg_tx_hash as hash, utime, count(*) as messages, min(sender) as first_sender, max(sender) as last_sender,
        sum(coalesce(value, 0) + coalesce(fwd_fee, 0) + coalesce(ihr_fee, 0)) as value
      from near m where ${during('m', stretch)} and out_msg_tx_hash is not null group by 1, 2)`;
}

/**
 * A query over these lists: the transactions of a stretch, each with the stored message that it received. `received` is
 * false if it has none or if it is not stored. The query adds the number and value of the sent messages, and whether
 * messages name another account. A message has its sender's time, so all sent ones lie in the stretch, too.
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

/** An account that does not exist has no state and no balance. */
const BEFORE = sql`coalesce(before_balance, case when orig_status = 'nonexist' then 0 end)`;
const AFTER = sql`coalesce(after_balance, case when end_status = 'nonexist' then 0 end)`;

/**
 * balance after = balance before + value received - fees - (value + forward fee + ihr fee) of all messages sent. It is
 * computed for `x`, transactions with their messages.
 */
const DIFFERENCE = sql`${AFTER} - ${BEFORE} - coalesce(in_value, 0) + total_fees + out_value`;

/**
 * The transactions of `x` whose books can be checked: their messages are stored, and the source gave balances. A
 * message that did not use instant routing also brings its ihr fee: that amount is not a difference, and is null here.
 * @internal `npm run books` counts them.
 */
export const books = sql`
  select *, nullif(${DIFFERENCE}, coalesce(in_ihr_fee, 0)) as difference
  from x where ${BEFORE} is not null and ${AFTER} is not null and (in_msg_hash is null or received) and sent = out_msg_count`;

/** True if the books of an `x` may be wrong: a fast filter, which also passes some that have no books. */
const mayBeUnbalanced = sql`${DIFFERENCE} not in (0, coalesce(in_ihr_fee, 0))`;

/** A changed amount or fee shows in the books of the sender or the receiver, so both seconds are doubtful. */
const bookDoubts = sql`
  select 'books' as "check", 'unbalanced_' || description_type as kind, 'doubt' as outcome,
    hash || ' by ' || difference || ' nanotons' as id, span
  from (select * from (${books}) b where difference <> 0) b
  cross join lateral (values (${secondOf('b')}), (${secondAt(sql`coalesce(in_msg_utime, utime)`)})) s (span)`;

/**
 * How many messages a transaction sent, according to its phases: those of its actions, and one that bounced. It is
 * compared with the list of the source, because a message out of the chain carries no value that the books would miss.
 * Null if the source gave no action phase.
 */
const CREATED = sql`
  case when action_success then action_msgs_created when action_success is not null then 0 end
    + case when bounce_type = 'ok' then 1 else 0 end`;

const SURPLUS = 'surplus_out_messages';
const UNSENT = 'unsent_message';
const STRAY = 'stray_message';

/** Retention has dropped the message: it is not searched for, and the transaction has no books. */
const isExpired = sql`coalesce(in_msg_utime < to_timestamp(${floorOfTable('messages')}), false)`;

/**
 * Each transaction's in message is stored, and as many out messages as it lists; it lists as many as it created. The in
 * message goes to its account, and the out messages come from it. If they do not, it is unknown which of the two is
 * wrong.
 */
const messageDoubts = sql`
  select 'messages' as "check", 'missing_in_message' as kind, 'hole' as outcome, hash as id, ${secondOf('x')} as span
  from x where in_msg_hash is not null and not received and not ${isExpired}
  union all
  select 'messages', case when sent < out_msg_count then 'missing_out_messages' else ${SURPLUS}::text end,
    case when sent < out_msg_count then 'hole' else 'doubt' end, hash, ${secondOf('x')}
  from x where sent <> out_msg_count
  union all
  select 'messages', 'unlisted_out_messages', 'doubt', hash, ${secondOf('x')} from x where (${CREATED}) <> out_msg_count
  union all
  select 'messages', 'other_receiver', 'doubt', hash, ${secondAt(sql`moment`)}
  from x, unnest(array[utime, in_msg_utime]) as moment where is_anothers and moment is not null
  union all
  select 'messages', 'other_sender', 'doubt', hash, ${secondOf('x')} from x where sends_anothers`;

/** Nearly all transactions are in order. Only the others are kept for the single checks. */
const mayBeWrong = sql`
  (in_msg_hash is not null and not received) or sent <> out_msg_count or (${CREATED}) <> out_msg_count
  or is_anothers or sends_anothers or ${mayBeUnbalanced}`;

/** A message without a stored sender came from outside the chain, and was received at once. */
const RECEIVED_WITHIN = HOUR;

/**
 * A message that no stored transaction sent or received is a stray. If it was received, but no transaction sent it in
 * its second, its second or its hash is wrong.
 */
const strays = (stretch: Stretch) => sql`
  senderless as materialized (
    select m.utime, m.hash, m.was_sent from near m where ${during('m', stretch)} and not exists (
      select 1 from own t where t.utime = m.utime and t.hash = m.out_msg_tx_hash)),
  receivers as (
    select utime, in_msg_hash, in_msg_utime from own
    union all
    select utime, in_msg_hash, in_msg_utime from ton.transactions t
    where ${during('t', othersAround(stretch))}),
  strays as materialized (
    select s.utime, s.hash, s.was_sent, t.utime as received_at from senderless s left join receivers t
      on t.in_msg_hash = s.hash and t.in_msg_utime = s.utime)`;

/** The seconds between the parts of a stretch and after it, in which its messages may have been received. */
function othersAround(stretch: Stretch): Stretch {
  const around = { from: stretch.from, to: stretch.to + RECEIVED_WITHIN };
  const [others = around] = stretchesOf(without([around], partsOf(stretch)), Infinity);
  return others;
}

const strayDoubts = sql`
  select 'messages', ${STRAY}::text, 'surplus', hash, ${secondOf('s')} from strays s where received_at is null
  union all
  select 'messages', ${UNSENT}::text, 'doubt', hash, ${secondAt(sql`moment`)}
  from strays s, unnest(array[utime, received_at]) as moment where was_sent and received_at is not null`;

/** Runs the check `books`, too. */
export const messages: Check = {
  name: 'messages',
  reads: () => [messagesTable, transactionsTable],
  async steps({ database }, { stretches }) {
    const pieces = await Promise.all(stretches.map((stretch) => piecesOf(database, stretch)));
    return pieces.flat().map((stretch): CheckStep => ({
      check: 'messages',
      also: 'books',
      stretch,
      run: (look) => look((session) => checkMessagesAndBooks(session, stretch)),
    }));
  },
  // A message of a missing transaction has no sender, which says nothing about its receiver.
  unexplained: (finding, others) =>
    finding.kind === UNSENT ? splitFollowing(finding, missingTransactions(others)) : [finding],
};

/** Rows of one side that a hash join keeps in memory with the settings of `onFastSnapshot`. */
const MOST_ROWS = 250_000;

/**
 * Cuts a stretch at whole minutes into pieces of at most `mostRows` messages, or of one minute. A join of more rows
 * than fit in memory spills to disk and takes twice as long.
 */
export async function piecesOf(session: Session, stretch: Stretch, mostRows = MOST_ROWS): Promise<Stretch[]> {
  const pieces: Range[] = [];
  let { from } = stretch;
  let inPiece = 0;
  for (const [start, rows] of await countByMinute(session, messagesTable, stretch)) {
    if (inPiece + rows > mostRows && start > from) {
      pieces.push({ from, to: start });
      from = start;
      inPiece = 0;
    }
    inPiece += rows;
  }
  return [...pieces, { from, to: stretch.to }].flatMap((piece) =>
    stretchesOf(common([piece], partsOf(stretch)), Infinity),
  );
}

/** Counts messages and balances books together: both need every transaction with all its messages. */
async function checkMessagesAndBooks(session: Session, stretch: Stretch): Promise<Result> {
  await joinByHash(session);
  const findings = await findingsOf(session, {
    check: 'messages',
    dataset: 'transactions',
    query: sql`
      with ${messageLists(stretch)},
        x as materialized (select * from (${transactionsWithMessages(stretch)}) every where ${mayBeWrong}),
        ${strays(stretch)}
      ${messageDoubts} union all ${bookDoubts} union all ${strayDoubts}`,
  });
  return resultOf(session, stretch, findings.map(withMessagesTable), [
    [messagesTable, messagesOf(stretch)],
    [transactionsTable, ownOf(stretch)],
  ]);
}

/** Strays are messages. If a transaction has surplus messages, one of them may belong to another transaction. */
function withMessagesTable(finding: Finding): Finding {
  if (finding.kind === STRAY || finding.kind === UNSENT) return { ...finding, table: messagesTable };
  if (finding.kind !== SURPLUS) return finding;
  const rows = finding.rows.map((row) => ({ ...row, table: 'transactions' }));
  return { ...finding, table: messagesTable, rows };
}

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
const NEAR_SECONDS = 60;

/** Kind of the finding that names the transactions. */
const OF_TRANSACTIONS = 'other_second_than_block';

/**
 * If a block is moved to another second together with its links, the closure still holds. But no block is earlier than
 * its parent, and its stored transactions must lie in its second.
 */
export const blockSeconds: Check = {
  name: 'block-seconds',
  reads: () => [blocks],
  steps: eachStretch('block-seconds', checkSeconds),
};

async function checkSeconds(session: Session, stretch: Stretch): Promise<Result> {
  await joinByHash(session);
  const near = { from: stretch.from - NEAR_SECONDS, to: stretch.to + NEAR_SECONDS };
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
  return resultOf(session, stretch, findings.map(withTransactionsTable), [[blocks, read]]);
}

function withTransactionsTable(finding: Finding): Finding {
  if (finding.kind !== OF_TRANSACTIONS) return finding;
  return { ...finding, rows: finding.rows.map((row) => ({ ...row, table: 'transactions' })) };
}

const MISSING = 'missing_predecessor';
const DOUBLED = 'doubled_transaction';

export const stateChain: Check = {
  name: 'state-chain',
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
    where ${during('t', { from: stretch.from, to: stretch.to + NEAR_SECONDS })} and t.account <> q.account)`;

/**
 * Each transaction names its account's previous one, and its state before is the previous one's state after. A chain
 * that begins again (0, with status nonexist) has no predecessor. For an account's first transaction in a part of the
 * stretch, only the account can be compared. A transaction between the two is missing only if the state has changed
 * meanwhile. Both ends of a broken link are doubtful. If a transaction is stored twice, the one that is not in the second
 * of its block is surplus.
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
          before_account_status, block_workchain, block_shard, block_seqno, lag(lt) over w as last_lt, lag(hash) over w as last_hash, lag(utime) over w as last_utime,
          lag(after_hash) over w as last_after, lag(after_balance) over w as last_balance,
          lag(after_account_status) over w as last_status
        from ${read} window w as (
          partition by ${partOf('t', stretch)}, account collate "C" order by lt)),
      broken as (
        select *, case
          when lt = last_lt then ${DOUBLED}::text
          when prev_trans_lt > last_lt and prev_trans_hash <> last_hash and (before_hash <> last_after) is not false
            then ${MISSING}::text
          when prev_trans_lt <> last_lt or prev_trans_hash <> last_hash then 'broken_link'
          when before_hash <> last_after or before_balance <> last_balance or before_account_status <> last_status
            then 'broken_state' end as kind
        from t where last_lt is not null and (lt = last_lt or not (prev_trans_lt = 0 and orig_status = 'nonexist'))),
      ${strangers(stretch)}
      select kind, case when exists (
          select 1 from ${quarantine} where ${quarantine.record_id} = b.prev_trans_hash) then 'known'
          when kind = ${MISSING} then 'hole'
          when kind = ${DOUBLED} and not exists (select 1 from ton.blocks k where k.utime = to_timestamp(lower(span)::float8)
            and k.workchain = b.block_workchain and k.shard = b.block_shard and k.seqno = b.block_seqno) then 'surplus'
          else 'doubt' end as outcome,
        hash as id, span
      from broken b cross join lateral (values (${secondOf('b')}), (${secondAt(sql`last_utime`)})) s (span)
      where kind is not null
      union all
      select 'other_account', 'doubt', hash, span
      from strangers s cross join lateral (values (${secondOf('s')}), (${secondAt(sql`last_utime`)})) d (span)`,
  });
  return resultOf(session, stretch, findings, [[transactionsTable, read]]);
}
