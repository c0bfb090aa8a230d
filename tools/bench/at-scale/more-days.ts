import { loadTables } from '../../../src/postgres/load-tables.ts';
import { literal } from '../../../src/tables/describe.ts';
import { describeTable, type TableDescription } from '../../../src/read/table-rows.ts';
import { columnType } from '../../../src/lake/copied-rows.ts';
import { commit, readLog, tablesIn, type TableLog, keyHash } from '../../../src/lake/delta-log.ts';
import { type Lake, withFiles, missing } from '../../../src/lake/lake.ts';
import { withLake } from '../../../src/lake/open-lake.ts';
import type { Part } from '../../../src/lake/part.ts';
import { putPart } from '../../../src/lake/export-lake.ts';
import { DAY } from '../../../src/range.ts';
import { valueOn, type Dialect } from '../queries/other-day.ts';

const DUCK: Dialect = {
  hex: (text) => `sha256(${text})`,
  base64: (text) => `to_base64(unhex(sha256(${text})))`,
  later: (column, days) => `make_timestamptz(epoch_us(${column}) + ${days * DAY}000000)`,
};

/**
 * Copies the first day of a lake into each of the days `from` to `to` after it, with other hashes and
 * accounts. The rows and keys in the log of the new parts are counted from their files.
 */
export async function addDays(location: string, from: number, to: number): Promise<void> {
  const tables = new Map((await loadTables()).map(describeTable).map((table) => [table.name, table]));
  await withLake(location, async (lake) => {
    for (const name of await tablesIn(lake.store)) {
      const [facts, log] = [tables.get(name), await readLog(lake, name)];
      if (facts?.partitioned === true) await addDaysOf(lake, facts, log, { from, to });
    }
  });
}

async function addDaysOf(
  lake: Lake,
  facts: TableDescription,
  log: TableLog,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const first = log.parts.filter(({ day }) => day === log.parts[0]?.day);
  const add: Part[] = [];
  for (let day = from; day < to; day += 1)
    for (const part of first) add.push(await onDay(lake, facts, part, day));
  if (add.length > 0) await commit(lake, log, { add, remove: [], isNew: true });
}

async function onDay(lake: Lake, facts: TableDescription, part: Part, day: number): Promise<Part> {
  const { engine } = lake;
  const file = engine.scratch('day.parquet');
  const name = `${facts.name}/${part.path}`;
  const columns = facts.columns.map((column) => {
    const value = valueOn(column, day, DUCK);
    return `(${value})::${columnType(column).duck} as "${column.name}"`;
  });
  const order = facts.key.map((column) => `"${column}"`).join(', ');
  await withFiles(lake, [name], async ([path]) => {
    await engine.ask(`copy (select ${columns.join(', ')} from read_parquet(${literal(path ?? missing(name))}) order by ${order})
      to ${literal(file)} (format parquet, compression zstd, row_group_size 122880)`);
  });
  const totals = await engine.texts(file, `concat_ws(' ', count(*), sum(${keyHash(facts)}))`);
  const [rows = '0', keys = '0'] = totals.join('').split(' ');
  const later = day * DAY;
  const span = { from: part.span.from + later, to: part.span.to + later };
  return putPart(lake, facts.name, file, { ...part, span, rows: Number(rows), keys });
}
