import { sql, type SQL } from 'drizzle-orm';
import { messages as messagesTable } from '../../tables/ton/messages.ts';
import { transactions } from '../../tables/ton/transactions.ts';
import type { Session } from '../../postgres/database.ts';
import { common, HOUR, partsOf, type Range, type Stretch, stretchesOf, without } from '../../range.ts';
import {
  type Check,
  type CheckStep,
  type Result,
  NEAR,
  joinByHash,
  splitFollowing,
  resultOf,
  type Finding,
  findingsOf,
} from './check.ts';
import { countByMinute } from '../../read/table-rows.ts';
import { missingTransactions } from './check-transactions.ts';
import { floorOfTable } from '../../ledger/stored-settings.ts';
import { during, secondAt, secondOf } from '../../postgres/sql.ts';

/** The chain itself sends messages from this address, and no transaction does. */
const SYSTEM = `-1:${'0'.repeat(64)}`;

/** An address as a number: the lists hold a row for each message, and addresses would be their widest columns. */
const addressed = (column: string) => sql`hashtextextended(coalesce(${sql.identifier(column)}, ''), 0)`;

const nearOf = ({ from, to }: Range): Range => ({ from: from - NEAR, to });

const messagesOf = (stretch: Stretch) => sql`ton.messages m where ${during('m', nearOf(stretch))}`;
const ownOf = (stretch: Stretch) => sql`ton.transactions t where ${during('t', stretch)}`;

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
  needs: [],
  reads: () => [messagesTable, transactions],
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
  return resultOf(session, stretch, findings.map(withTable), [
    [messagesTable, messagesOf(stretch)],
    [transactions, ownOf(stretch)],
  ]);
}

/** Strays are messages. If a transaction has surplus messages, one of them may belong to another transaction. */
function withTable(finding: Finding): Finding {
  if (finding.kind === STRAY || finding.kind === UNSENT) return { ...finding, table: messagesTable };
  if (finding.kind !== SURPLUS) return finding;
  const rows = finding.rows.map((row) => ({ ...row, table: 'transactions' }));
  return { ...finding, table: messagesTable, rows };
}
