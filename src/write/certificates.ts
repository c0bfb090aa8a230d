import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { spansWithFindings } from '../ledger/stored-findings.ts';
import type { GradeFacts } from '../dataset/job.ts';
import { type Range, union, without, toMultirangeText } from '../range.ts';
import {
  coveredOf,
  everReadOf,
  type Stream,
  addCoverage,
  readDue,
  ofStream,
} from '../ledger/stored-coverage.ts';
import { floorOfDataset } from '../ledger/stored-settings.ts';
import {
  type Database,
  type LockMode,
  type Session,
  writeTransaction,
  oneRow,
  oneValue,
} from '../postgres/database.ts';
import {
  answersOf,
  bare,
  excluded,
  insertInto,
  list,
  multirangeParam,
  setExcluded,
  spansOfRow,
  texts,
} from '../postgres/sql.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { grades, sealed, writes } from '../tables/etl/verification.ts';
import {
  findUnreadRows,
  seal,
  type RowsReadByCheck,
  type UnreadRows,
  secondOfRow,
  unsealSpans,
} from './seals.ts';
import { lockTables, targetOf, type Target } from './target.ts';
import type { Table } from '../dataset/declaration/record.ts';

/** A stream whose seconds are certified. */
export interface Certified {
  readonly stream: Stream;
  readonly tables: readonly Table[];
  /** If true, only seconds that a second reading has confirmed, and still confirms, have the grade. */
  readonly isReadTwice?: boolean;
  /**
   * The datasets that the checks depend on. If one of them has lost its certificate for a second, the stream gets none.
   */
  readonly dependencies?: readonly Dependency[];
}

/** The result of checks. */
interface CheckVerdict {
  /** Seconds in which every check read every row and found nothing. */
  readonly good: readonly Range[];
  /** Seconds with a finding: they lose their certificate if they have one. */
  readonly bad: readonly Range[];
  /** The last write before the checks began, from `readLastWrite`. */
  readonly lastWrite: number;
  /** The rows that the checks read. Seconds with fewer rows than were counted for the seal are not certified. */
  readonly readRows: readonly RowsReadByCheck[];
}

/**
 * Certifies verified seconds, and withdraws the certificates of checked seconds that are not verified. Only covered
 * seconds count, and none into which a row was written since the checks began: by another dataset's page, a repair, or
 * a release from quarantine. The tables are locked meanwhile. So a commit in progress is either seen here, or it finds
 * the certificate and withdraws it. A second with a finding is never certified. An older program certifies nothing,
 * because its checks see less. Certified seconds are sealed: each check has read as many rows as the seal counts.
 * Returns the seconds in which a check has read fewer.
 * @throws WrongDatabaseError if a newer program has migrated the database
 */
export function setVerified(
  database: Database,
  { stream, tables, isReadTwice = false, dependencies = [] }: Certified,
  verdict: CheckVerdict,
): Promise<UnreadRows[]> {
  const { covered, verified, updated_at } = coverage;
  const targets = tables.map(targetOf);
  const { lastWrite, readRows } = verdict;
  const confirmed = isReadTwice ? sql`* ${coveredOf({ ...stream, pass: 1 })}` : sql``;
  return writeTransaction(database, async (session) => {
    const unwritten = sql`(${multirangeParam(verdict.good)} - ${writtenSince(targets, lastWrite)})`;
    const unread = await findUnreadRows(session, readRows, unwritten);
    const lost = union(...unread.map(({ spans }) => spans));
    const [good, bad] = [without(verdict.good, lost), union(verdict.bad, lost)];
    const unsupported = dependencies.map((dependency) => sql` - ${lackingOf(dependency, good)}`);
    await lockTables(session, targets, 'alone');
    // Waits for transactions that add findings: the next statement sees these.
    await session.run(sql`
      select 1 from ${coverage} where ${ofStream(coverage, { ...stream, pass: 0 })} for update`);
    await session.run(sql`
      update ${coverage}
      set ${bare(verified)} = ${verified} - ${multirangeParam(bad)}
          + (${covered} * ${multirangeParam(good)} ${confirmed} - ${writtenSince(targets, lastWrite)}${sql.join(unsupported)})
          - ${spansWithFindings(stream)},
        ${bare(updated_at)} = default
      where ${ofStream(coverage, { ...stream, pass: 0 })}`);
    const certified = sql`${verifiedOf({ ...stream, pass: 0 })} * ${multirangeParam(good)}`;
    for (const target of targets.filter(({ facts }) => facts.partitioned))
      await seal(session, target, certified);
    return unread;
  });
}

/** Withdraws the certificates of a range in which a reading differed from the stored rows. */
export async function withdrawVerified(session: Session, stream: Stream, range: Range): Promise<void> {
  const { verified, updated_at } = coverage;
  const span = multirangeParam([range]);
  await session.run(sql`
    update ${coverage} set ${bare(verified)} = ${verified} - ${span}, ${bare(updated_at)} = default
    where ${ofStream(coverage, { ...stream, pass: 0 })} and ${verified} && ${span}`);
}

/** A dataset that the certificates of another one depend on. */
export interface Dependency {
  readonly name: string;
  /** If true, the other dataset's certificate is valid in seconds in which this one was never read. */
  readonly isOptional: boolean;
}

/**
 * The seconds of some ranges in which a dataset has no certificate, although another one depends on it, as a scalar
 * within a statement. Seconds that retention has dropped were proved before.
 */
function lackingOf({ name, isOptional }: Dependency, ranges: readonly Range[]): SQL {
  const own = { dataset: name, scope: '', pass: 0 };
  const wanted = isOptional ? everReadOf(own, ranges) : multirangeParam(ranges);
  return sql`(${wanted} * int8multirange(int8range(${floorOfDataset(name)}, null)) - ${verifiedOf(own)})`;
}

/** The verified ranges of a stream, as a scalar within a statement. */
function verifiedOf(stream: Stream): SQL {
  return sql`coalesce((select ${coverage.verified} from ${coverage} where ${ofStream(coverage, stream)}), '{}')`;
}

/** The verified ranges, oldest first. */
export async function readVerified(session: Session, stream: Stream): Promise<Range[]> {
  return oneValue(session, sql`select ${verifiedOf({ ...stream, pass: 0 })}::text`, spansOfRow);
}

/** Stores what verified means for a dataset. */
export async function saveGrade(
  session: Session,
  dataset: string,
  { grade, proves, limitations }: GradeFacts,
): Promise<void> {
  const values = [grades.grade, grades.proves, grades.blind_to] as const;
  await session.run(sql`
    ${insertInto(grades, { dataset, grade, proves, blind_to: limitations })}
    on conflict (${bare(grades.dataset)}) do update
      set ${setExcluded(...values)}, ${bare(grades.updated_at)} = default
    where (${list(values)}) is distinct from (${list(values.map(excluded))})`);
}

/** A second reading of a stream, whose rows were all compared with the source. */
interface SecondReading {
  readonly first: Stream;
  /** Seconds in which all rows agree. */
  readonly ranges: readonly Range[];
  /** Minimum age of the first reading. */
  readonly ageSeconds: number;
  readonly tables: readonly Table[];
  /** The last write before the reading began, from `readLastWrite`. */
  readonly lastWrite: number;
}

/**
 * Marks ranges as read a second time, if that is due. It excludes seconds into which a row was written since the
 * reading began, such as a record out of quarantine, because the reading has not seen that row.
 * @returns the confirmed ranges
 * @throws WrongDatabaseError if a newer program has migrated the database
 */
export function confirmDue(database: Database, reading: SecondReading): Promise<Range[]> {
  const { first, ranges, ageSeconds, lastWrite } = reading;
  const targets = reading.tables.map(targetOf);
  return writeTransaction(database, async (session) => {
    await lockTables(session, targets, 'alone');
    // Locked until the end: no range can leave coverage and be read again meanwhile. Second readings are locked first,
    // as in every transaction that changes both.
    await session.run(sql`
      select 1 from ${coverage} where ${coverage.dataset} = ${first.dataset} and ${coverage.scope} = ${first.scope}
      order by ${coverage.pass} desc for update`);
    const written = await oneValue(
      session,
      sql`select (${writtenSince(targets, lastWrite)})::text`,
      spansOfRow,
    );
    const confirmed: Range[] = [];
    for (const range of without(ranges, written))
      for (const [, due] of await readDue(session, [first], range, ageSeconds)) confirmed.push(...due);
    for (const range of confirmed) await addCoverage(session, { ...first, pass: 1 }, range);
    return confirmed;
  });
}

/*
 * The effects of a write on certificates. Each commit notes the seconds into which it may have written, so that a
 * verification that began earlier does not certify them. Verified or sealed seconds whose rows it changes lose both.
 */

const { dataset, scope, pass, covered, verified } = coverage;

/** Seconds of a table into which rows are written. */
interface WrittenSeconds {
  readonly target: Target;
  readonly seconds: readonly Range[];
}

/**
 * Locks the tables that a transaction writes, and notes the seconds into which it may write. `mode`: alone if it also
 * compares rows, so that no other transaction adds one meanwhile.
 * @returns the names of the tables in which some of these seconds are verified or sealed
 */
export async function announceWrites(
  session: Session,
  written: readonly WrittenSeconds[],
  mode: LockMode = 'shared',
): Promise<ReadonlySet<string>> {
  const targets = written.map(({ target }) => target);
  const locked = lockTables(session, targets, mode);
  // Locking alone takes several statements. The note must follow the last one.
  if (mode === 'alone') await locked;
  const [, checked] = await answersOf([locked, noteWrites(session, written)]);
  return checked;
}

async function noteWrites(
  session: Session,
  written: readonly WrittenSeconds[],
): Promise<ReadonlySet<string>> {
  const noted = written.filter(({ target, seconds }) => target.facts.partitioned && seconds.length > 0);
  if (noted.length === 0) return new Set();
  const given = noted.map(({ target, seconds }) => ({
    name: target.name,
    seconds: toMultirangeText(seconds),
  }));
  const rows = await session.rows(
    sql`
      with given as (
        select name, seconds::int8multirange as spans
        from json_to_recordset(${JSON.stringify(given)}::json) as g (name text, seconds text)),
      noted as (
        insert into ${writes} (${bare(writes.table_name, writes.seconds)}) select name, spans from given)
      select name from given n
      where exists (select from ${coverage} where ${isChecked})
        or exists (select from ${sealed} where ${sealed.table_name} = name and ${sealed.seconds} && n.spans)`,
    z.object({ name: z.string() }),
  );
  return new Set(rows.map(({ name }) => name));
}

/** Seconds of a table's rows that were written or removed. */
export interface Changed {
  readonly target: Pick<Target, 'name'>;
  /** Text of a multirange; null for none. */
  readonly seconds: string | null;
}

/** A row with the seconds of `Changed`. */
export const Seconds = z.object({ seconds: z.string().nullable() });

/** A query for the seconds of `rows`, the name of a query with a column `utime`, as a row of `Seconds`. */
export function secondsOf(rows: SQL): SQL {
  return sql`
    select range_agg(int8range(second, second + 1))::text as seconds
    from (select distinct ${secondOfRow(sql`r`)} as second from ${rows} r) s`;
}

/** Runs a statement that deletes rows `t` of a stream table; the caller passes the result to `unverify`. */
export async function removeRows(
  session: Session,
  target: Pick<Target, 'name'>,
  deletion: SQL,
): Promise<Changed> {
  const { seconds } = await oneRow(
    session,
    sql`
      with gone as (${deletion} returning t.utime), changed as (${secondsOf(sql`gone`)}),
      noted as (
        insert into ${writes} (${bare(writes.table_name, writes.seconds)})
        select ${target.name}, seconds::int8multirange from changed where seconds is not null)
      select seconds from changed`,
    Seconds,
  );
  return { target, seconds };
}

/**
 * Withdraws certificates and breaks seals in seconds whose rows were changed. The checks of the table's dataset have
 * not seen rows that come later from another dataset's pages or from quarantine. Neither has an earlier second reading,
 * so another one is needed. A pool's seconds are confirmed by the pool's own readings.
 *
 * Call it after the rows of all tables are written: other commits wait for a row of coverage, so a transaction that
 * holds one must not wait for their rows.
 */
export async function unverify(session: Session, changed: readonly Changed[]): Promise<void> {
  const found = changed.flatMap(({ target, seconds }) => (seconds === null ? [] : [{ target, seconds }]));
  for (const { target, seconds } of found)
    await session.run(sql`
      update ${coverage} set ${bare(verified)} = ${verified} - n.spans,
        ${bare(covered)} = case ${pass} when 0 then ${covered} else ${covered} - n.spans end
      from (select ${seconds}::int8multirange as spans) n
      where ${isChecked}
        and ${dataset} in (select d.dataset from etl.datasets d where ${target.name}::text = any(d.tables))`);
  for (const { target, seconds } of found)
    await unsealSpans(session, target, sql`${seconds}::int8multirange`);
}

/** True of coverage that contains checked seconds among `n.spans`. */
const isChecked = sql`
  case ${pass} when 0 then ${verified} else ${covered} end && n.spans and (${pass} = 0 or ${scope} = '')`;

/**
 * Number of the last write at a moment when no commit is writing these tables. Later writes have greater numbers, and
 * every check that begins now sees earlier ones.
 */
export function readLastWrite(database: Database, tables: readonly Table[]): Promise<number> {
  return database.transaction(async (session) => {
    await lockTables(session, tables.map(targetOf), 'alone');
    const last = sql`pg_sequence_last_value(pg_get_serial_sequence('etl.writes', 'id')::regclass)`;
    return oneValue(session, sql`select coalesce(${last}, 0)`, z.coerce.number());
  });
}

/**
 * The seconds into which rows of some tables were written, or from which they were removed, after a write, as a scalar.
 * If that is so long ago that later writes may be deleted, it is all seconds.
 */
function writtenSince(targets: readonly Pick<Target, 'name'>[], lastWrite: number): SQL {
  const isLater = sql`${writes.id} > ${lastWrite} and ${writes.table_name} in (${texts(targets.map(({ name }) => name))})`;
  return sql`
    case when ${lastWrite} > 0 and ${lastWrite} < (select min(${writes.id}) from ${writes})
      then int8multirange(int8range(null, null))
      else (select coalesce(range_agg(span), '{}') from ${writes}, unnest(${writes.seconds}) span where ${isLater}) end`;
}

/** Longer than any verification takes. */
const KEPT = sql`interval '1 day'`;

/** Deletes writes that no verification needs any more. The last one stays, to show that earlier ones were deleted. */
export async function forgetWrites(session: Session): Promise<void> {
  await session.run(sql`
    delete from ${writes}
    where ${writes.id} < (select max(${writes.id}) from ${writes} where ${writes.written_at} < now() - ${KEPT})`);
}

/** True if rows of a table were written in a range after a write. */
export async function isWrittenSince(
  session: Session,
  table: string,
  range: Range,
  lastWrite: number,
): Promise<boolean> {
  const query = sql`select 1 where ${writtenSince([{ name: table }], lastWrite)} && ${multirangeParam([range])}`;
  return (await session.run(query)) > 0;
}
