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
 * New rows are copied directly into their tables, which costs Postgres a third less than a staging table. Only the
 * table itself knows whether rows are new. A lease starts this way if its tables hold no row of its seconds. If a row
 * is stored all the same, the page is written again through staging tables.
 */

/** True of a table whose rows replace no other rows. */
function isDirect({ facts }: Target): boolean {
  return facts.partitioned && facts.supersedes === undefined;
}

/**
 * A message hardly ever takes longer to its receiver. A reader of the next lease may have stored those that were sent
 * later than this in a lease, together with the receiving transactions.
 */
const LONGEST_WAY_SECONDS = 30;

/** The end of a lease's seconds whose rows no reader of another lease stores. */
function endOfNew({ facts }: Target, { to }: Range): number {
  return facts.shared === undefined ? to : to - LONGEST_WAY_SECONDS;
}

/** True if the tables hold no row of a range after its first second, in which the previous range may have ended. */
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

/** Splits lines into those to copy, of seconds after `newAfter`, and the others. */
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
 * Copies rows into their tables. If this process freezes meanwhile, its rows block other processes until its lease has
 * expired: then `endStrayCopies` terminates the session.
 * @throws NotNewError if a row is stored already, DatabaseUnavailableError if the session was terminated
 */
export async function copyDirect(session: Session, direct: readonly Lines[], lease: Lease): Promise<void> {
  if (direct.length === 0) return;
  const [, ...copied] = await answersOf([
    markCopying(session, lease),
    ...direct.map(({ target, pieces }) => session.copyIn(target.copy, pieces()).catch(explain)),
  ]);
  if (direct.some(({ count }, index) => copied[index] !== count))
    throw new NotNewError('a trigger or rule dropped rows');
}

function explain(error: unknown): never {
  if (isNotTakenAsNew(error))
    throw new NotNewError('a row is stored already, or a policy or trigger prevents COPY', { cause: error });
  throw error;
}
