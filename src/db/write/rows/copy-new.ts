import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { DatabaseError } from '../../../errors.ts';
import { spanOfSecond, toMultirangeText, union } from '../../../range.ts';
import { answersOf } from '../../connection/answers-of.ts';
import type { Session } from '../../connection/database.ts';
import { isNotTakenAsNew } from '../../connection/translate.ts';
import { markCopying } from '../../coordination/copying.ts';
import type { Lease } from '../../coordination/leases.ts';
import { leaveSums } from '../receipts.ts';
import type { Lines } from './line-bytes.ts';
import { lockTables } from './lock-tables.ts';
import { isVerified, type Unverified } from './unverify.ts';

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
  const fresh = newOf(byTable);
  if (fresh.length === 0) return;
  const [, , ...copied] = await answersOf([
    markCopying(session, lease),
    lockTables(
      session,
      byTable.map(({ target }) => target),
      'shared',
    ),
    ...fresh.map(({ target, pieces }) => session.copyIn(target.copy, pieces()).catch(explain)),
  ]);
  if (fresh.some(({ count }, index) => copied[index] !== count))
    throw new NotNewError('rows were dropped on their way');
}

function newOf(byTable: readonly Lines[]): Lines[] {
  return byTable.filter(({ isNew, count }) => isNew && count > 0);
}

function explain(error: unknown): never {
  if (isNotTakenAsNew(error))
    throw new NotNewError('a row is stored already, or its table is not a plain one', { cause: error });
  throw error;
}

/** What a commit has left of receipts, and whether some of its seconds were verified. */
const Left = z.object({ receipts: z.coerce.number(), is_verified: z.boolean() });

/**
 * Leaves the receipts of what `copyNew` has brought in the same transaction. Whoever has written the lines knows the sums: the
 * server would read all rows again, at a tenth of what it takes to store them.
 * @returns what has to be unverified
 * @throws NotNewError where the server would reckon the sums in another way
 */
export async function leaveReceiptsOfNew(session: Session, byTable: readonly Lines[]): Promise<Unverified[]> {
  const fresh = newOf(byTable).map(({ target, sums }) => ({ target, sums: sums() }));
  if (fresh.length === 0) return [];
  const seconds = fresh.map(({ sums }) => union(sums.map(({ second }) => spanOfSecond(second))));
  const [left] = await session.rows(
    sql`
      with receipt as (${leaveSums(fresh.map(({ target, sums }) => [target.name, sums]))} returning 1)
      select (select count(*) from receipt) as receipts, ${isVerified(union(...seconds))} as is_verified`,
    Left,
  );
  if (left?.receipts === 0) throw new NotNewError('this server reckons hashes of its own');
  if (left?.is_verified !== true) return [];
  return fresh.map(({ target }, index) => ({ target, seconds: toMultirangeText(seconds[index] ?? []) }));
}
