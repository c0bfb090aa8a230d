import { sql, type SQL } from 'drizzle-orm';
import { DatabaseError } from '../../../errors.ts';
import { answersOf } from '../../connection/answers-of.ts';
import type { OpenTransaction, Session } from '../../connection/database.ts';
import { worked } from '../../connection/sql.ts';
import { isNotTakenAsNew } from '../../connection/translate.ts';
import { markCopying } from '../../coordination/copying.ts';
import type { Lease } from '../../coordination/leases.ts';
import { leaveReceiptOfNew } from '../receipts.ts';
import type { Lines } from './line-bytes.ts';
import { lockTables } from './lock-tables.ts';
import type { Target } from './target.ts';
import { verifiedSeconds, type Unverified } from './unverify.ts';
import { Written } from './written.ts';

/** Rows that were sent as new ones are not, or their table does something of its own with rows: they go the other way. */
export class NotNewError extends DatabaseError {
  override readonly code = 'not_new';
}

/**
 * Copies rows that are new straight into their tables, which costs the server less than by way of a staging table. All
 * tables of the page are locked first, in the one order. Should this process stand still meanwhile, the rows that it has
 * sent hold up others until its lease has ended: then `endStrayCopies` ends the session.
 * @throws NotNewError where a row is stored already, DatabaseUnavailableError where the session was ended meanwhile
 */
export async function copyNew(session: Session, byTable: readonly Lines[], lease: Lease): Promise<void> {
  const fresh = byTable.filter(({ isNew }) => isNew);
  if (fresh.length === 0) return;
  await answersOf([
    markCopying(session, lease),
    lockTables(
      session,
      byTable.map(({ target }) => target),
      'shared',
    ),
    ...fresh.map(({ target, pieces }) => session.copyIn(target.copy, pieces()).catch(explain)),
  ]);
}

function explain(error: unknown): never {
  if (isNotTakenAsNew(error))
    throw new NotNewError('a row is stored already, or its table is not a plain one', { cause: error });
  throw error;
}

/**
 * Leaves the receipts of what `copyNew` has brought in the same transaction. Before anything else is written there: by
 * whose they are and when they came, these rows are found.
 * @returns what has to be unverified
 * @throws NotNewError where a table has fewer or other rows than it was sent: a trigger may drop or change them
 */
export async function leaveReceiptsOfNew(
  session: OpenTransaction,
  byTable: readonly Lines[],
): Promise<Unverified[]> {
  return answersOf(byTable.filter(({ isNew }) => isNew).map((rows) => leaveReceiptOf(session, rows)));
}

async function leaveReceiptOf(
  session: OpenTransaction,
  { target, count, times }: Lines,
): Promise<Unverified> {
  const receipt = receiptOf(target)({ times: `{${[...times].join(',')}}` });
  const [written] = await session.rows(receipt, Written).catch(explain);
  if (written?.rows !== count) throw new NotNewError('rows were dropped or changed on their way');
  return { target, seconds: written.seconds };
}

type Receipt = ReturnType<typeof worked>;

const receipts = new WeakMap<Target, Receipt>();

function receiptOf(target: Target): Receipt {
  const known = receipts.get(target) ?? worked(receiptOfCopied(target));
  receipts.set(target, known);
  return known;
}

/**
 * A statement that tells `Written` of the rows of some seconds that this transaction has written. Not of all seconds
 * between: a trace may have lasted for days.
 */
function receiptOfCopied(target: Target): SQL {
  const times = sql`${sql.placeholder('times')}::timestamptz[]`;
  // The last columns of a row, such as when it came, take as long to find as all before them.
  const copied = sql`from ${target.into} t where t.utime = any(${times}) and t.xmin = pg_current_xact_id()::xid`;
  return sql`
    with receipt as (${leaveReceiptOfNew(target, copied)})
    select coalesce(sum(rows), 0) as rows, (${verifiedSeconds(sql`(select unnest(${times}) as utime)`)}) as seconds
    from receipt`;
}
