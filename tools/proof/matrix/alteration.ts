import type pg from 'pg';
import type { Range } from '../../../src/range.ts';
import type { Random } from '../../../src/simulator/random.ts';
import { MOVES, STEPS, type Cell, type Column, type Table } from './cells.ts';
import { keyOf, type Row, type Rows } from './rows.ts';
import { changed, invented, stepped } from './values.ts';

/** A change of one row. */
export interface Alteration {
  readonly cell: Cell;
  /** The row before the change; undefined if one is added. */
  readonly before: Row | undefined;
  /** The row after the change; undefined if it is deleted. */
  readonly after: Row | undefined;
}

/** The distance from the ends of the range at which an altered row is still in the range. */
const MARGIN = 12;

/** Rows of the cell's table in a random order, each altered in memory; none if the network has none for it. */
export function* alterationsOf(
  cell: Cell,
  rows: Rows,
  range: Range,
  random: Random,
): Generator<Alteration, undefined> {
  const { table, column, way } = cell;
  const all = rows.get(table.name) ?? [];
  const left = all.filter((row) => isInside(row, range) && fits(column, way, row));
  const keys = new Set(all.map((row) => keyOf(table, row)));
  while (left.length > 0) {
    const [row] = left.splice(random.below(left.length), 1);
    if (row === undefined) return undefined;
    const after = way === 'deleted' ? undefined : altered(cell, { row, all, random, range });
    if (way === 'deleted') yield { cell, before: row, after };
    if (after === undefined || !isFree(keys, keyOf(table, row), keyOf(table, after))) continue;
    const isAdded = way === 'doubled' || way === 'invented';
    yield { cell, before: isAdded ? undefined : row, after };
  }
  return undefined;
}

function isFree(taken: ReadonlySet<string>, own: string, key: string): boolean {
  return key === own || !taken.has(key);
}

function isInside({ utime }: Row, { from, to }: Range): boolean {
  return Number(utime) >= from + MARGIN && Number(utime) < to - MARGIN;
}

function fits(column: Column | undefined, way: Cell['way'], row: Row): boolean {
  if (column === undefined) return true;
  return way === 'filled' ? row[column.name] === null : row[column.name] !== null;
}

interface Draw {
  readonly row: Row;
  /** All rows of the table, whose values can be borrowed. */
  readonly all: readonly Row[];
  readonly random: Random;
  readonly range: Range;
}

function altered({ table, column, way }: Cell, draw: Draw): Row | undefined {
  const { row, random, range } = draw;
  const by = MOVES_BY.get(way);
  if (by !== undefined) return { ...row, utime: String(Number(row['utime']) + by) };
  const isMoved = way === 'moved' || (way === 'doubled' && column?.name === 'utime');
  if (isMoved) return { ...row, utime: elsewhere(row, random, range) };
  if (way === 'invented') return inventedRow(table, row, random, range);
  if (column === undefined) return undefined;
  const value = instead(column, way, draw);
  return value === undefined ? undefined : { ...row, [column.name]: value };
}

/** Another value for a column; undefined if there is no other. */
function instead(column: Column, way: Cell['way'], { row, all, random }: Draw): string | null | undefined {
  const { name } = column;
  const value = row[name] ?? '';
  if (way === 'null') return null;
  const step = STEPS_BY.get(way);
  if (step !== undefined) return stepped(column, value, step);
  if (way === 'filled') return pick(valuesOf(all, name), random) ?? invented(column);
  if (way !== 'other') return changed(column, value);
  const others = valuesOf(all, name).filter((one) => one !== value);
  return pick(others, random);
}

const MOVES_BY: ReadonlyMap<string, number> = new Map(Object.entries(MOVES));
const STEPS_BY: ReadonlyMap<string, number> = new Map(Object.entries(STEPS));

function elsewhere({ utime }: Row, random: Random, range: Range): string {
  const second = Number(utime);
  const step = 3 + random.below(6);
  return String(second + step < range.to - MARGIN ? second + step : second - step);
}

/** A row that no other row refers to, in its own second. */
function inventedRow(table: Table, row: Row, random: Random, range: Range): Row {
  const made = table.columns
    .filter(({ name, isKey }) => name !== 'utime' && (isKey || /hash$/.test(name)))
    .map((column): [string, string | null] => {
      const value = row[column.name] ?? null;
      return [column.name, value === null ? null : changed(column, value)];
    });
  return { ...row, ...Object.fromEntries(made), utime: elsewhere(row, random, range) };
}

function valuesOf(all: readonly Row[], name: string): string[] {
  return [...new Set(all.flatMap((row) => row[name] ?? []))];
}

function pick<T>(list: readonly T[], random: Random): T | undefined {
  return list.length === 0 ? undefined : list[random.below(list.length)];
}

/** Applies it to the database, without the triggers of its tables. */
export async function apply(client: pg.Client, { cell, before, after }: Alteration): Promise<void> {
  const { table } = cell;
  const names = table.columns.map(({ name }) => name);
  const placeholder = (name: string, at: number) =>
    name === 'utime' ? `to_timestamp($${at}::text::float8)` : `$${at}`;
  await client.query(`set session_replication_role = replica`);
  if (before !== undefined) {
    const key = ['utime', ...table.key];
    const { rowCount } = await client.query(
      `delete from ton.${table.name} where ${key.map((name, at) => `${name} = ${placeholder(name, at + 1)}`).join(' and ')}`,
      key.map((name) => before[name]),
    );
    if (rowCount !== 1) throw new Error(`${cell.id}: ${rowCount ?? 0} rows have its key`);
  }
  if (after !== undefined) {
    await client.query(
      `insert into ton.${table.name} (${names.join(', ')}) values (${names.map((name, at) => placeholder(name, at + 1)).join(', ')})`,
      names.map((name) => after[name]),
    );
  }
  await client.query(`set session_replication_role = origin`);
}

/** The seconds of the row before and after the change. */
export function secondsOf({ before, after }: Alteration): number[] {
  return [before, after].flatMap((row) => (row === undefined ? [] : [Number(row['utime'])]));
}
