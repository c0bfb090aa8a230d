import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { listOf } from '../api/read-response.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/describe.ts';
import { streamsOf } from '../crawl/streams/planner.ts';
import { readCoverage } from '../ledger/stored-coverage.ts';
import { keyText } from '../write/compare-rows.ts';
import { targetOf, lockTables } from '../write/target.ts';
import { during, identifiers, multirangeParam } from '../postgres/sql.ts';
import { trace_nodes, traces } from '../tables/ton/traces.ts';
import { concernsRun, EtlError } from '../errors.ts';
import { DAY, isInside, spanOfSecond, stretchesOf, union, without, type Range } from '../range.ts';
import type { CompareContext } from './compare-span.ts';
import type { Verified } from './verify.ts';
import { type Database, type Session, writeTransaction } from '../postgres/database.ts';
import { removeRows, unverify } from '../write/certificates.ts';
import { same } from '../write/insert.ts';
import type { Table } from '../dataset/declaration/record.ts';

/** How far from holes copies of their rows are searched for. */
const BEYOND = 60 * DAY;
/** Traces that are requested by name in one request. */
const NAMES = 20;
/** Maximum number of copies that are found at once: more of them must have a cause other than moved rows. */
const MOST = 1000;

const Copy = z.object({ id: z.string(), second: z.coerce.number() });

/** A row, by its key and second. */
type Copy = z.infer<typeof Copy>;

/**
 * Removes copies of traces that the source does not have, in any second: a later copy keeps the right one from being
 * stored. The suspects share transactions with the holes and lie in a second that has none of their own transactions.
 * They are requested by name, and those that the source confirms stay.
 * @returns seconds in which the source has such a trace, and the table does not
 */
export async function dropStrayTraces(
  context: CompareContext,
  { dataset, findings }: Pick<Verified, 'dataset' | 'findings'>,
  holes: readonly Range[],
): Promise<Range[]> {
  if (dataset.job.tables['traces'] !== traces || holes.length === 0) return [];
  const named = findings.flatMap(({ rows }) => rows.map(({ key }) => key));
  const suspects = await findSuspects(context, holes, named);
  const elsewhere: Range[] = [];
  for (let at = 0; at < suspects.length; at += NAMES) {
    const chosen = suspects.slice(at, at + NAMES);
    const ends = await endsOf(context, dataset, [...new Set(chosen.map(({ id }) => id))]);
    if (ends === undefined) return elsewhere;
    const strays = chosen.filter(({ id, second }) => ends.get(id) !== second);
    if (strays.length === 0) continue;
    context.crawl.logger.warn(
      { dataset: dataset.name, copies: strays.length, example: strays[0]?.id },
      'traces removed: the source has them in other seconds, or not at all',
    );
    for (const table of [trace_nodes, traces])
      await dropCopies(context.database, table, (alias) => sql`${sql.identifier(alias)}.trace_id`, strays);
    for (const { id } of strays) {
      const second = ends.get(id);
      if (second !== undefined && !holes.some((hole) => isInside(second, hole)))
        elsewhere.push(spanOfSecond(second));
    }
  }
  return union(elsewhere);
}

/** Traces that rows or findings of some seconds name, and whose own second has none of their transactions. */
function findSuspects(
  { database }: CompareContext,
  holes: readonly Range[],
  named: readonly string[],
): Promise<Copy[]> {
  const [seconds = { from: 0, to: 0 }] = stretchesOf(holes, Infinity);
  return database.rows(
    sql`
      with named as (
        select trace_id from ton.transactions t where ${during('t', seconds)}
        union select trace_id from ton.trace_nodes e where ${during('e', seconds)}
        union select trace_id from ton.traces t where ${during('t', seconds)}
        union select * from unnest(${sql.param([...new Set(named)])}::text[]))
      select t.trace_id as id, extract(epoch from t.utime)::int8 as second
      from named n join ton.traces t using (trace_id)
      where not exists (select 1 from ton.transactions x where x.utime = t.utime and x.trace_id = t.trace_id)
        and not exists (
          select 1 from ton.trace_nodes e join ton.transactions x on x.hash = e.tx_hash and x.utime = e.utime
          where e.utime = t.utime and e.trace_id = t.trace_id)
      order by 2, 1 limit ${MOST}::int`,
    Copy,
  );
}

/** The second in which the source ends each of these traces, if it has them. Undefined if there is no answer. */
async function endsOf(
  { crawl, stop }: CompareContext,
  { job }: Dataset,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number> | undefined> {
  const recordsIn = listOf(job.list);
  try {
    const { value } = await crawl.api.get({
      path: job.path,
      params: { ...job.params, trace_id: [...ids], limit: ids.length, offset: 0 },
      priority: 'repair',
      signal: stop.leaving,
      parse: (body) => job.read(recordsIn(body)).positions,
    });
    return new Map(value.filter(({ id }) => ids.includes(id)).map(({ id, utime }) => [id, utime]));
  } catch (error) {
    if (!(error instanceof EtlError) || concernsRun(error)) throw error;
    crawl.logger.warn({ code: error.code, reason: error.message }, 'could not look up traces by name');
    return undefined;
  }
}

/**
 * Removes copies of reread rows from seconds that are not covered. There is one row with this key, and the source has
 * just shown it in another second. Traces are looked up by name instead.
 */
export async function dropCopiesBeyond(
  { database, jobs, crawl }: CompareContext,
  dataset: Dataset,
  seconds: readonly Range[],
): Promise<void> {
  const [first, last] = [seconds[0], seconds.at(-1)];
  if (first === undefined || last === undefined) return;
  const covered: Range[] = [];
  for (const stream of await streamsOf(database, dataset))
    covered.push(...(await readCoverage(database, stream)));
  const beyond = without([{ from: first.from - BEYOND, to: last.to + BEYOND }], [...covered, ...seconds]);
  for (const [name, table] of ownTablesOf(dataset, jobs)) {
    if (table === traces) continue;
    const copies = await findCopies(database, table, seconds, beyond);
    if (copies.length === 0) continue;
    crawl.logger.warn(
      { table: name, copies: copies.length, example: copies[0]?.id },
      'copies of rows removed',
    );
    await dropCopies(database, table, (alias) => keyText(targetOf(table), alias), copies);
  }
}

/**
 * Rows in the seconds `beyond` that have the key of a row in `seconds`. A message from or to the outside of the chain
 * may exist twice: each has its own transaction. Parts of a whole that is stored in the same second do not count as
 * copies.
 */
function findCopies(
  session: Session,
  table: Table,
  seconds: readonly Range[],
  beyond: readonly Range[],
): Promise<Copy[]> {
  const target = targetOf(table);
  const { key, shared, supersedes } = target.facts;
  const names = key.filter((name) => name !== 'utime');
  const ends = (shared?.ends ?? []).map((end) => sql`c.${sql.identifier(end)} is not null`);
  const isAlone =
    ends.length === 0
      ? sql``
      : sql` and (${sql.join(ends, sql` and `)} or not exists (select 1 from ton.transactions x
          where x.utime = c.utime and (x.in_msg_hash = c.hash or x.hash = c.out_msg_tx_hash)))`;
  const isLoose =
    supersedes === undefined
      ? sql``
      : sql` and not exists (select 1 from ton.${sql.identifier(supersedes.of)} w
          where ${same('w', 'c', ['utime', ...supersedes.columns])})`;
  return session.rows(
    sql`
      with r as materialized (
        select distinct ${identifiers(names)} from ${target.into} r
        where ${during('r', stretchesOf(seconds, Infinity)[0] ?? { from: 0, to: 0 })})
      select ${keyText(target, 'c')} as id, extract(epoch from c.utime)::int8 as second
      from unnest(${multirangeParam(beyond)}) g join ${target.into} c
        on c.utime >= to_timestamp(lower(g)::float8) and c.utime < to_timestamp(upper(g)::float8)
      join r on ${same('r', 'c', names)}
      where c.utime >= to_timestamp(${beyond[0]?.from ?? 0}::float8)
        and c.utime < to_timestamp(${beyond.at(-1)?.to ?? 0}::float8)${isLoose}${isAlone}
      order by 2, 1 limit ${MOST}::int`,
    Copy,
  );
}

/** Removes rows that the source does not have. */
function dropCopies(
  database: Database,
  table: Table,
  nameOf: (alias: string) => SQL,
  copies: readonly Copy[],
): Promise<void> {
  const target = targetOf(table);
  return writeTransaction(database, async (session) => {
    await lockTables(session, [target], 'shared');
    for (const { id, second } of copies) {
      const deletion = sql`
        delete from ${target.into} t where t.utime = to_timestamp(${second}::float8) and ${nameOf('t')} = ${id}`;
      await unverify(session, [await removeRows(session, target, deletion)]);
    }
  });
}
