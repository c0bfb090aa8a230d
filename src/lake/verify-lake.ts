import { stat } from 'node:fs/promises';
import * as z from 'zod';
import type { TableDescription } from '../read/table-rows.ts';
import type { ExportedTable } from '../export/write-rows.ts';
import { formatRange, intersect, isInside } from '../range.ts';
import type { Stop } from '../stop.ts';
import { readLog, tablesIn, type TableLog, keyHash } from './delta-log.ts';
import { digestOf, withFiles, type Lake } from './lake.ts';
import type { Part } from './part.ts';

interface LakeFault {
  /** A part's path below the lake, or a table's name. */
  readonly of: string;
  readonly what: string;
}

interface VerifyLakeOptions {
  readonly lake: Lake;
  readonly tables: ReadonlyMap<string, ExportedTable>;
  readonly stop: Stop;
  readonly onTable: (log: TableLog) => void;
  readonly onFault: (fault: LakeFault) => void;
}

/**
 * Checks a lake from its files alone. Each part exists, is the file that its commit named, and holds the number of rows
 * and the keys that the commit states, within its seconds. No two parts hold the same seconds. Returns false if it was
 * stopped early.
 */
export async function verifyLake(options: VerifyLakeOptions): Promise<boolean> {
  const { lake, tables, stop, onTable, onFault } = options;
  for (const name of await tablesIn(lake.store)) {
    const log = await readLog(lake, name);
    onTable(log);
    for (const fault of overlaps(log)) onFault(fault);
    if (log.foreign.added.length + log.foreign.removed.length > 0)
      onFault({
        of: name,
        what: 'has files of another program in place of parts: the next export restores the parts',
      });
    for (const part of log.parts) {
      if (stop.finishing.aborted) return false;
      const table = tables.get(name);
      const faults = await faultsOf(lake, log, part, table?.facts);
      for (const what of [...faults, ...ungraded(part, table)]) onFault({ of: `${name}/${part.path}`, what });
    }
  }
  return true;
}

/** Without the grade of its table's dataset, it is unknown whether a part has every row. */
function ungraded({ grades }: Part, table: ExportedTable | undefined): string[] {
  if (table === undefined || table.dataset in grades) return [];
  return [
    `has no grade of ${table.dataset}, the dataset of its table: delete the table's folder and export again`,
  ];
}

/** Parts that share seconds with the part before them, in the order of their seconds. */
function overlaps({ table, parts }: TableLog): LakeFault[] {
  return parts.flatMap((part, at) => {
    const before = parts[at - 1];
    if (before === undefined) return [];
    const shared = intersect(before.span, part.span);
    if (shared === undefined) return [];
    return [{ of: `${table}/${part.path}`, what: `overlaps ${before.path} in ${formatRange(shared)}` }];
  });
}

export function faultsOf(
  lake: Lake,
  { table }: TableLog,
  part: Part,
  facts: TableDescription | undefined,
): Promise<readonly string[]> {
  return withFiles(lake, [`${table}/${part.path}`], async ([path]) => {
    if (path === undefined) return ['is missing'];
    const { size } = await stat(path);
    if (size !== part.bytes) return [`has ${size} bytes, not ${part.bytes}`];
    const isIntact = (await digestOf(path)) === part.sha256;
    const counted = await recount(lake, path, facts).catch((error: unknown) => [
      `cannot be read: ${String(error)}`,
    ]);
    const altered = isIntact ? [] : ['has been altered: its SHA-256 differs'];
    return [...altered, ...('rows' in counted ? differences(part, counted) : counted)];
  });
}

interface Counted {
  readonly rows: number;
  /** Null if seals do not cover the table's keys. */
  readonly keys: string | null;
  readonly first: number | null;
  readonly last: number | null;
}

async function recount(lake: Lake, path: string, facts: TableDescription | undefined): Promise<Counted> {
  const isStream = facts?.partitioned === true;
  const second = 'epoch_us("utime") // 1000000';
  const counted = isStream
    ? `json_array(count(*), coalesce(sum(${keyHash(facts)}), 0)::varchar, min(${second}), max(${second}))`
    : 'json_array(count(*), null, null, null)';
  const texts = await lake.engine.texts(path, counted);
  const [rows, keys, first, last] = Totals.parse(JSON.parse(texts.join('')));
  return { rows, keys, first, last };
}

const Second = z.number().nullable();
const Totals = z.tuple([z.number(), z.string().nullable(), Second, Second]);

function differences(part: Part, counted: Counted): string[] {
  const faults: string[] = [];
  if (counted.rows !== part.rows) faults.push(`holds ${counted.rows} rows, not ${part.rows}`);
  else if (counted.keys !== null && counted.keys !== part.keys) faults.push('holds rows with other keys');
  const isWithin = (second: number | null) => second === null || isInside(second, part.span);
  if (!isWithin(counted.first) || !isWithin(counted.last)) {
    faults.push(`holds rows outside of ${formatRange(part.span)}`);
  }
  return faults;
}
