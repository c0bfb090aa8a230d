import { sql } from 'drizzle-orm';
import { messages as messagesTable } from '../../db/schema/ton/messages.ts';
import type { Session } from '../../db/connection/database.ts';
import { common, HOUR, partsOf, type Range, type Stretch, stretchesOf, without } from '../../range.ts';
import { bookDoubts, bookSieve } from '../books/books.ts';
import { messageLists, transactionsWithMessages } from '../books/with-messages.ts';
import type { Check, CheckStep, Result } from '../check.ts';
import { type Finding, findingsOf } from '../finding.ts';
import { joinByHash } from '../run/at-speed.ts';
import { countByMinute, countRows } from '../../db/read/table-rows.ts';
import { letFollow } from '../let-follow.ts';
import { missingTransactions } from './transactions.ts';
import { floorOfTable } from '../../db/coverage/floors.ts';
import { during, secondAt, secondOf } from '../../db/connection/seconds.ts';

/**
 * Messages that a transaction's phases say were sent: those that its actions created, and one that bounced. Held against
 * the list that the source gave, because a message out of the chain carries no value that the books would miss. Null
 * where the source gave no action phase.
 */
const CREATED = sql`
  case when action_success then action_msgs_created when action_success is not null then 0 end
    + case when bounce_type = 'ok' then 1 else 0 end`;

const SURPLUS = 'surplus_out_messages';
const UNSENT = 'unsent_message';
const STRAY = 'stray_message';

/** A message that retention does not keep any more is not looked for; without it the transaction has no books. */
const isExpired = sql`coalesce(in_msg_utime < to_timestamp(${floorOfTable('messages')}), false)`;

/**
 * Each transaction's in message is stored, as many out messages as it lists, and it lists as many as it created. They are
 * to its account, and from it; where they are not, nobody knows which of the two is wrong.
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
  select 'messages', 'other_receiver', 'doubt', hash, ${secondAt(sql`place`)}
  from x, unnest(array[utime, in_msg_utime]) as place where is_anothers and place is not null
  union all
  select 'messages', 'other_sender', 'doubt', hash, ${secondOf('x')} from x where sends_anothers`;

/** Nearly all transactions are in order: only the others are kept to be looked at one way after the other. */
const sieve = sql`
  (in_msg_hash is not null and not received) or sent <> out_msg_count or (${CREATED}) <> out_msg_count
  or is_anothers or sends_anothers or ${bookSieve}`;

/** A message without a stored sender came from outside the chain, and was received at once: later nobody is looked for. */
const RECEIVED_WITHIN = HOUR;

/**
 * A message that no stored transaction has sent or received is nobody's. One that was received, and sent in a second in
 * which nobody has sent it, stands in another second or under another hash than its own.
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

/** The seconds between the parts of a stretch and behind it, in which its messages may have been received. */
function othersAround(stretch: Stretch): Stretch {
  const around = { from: stretch.from, to: stretch.to + RECEIVED_WITHIN };
  const [others = around] = stretchesOf(without([around], partsOf(stretch)), Infinity);
  return others;
}

const strayDoubts = sql`
  select 'messages', ${STRAY}::text, 'surplus', hash, ${secondOf('s')} from strays s where received_at is null
  union all
  select 'messages', ${UNSENT}::text, 'doubt', hash, ${secondAt(sql`place`)}
  from strays s, unnest(array[utime, received_at]) as place where was_sent and received_at is not null`;

/** Makes the check `books` in the same go. */
export const messages: Check = {
  name: 'messages',
  needs: [],
  async steps({ database }, { stretches }) {
    const pieces = await Promise.all(stretches.map((stretch) => piecesOf(database, stretch)));
    return pieces.flat().map((stretch): CheckStep => ({
      check: 'messages',
      also: 'books',
      stretch,
      run: (look) => look((session) => checkMessagesAndBooks(session, stretch)),
    }));
  },
  // What a missing transaction sent has no sender: that says nothing of whoever received it.
  unexplained: (finding, others) =>
    finding.kind === UNSENT ? letFollow(finding, missingTransactions(others)) : [finding],
};

/** Rows of one side that a join by hash keeps in memory with the settings of `atSpeed`. */
const MOST_ROWS = 250_000;

/**
 * Cuts a stretch at whole minutes into pieces of at most so many messages, or of one minute. A join of more rows than
 * memory holds goes over the disk, and takes twice as long.
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

/** Messages are counted and books are balanced in one go: both need every transaction with all its messages. */
async function checkMessagesAndBooks(session: Session, stretch: Stretch): Promise<Result> {
  await joinByHash(session);
  const findings = await findingsOf(session, {
    check: 'messages',
    dataset: 'transactions',
    query: sql`
      with ${messageLists(stretch)},
        x as materialized (select * from (${transactionsWithMessages(stretch)}) every where ${sieve}),
        ${strays(stretch)}
      ${messageDoubts} union all ${bookDoubts} union all ${strayDoubts}`,
  });
  const held = await countRows(session, messagesTable, stretch);
  return { findings: findings.map(withTable), rows: held };
}

/** Strays are messages. Of a transaction with more messages than it sent, its messages are doubtful: one of them may be under another's hash. */
function withTable(finding: Finding): Finding {
  if (finding.kind === STRAY || finding.kind === UNSENT) return { ...finding, table: messagesTable };
  if (finding.kind !== SURPLUS) return finding;
  const rows = finding.rows.map((row) => ({ ...row, table: 'transactions' }));
  return { ...finding, table: messagesTable, rows };
}
