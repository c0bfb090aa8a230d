import { sql } from 'drizzle-orm';
import { NotNewError } from '../errors.ts';
import { formatTime, type Range } from '../range.ts';
import { answersOf } from '../postgres/answers-of.ts';
import type { Session } from '../postgres/database.ts';
import { isNotTakenAsNew } from '../postgres/translate.ts';
import { markCopying } from '../ledger/copying.ts';
import type { Lease } from '../ledger/leases.ts';
import type { Lines } from './line-bytes.ts';
import { targetOf, type Target } from './target.ts';

/*
 * Rows that are new are copied straight into their tables, which costs Postgres a third less than by way of a staging
 * table. Nothing but the table itself says whether they are new: a lease begins so if its tables hold no row of its
 * seconds, and if one is stored all the same, the page is written again by way of staging tables.
 */

/** True of a table whose rows take the place of no other rows. */
function isDirect({ facts }: Target): boolean {
  return facts.partitioned && facts.supersedes === undefined;
}

/**
 * A message is hardly ever longer on its way. Those that were sent so late in a lease may have been stored by a reader of
 * the next one, with what they led to.
 */
const LONGEST_WAY_SECONDS = 30;

/** Where the seconds of a lease end whose rows no reader of another one brings. */
function endOfNew({ facts }: Target, { to }: Range): number {
  return facts.shared === undefined ? to : to - LONGEST_WAY_SECONDS;
}

/** True if the tables hold no row of a range behind its first second, where the range before may have ended. */
export async function isEmpty(session: Session, tables: readonly object[], span: Range): Promise<boolean> {
  const targets = tables.map(targetOf).filter(isDirect);
  if (targets.length === 0) return false;
  const from = formatTime(span.from);
  const stored = targets.map((target) => {
    const to = formatTime(endOfNew(target, span));
    return sql`select where exists (select from ${target.into} t where t.utime > ${from} and t.utime < ${to})`;
  });
  return (await session.run(sql.join(stored, sql` union all `))) === 0;
}

/** The lines to be copied, those of seconds behind `newAfter`, and the others. */
export function divide(
  byTable: readonly Lines[],
  newAfter: number | undefined,
  { span }: Pick<Lease, 'span'>,
): { readonly direct: readonly Lines[]; readonly others: readonly Lines[] } {
  if (newAfter === undefined) return { direct: [], others: byTable };
  const from = formatTime(newAfter + 1);
  const direct: Lines[] = [];
  const others: Lines[] = [];
  for (const lines of byTable) {
    const { target } = lines;
    const [within, without] = isDirect(target)
      ? lines.split(from, formatTime(endOfNew(target, span)))
      : [undefined, lines];
    if (within !== undefined && within.count > 0) direct.push(within);
    others.push(without);
  }
  return { direct, others };
}

/**
 * Copies rows into their tables. If this process freezes meanwhile, the rows that it has sent hold up others until its
 * lease has ended: then `endStrayCopies` ends the session.
 * @throws NotNewError if a row is stored already, DatabaseUnavailableError if the session was ended meanwhile
 */
export async function copyDirect(session: Session, direct: readonly Lines[], lease: Lease): Promise<void> {
  if (direct.length === 0) return;
  const [, ...copied] = await answersOf([
    markCopying(session, lease),
    ...direct.map(({ target, pieces }) => session.copyIn(target.copy, pieces()).catch(explain)),
  ]);
  if (direct.some(({ count }, index) => copied[index] !== count))
    throw new NotNewError('rows were dropped on their way');
}

function explain(error: unknown): never {
  if (isNotTakenAsNew(error))
    throw new NotNewError('a row is stored already, or its table is not a plain one', { cause: error });
  throw error;
}
