import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { stringify } from 'lossless-json';
import { DatabaseError, NotNewError } from '../errors.ts';
import {
  formatTime,
  secondOfTime,
  spanOfSecond,
  union,
  type Range,
  toMultirangeText,
  toRangeText,
} from '../range.ts';
import {
  answersOf,
  identifiers,
  statementTemplate,
  during,
  bare,
  excluded,
  setExcluded,
  texts,
} from '../postgres/sql.ts';
import { oneRow, type LockMode, type OpenTransaction, type Session, oneValue } from '../postgres/database.ts';
import { announceWrites, removeRows, Seconds, secondsOf, unverify, type Changed } from './certificates.ts';
import { onConflict, onConflictOverwrite, tuple, type Target, targetOf } from './target.ts';
import type { Lines } from './lines.ts';
import { LONGEST_TRACE } from '../tables/ton/traces.ts';
import { isNotTakenAsNew } from '../postgres/translate.ts';
import { markCopying, type Lease } from '../ledger/leases.ts';
import type { Table, Extra } from '../dataset/declaration/record.ts';
import type { Rejected } from '../dataset/job.ts';
import type { Stream } from '../ledger/stored-coverage.ts';
import { quarantine, schemaDrift } from '../tables/etl/quarantine.ts';

/** Longest stored path, in characters. A name may be as long as a body, and an index takes at most 2,700 bytes. */
const LONGEST_PATH = 300;
/** Most bytes in one statement, unless a single record is longer. */
const LONGEST_STATEMENT = 2 ** 24;

export interface CommittedRecords {
  readonly stream: Stream;
  /** The request that returned them. */
  readonly request: string;
  readonly rejected: readonly Rejected[];
  /** Unknown members of each accepted record that has some. */
  readonly extras: readonly Extra[];
  /** Identities of the accepted records: they leave quarantine. */
  readonly ids: readonly string[];
}

export async function writeAnomalies(
  session: Session,
  records: CommittedRecords,
  isAnyQuarantined: boolean,
): Promise<void> {
  const { stream, request, rejected, extras, ids } = records;
  if (rejected.length > 0) await quarantineRecords(session, stream, request, rejected);
  // Records that fit now leave quarantine.
  if (isAnyQuarantined || rejected.length > 0)
    await session.run(sql`
      delete from ${quarantine} where ${isOf(stream)} and ${quarantine.record_id} in (${texts(ids)})`);
  if (extras.length > 0) await countDrift(session, stream.dataset, extras);
}

/** Stores records that did not fit, once for each range of seconds where they may lie, and counts repetitions. */
export async function quarantineRecords(
  session: Session,
  stream: Stream,
  request: string,
  rejected: readonly Rejected[],
): Promise<void> {
  const { dataset, scope, record_id, utime, span, path, reason, raw, attempts, last_at } = quarantine;
  const { request: asked } = quarantine;
  const columns = bare(dataset, scope, asked, record_id, utime, span, path, reason, raw, attempts);
  for (const some of statementsOf(unfitOnce(rejected))) {
    await session.run(sql`
      insert into ${quarantine} (${columns})
      select ${stream.dataset}, ${stream.scope}, ${request}, r.record_id, r.utime, r.span, r.path, r.reason, r.raw, r.attempts
      from json_to_recordset(${JSON.stringify(some)}::json) as r (record_id text, utime timestamptz, span int8range,
        path text, reason text, raw text, attempts int)
      order by r.record_id, r.span
      on conflict (${bare(dataset, scope, record_id, span)}) do update
        set ${setExcluded(path, reason, raw, asked)},
          ${bare(attempts)} = ${attempts} + ${excluded(attempts)}, ${bare(last_at)} = default`);
  }
}

/** A statement cannot change a row twice, so the last record with the same id and range counts. */
function unfitOnce(rejected: readonly Rejected[]): QuarantineRow[] {
  const known = new Map<string, QuarantineRow>();
  for (const record of rejected) {
    const own = quarantineRow(record);
    const key = `${own.span} ${own.record_id}`;
    known.set(key, { ...own, attempts: (known.get(key)?.attempts ?? 0) + 1 });
  }
  return [...known.values()];
}

type QuarantineRow = ReturnType<typeof quarantineRow> & { readonly attempts: number };

function quarantineRow({ position, span, path, reason, raw }: Rejected) {
  const { id: record_id, utime } = position;
  const texts = { span: toRangeText(span), path: shortened(path), raw: stringify(raw) ?? 'null' };
  return { record_id, utime: formatTime(utime), reason, ...texts };
}

function shortened(path: string): string {
  return path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path;
}

function statementsOf(records: readonly QuarantineRow[]): QuarantineRow[][] {
  const statements: QuarantineRow[][] = [];
  let bytes = Infinity;
  for (const record of records) {
    bytes += record.raw.length;
    if (bytes > LONGEST_STATEMENT) {
      statements.push([]);
      bytes = record.raw.length;
    }
    statements.at(-1)?.push(record);
  }
  return statements;
}

/**
 * True if records of a stream are in quarantine. It is checked before records are released, because there are many ids.
 */
export async function hasQuarantined(session: Session, stream: Stream): Promise<boolean> {
  return (await session.run(sql`select 1 from ${quarantine} where ${isOf(stream)} limit 1`)) > 0;
}

function isOf({ dataset, scope }: Stream): SQL {
  return sql`${quarantine.dataset} = ${dataset} and ${quarantine.scope} = ${scope}`;
}

/** Members that one commit stores by name. Further ones are only counted. */
const MOST_DRIFTS = 100;
/** Characters that are stored of a longer example. */
const LONGEST_EXAMPLE = 1000;

/** Counts members that have no column. */
export async function countDrift(session: Session, dataset: string, extras: readonly Extra[]): Promise<void> {
  const drifts = driftsOf(extras);
  const { path, type, example, times, last_at } = schemaDrift;
  await session.run(sql`
    insert into ${schemaDrift} (${bare(schemaDrift.dataset, path, type, example, times)})
    select ${dataset}, r.path, r.type, coalesce(r.example, 'null'), r.times
    from json_to_recordset(${stringify(drifts) ?? '[]'}::json) as r (path text, type text, example jsonb, times int8)
    order by r.path, r.type
    on conflict (${bare(schemaDrift.dataset, path, type)}) do update
      set ${bare(times)} = ${times} + ${excluded(times)}, ${bare(last_at)} = default`);
}

/** Members without a column: their path, their type, an example, and how often they came. */
function driftsOf(extras: readonly Extra[]) {
  const drifts = new Map<string, { path: string; type: string; example: unknown; times: number }>();
  let further = 0;
  for (const [member, value] of extras.flatMap((extra) => Object.entries(extra))) {
    const path = shortened(member.replace(/\.\d+(?=\.|$)/g, '.*'));
    const type = typeOf(value);
    const known = drifts.get(`${path} ${type}`);
    if (known === undefined && drifts.size >= MOST_DRIFTS) further += 1;
    else {
      const times = (known?.times ?? 0) + 1;
      drifts.set(`${path} ${type}`, { path, type, example: known?.example ?? exampleOf(value), times });
    }
  }
  const others = { path: '…', type: 'others', example: null, times: further };
  return [...drifts.values(), ...(further > 0 ? [others] : [])];
}

function exampleOf(value: unknown): unknown {
  const text = stringify(value) ?? 'null';
  return text.length > LONGEST_EXAMPLE ? `${text.slice(0, LONGEST_EXAMPLE)}…` : value;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'bigint' ? 'number' : typeof value;
}

/*
 * New rows are copied directly into their tables, which costs Postgres a third less than a staging table. Only the
 * table itself knows whether rows are new. A lease starts this way if its tables hold no row of its seconds. If COPY
 * then finds a stored row, the page is written again through staging tables.
 *
 * `newAfter` is the second after which rows are new. `readPages` finds it at the start of a lease (`isEmpty`) and raises
 * it with each page, `splitOffNew` applies it, and `commitPage` returns false once it was wrong.
 */

/** True of a table whose rows replace no other rows. */
function isDirect({ facts }: Target): boolean {
  return facts.partitioned && facts.supersedes === undefined;
}

/**
 * A message hardly ever takes longer to reach its receiver. If one is sent in the last seconds of a lease and received
 * in the next lease, the reader of that lease stores it, too, perhaps first.
 */
const LONGEST_WAY_SECONDS = 30;

/** The end of the seconds of a lease in which no reader of another lease stores a message. */
function earlyEnd({ to }: Range): number {
  return to - LONGEST_WAY_SECONDS;
}

/** True if the tables hold no row of a range after its first second, in which the previous range may have ended. */
export async function isEmpty(session: Session, tables: readonly Table[], span: Range): Promise<boolean> {
  const targets = tables.map(targetOf).filter(isDirect);
  if (targets.length === 0) return false;
  const from = formatTime(span.from);
  const stored = targets.map((target) => {
    const to = formatTime(target.facts.shared === undefined ? span.to : earlyEnd(span));
    return sql`select where exists (select from ${target.into} t where t.utime > ${from} and t.utime < ${to})`;
  });
  return (await session.run(sql.join(stored, sql` union all `))) === 0;
}

/** Splits lines into those to copy, of seconds after `newAfter`, and the rest. */
export function splitOffNew(
  byTable: readonly Lines[],
  newAfter: number | undefined,
  { span }: Pick<Lease, 'span'>,
): { readonly direct: readonly Lines[]; readonly others: readonly Lines[] } {
  if (newAfter === undefined) return { direct: [], others: byTable };
  const [from, to, early] = [formatTime(newAfter + 1), formatTime(span.to), formatTime(earlyEnd(span))];
  const direct: Lines[] = [];
  const others: Lines[] = [];
  for (const lines of byTable) {
    const [within, without] = isDirect(lines.target)
      ? lines.split(({ time, isOpen }) => time >= from && time < (isOpen ? early : to))
      : [undefined, lines];
    if (within !== undefined && within.count > 0) direct.push(within);
    others.push(without);
  }
  return { direct, others };
}

/**
 * Copies rows into their tables.
 * @throws NotNewError if a row is stored already
 */
async function copyDirect(session: Session, direct: readonly Lines[]): Promise<void> {
  if (direct.length === 0) return;
  const copied = await answersOf(
    direct.map(({ target, pieces }) => session.copyIn(target.copy, pieces()).catch(asNotNew)),
  );
  if (direct.some(({ count }, index) => copied[index] !== count))
    throw new NotNewError('a trigger or rule dropped rows');
}

function asNotNew(error: unknown): never {
  if (isNotTakenAsNew(error))
    throw new NotNewError('a row is stored already, or a policy or trigger prevents COPY', { cause: error });
  throw error;
}

/** Rows of a table that wait in its staging table. */
export interface Staged {
  readonly target: Target;
  readonly count: number;
  /** Seconds that contain the rows; empty if the table has no time. */
  readonly seconds: readonly Range[];
}

/** Rows that were sent to the server. The tables into which they go are locked, and the writes are noted. */
export interface Loaded {
  readonly staged: readonly Staged[];
  /** Names of the tables in which some of the seconds are verified or sealed. */
  readonly checked: ReadonlySet<string>;
  /** Seconds of these tables into which rows were copied directly. */
  readonly copied: readonly Changed[];
}

/** Which rows are copied directly, and under which lease. */
interface LoadOptions {
  readonly newAfter?: number | undefined;
  readonly lease?: Lease;
  /** If true, the rows are complete, so that an empty list has a meaning, too. */
  readonly isWhole?: boolean;
  /** How the tables are locked. Default: shared. */
  readonly mode?: LockMode;
}

export interface InsertOptions {
  /** If true, values of stored rows that normally never change are overwritten, too, because stored rows are wrong. */
  readonly overwrite?: boolean;
  /** Seconds for which the rows are complete: stored rows that are not among them are deleted. */
  readonly replaced?: Range | undefined;
}

/**
 * Sends rows to the server: new ones into their tables, the others of each table into its staging table, which the end
 * of the transaction empties. COPY is several times cheaper, on both sides, than rows as parameters. Staged rows are
 * sent before the tables are locked. If this process freezes while it sends for a lease, it blocks other processes until
 * the lease has expired: then `endStrayCopies` terminates the session.
 * @throws NotNewError if a row is stored already, DatabaseUnavailableError if the session was terminated
 */
export async function loadRows(
  session: Session,
  byTable: readonly Lines[],
  { newAfter, lease, isWhole = false, mode }: LoadOptions = {},
): Promise<Loaded> {
  const { direct, others } =
    lease === undefined ? { direct: [], others: byTable } : splitOffNew(byTable, newAfter, lease);
  const toStage = others.filter(({ count }) => count > 0 || isWhole);
  const written = byTable.map((lines) => ({ target: lines.target, seconds: secondsOfLines(lines) }));
  const [, , checked] = await answersOf([
    lease === undefined ? Promise.resolve() : markCopying(session, lease),
    answersOf(toStage.map(({ target, pieces }) => session.copyIn(target.staging.copy, pieces()))),
    announceWrites(session, written, mode),
    copyDirect(session, direct),
  ]);
  return {
    staged: toStage.map((lines) => ({ ...lines, seconds: secondsOfLines(lines) })),
    checked,
    copied: direct
      .filter(({ target }) => checked.has(target.name))
      .map((lines) => ({ target: lines.target, seconds: toMultirangeText(secondsOfLines(lines)) })),
  };
}

function secondsOfLines({ times }: Pick<Lines, 'times'>): Range[] {
  return union([...times].map((time) => spanOfSecond(secondOfTime(time))));
}

/**
 * Writes the rows that were staged in the same transaction, table by table. They are sorted by key, so that two
 * transactions with common rows wait for each other instead of deadlocking. Verified seconds whose rows are new or
 * changed lose their certificates.
 * @returns the number of staged rows that were new or changed
 * @throws DatabaseError if a table took fewer rows than it was sent
 */
export async function insertStaged(
  session: OpenTransaction,
  { staged, checked, copied }: Loaded,
  options: InsertOptions = {},
): Promise<number> {
  const written = await answersOf(
    staged.map((rows) => replaceRows(session, rows, options, checked.has(rows.target.name))),
  );
  // The missing ones were stored already, or were dropped by a trigger or rule.
  const fewer = written.filter(({ staged: { count }, rows }) => rows < count);
  await answersOf(fewer.map(({ staged: rows }) => refuseLost(session, rows)));
  await unverify(session, [...written.flatMap(({ changed }) => changed), ...copied]);
  return written.reduce((sum, { rows }) => sum + rows, 0);
}

/**
 * Deletes the stored rows that the staged rows replace, and inserts the staged rows. `isChecked`: some of the seconds are
 * verified or sealed.
 */
async function replaceRows(
  session: OpenTransaction,
  staged: Staged,
  { overwrite = false, replaced }: InsertOptions,
  isChecked: boolean,
) {
  const { target } = staged;
  const [way, others, written] = await answersOf([
    deleteSuperseded(session, target),
    replaced === undefined
      ? Promise.resolve({ target, seconds: null })
      : deleteUnlisted(session, target, replaced),
    insertFrom(session, target, overwrite, isChecked),
  ]);
  return { staged, rows: written.rows, changed: [way, others, { target, seconds: written.seconds }] };
}

const Written = Seconds.extend({ rows: z.coerce.number() });

/** To find the changed seconds costs a tenth of the insert, so they are only requested if needed. */
async function insertFrom(
  session: OpenTransaction,
  target: Target,
  overwrite: boolean,
  isChecked: boolean,
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

/**
 * Compares the number of rows that were sent with those that are stored: a trigger may drop rows without an error. Each
 * row is looked up by its key. Without statistics, a join might read the whole other table.
 * @throws DatabaseError if some are not stored
 */
async function refuseLost(session: Session, { target, count: sent, seconds }: Staged): Promise<void> {
  const { name, into, staging, facts } = target;
  const isKept = sql`${same('t', 'n', facts.key)}${facts.partitioned ? among(seconds) : sql``}`;
  const kept = await oneValue(
    session,
    sql`
      select count(*) from ${staging.name} n
      where (select true from ${into} t where ${isKept} limit 1) or not ${isCurrent(target)}`,
    z.coerce.number(),
  );
  const lost = sent - kept;
  if (lost <= 0) return;
  throw new DatabaseError(`ton.${name} took ${sent - lost} of ${sent} rows without an error`, {
    hint: 'A trigger, a rule or a policy drops rows: `doctor` names it.',
  });
}

/** Limits the seconds of the rows. Otherwise Postgres plans for each partition of the table, even for hundreds. */
function among(seconds: readonly Range[]): SQL {
  const [first, last] = [seconds[0], seconds.at(-1)];
  return first && last ? sql` and ${during('t', { from: first.from, to: last.to })}` : sql``;
}

/**
 * Deletes the stored rows that the rows of the staging table replace under another key, and the parts of such rows.
 * @returns the seconds that it changed
 */
export async function deleteSuperseded(session: Session, target: Target): Promise<Changed> {
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
 * Deletes the stored rows of a range of time that are not in the staging table: the source no longer has them.
 * @returns the seconds that it changed
 */
export async function deleteUnlisted(
  session: Session,
  target: Target,
  { from, to }: Range,
): Promise<Changed> {
  return removeRows(
    session,
    target,
    sql`
      delete from ${target.into} t
      where t.utime >= ${formatTime(from)} and t.utime < ${formatTime(to)}
        and not exists (select 1 from ${target.staging.name} n where ${same('t', 'n', target.facts.key)})`,
  );
}

/** True if no newer copy of the new row `n` is stored, nor of the whole that `n` is a part of, nor an equal version. */
export function isCurrent(target: Pick<Target, 'facts' | 'columns' | 'into'>): SQL {
  const { facts, into } = target;
  const { conflict, key } = facts;
  if (conflict.kind === 'version') return sql`not ${isVersionKnown(into, key, target.columns, conflict.by)}`;
  if (facts.supersedes === undefined) return sql`true`;
  const { columns, of } = facts.supersedes;
  return sql`not exists (select 1 from ${wholes(of)} w
    where ${same('w', 'n', columns)} and w.utime > n.utime and w.utime <= n.utime + ${LONGEST_TRACE}::interval)`;
}

/** True if the version that was seen before the new row `n`, or the one after it, is the same, or `n` is outdated. */
function isVersionKnown(into: SQL, key: readonly string[], columns: readonly string[], by: string): SQL {
  const seen = key.slice(-1);
  const values = columns.filter((name) => name !== by && !key.includes(name));
  const [was, is] = [tuple('v', seen), tuple('n', seen)];
  const versions = sql`select * from ${into} v where ${same('v', 'n', key.slice(0, -1))}`;
  return sql`exists (
    select 1 from (
      (${versions} and ${was} <= ${is} order by ${was} desc limit 1) union all (${versions} and ${was} > ${is} order by ${was} limit 1)) v
    where ${tuple('v', values)} is not distinct from ${tuple('n', values)} or ${was} <= ${is} and ${tuple('v', [by])} > ${tuple('n', [by])})`;
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
