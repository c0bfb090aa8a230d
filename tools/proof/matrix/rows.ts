import type pg from 'pg';
import type { Table } from './cells.ts';

/** A stored row, each value as Postgres prints it. */
export type Row = Readonly<Record<string, string | null>>;

/** All rows of all tables, by the name of the table. */
export type Rows = ReadonlyMap<string, readonly Row[]>;

export async function readRows(client: pg.Client, tables: readonly Table[]): Promise<Rows> {
  const all = new Map<string, readonly Row[]>();
  for (const { name, columns } of tables) {
    const texts = columns.map((column) =>
      column.name === 'utime'
        ? `extract(epoch from utime)::int8::text as utime`
        : `${column.name}::text as ${column.name}`,
    );
    const { rows } = await client.query<Row>(`select ${texts.join(', ')} from ton.${name}`);
    all.set(
      name,
      rows.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1)),
    );
  }
  return all;
}

/** A row with a wrong value, a missing row, or a surplus row. */
export interface Differing {
  readonly table: string;
  readonly key: string;
  readonly second: number;
  /** The row as it should be, or the surplus row. */
  readonly row: Row;
  /** Columns that differ; empty if the whole row is missing or surplus. */
  readonly columns: readonly string[];
  /** The difference in words. */
  readonly what: string;
}

/** The differences between two states of the tables, row by row. */
export function compareRows(tables: readonly Table[], truth: Rows, stored: Rows): Differing[] {
  return tables.flatMap((table) => {
    const left = new Map((stored.get(table.name) ?? []).map((row) => [keyOf(table, row), row]));
    const found: Differing[] = [];
    const tell = (row: Row, what: string, columns: readonly string[] = []) =>
      found.push({
        table: table.name,
        key: keyOf(table, row),
        second: Number(row['utime']),
        row,
        columns,
        what,
      });
    for (const row of truth.get(table.name) ?? []) {
      const same = left.get(keyOf(table, row));
      left.delete(keyOf(table, row));
      if (same === undefined) tell(row, 'is missing');
      else if (textOf(same) !== textOf(row))
        tell(row, `differs in ${tellColumns(same, row)}`, columnsOf(same, row));
    }
    for (const row of left.values()) tell(row, 'is not in the source');
    return found;
  });
}

export function keyOf({ key }: Table, row: Row): string {
  return ['utime', ...key].map((name) => row[name] ?? '').join(' ');
}

function textOf(row: Row): string {
  return JSON.stringify(row);
}

function columnsOf(stored: Row, truth: Row): string[] {
  return Object.keys(truth).filter((name) => stored[name] !== truth[name]);
}

function tellColumns(stored: Row, truth: Row): string {
  return columnsOf(stored, truth)
    .map((name) => `${name} (${short(stored[name])}, not ${short(truth[name])})`)
    .join(', ');
}

function short(value: string | null | undefined): string {
  return value == null ? 'null' : value.length > 24 ? `${value.slice(0, 24)}…` : value;
}
