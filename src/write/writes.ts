import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { toMultirangeText, type Range } from '../range.ts';
import { oneRow, type Database, type Session } from '../postgres/database.ts';
import { bare, multirangeParam, texts } from '../postgres/sql.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { sealed, writes } from '../tables/etl/verification.ts';
import { lockTables, targetOf, type Target } from './target.ts';
import { secondOfRow, unsealSpans } from './seals.ts';

/*
 * The effects of a write on certificates. Each commit notes the seconds into which it may have written, so that a
 * verification that began earlier does not certify them. Verified or sealed seconds whose rows it changes lose both.
 */

const { dataset, scope, pass, covered, verified } = coverage;

/** Seconds of a table into which rows are written. */
export interface WrittenSeconds {
  readonly target: Pick<Target, 'name' | 'facts'>;
  readonly seconds: readonly Range[];
}

/** Notes the seconds into which a transaction may write. It must hold the locks of `lockTables`. */
export async function noteWrites(session: Session, written: readonly WrittenSeconds[]): Promise<void> {
  const noted = inStreams(written);
  if (noted.length === 0) return;
  await session.run(sql`
    insert into ${writes} (${bare(writes.table_name, writes.seconds)})
    select name, seconds::int8multirange from ${asRecords(noted)}`);
}

/** Names of the tables that have verified or sealed seconds among these. */
export async function checkedAmong(
  session: Session,
  written: readonly WrittenSeconds[],
): Promise<ReadonlySet<string>> {
  const noted = inStreams(written);
  if (noted.length === 0) return new Set();
  const rows = await session.rows(
    sql`
      select name from ${asRecords(noted)}, lateral (select seconds::int8multirange as spans) n
      where exists (select from ${coverage} where ${isChecked})
        or exists (select from ${sealed} where ${sealed.table_name} = name and ${sealed.seconds} && n.spans)`,
    z.object({ name: z.string() }),
  );
  return new Set(rows.map(({ name }) => name));
}

function inStreams(written: readonly WrittenSeconds[]): WrittenSeconds[] {
  return written.filter(({ target, seconds }) => target.facts.partitioned && seconds.length > 0);
}

function asRecords(written: readonly WrittenSeconds[]): SQL {
  const given = written.map(({ target, seconds }) => ({
    name: target.name,
    seconds: toMultirangeText(seconds),
  }));
  return sql`json_to_recordset(${JSON.stringify(given)}::json) as g (name text, seconds text)`;
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
  const [row] = await session.rows(
    sql`
      with gone as (${deletion} returning t.utime), changed as (${secondsOf(sql`gone`)}),
      noted as (
        insert into ${writes} (${bare(writes.table_name, writes.seconds)})
        select ${target.name}, seconds::int8multirange from changed where seconds is not null)
      select seconds from changed`,
    Seconds,
  );
  return { target, seconds: row?.seconds ?? null };
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
export function readLastWrite(database: Database, tables: readonly object[]): Promise<number> {
  return database.transaction(async (session) => {
    await lockTables(session, tables.map(targetOf), 'alone');
    const row = await oneRow(
      session,
      sql`select coalesce(pg_sequence_last_value(pg_get_serial_sequence('etl.writes', 'id')::regclass), 0) as last`,
      z.object({ last: z.coerce.number() }),
    );
    return row.last;
  });
}

/**
 * The seconds into which rows of some tables were written, or from which they were removed, after a write, as a scalar.
 * If that is so long ago that later writes may be deleted, it is all seconds.
 */
export function writtenSince(targets: readonly Pick<Target, 'name'>[], lastWrite: number): SQL {
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
