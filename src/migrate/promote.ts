import { createHash } from 'node:crypto';
import { getTableColumns, sql, type SQL } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import { isLive } from '../ledger/leases.ts';
import { UsageError, WrongDatabaseError } from '../errors.ts';
import { DAY, formatTime } from '../range.ts';
import { type Database, type Session, oneRow, oneValue } from '../postgres/database.ts';
import { loadTables } from '../postgres/load-tables.ts';
import { createPartitions, type PartitionSize } from '../write/target.ts';
import { coverage, leases } from '../tables/etl/coverage.ts';
import { factsOf } from '../tables/describe.ts';
import { pages, partitions as made } from '../tables/etl/pages.ts';
import { writes } from '../tables/etl/verification.ts';
import { identifiers, spansOfRow } from '../postgres/sql.ts';
import { dropSetting, keepSetting, readSetting } from '../ledger/stored-settings.ts';

/** Rows per statement: some megabytes of transactions. */
const BATCH = 2000;
/** Not copied: tables about running processes, and what the target creates by itself. */
const LEFT_OUT = new Set(['leases', 'workers', 'budget', 'spending', 'partitions']);
/** Says what is there: so it comes when all of it is. Coverage that comes opens days again, so closed days follow it. */
const LAST = ['coverage', 'closed_days'];
/** What people add and delete: the copy has these rows alone, without those that migrations put there. */
const OF_PEOPLE = new Set(['watch', 'labels', 'ton_proxies', 'stable_jettons']);

interface Copied {
  readonly name: string;
  readonly table: PgTable;
  readonly title: SQL;
  readonly columns: SQL;
  readonly key: SQL;
  /**
   * True if rows arrive in key order and no other process writes them: the copy resumes after the last row of the target.
   */
  readonly resumes: boolean;
  readonly identity: string | undefined;
}

interface PromoteOptions {
  readonly from: Database;
  readonly to: Database;
  /** How much time a partition of the target holds. */
  readonly partition: PartitionSize;
  readonly signal: AbortSignal;
  readonly onRows: (table: string, rows: number) => void;
}

/**
 * Copies all tables to another database, coverage last: until then the target claims nothing. Each batch is one statement
 * in key order, so an interrupted copy resumes after the last row that arrived. Returns false if it was stopped.
 * @throws UsageError if another process writes to the source, or if the source has changed since the copy began
 * @throws WrongDatabaseError if the target holds data of its own
 */
export async function promoteTables(options: PromoteOptions): Promise<boolean> {
  const { from, to, signal } = options;
  await requireQuiet(from);
  await begin(from, to);
  const all = (await loadTables()).map(copied).filter(({ name }) => !LEFT_OUT.has(name));
  const ordered = [
    ...all.filter(({ name }) => !LAST.includes(name)),
    ...LAST.flatMap((last) => all.filter(({ name }) => name === last)),
  ];
  for (const table of ordered) {
    if (LAST.includes(table.name)) await compareCounts(options, all);
    if (!(await copyTable(options, table))) return false;
  }
  if (signal.aborted) return false;
  await dropSetting(to, 'promote');
  return true;
}

function copied(table: PgTable): Copied {
  const { schema, name } = getTableConfig(table);
  const written = Object.values(getTableColumns(table)).filter((column) => column.generated === undefined);
  const facts = factsOf(table);
  return {
    name,
    table,
    title: sql`${table}`,
    columns: identifiers(written.map((column) => column.name)),
    key: identifiers(facts.key),
    resumes: schema === 'ton' || written.some((column) => column.generatedIdentity !== undefined),
    identity: written.find((column) => column.generatedIdentity !== undefined)?.name,
  };
}

async function requireQuiet(from: Session): Promise<void> {
  const busy = await from.run(sql`select 1 from ${leases} where ${isLive}`);
  if (busy === 0) return;
  throw new UsageError('another process is writing to the source database', {
    hint: 'Stop sync and backfill, and run promote again.',
  });
}

/** A digest that changes with each change of the source. */
async function fingerprint(from: Session): Promise<string> {
  const state = await oneValue(
    from,
    sql`select concat_ws('/', (select max(${pages.id}) from ${pages}), (select string_agg(c::text, ';' order by c::text)
          from ${coverage} c), (select count(*) from ${writes}))`,
    z.string(),
  );
  return createHash('sha256').update(state).digest('hex');
}

async function begin(from: Session, to: Session): Promise<void> {
  const state = await fingerprint(from);
  const begun = await readSetting(to, 'promote');
  if (begun?.source === state) return;
  if (begun !== undefined) {
    throw new UsageError('the source has changed since the copy began', {
      hint: 'Start again with an empty target database: the copy may lack what was read since.',
    });
  }
  if ((await to.run(sql`select 1 from ${coverage} limit 1`)) > 0) {
    throw new WrongDatabaseError('the target database already holds data', {
      hint: 'Give promote an empty database.',
    });
  }
  await keepSetting(to, 'promote', { source: state });
}

const Batch = z.object({
  rows: z.string().nullable(),
  last: z.string().nullable(),
  count: z.coerce.number(),
});

/** Returns false if it was stopped. */
async function copyTable(options: PromoteOptions, table: Copied): Promise<boolean> {
  const { from, to, signal, onRows } = options;
  const { name, title, columns } = table;
  if (factsOf(table.table).partitioned) await makePartitions(options, table);
  if (OF_PEOPLE.has(name)) await to.run(sql`delete from ${title}`);
  let last = table.resumes ? await lastRow(to, table) : null;
  for (;;) {
    if (signal.aborted) return false;
    const batch = await readBatch(from, table, last);
    if (batch.rows === null) break;
    await to.run(sql`
      insert into ${title} (${columns}) overriding system value
      select ${columns} from json_populate_recordset(null::${title}, ${batch.rows}::json) on conflict do nothing`);
    last = batch.last;
    onRows(name, batch.count);
  }
  if (table.identity !== undefined) await setSequence(to, table, table.identity);
  return true;
}

/** Numbers are copied as text, so that no digit is lost. */
async function readBatch(from: Session, { title, columns, key }: Copied, last: string | null) {
  const after =
    last === null
      ? sql``
      : sql`where (${key}) > (select ${key} from json_populate_record(null::${title}, ${last}::json))`;
  return oneRow(
    from,
    sql`
      with part as (select ${columns} from ${title} ${after} order by ${key} limit ${BATCH})
      select json_agg(part)::text as rows, (json_agg(part)->-1)::text as last, count(*) as count from part`,
    Batch,
  );
}

async function lastRow(to: Session, { title, columns, key, table }: Copied): Promise<string | null> {
  const descending = sql.join(
    factsOf(table).key.map((name) => sql`${sql.identifier(name)} desc`),
    sql`, `,
  );
  const [row] = await to.rows(
    sql`select row_to_json(newest)::text as last
        from (select ${columns} from ${title} order by ${descending} limit 1) newest where (${key}) is not null`,
    z.object({ last: z.string() }),
  );
  return row?.last ?? null;
}

async function makePartitions(
  { from, to, partition }: PromoteOptions,
  { name, table }: Copied,
): Promise<void> {
  const spans = await from.rows(
    sql`select ${made.span}::text from ${made} where ${made.parent} = ${name} order by lower(${made.span})`,
    z.object({ span: spansOfRow }),
  );
  const times = spans.flatMap(({ span }) =>
    span.flatMap((range) =>
      Array.from({ length: Math.ceil((range.to - range.from) / DAY) }, (_, day) =>
        formatTime(range.from + day * DAY),
      ),
    ),
  );
  await createPartitions(to, partition).ensure([table], times);
}

async function setSequence(to: Session, { title, name }: Copied, column: string): Promise<void> {
  await to.run(sql`
    select setval(pg_get_serial_sequence(${`etl.${name}`}, ${column}), greatest(1, (select max(${sql.identifier(column)}) from ${title})))`);
}

/** Before coverage is copied: each table must have as many rows in the target as in the source. */
async function compareCounts({ from, to }: PromoteOptions, tables: readonly Copied[]): Promise<void> {
  for (const { name, title } of tables.filter(({ resumes }) => resumes)) {
    const countIn = (database: Database) =>
      oneValue(database, sql`select count(*) from ${title}`, z.coerce.number());
    const [own, other] = [await countIn(from), await countIn(to)];
    if (own === other) continue;
    throw new WrongDatabaseError(
      `${name} has ${own} rows, but the target has ${other}: another process wrote there`,
      { hint: 'Start again with an empty target database.' },
    );
  }
}
