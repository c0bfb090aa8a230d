import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { DatabaseError } from '../errors.ts';
import { formatTime, secondOfTime, spanOfSecond, union, type Range } from '../range.ts';
import { answersOf } from '../postgres/answers-of.ts';
import { oneRow, type OpenTransaction, type Session } from '../postgres/database.ts';
import { during } from '../postgres/seconds.ts';
import { identifiers, statementTemplate } from '../postgres/sql.ts';
import {
  checkedAmong,
  noteWrites,
  removeRows,
  Seconds,
  secondsOf,
  unverify,
  type Changed,
} from './writes.ts';
import { onConflict, onConflictOverwrite } from './conflict.ts';
import type { Lines } from './line-bytes.ts';
import { LONGEST_TRACE } from '../tables/longest-trace.ts';
import { fillStagingTable, lockTables, type Target } from './target.ts';

/** Rows of a table that wait in its staging table. */
export interface Staged {
  readonly target: Target;
  readonly count: number;
  /** The seconds in which they lie, or more; empty for a table that has no time. */
  readonly seconds: readonly Range[];
}

export interface InsertOptions {
  /** Values of stored rows that cannot change are overwritten too: something is wrong with those stored. */
  readonly overwrite?: boolean;
  /** The rows are all that there is of these seconds: stored ones that are not among them are deleted. */
  readonly replaced?: Range | undefined;
}

/** The seconds in which lines lie. */
export function secondsOfLines({ times }: Pick<Lines, 'times'>): Range[] {
  return union([...times].map((time) => spanOfSecond(secondOfTime(time))));
}

/**
 * Brings rows of several tables to the server, whatever their number, each into its staging table. Before anything is
 * locked: a process that freezes while it sends is in no statement that Postgres would end, and would hold what it had
 * locked for as long as it stands. They are sorted by key, so that two transactions with common rows wait for each other
 * instead of deadlocking. `isWhole`: the rows are all that there is, so that none at all says something too.
 */
export async function stageRows(
  session: Session,
  byTable: readonly Lines[],
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): Promise<Staged[]> {
  const brought = byTable.filter(({ count }) => count > 0 || isWhole);
  await answersOf(brought.map(({ target, pieces }) => fillStagingTable(session, target.staging, pieces())));
  return brought.map((lines) => ({ ...lines, seconds: secondsOfLines(lines) }));
}

/**
 * Writes what `stageRows` brought in the same transaction, table by table. Seconds that were verified, and whose rows it
 * changes, are verified no more.
 * @returns the number of rows that were new or changed
 * @throws DatabaseError if a table took fewer rows than it was sent
 */
export async function insertStaged(
  session: OpenTransaction,
  staged: readonly Staged[],
  options: InsertOptions = {},
): Promise<number> {
  const [, , checked] = await answersOf([
    lockTables(
      session,
      staged.map(({ target }) => target),
      'shared',
    ),
    noteWrites(session, staged),
    checkedAmong(session, staged),
  ]);
  const written = await answersOf(
    staged.map((rows) =>
      replaceRows(session, rows, { ...options, isChecked: checked.has(rows.target.name) }),
    ),
  );
  // Fewer were stored already, or were dropped on their way.
  const fewer = written.filter(({ staged: { count }, rows }) => rows < count);
  await answersOf(fewer.map(({ staged: rows }) => refuseLost(session, rows)));
  await unverify(
    session,
    written.flatMap(({ changed }) => changed),
  );
  return written.reduce((sum, { rows }) => sum + rows, 0);
}

/** What the statements of one table have written. */
interface Replaced {
  readonly staged: Staged;
  /** How many rows were new or changed. */
  readonly rows: number;
  readonly changed: readonly Changed[];
}

/** Removes the stored rows in whose place others come, and inserts these. */
async function replaceRows(
  session: OpenTransaction,
  staged: Staged,
  {
    overwrite = false,
    replaced,
    isChecked,
  }: InsertOptions & {
    /** True: some of the seconds are verified or sealed. */
    readonly isChecked: boolean;
  },
): Promise<Replaced> {
  const { target } = staged;
  const [way, others, written] = await answersOf([
    makeWay(session, target),
    replaced === undefined
      ? Promise.resolve({ target, seconds: null })
      : clearOthers(session, target, replaced),
    insertFrom(session, target, { overwrite, isChecked }),
  ]);
  return { staged, rows: written.rows, changed: [way, others, { target, seconds: written.seconds }] };
}

const Written = Seconds.extend({ rows: z.coerce.number() });

/** Which seconds were changed costs as much as a tenth of the insert, and is asked only if it matters. */
async function insertFrom(
  session: OpenTransaction,
  target: Target,
  { overwrite, isChecked }: { readonly overwrite: boolean; readonly isChecked: boolean },
): Promise<z.output<typeof Written>> {
  const insertion = insertionOf(target, overwrite)({ began: session.began });
  if (!isChecked) return { rows: await session.run(insertion), seconds: null };
  return oneRow(
    session,
    sql`
      with written as (${insertion} returning t.utime)
      select count(*) as rows, (${secondsOf(sql`written`)}) as seconds from written`,
    Written,
  );
}

type Insertion = ReturnType<typeof statementTemplate>;

const insertions = { plain: new WeakMap<Target, Insertion>(), overwrite: new WeakMap<Target, Insertion>() };

function insertionOf(target: Target, overwrite: boolean): Insertion {
  const known = overwrite ? insertions.overwrite : insertions.plain;
  const insertion = known.get(target) ?? statementTemplate(insertionInto(target, overwrite));
  known.set(target, insertion);
  return insertion;
}

/** The statement that inserts a table's rows. */
function insertionInto(target: Target, overwrite: boolean): SQL {
  const began = sql`${sql.placeholder('began')}::timestamptz`;
  const names = identifiers(target.columns);
  const conflict = overwrite ? onConflictOverwrite : onConflict;
  return sql`
    insert into ${target.into} as t (${names}, loaded_at)
    select ${names}, ${began} from ${target.staging.name} n
    where ${isCurrent(target)}
    ${conflict(target.facts, target.columns, began)}`;
}

const Kept = z.object({ rows: z.coerce.number() });

/**
 * Holds the rows that were sent against those that are stored: a trigger that somebody added may drop them without an
 * error. Each is looked up by its key: a join with a table that nobody has counted might read all of the other one.
 * @throws DatabaseError if some are not stored
 */
async function refuseLost(session: Session, { target, count: sent, seconds }: Staged): Promise<void> {
  const { name, into, staging, facts } = target;
  const isKept = sql`${same('t', 'n', facts.key)}${facts.partitioned ? among(seconds) : sql``}`;
  const kept = await oneRow(
    session,
    sql`
      select count(*) as rows from ${staging.name} n
      where (select true from ${into} t where ${isKept} limit 1) or not ${isCurrent(target)}`,
    Kept,
  );
  const lost = sent - kept.rows;
  if (lost <= 0) return;
  throw new DatabaseError(`ton.${name} took ${sent - lost} of ${sent} rows without an error`, {
    hint: 'A trigger, a rule or a policy drops rows: `doctor` names it.',
  });
}

/** Between which seconds the rows lie: else each partition of the table is planned for, even if there are hundreds. */
function among(seconds: readonly Range[]): SQL {
  const [first, last] = [seconds[0], seconds.at(-1)];
  return first && last ? sql` and ${during('t', { from: first.from, to: last.to })}` : sql``;
}

/**
 * Deletes the stored rows that those in the staging table replace under another key, and the parts of such rows.
 * @returns which seconds it has changed
 */
export async function makeWay(session: Session, target: Target): Promise<Changed> {
  const { supersedes } = target.facts;
  if (supersedes === undefined) return { target, seconds: null };
  const { columns, of } = supersedes;
  return removeRows(
    session,
    target,
    sql`
      delete from ${target.into} t
      using ${wholes(of)} w, (select distinct utime, ${identifiers(columns)} from ${target.staging.name}) n
      where ${same('w', 'n', columns)} and w.utime < n.utime and w.utime >= n.utime - ${LONGEST_TRACE}::interval
        and ${same('t', 'w', ['utime', ...columns])}`,
  );
}

/**
 * Deletes the stored rows of a range of time that are not in the staging table: the source has them no longer.
 * @returns which seconds it has changed
 */
export async function clearOthers(session: Session, target: Target, { from, to }: Range): Promise<Changed> {
  return removeRows(
    session,
    target,
    sql`
      delete from ${target.into} t
      where t.utime >= ${formatTime(from)} and t.utime < ${formatTime(to)}
        and not exists (select 1 from ${target.staging.name} n where ${same('t', 'n', target.facts.key)})`,
  );
}

/** True of a new row `n` that is not itself (a part of) the older copy of something stored. */
export function isCurrent({ facts }: Pick<Target, 'facts'>): SQL {
  if (facts.supersedes === undefined) return sql`true`;
  const { columns, of } = facts.supersedes;
  return sql`not exists (select 1 from ${wholes(of)} w
    where ${same('w', 'n', columns)} and w.utime > n.utime and w.utime <= n.utime + ${LONGEST_TRACE}::interval)`;
}

function wholes(table: string): SQL {
  return sql`ton.${sql.identifier(table)}`;
}

/** Equality of two rows, named by their aliases, in some columns. */
export function same(a: string, b: string, columns: readonly string[]): SQL {
  const pairs = columns.map(
    (name) =>
      sql`${sql.identifier(a)}.${sql.identifier(name)} = ${sql.identifier(b)}.${sql.identifier(name)}`,
  );
  return sql.join(pairs, sql` and `);
}
