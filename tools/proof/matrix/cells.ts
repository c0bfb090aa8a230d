import { is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { factsOf } from '../../../src/tables/describe.ts';
import { DAY, HOUR } from '../../../src/range.ts';

/** Changes of numbers and times, in addition to one more: a check with `<` alone depends on size and direction. */
export const STEPS = { less1: -1, more1000: 1000, less1000: -1000 } as const;

/** Seconds by which rows are moved, in addition to a few: within the range, and far out of it. */
export const MOVES = {
  moved1: 1,
  moved9: 9,
  moved1h: HOUR,
  moved1d: DAY,
  moved40d: 40 * DAY,
  back1: -1,
  back9: -9,
  back1h: -HOUR,
  back1d: -DAY,
  back40d: -40 * DAY,
} as const;

/**
 * How a stored value or row is altered.
 *
 * - `changed`: another value of the same form, the next one if values have an order, or by one of `STEPS`.
 * - `other`: another row's value.
 * - `null`: removed.
 * - `filled`: a value instead of null.
 *
 * Rows are `deleted`, `moved` to another second or by one of `MOVES`, `doubled` under another key, or
 * `invented` in a second of their own.
 */
export type Way =
  | 'changed'
  | 'other'
  | 'null'
  | 'filled'
  | 'deleted'
  | 'moved'
  | 'doubled'
  | 'invented'
  | keyof typeof STEPS
  | keyof typeof MOVES;

export interface Column {
  readonly name: string;
  /** The SQL name of the type. */
  readonly type: string;
  readonly nullable: boolean;
  readonly isKey: boolean;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Without `utime`. */
  readonly key: readonly string[];
  /** Datasets that read it; each certifies its rows. */
  readonly datasets: readonly string[];
}

/** One alteration of a proved range. */
export interface Cell {
  /** `transactions.total_fees changed`, `blocks row deleted` */
  readonly id: string;
  readonly table: Table;
  /** Undefined for whole rows. */
  readonly column: Column | undefined;
  readonly way: Way;
}

/** The time at which a row was written is not a fact about it. */
const NO_FACT = 'loaded_at';
/** Pages of traces could bring actions, but the requests leave them out. */
const NOT_BROUGHT = new Map([['traces', /^action/]]);

/** Every stream table, with its columns, from the schema itself. */
export async function streamTables(): Promise<Table[]> {
  const tables = new Map<string, { table: PgTable; datasets: string[] }>();
  for (const { name, job } of await loadJobs()) {
    for (const table of Object.values(job.tables)) {
      if (!is(table, PgTable)) continue;
      const known = getTableConfig(table).name;
      if (NOT_BROUGHT.get(name)?.test(known) === true) continue;
      const entry = tables.get(known) ?? { table, datasets: [] };
      entry.datasets.push(name);
      tables.set(known, entry);
    }
  }
  return [...tables.values()].map(({ table, datasets }) => describeTable(table, datasets));
}

function describeTable(table: PgTable, datasets: readonly string[]): Table {
  const { name, columns } = getTableConfig(table);
  const { key } = factsOf(table);
  return {
    name,
    datasets,
    key: key.filter((column) => column !== 'utime'),
    columns: columns
      // A generated column cannot be altered.
      .filter((column) => column.name !== NO_FACT && column.generated === undefined)
      .map((column) => ({
        name: column.name,
        type: column.getSQLType(),
        nullable: !column.notNull,
        isKey: key.includes(column.name),
      })),
  };
}

/** All cells of a table; the network may have no row for some. */
export function cellsOf(table: Table): Cell[] {
  const ways: readonly Way[] = ['deleted', 'moved', 'invented', ...namesOf(MOVES)];
  const rows = ways.map((way) => cell(table, undefined, way));
  const doubled = table.columns.filter(({ isKey }) => isKey).map((column) => cell(table, column, 'doubled'));
  const values = table.columns
    .filter(({ name }) => name !== 'utime')
    .flatMap((column) => waysOf(column).map((way) => cell(table, column, way)));
  return [...rows, ...doubled, ...values];
}

function waysOf(column: Column): Way[] {
  const steps = hasOrder(column) && !column.isKey ? namesOf(STEPS) : [];
  return ['changed', 'other', ...steps, ...(column.nullable ? (['null', 'filled'] as const) : [])];
}

/** True for numbers and times. */
export function hasOrder({ type }: Pick<Column, 'type'>): boolean {
  return /^(integer|bigint|numeric|smallint|double|real|timestamp)/.test(type);
}

function namesOf<T extends object>(object: T): (keyof T)[] {
  return Object.keys(object) as (keyof T)[];
}

function cell(table: Table, column: Column | undefined, way: Way): Cell {
  return {
    id: `${table.name}${column === undefined ? ' row' : `.${column.name}`} ${way}`,
    table,
    column,
    way,
  };
}
