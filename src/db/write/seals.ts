import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { common, DAY, partsOf, type Range, type Stretch, stretchesOf } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { during } from '../connection/seconds.ts';
import { bare, multirangeParam, setExcluded, spansOfRow } from '../connection/sql.ts';
import { sealed, seals } from '../schema/etl/verification.ts';
import { targetOf, type Target } from './rows/target.ts';

/*
 * Coverage says what is stored; a seal says what was proved. While a range is verified, the rows of each of its seconds
 * are counted and the hashes of their keys are summed up. If the second gets its certificate, it is sealed: from then on
 * its rows have to be these. A write of the program breaks the seal of the seconds that it changes. So a row that somebody
 * else deletes or adds is found by the next verification.
 */

/** Unix seconds of a row; `extract` would give a numeric, at several times the cost. */
export const secondOfRow = (row: SQL): SQL => sql`date_part('epoch', ${row}.utime)::int8`;

/** The text of a row's key, whatever the session's time zone is. */
function keyLine({ facts }: Pick<Target, 'facts'>, row: SQL): SQL {
  const rest = facts.key
    .filter((name) => name !== 'utime')
    .map((name) => sql`${row}.${sql.identifier(name)}`);
  return sql`concat_ws('|', ${secondOfRow(row)}, ${sql.join(rest, sql`, `)})`;
}

/** The hash of a row's key: 60 bits of the MD5 of its text, which other databases can compute, too. */
export function keyHash(target: Pick<Target, 'facts'>, row: SQL): SQL {
  return sql`('x0' || left(md5(${keyLine(target, row)}), 15))::bit(64)::int8`;
}

/** A query: how many rows a table has in each second of a stretch, and the sum of their keys' hashes. */
export function heldRows(target: Target, stretch: Stretch): SQL {
  const t = sql`t`;
  return sql`select ${secondOfRow(t)} as second, count(*) as rows, sum(${keyHash(target, t)}) as keys
    from ${target.into} t where ${during('t', stretch)} group by 1`;
}

/** The seconds of a table that are sealed, as a scalar within a statement. */
export function sealedOf({ name }: Pick<Target, 'name'>): SQL {
  return sql`coalesce((select ${sealed.seconds} from ${sealed} where ${sealed.table_name} = ${name}), '{}')`;
}

/** Seconds that are counted at once. */
const CHUNK = DAY;

/**
 * Counts the rows of a stretch as far as it is not sealed; `seal` makes seals of the numbers if the seconds are certified.
 * Of a second without rows there is no number.
 */
export async function countToSeal(session: Session, table: object, stretch: Stretch): Promise<void> {
  const target = targetOf(table);
  for (const chunk of chunksOf(stretch)) {
    const [row] = await session.rows(
      sql`select (${multirangeParam(partsOf(chunk))} - ${sealedOf(target)})::text as spans`,
      Spans,
    );
    for (const open of stretchesOf(row?.spans ?? [], Infinity)) await count(session, target, open);
  }
}

const Spans = z.object({ spans: spansOfRow });

async function count(session: Session, target: Target, open: Stretch): Promise<void> {
  const spans = multirangeParam(partsOf(open));
  const key = bare(seals.table_name, seals.second);
  await session.run(sql`
    with held as materialized (${heldRows(target, open)}),
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

/** Seals these seconds (an expression) as far as their rows were counted. Within the transaction that certifies them. */
export async function seal(session: Session, { name }: Pick<Target, 'name'>, seconds: SQL): Promise<void> {
  const certified = sql`(${seconds} * ${sealed.counted})`;
  await session.run(sql`
    update ${sealed} set ${bare(sealed.seconds)} = ${sealed.seconds} + ${certified}
    where ${sealed.table_name} = ${name} and not ${certified} <@ ${sealed.seconds}`);
}

/** Breaks the seal of a range: whatever is stored there counts until it is certified again. */
export async function unseal(session: Session, table: object, range: Range): Promise<void> {
  await unsealSpans(session, targetOf(table), multirangeParam([range]));
}

/** The same for an expression of a multirange. */
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

/** A query: the sealed seconds of a stretch in which a table has other rows than the seal says, with both numbers. */
export function otherThanSealed(target: Target, stretch: Stretch): SQL {
  return sql`
    with z as materialized (
      select ${sealedOf(target)} * ${multirangeParam(partsOf(stretch))} as seconds),
    proved as (
      select ${seals.second}, ${seals.rows}, ${seals.keys} from ${seals}
      where ${seals.table_name} = ${target.name} and ${seals.second} >= ${stretch.from}::int8 and ${seals.second} < ${stretch.to}::int8),
    held as (${heldRows(target, stretch)})
    select second, coalesce(h.rows, 0) as held, coalesce(p.rows, 0) as proved
    from proved p full join held h using (second), z
    where z.seconds @> second and (coalesce(p.rows, 0) <> coalesce(h.rows, 0) or coalesce(p.keys, 0) <> coalesce(h.keys, 0))`;
}

/** Forgets the seals of a range that is not kept any more. */
export async function dropSeals(session: Session, table: string, { from, to }: Range): Promise<void> {
  await unsealSpans(session, { name: table }, multirangeParam([{ from, to }]));
  await session.run(sql`
    delete from ${seals} where ${seals.table_name} = ${table} and ${seals.second} >= ${from}::int8 and ${seals.second} < ${to}::int8`);
}
