import { loadDatasets, loadJobs } from '../dataset/load-jobs.ts';
import { type Database, readClock } from '../postgres/database.ts';
import { floorsOf, findExpired, type Expired, type Kept } from '../write/take-out.ts';
import { readSetting } from '../ledger/stored-settings.ts';
import type { Config } from '../settings/config.ts';
import { tablesOf, type ExportedTable } from '../export/write-rows.ts';
import { withLake } from './open-lake.ts';
import { readLastWrite } from '../write/certificates.ts';
import { coveredBy } from '../read/grade-of.ts';
import { countBrokenSeals, isSameState, stateOf } from '../read/table-rows.ts';
import { common, formatRange, without, type Range } from '../range.ts';
import { readLog } from './delta-log.ts';
import { lostGrade } from './part.ts';
import type { Lake } from './lake.ts';
import { faultsOf } from './verify-lake.ts';

/**
 * The time from which each dataset is kept, according to the settings. With `lake`, rows expire only if the lake was
 * proved to have them. The current time is the earliest of this machine's clock, the database's clock, and the newest
 * known block: a clock that is ahead must not drop rows.
 */
export async function retentionFloors(
  { retention, lake: location, partition }: Pick<Config, 'retention' | 'lake' | 'partition'>,
  database: Database,
  now: number,
  signal?: AbortSignal,
): Promise<Awaited<ReturnType<typeof provedFloors>>> {
  const newest = (await readSetting(database, 'watermark'))?.headUtime ?? Infinity;
  const until = Math.min(now, await readClock(database), newest);
  const kept = floorsOf(retention.seconds, await loadJobs(), until, partition);
  if (!retention.isInLake || location === undefined) return { kept, unproved: [] };
  const available = await loadDatasets();
  const tables = tablesOf(available, available);
  return withLake({ location, signal }, (lake) => provedFloors({ lake, database, tables, kept }));
}

interface ProvedFloorsOptions {
  readonly lake: Lake;
  readonly database: Database;
  readonly tables: readonly ExportedTable[];
  readonly kept: readonly Kept[];
}

/**
 * How far each floor may rise, so that the lake was proved to have everything below it. Every covered second is in a
 * part. Each part is intact and has the rows of the database, which match their seals.
 */
async function provedFloors(options: ProvedFloorsOptions) {
  const kept: Kept[] = [];
  /** Partitions that are kept because the lake was not proved to have them, and the reasons. */
  const unproved: { readonly name: string; readonly why: string }[] = [];
  for (const wanted of options.kept) {
    const held = options.tables.filter(({ facts }) => wanted.tables.includes(facts.name));
    const lastWrite = await readLastWrite(
      options.database,
      held.map(({ table }) => table),
    );
    let floor = wanted.floor;
    for (const partition of await findExpired(options.database, [wanted])) {
      const why = await faultOf(options, partition);
      if (why === undefined) continue;
      floor = Math.min(floor, partition.span.from);
      unproved.push({ name: partition.name, why });
    }
    kept.push({ ...wanted, floor, lake: options.lake.store.label, lastWrite });
  }
  return { kept, unproved };
}

/** Why a partition must not be dropped; undefined if the lake has it. */
async function faultOf(
  options: ProvedFloorsOptions,
  { table: name, span }: Expired,
): Promise<string | undefined> {
  const { lake, database, tables } = options;
  const source = tables.find(({ facts }) => facts.name === name);
  if (source === undefined) return 'no dataset fills its table';
  const { table, dataset, facts } = source;
  const broken = facts.partitioned ? await countBrokenSeals(database, table, span) : 0;
  if (broken > 0)
    return `${broken} of its seconds hold other rows than were verified: run verify --deep 100% --repair`;
  const log = await readLog(lake, name);
  const parts = log.parts.filter((part) => common([part.span], [span]).length > 0);
  const covered = await coveredBy(database, dataset, span);
  const [lacking] = without(
    covered,
    parts.map((part) => part.span),
  );
  if (lacking !== undefined) return `the lake lacks ${formatRange(lacking)}`;
  for (const part of parts) {
    const [fault] = await faultsOf(lake, log, part, facts);
    if (fault !== undefined) return `${part.path} ${fault}`;
    // Applies even if one of its seconds is a hole by now: the others may have been reread since.
    if (!isSameState(await stateOf(database, { table, span: part.span }), part))
      return `${part.path} has other rows than the database: ${whatToDo(without([part.span], covered))}`;
    const lost = await lostGrade(database, source, part);
    if (lost !== undefined)
      return `${part.path} has the grade ${lost}, which its rows have lost since: export it again`;
  }
  return undefined;
}

/** An export rewrites a part only if every second of it is covered. */
function whatToDo([hole]: readonly Range[]): string {
  return hole === undefined ? 'export it again' : `read ${formatRange(hole)} again, then export it`;
}
