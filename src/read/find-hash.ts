import { is, sql } from 'drizzle-orm';
import { getTableConfig, IndexedColumn } from 'drizzle-orm/pg-core';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { loadTables } from '../postgres/load-tables.ts';
import { texts } from '../postgres/sql.ts';
import { isRefused } from '../ledger/stored-coverage.ts';
import { coverage, refused } from '../tables/etl/coverage.ts';
import { factsOf } from '../tables/describe.ts';
import { pages } from '../tables/etl/pages.ts';
import { readQuarantined, type Quarantined } from './quarantined.ts';

/** A column by which rows are found without their time: an index begins with it, as no key of a stream does. */
export interface HashColumn {
  readonly schema: string;
  readonly table: string;
  readonly column: string;
}

/** Hashes are text, and so are ids that are hashes (`trace_id`); the pattern matches their names. */
const HASH_LIKE = /(^|_)(hash|id)(_|$)/;
/** A hash identifies one thing, but that of an external message may recur. */
const MOST_ROWS = 5;
const MOST_PAGES = 5;

/** All such columns of the stream tables, from their definitions. */
export async function findHashColumns(): Promise<HashColumn[]> {
  return (await loadTables())
    .filter((table) => factsOf(table).partitioned)
    .flatMap((table) => {
      const { schema = 'public', name, indexes, columns } = getTableConfig(table);
      const first = indexes.map(({ config }) => config.columns[0]);
      const leading = first.map((column) => (is(column, IndexedColumn) ? column.name : undefined));
      return columns
        .filter((column) => column.getSQLType() === 'text' && HASH_LIKE.test(column.name))
        .filter((column) => leading.includes(column.name))
        .map((column) => ({ schema, table: name, column: column.name }));
    });
}

/** A stored row with the hash. */
export interface FoundRow extends HashColumn {
  /** Unix seconds of block time. */
  readonly utime: number;
  /** As Postgres prints it, to the microsecond. */
  readonly loadedAt: string;
  readonly values: Readonly<Record<string, unknown>>;
}

const Row = z.object({
  utime: z.coerce.number(),
  loadedAt: z.string(),
  values: z.record(z.string(), z.unknown()),
});

/** Rows with this hash (base64), in all of the columns. */
export async function findRows(
  session: Session,
  columns: readonly HashColumn[],
  hash: string,
): Promise<FoundRow[]> {
  const found: FoundRow[] = [];
  for (const column of columns) {
    const rows = await session.rows(
      sql`
        select extract(epoch from utime)::int8 as utime, loaded_at::text as "loadedAt", to_jsonb(t) as values
        from ${sql.identifier(column.schema)}.${sql.identifier(column.table)} t
        where ${sql.identifier(column.column)} = ${hash} order by utime limit ${MOST_ROWS}`,
      Row,
    );
    found.push(...rows.map((row) => ({ ...column, ...row })));
  }
  return found;
}

const Page = z.object({
  id: z.coerce.number(),
  dataset: z.string(),
  request: z.string(),
  worker: z.string(),
  committedAt: z.coerce.number(),
  wrote: z.boolean(),
});

/** A committed page, and whether it wrote the stored row. */
export type LoggedPage = z.infer<typeof Page>;

/**
 * The pages that contained a row: those of the datasets around its time, and the one that wrote it last. A
 * row and its page have the same timestamp, that of their transaction. The page that wrote it comes first.
 */
export async function findPages(
  session: Session,
  datasets: readonly string[],
  { utime, loadedAt }: Pick<FoundRow, 'utime' | 'loadedAt'>,
): Promise<LoggedPage[]> {
  const { id, dataset, request, worker, span, committed_at } = pages;
  const among = sql`${dataset} in (${texts(datasets)})`;
  const wrote = sql`${committed_at} = ${loadedAt}::timestamptz`;
  const select = sql`select ${id}, ${dataset}, ${request}, ${worker},
    extract(epoch from ${committed_at})::int8 as "committedAt", ${wrote} as wrote from ${pages}`;
  const around = await session.rows(
    sql`${select} where ${among} and ${span} @> ${utime}::int8 order by ${wrote} desc, ${id} limit ${MOST_PAGES}`,
    Page,
  );
  if (around.some((page) => page.wrote)) return around;
  // The receiver's page may contain a message that was sent before the page's own rows.
  const writers = await session.rows(sql`${select} where ${among} and ${wrote} limit 1`, Page);
  return [...writers, ...around];
}

/** Quarantined records with this hash as their id, or in their text. */
export function findQuarantined(session: Session, hash: string): Promise<Quarantined[]> {
  return readQuarantined(session, { hash }, { after: 0, limit: MOST_ROWS });
}

const Covering = z.object({ dataset: z.string(), covered: z.boolean(), refused: z.string().nullable() });

/** Whether a dataset covers a second (any pool of it, if it is read pool by pool), and why the second was refused. */
export type SecondCoverage = z.infer<typeof Covering>;

export async function readSecond(
  session: Session,
  datasets: readonly string[],
  time: number,
): Promise<SecondCoverage[]> {
  return session.rows(
    sql`
      select d.dataset,
        exists (select from ${coverage} where ${coverage.dataset} = d.dataset and ${coverage.pass} = 0
          and ${coverage.covered} @> ${time}::int8) as covered,
        (select ${refused.reason} || ': ' || ${refused.detail} from ${refused} where ${refused.dataset} = d.dataset
          and ${refused.pass} = 0 and ${refused.span} @> ${time}::int8 and ${isRefused} limit 1) as refused
      from json_array_elements_text(${JSON.stringify(datasets)}::json) as d (dataset)`,
    Covering,
  );
}
