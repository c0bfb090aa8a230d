import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { common, DAY, MINUTE, partsOf, type Range, type Stretch, stretchesOf, union } from '../range.ts';
import { oneRow, type Session, oneValue } from '../postgres/database.ts';
import { during, bare, multirangeParam, setExcluded, spansOfRow } from '../postgres/sql.ts';
import { sealed, seals } from '../tables/etl/verification.ts';
import { targetOf, type Target } from './target.ts';
import type { Scope } from '../dataset/job.ts';
import type { Table } from '../dataset/declaration/record.ts';

/*
 * Coverage says what is stored; a seal says what was proved. While a range is verified, the rows of each of its seconds
 * are counted and the hashes of their keys are summed up. If the second gets its certificate, it is sealed: from then
 * on, its rows must match. A write of the program breaks the seals of the seconds that it changes. So the next
 * verification finds rows that another program deleted or added.
 */

/** Unix seconds of a row; `extract` would return a numeric, at several times the cost. */
export const secondOfRow = (row: SQL): SQL => sql`date_part('epoch', ${row}.utime)::int8`;

/** The hash of a row's key: 60 bits of the MD5 of its text, which other databases can compute in any time zone. */
export function keyHash({ facts }: Pick<Target, 'facts'>, row: SQL): SQL {
  const rest = facts.key
    .filter((name) => name !== 'utime')
    .map((name) => sql`${row}.${sql.identifier(name)}`);
  const text = sql`concat_ws('|', ${secondOfRow(row)}, ${sql.join(rest, sql`, `)})`;
  return sql`('x0' || left(md5(${text}), 15))::bit(64)::int8`;
}

/** A query for the number of a table's rows in each second of a stretch, and the sum of their keys' hashes. */
export function storedRows(target: Target, stretch: Stretch, scope?: Scope): SQL {
  const t = sql`t`;
  return sql`select ${secondOfRow(t)} as second, count(*) as rows, sum(${keyHash(target, t)}) as keys
    from ${target.into} t where ${during('t', stretch)} ${ofScope(scope)} group by 1`;
}

/** The condition on a scope's rows `t`, with the `and` before it. */
export function ofScope(scope: Scope): SQL {
  return scope === undefined ? sql`` : sql`and t.${sql.identifier(scope.column)} = ${scope.value}`;
}

/** The sealed seconds of a table, as a scalar within a statement. */
export function sealedOf({ name }: Pick<Target, 'name'>): SQL {
  return sql`coalesce((select ${sealed.seconds} from ${sealed} where ${sealed.table_name} = ${name}), '{}')`;
}

/** The rows of a table that a check has read in a stretch. */
export interface ReadRows {
  readonly table: Table;
  readonly rows: number;
  /** By number of the minute, as JSON: a year has half a million of them. */
  readonly byMinute: string;
}

const Held = z.object({ rows: z.coerce.number(), byMinute: z.string() });

/**
 * Counts the rows of its stretch that a check reads. `read` follows `from` in the check's own query, and has a column
 * `utime`: rows that it leaves out are not counted.
 */
export async function countReadRows(
  session: Session,
  table: Table,
  { read, stretch }: { readonly read: SQL; readonly stretch: Stretch },
): Promise<ReadRows> {
  const counted = await oneRow(
    session,
    sql`
      select coalesce(sum(rows), 0) as rows, coalesce(json_object_agg(minute, rows), '{}')::text as "byMinute"
      from (
        select ${secondOfRow(sql`x`)} / ${MINUTE}::int as minute, count(*) as rows
        from (select utime from ${read}) x where ${during('x', stretch)} group by 1) m`,
    Held,
  );
  return { table, ...counted };
}

export interface RowsReadByCheck extends ReadRows {
  readonly check: string;
  readonly stretch: Stretch;
}

/** Seconds in which a check read fewer rows than were counted for the seal. */
export interface UnreadRows {
  readonly check: string;
  readonly spans: readonly Range[];
  /** `read 5 of 7 rows of transactions` */
  readonly sentence: string;
}

/**
 * The minutes of some seconds (an expression) in which a check read fewer rows than were counted for the seal. All rows
 * that it read in a minute are added up.
 */
export async function findUnreadRows(
  session: Session,
  readRows: readonly RowsReadByCheck[],
  seconds: SQL,
): Promise<UnreadRows[]> {
  const groups = new Map<string, [RowsReadByCheck, ...RowsReadByCheck[]]>();
  for (const rows of readRows) {
    const name = `${rows.check} ${targetOf(rows.table).name}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [rows]);
    else group.push(rows);
  }
  const found: UnreadRows[] = [];
  for (const all of groups.values()) {
    const [{ check, table }] = all;
    const spans = union(all.flatMap(({ stretch }) => partsOf(stretch)));
    const minutes = all.map(({ byMinute }) => byMinute);
    const unread = unreadMinutes(targetOf(table), sql`(${multirangeParam(spans)} * ${seconds})`, minutes);
    const row = await oneRow(session, unread, UnreadRow);
    if (row.spans.length === 0) continue;
    const sentence = `read ${row.read} of ${row.due} rows of ${targetOf(table).name}`;
    found.push({ check, spans: row.spans, sentence });
  }
  return found;
}

const UnreadRow = z.object({ spans: spansOfRow, read: z.coerce.number(), due: z.coerce.number() });

function unreadMinutes({ name }: Pick<Target, 'name'>, seconds: SQL, byMinute: readonly string[]): SQL {
  return sql`
    with looked as materialized (select ${seconds} as seconds),
    due as (
      select second / ${MINUTE}::int as minute, sum(rows) as rows from ${seals}, looked l
      where table_name = ${name} and second >= lower(l.seconds) and second < upper(l.seconds) and l.seconds @> second
      group by 1),
    held as (
      select key::int8 as minute, sum(value::int8) as rows
      from unnest(${sql.param(byMinute)}::text[]) m, json_each_text(m::json) group by 1)
    select (coalesce(range_agg(int8range(minute * ${MINUTE}, (minute + 1) * ${MINUTE})), '{}')
        * (select seconds from looked))::text as spans,
      coalesce(sum(h.rows), 0) as read, coalesce(sum(d.rows), 0) as due
    from due d left join held h using (minute) where coalesce(h.rows, 0) < d.rows`;
}

/** Seconds that are counted at once. */
const CHUNK = DAY;

/** Counts the rows of a stretch's unsealed seconds that have any. `seal` turns the numbers into seals. */
export async function countToSeal(session: Session, table: Table, stretch: Stretch): Promise<void> {
  const target = targetOf(table);
  for (const chunk of chunksOf(stretch)) {
    const spans = sql`${multirangeParam(partsOf(chunk))} - ${sealedOf(target)}`;
    for (const open of await readStretches(session, spans)) await count(session, target, open);
  }
}

async function readStretches(session: Session, spans: SQL): Promise<Stretch[]> {
  return stretchesOf(await oneValue(session, sql`select (${spans})::text`, spansOfRow), Infinity);
}

export function sealedWithin(session: Session, target: Target, stretch: Stretch): Promise<Stretch[]> {
  return readStretches(session, sql`${multirangeParam(partsOf(stretch))} * ${sealedOf(target)}`);
}

async function count(session: Session, target: Target, open: Stretch): Promise<void> {
  const spans = multirangeParam(partsOf(open));
  const key = bare(seals.table_name, seals.second);
  await session.run(sql`
    with held as materialized (${storedRows(target, open)}),
    gone as (
      delete from ${seals} s
      where s.table_name = ${target.name} and s.second >= ${open.from}::int8 and s.second < ${open.to}::int8
        and ${spans} @> s.second and not exists (select from held h where h.second = s.second))
    insert into ${seals} (${key}, ${bare(seals.rows, seals.keys)})
    select ${target.name}, second, rows, keys from held
    on conflict (${key}) do update set ${setExcluded(seals.rows, seals.keys)}`);
  await session.run(sql`
    insert into ${sealed} as s (${bare(sealed.table_name, sealed.counted)}) values (${target.name}, ${spans})
    on conflict (${bare(sealed.table_name)}) do update set ${bare(sealed.counted)} = s.counted + excluded.counted
    where not excluded.counted <@ s.counted`);
}

function chunksOf(stretch: Stretch): Stretch[] {
  const chunks: Stretch[] = [];
  for (let { from } = stretch; from < stretch.to; from += CHUNK)
    chunks.push(...stretchesOf(common(partsOf(stretch), [{ from, to: from + CHUNK }]), Infinity));
  return chunks;
}

/** Seals these seconds (an expression) if their rows were counted. Runs in the transaction that certifies them. */
export async function seal(session: Session, { name }: Pick<Target, 'name'>, seconds: SQL): Promise<void> {
  const certified = sql`(${seconds} * ${sealed.counted})`;
  await session.run(sql`
    update ${sealed} set ${bare(sealed.seconds)} = ${sealed.seconds} + ${certified}
    where ${sealed.table_name} = ${name} and not ${certified} <@ ${sealed.seconds}`);
}

/** Breaks the seal of a range: its rows count as they are until they are certified again. */
export async function unseal(session: Session, table: Table, range: Range): Promise<void> {
  await unsealSpans(session, targetOf(table), multirangeParam([range]));
}

/** Does the same for an expression of a multirange. */
export async function unsealSpans(
  session: Session,
  { name }: Pick<Target, 'name'>,
  spans: SQL,
): Promise<void> {
  const { table_name, seconds } = sealed;
  await session.run(sql`
    update ${sealed} set ${bare(seconds)} = ${seconds} - ${spans}
    where ${table_name} = ${name} and ${seconds} && ${spans}`);
}

/** A query for the sealed seconds of a stretch in which a table's rows do not match the seal, with both numbers. */
export function otherThanSealed(target: Target, stretch: Stretch): SQL {
  return sql`
    with z as materialized (
      select ${sealedOf(target)} * ${multirangeParam(partsOf(stretch))} as seconds),
    proved as (
      select ${seals.second}, ${seals.rows}, ${seals.keys} from ${seals}
      where ${seals.table_name} = ${target.name} and ${seals.second} >= ${stretch.from}::int8 and ${seals.second} < ${stretch.to}::int8),
    held as (${storedRows(target, stretch)})
    select second, coalesce(h.rows, 0) as held, coalesce(p.rows, 0) as proved
    from proved p full join held h using (second), z
    where z.seconds @> second and (coalesce(p.rows, 0) <> coalesce(h.rows, 0) or coalesce(p.keys, 0) <> coalesce(h.keys, 0))`;
}

/** Deletes the seals of a range that is no longer kept. */
export async function dropSeals(session: Session, table: string, { from, to }: Range): Promise<void> {
  await unsealSpans(session, { name: table }, multirangeParam([{ from, to }]));
  await session.run(sql`
    delete from ${seals} where ${seals.table_name} = ${table} and ${seals.second} >= ${from}::int8 and ${seals.second} < ${to}::int8`);
}
