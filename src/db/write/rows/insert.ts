import { sql, type SQL } from 'drizzle-orm';
import type * as z from 'zod';
import type { Range } from '../../../range.ts';
import type { Session, OpenTransaction } from '../../connection/database.ts';
import { answersOf } from '../../connection/answers-of.ts';
import { identifiers, worked } from '../../connection/sql.ts';
import type { Lines } from './line-bytes.ts';
import { unverifySeconds, type Unverified } from './unverify.ts';
import { onConflict, onConflictOverwrite } from './conflict.ts';
import { receiptColumns } from '../receipts.ts';
import { fillStagingTable } from './staging-table.ts';
import { refuseLost } from './lost-rows.ts';
import { lockTables } from './lock-tables.ts';
import { clearOthers, isCurrent, makeWay } from './supersede.ts';
import type { Staged, Target } from './target.ts';
import { Written, withReceipt } from './written.ts';

interface InsertOptions {
  /** Values of stored rows that cannot change are overwritten too: something is wrong with those stored. */
  readonly overwrite?: boolean;
  /** The rows are all that there is of these seconds: stored ones that are not among them are deleted. */
  readonly replaced?: Range | undefined;
}

/**
 * The tables to whose staging tables rows are brought. `isWhole`: the rows are all that there is, so that none at all says
 * something too.
 */
export function toStage(
  byTable: readonly Lines[],
  { isWhole = false }: { readonly isWhole?: boolean } = {},
): Lines[] {
  return byTable.filter(({ count }) => count > 0 || isWhole);
}

/**
 * Brings rows of several tables to the server, whatever their number, each into its staging table. Before anything is
 * locked: a process that freezes while it sends is in no statement that Postgres would end, and would hold what it had
 * locked for as long as it stands. They are sorted by key, so that two transactions with common rows wait for each other
 * instead of deadlocking.
 */
export async function stageRows(session: Session, staged: readonly Lines[]): Promise<void> {
  await answersOf(staged.map(({ target, pieces }) => fillStagingTable(session, target.staging, pieces())));
}

/**
 * Writes what `stageRows` brought in the same transaction, table by table. Rows that are new to a stream table, or that
 * take the place of others there, leave a receipt, and their seconds are verified no more.
 * @returns the number of rows that were new or changed
 * @throws DatabaseError where a table took fewer rows than it was sent
 */
export async function insertStaged(
  session: OpenTransaction,
  staged: readonly Staged[],
  options: InsertOptions = {},
): Promise<number> {
  const [, ...written] = await answersOf([
    lockTables(
      session,
      staged.map(({ target }) => target),
      'shared',
    ),
    ...staged.map((rows) => replaceRows(session, rows, options)),
  ]);
  // Fewer were stored already, or were dropped on their way.
  const fewer = written.filter(({ staged: { count }, rows }) => rows < count);
  await answersOf(fewer.map(({ staged }) => refuseLost(session, staged)));
  await unverifySeconds(
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
  readonly changed: readonly Unverified[];
}

/** Removes the stored rows in whose place others come, and inserts these. */
async function replaceRows(
  session: OpenTransaction,
  staged: Staged,
  { overwrite = false, replaced }: InsertOptions,
): Promise<Replaced> {
  const { target } = staged;
  const [way, others, written] = await answersOf([
    makeWay(session, target),
    replaced === undefined ? nothing(target) : clearOthers(session, target, replaced),
    insertFrom(session, target, overwrite),
  ]);
  return { staged, rows: written.rows, changed: [way, others, { target, seconds: written.seconds }] };
}

function nothing(target: Target): Promise<Unverified> {
  return Promise.resolve({ target, seconds: null });
}

async function insertFrom(
  session: OpenTransaction,
  target: Target,
  overwrite: boolean,
): Promise<z.output<typeof Written>> {
  const insertion = insertionOf(target, overwrite)({ began: session.began });
  if (!target.facts.partitioned) return { rows: await session.run(insertion), seconds: null };
  const [written] = await session.rows(insertion, Written);
  return written ?? { rows: 0, seconds: null };
}

type Insertion = ReturnType<typeof worked>;

const insertions = { plain: new WeakMap<Target, Insertion>(), overwrite: new WeakMap<Target, Insertion>() };

function insertionOf(target: Target, overwrite: boolean): Insertion {
  const known = overwrite ? insertions.overwrite : insertions.plain;
  const insertion = known.get(target) ?? worked(insertionInto(target, overwrite));
  known.set(target, insertion);
  return insertion;
}

/** The statement that inserts a table's rows; where they leave a receipt it returns a row of `Written`. */
function insertionInto(target: Target, overwrite: boolean): SQL {
  const began = sql`${sql.placeholder('began')}::timestamptz`;
  const names = identifiers(target.columns);
  const conflict = overwrite ? onConflictOverwrite : onConflict;
  const insert = sql`
    insert into ${target.into} as t (${names}, loaded_at)
    select ${names}, ${began} from ${target.staging.name} n
    where ${isCurrent(target)}
    ${conflict(target.facts, target.columns, began)}`;
  if (!target.facts.partitioned) return insert;
  return withReceipt(
    target,
    sql`${insert} returning ${receiptColumns(target, sql`t`)}, t.loaded_at = ${began} as is_new`,
  );
}
