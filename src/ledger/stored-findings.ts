import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { systemClock, CONFLICT, retry } from '../clock.ts';
import { toMultirangeText, toRangeText, type Range, spanOfSecond } from '../range.ts';
import { type Database, type Session, writeTransaction, oneValue } from '../postgres/database.ts';
import { bare, multirangeParam, rangeParam, spanOfRow, spansOfRow } from '../postgres/sql.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { findings, writes } from '../tables/etl/verification.ts';
import { coveredOf, type Stream, ofStream } from './stored-coverage.ts';
import { LONGEST_TRACE } from '../tables/ton/traces.ts';

/** Name of the check that compares stored rows with the source. */
export const DEEP = 'deep';

/** Name of the check that compares stored rows with those that were proved. */
export const SEAL = 'seal';

const BEFORE_COLUMNS = ': ';

/** What is wrong with a row, and in which columns, as `differs` stores it; `columnsIn` parses it. */
export function differsText(kind: string, columns: readonly string[]): string {
  return columns.length === 0 ? kind : `${kind}${BEFORE_COLUMNS}${columns.join(', ')}`;
}

function columnsIn(differs: string): string[] {
  return differs.split(BEFORE_COLUMNS)[1]?.split(', ') ?? [];
}

/** A row that is wrong, missing or surplus. */
export interface WrongRow {
  readonly table: string;
  /** The key of the row; empty if too many rows are missing to name each. */
  readonly key: string;
  /** Seconds of the checked dataset that hold the row. */
  readonly span: Range;
  /** Seconds in which the row itself lies, if these are others: a transaction within its trace. */
  readonly own?: Range;
  /** What is wrong with it. */
  readonly differs: string;
  /** Every dataset that holds the row, including the checked one. */
  readonly datasets: readonly string[];
}

const Held = z.object({ table: z.string(), key: z.string(), second: z.coerce.number() });

/** The dataset whose rows contain rows of others. Only this file knows how, in SQL. */
const TRACES = 'traces';

/** True of a stream whose rows traces contain. */
export function isHeldByTraces({ dataset }: Pick<Stream, 'dataset'>): boolean {
  return dataset === 'transactions';
}

/**
 * The rows as parts of traces, in the seconds in which the traces end. A transaction is found by its node in the tree.
 * A message is found by its sender, or by its receiver if it has no sender. The trees are read once, however many rows
 * there are.
 */
async function heldByTraces<Row extends WrongRow>(
  session: Session,
  rows: readonly Row[],
): Promise<(Row & { readonly dataset: string })[]> {
  const within = rows.filter(({ key, datasets }) => key !== '' && datasets.includes(TRACES));
  if (within.length === 0) return [];
  const [transactions, messages] = [given(within, 'transactions'), given(within, 'messages')];
  const from = within.reduce((least, { own, span }) => Math.min(least, (own ?? span).from), Infinity);
  const to = within.reduce((most, { own, span }) => Math.max(most, (own ?? span).to), -Infinity);
  // Each node lies at the end of its trace. Its time is compared only with constants, so that Postgres uses a hash
  // join.
  const held = await session.rows(
    sql`
      with sought as (
        select 'transactions' as "table", g.key, t.hash as tx_hash from ${transactions} join ton.transactions t
          on t.utime >= to_timestamp(g."from") and t.utime < to_timestamp(g."to")
            and g.key in (t.hash, concat_ws(' ', t.lt, t.account))
        union
        select 'messages', g.key, m.out_msg_tx_hash from ${messages} join ton.messages m
          on m.utime >= to_timestamp(g."from") and m.utime < to_timestamp(g."to") and m.hash = g.key),
      nodes as (
        select tx_hash, in_msg_hash, extract(epoch from utime)::int8 as second from ton.trace_nodes
        where utime >= to_timestamp(${from}::float8)
          and utime < to_timestamp(${to}::float8) + ${LONGEST_TRACE}::interval)
      select "table", key, second from sought join nodes using (tx_hash)
      union
      select 'messages', g.key, second from ${messages} join nodes e on e.in_msg_hash = g.key`,
    Held,
  );
  const rowsByName = new Map<string, Row[]>();
  for (const row of within) {
    const name = `${row.table} ${row.key}`;
    rowsByName.set(name, [...(rowsByName.get(name) ?? []), row]);
  }
  return held.flatMap(({ table, key, second }) =>
    (rowsByName.get(`${table} ${key}`) ?? []).map((row) => ({
      ...row,
      span: spanOfSecond(second),
      dataset: TRACES,
    })),
  );
}

/**
 * Withdraws the certificates of the seconds in which traces with transactions of these seconds end, because rereading
 * may change these traces. Traces are looked up by their ids. If the source gives a transaction no id, all trees are
 * read.
 */
export async function withdrawTraces(session: Session, seconds: readonly Range[]): Promise<void> {
  const t = sql`ton.transactions t join unnest(${multirangeParam(seconds)}) h
    on t.utime >= to_timestamp(lower(h)::float8) and t.utime < to_timestamp(upper(h)::float8)`;
  const isLater = sql`e.utime >= t.utime and e.utime < t.utime + ${LONGEST_TRACE}::interval`;
  await withdraw(
    session,
    sql`${t} join ton.traces e on e.trace_id = t.trace_id and ${isLater} where t.trace_id is not null`,
  );
  const nameless = await session.run(sql`select 1 from ${t} where t.trace_id is null limit 1`);
  if (nameless > 0)
    await withdraw(
      session,
      sql`${t} join ton.trace_nodes e on e.tx_hash = t.hash and ${isLater} where t.trace_id is null`,
    );
}

/** `found` follows `from` in the statement, with ends of traces as `e`. The row in `writes` tells running checks. */
async function withdraw(session: Session, found: SQL): Promise<void> {
  const { dataset, pass, verified, updated_at } = coverage;
  await session.run(sql`
    with ends as materialized (select distinct extract(epoch from e.utime)::int8 as second from ${found}),
    spans as materialized (
      select range_agg(int8range(second, second + 1)) as spans from ends having count(*) > 0),
    noted as (
      insert into ${writes} (${bare(writes.table_name, writes.seconds)}) select ${TRACES}, spans from spans)
    update ${coverage} set ${bare(verified)} = ${verified} - n.spans, ${bare(updated_at)} = default
    from spans n
    where ${dataset} = ${TRACES} and ${pass} = 0 and ${verified} && n.spans`);
}

/** The rows of a table as a list within a statement: their keys, and the seconds in which they lie. */
function given(rows: readonly WrongRow[], name: string): SQL {
  const listed = rows
    .filter(({ table }) => table === name)
    .map(({ key, span, own = span }) => ({ key, from: own.from, to: own.to }));
  return sql`jsonb_to_recordset(${JSON.stringify(listed)}::jsonb) as g (key text, "from" float8, "to" float8)`;
}

interface CheckedRun {
  readonly stream: Pick<Stream, 'dataset' | 'scope'>;
  /** When the checks began, by the database's clock: they may not have seen later findings of other checks. */
  readonly began: string;
  readonly checks: readonly CheckedStretch[];
  /** Rows that are the same in the source, even if another dataset's comparison found them wrong. */
  readonly right?: readonly RightRow[];
}

interface CheckedStretch {
  readonly check: string;
  /** The seconds that were checked to their end: earlier findings there are deleted. */
  readonly examined: readonly Range[];
  readonly rows: readonly WrongRow[];
}

/** A row by its key and its second: a row with the same key in another second is another row. */
export interface RightRow {
  readonly table: string;
  readonly key: string;
  readonly second: number;
}

type Found = WrongRow & Pick<CheckedStretch, 'check'>;

/** Attempts; few of them meet a conflict. The pauses grow to five seconds. */
const ATTEMPTS = 10;

/** The key of a finding: one row of a table, and what is wrong with it. */
const NAME = bare(findings.table_name, findings.row_key, findings.row_span, findings.differs);

/** The key of a finding, with the dataset and the seconds that it affects. */
const HELD = sql`${bare(findings.dataset, findings.scope, findings.span)}, ${NAME}`;

/** The check that made a finding, and the dataset that it was made for. */
const FOUND = bare(findings.check_name, findings.found_in);

/**
 * Replaces the findings of these checks in the seconds that they checked, and withdraws the verified state from every
 * second of every dataset that holds such a row. A trace holds its transactions and messages in the second in which it
 * ends. Old findings are deleted and new ones inserted in one transaction.
 */
export function replaceFindings(database: Database, run: CheckedRun): Promise<void> {
  const found = run.checks.flatMap(({ check, rows }) => rows.map((row): Found => ({ ...row, check })));
  // It locks the coverage of several datasets, in a different order from commits.
  return retry({ ...CONFLICT, attempts: ATTEMPTS, clock: systemClock, random: Math.random }, () =>
    writeTransaction(database, async (session) => {
      await deleteResolved(session, run);
      if (found.length > 0) await insertFindings(session, run.stream, found);
    }),
  );
}

async function insertFindings(
  session: Session,
  stream: CheckedRun['stream'],
  rows: readonly Found[],
): Promise<void> {
  const hulls = hullsOf(rows);
  const held = [
    ...rows.map((row) => ({ ...row, dataset: stream.dataset })),
    ...rows.flatMap((row) => row.datasets.map((dataset) => ({ ...row, span: row.own ?? row.span, dataset }))),
    ...(await heldByTraces(session, rows)),
  ].map(({ dataset, span, own, ...row }) => ({
    dataset,
    span: toRangeText(span),
    own: toRangeText(own ?? hulls.get(nameOf(row)) ?? span),
    table: row.table,
    key: row.key,
    differs: row.differs,
    check: row.check,
  }));
  // Waits for transactions that certify one of these datasets. Later ones wait for this one, and see the rows below.
  await session.run(sql`
    select 1 from ${coverage} where ${coverage.pass} = 0
      and ${coverage.dataset} = any(${sql.param([...new Set(held.map(({ dataset }) => dataset))])}::text[])
    order by ${coverage.dataset}, ${coverage.scope} for update`);
  await session.run(sql`
    insert into ${findings} (${HELD}, ${FOUND})
    select dataset, ${stream.scope}, span, "table", key, own, differs, "check", ${stream.dataset}
    from jsonb_to_recordset(${JSON.stringify(held)}::jsonb)
      as g (dataset text, span int8range, own int8range, "table" text, key text, differs text, "check" text)
    on conflict do nothing`);
  await session.run(sql`
    update ${coverage} set ${bare(coverage.verified)} = ${coverage.verified} - f.spans, ${bare(coverage.updated_at)} = default
    from (select ${findings.dataset} as dataset, ${findings.scope} as scope, range_agg(${findings.span}) as spans
      from ${findings} group by 1, 2) f
    where ${ofStream(coverage, { dataset: sql`f.dataset`, scope: sql`f.scope`, pass: 0 })} and ${coverage.verified} && f.spans`);
}

/**
 * Deletes earlier findings in the seconds that were checked to their end. If nothing is left of a finding, it is
 * deleted for every dataset. A finding that lies in several seconds, such as a link between two of them, is resolved
 * only if all of these that are covered were checked. A row that belongs to another one, as a transaction to its trace,
 * is resolved only if that one is read.
 */
async function deleteResolved(
  session: Session,
  { stream, began, checks, right = [] }: CheckedRun,
): Promise<void> {
  const { dataset, scope } = stream;
  const isEarlier = sql`${findings.found_at} < ${began}::timestamptz`;
  if (right.length > 0)
    await session.run(sql`
      delete from ${findings}
      using jsonb_to_recordset(${JSON.stringify(right)}::jsonb) as r ("table" text, key text, second int8)
      where ${findings.check_name} = ${DEEP} and ${findings.table_name} = r."table" and ${isEarlier}
        and ${findings.row_key} = r.key and ${findings.row_span} = int8range(r.second, r.second + 1)`);
  const examined = checks.map((one) => ({ check: one.check, seen: toMultirangeText(one.examined) }));
  const seen = sql`jsonb_to_recordset(${JSON.stringify(examined)}::jsonb) as c ("check" text, seen int8multirange)`;
  const same = sql`${findings.scope} = ${scope} and ${findings.check_name} = c."check" and ${findings.found_in} = ${dataset}`;
  const span = sql`int8multirange(${findings.span})`;
  const columns = sql`${bare(findings.dataset, findings.scope)}, ${NAME}, ${FOUND}, ${bare(findings.found_at)}`;
  // Compares each finding only with those of its key, by window functions. A join on the key would compare all pairs if
  // Postgres has no statistics of a table that has just grown.
  await session.run(sql`
    with named as (
      select ctid as row_id, seen, ${isEarlier} as is_earlier, count(*) over name as spans,
        bool_or(${isEarlier} and ${span} && seen) over name as is_touched,
        bool_and(isempty(${span} * ${coveredOf({ ...stream, pass: 0 })}
          + (${span} - int8multirange(${findings.row_span})) - seen)) over name as is_seen
      from ${findings}, ${seen} where ${same} and ${findings.dataset} = ${dataset}
      window name as (partition by "check", ${NAME})),
    gone as (
      delete from ${findings} using named n
      where ${findings}.ctid = n.row_id and is_earlier and is_touched and (spans = 1 or is_seen)
      returning ${span} - seen as rest, spans, ${columns})
    insert into ${findings} (${bare(findings.span)}, ${columns})
    select part, ${columns} from gone, unnest(rest) as part where spans = 1
    on conflict do nothing`);
  await session.run(sql`
    with named as (
      select ctid as row_id, ${findings.dataset} <> ${dataset} and ${isEarlier} as is_held,
        bool_or(${findings.dataset} = ${dataset}) over (partition by "check", ${NAME}) as is_open
      from ${findings}, ${seen} where ${same})
    delete from ${findings} using named n where ${findings}.ctid = n.row_id and is_held and not is_open`);
}

const nameOf = ({ check, table, key, differs }: Pick<Found, 'check' | 'table' | 'key' | 'differs'>) =>
  JSON.stringify([check, table, key, differs]);

/** The range from the first to the last second of each thing that lies in several seconds and has none of its own. */
function hullsOf(rows: readonly Found[]): ReadonlyMap<string, Range> {
  const hulls = new Map<string, Range>();
  for (const row of rows.filter(({ key, own }) => key !== '' && own === undefined)) {
    const { from, to } = hulls.get(nameOf(row)) ?? row.span;
    hulls.set(nameOf(row), { from: Math.min(from, row.span.from), to: Math.max(to, row.span.to) });
  }
  return hulls;
}

/**
 * Deletes the findings of seconds that are no longer kept. If a finding also lies in a kept second, no check of stored
 * rows can resolve it any more, so it is left to the comparison with the source.
 */
export async function expireFindings(session: Session, dataset: string, floor: number): Promise<void> {
  const columns = sql`${bare(findings.scope)}, ${FOUND}, ${NAME}`;
  const isOld = sql`${findings.dataset} = ${dataset} and ${findings.span} <@ ${rangeParam({ from: 0, to: floor })}`;
  await session.run(sql`
    with gone as (
      delete from ${findings} where ${isOld} returning ${columns}),
    halved as (
      delete from ${findings} where ${findings.check_name} <> ${DEEP} and ${findings.found_in} = ${dataset}
        and (${columns}) in (table gone) and not (${isOld})
      returning ${HELD}, ${bare(findings.found_in, findings.found_at)})
    insert into ${findings} (${HELD}, ${bare(findings.found_in, findings.found_at, findings.check_name)})
    select *, ${DEEP} from halved on conflict do nothing`);
}

/**
 * Keeps the findings of a seal that is about to be broken, in seconds that are not reread at once because they belong
 * to another pool. No check of stored rows would find them again, so they are left to the comparison with the source.
 */
export async function keepSealFindings(session: Session, table: string, range: Range): Promise<void> {
  const { dataset, scope, span, found_in, found_at, check_name, table_name } = findings;
  const columns = sql`${bare(dataset, scope, found_in, found_at)}, ${NAME}`;
  await session.run(sql`
    with known as (
      delete from ${findings} using ${coverage}
      where ${check_name} = ${SEAL} and ${table_name} = ${table} and ${span} && ${rangeParam(range)}
        and ${ofStream(coverage, { dataset: sql`${found_in}`, scope: sql`${scope}`, pass: 0 })} and ${coverage.covered} && ${span}
      returning ${findings}.*, int8multirange(${span}) * ${coverage.covered} as spans)
    insert into ${findings} (${columns}, ${bare(span, check_name)})
    select ${columns}, unnest(spans), ${DEEP} from known on conflict do nothing`);
}

/** All seconds that must be checked to resolve a finding. */
const EXTENT = sql`range_merge(${findings.span}, ${findings.row_span})`;

/** The seconds of a stream with a finding, as a scalar within a statement. */
export function spansWithFindings({ dataset, scope }: Pick<Stream, 'dataset' | 'scope'>): SQL {
  return sql`coalesce((select range_agg(${findings.span}) from ${findings}
    where ${findings.dataset} = ${dataset} and ${findings.scope} = ${scope}), '{}')`;
}

/** Extends a range by all seconds of the findings in it, so that a check of it can resolve them. */
export async function extendToFindings(session: Session, range: Range): Promise<Range> {
  return oneValue(
    session,
    sql`select range_merge(coalesce(range_agg(${EXTENT}), '{}') + ${multirangeParam([range])})::text
        from ${findings} where ${findings.span} && ${rangeParam(range)}`,
    spanOfRow,
  );
}

const OpenFinding = z.object({
  dataset: z.string(),
  scope: z.string(),
  table: z.string(),
  key: z.string(),
  differs: z.string(),
  check: z.string(),
  found_in: z.string(),
  found_at: z.string(),
  /** All seconds that must be checked to resolve it. */
  span: spanOfRow,
});

export type OpenFinding = z.infer<typeof OpenFinding>;

const COLUMNS = sql`${findings.dataset}, ${findings.scope}, ${findings.table_name} as "table", ${findings.row_key} as key,
  ${findings.differs}, ${findings.check_name} as "check", ${findings.found_in},
  to_char(${findings.found_at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as found_at, ${EXTENT}::text as span`;

/** Rows of a kind that are named one by one; of further ones, only the seconds and the number are kept. */
export const MOST_NAMED = 1000;

const FindingKind = z.object({
  check: z.string(),
  kind: z.string(),
  count: z.coerce.number(),
  spans: spansOfRow,
  rows: z.array(
    z.object({
      table: z.string(),
      key: z.string(),
      differs: z.string(),
      span: spanOfRow,
    }),
  ),
});

export type FindingKind = z.infer<typeof FindingKind>;

/**
 * The findings in some seconds of a stream, by check and kind: `differing_in_transactions: lt` is of the kind
 * `differing_in_transactions`. Each has all of its seconds, and its first rows, named ones first. `except` excludes
 * checks of the stream itself that have just run, and what they have found `since`.
 */
export function readFindings(
  session: Session,
  { dataset, scope }: Pick<Stream, 'dataset' | 'scope'>,
  spans: readonly Range[],
  except: { readonly checks: Iterable<string>; readonly since?: string | undefined } = { checks: [] },
): Promise<FindingKind[]> {
  const f = findings;
  return session.rows(
    sql`
      with open as (
        select ${f.check_name} as "check", split_part(${f.differs}, ':', 1) as kind, ${f.table_name} as "table",
          ${f.row_key} as key, ${f.differs} as differs, ${f.span} as span
        from ${findings} where ${f.dataset} = ${dataset} and ${f.scope} = ${scope} and ${f.span} && ${multirangeParam(spans)}
          and not (${f.found_in} = ${dataset} and ${f.check_name} = any(${sql.param([...except.checks])}::text[])
            and ${f.found_at} >= ${except.since ?? '-infinity'}::timestamptz)),
      ranked as (
        select *, row_number() over (partition by "check", kind order by key = '', lower(span), "table", key) as rank
        from open)
      select "check", kind, range_agg(span)::text as spans,
        count(distinct ("table", key)) filter (where key <> '') + count(*) filter (where key = '') as count,
        jsonb_agg(jsonb_build_object('table', "table", 'key', key, 'differs', differs, 'span', span::text)
          order by rank) filter (where rank <= ${MOST_NAMED}) as rows
      from ranked group by 1, 2 order by 1, 2`,
    FindingKind,
  );
}

/** The findings about rows whose key contains a hash, in all datasets. */
export function findingsOfHash(session: Session, hash: string): Promise<OpenFinding[]> {
  return session.rows(
    sql`select ${COLUMNS} from ${findings} where position(${hash}::text in ${findings.row_key}) > 0
        order by ${findings.dataset}, lower(${findings.span}) limit 100`,
    OpenFinding,
  );
}

/** The columns that differ in a table's rows with a finding of this check, by key, in all datasets. */
export async function columnsWithFindings(
  session: Session,
  check: string,
  table: string,
): Promise<Map<string, string[]>> {
  const rows = await session.rows(
    sql`select ${findings.row_key} as key, array_agg(${findings.differs}) as differs from ${findings}
        where ${findings.check_name} = ${check} and ${findings.table_name} = ${table} group by 1`,
    z.object({ key: z.string(), differs: z.array(z.string()) }),
  );
  return new Map(rows.map(({ key, differs }) => [key, differs.flatMap(columnsIn)]));
}
