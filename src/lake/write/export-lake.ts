import type { Database } from '../../db/connection/database.ts';
import { networkName, readNetwork } from '../../db/connection/network.ts';
import { coveredBy } from '../../db/read/grade-of.ts';
import { atOneMoment, stateOf } from '../../db/read/table-rows.ts';
import { WrongDatabaseError } from '../../errors.ts';
import { lengthOf, without, type Range } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import { commit, readLog, type TableLog } from '../delta/table-log.ts';
import type { Lake } from '../lake.ts';
import type { ExportedTable } from '../../export/tables-of.ts';
import { lakeColumns } from '../lake-columns.ts';
import { daysOf } from '../days-of.ts';
import { dayOf, type Part } from '../part.ts';
import { compact, removeParts } from './compact.ts';
import { removeStrays } from './remove-strays.ts';
import { gradesOf, writePart } from './write-part.ts';

interface LakeOptions {
  readonly lake: Lake;
  readonly database: Database;
  readonly tables: readonly ExportedTable[];
  readonly range: Range;
  readonly stop: Stop;
  /** Unix seconds. */
  readonly now: number;
  /** Called for each part of the range: written just now, or there before. */
  readonly onPart: (table: string, part: Part, isWritten: boolean) => void;
}

interface DayOptions extends LakeOptions {
  readonly network: number | undefined;
}

/**
 * Brings what is covered of a range into a lake, day by day. Nothing that the lake has is ever removed, but a part whose
 * rows have changed, once the rows of the same seconds stand in another. False where it was stopped before the end.
 */
export async function exportLake(options: LakeOptions): Promise<boolean> {
  const { database, tables, range, stop } = options;
  const network = await readNetwork(database);
  for (const source of tables) {
    const days = source.facts.partitioned
      ? daysOf(await coveredBy(database, source.datasets[0], range))
      : [[{ from: options.now, to: options.now + 1 }]];
    for (const covered of days) {
      if (stop.finishing.aborted) return false;
      await (source.facts.partitioned ? exportDay : exportSnapshot)({ ...options, network }, source, covered);
    }
  }
  return true;
}

/** @throws WrongDatabaseError where the lake holds another network */
async function openLog({ lake: { store }, network }: DayOptions, table: string): Promise<TableLog> {
  const log = await readLog(store, table);
  if (log.network === undefined || network === undefined || log.network === network) return log;
  throw new WrongDatabaseError(
    `${store.label} holds ${networkName(log.network)}, the database ${networkName(network)}: one lake holds one network`,
    { hint: 'Give another place: --out.' },
  );
}

/** What of a day the lake has not yet becomes new parts; parts whose rows have changed are written anew. */
async function exportDay(
  options: DayOptions,
  source: ExportedTable,
  covered: readonly Range[],
): Promise<void> {
  const { lake, onPart } = options;
  const { name } = source.facts;
  const day = dayOf(covered[0]?.from ?? 0);
  let log = await openLog(options, name);
  const there = log.parts.filter((part) => part.day === day);
  const add: Part[] = [];
  for (const span of without(
    covered,
    there.map((part) => part.span),
  ))
    add.push(await writePart(lake, options.database, source, span));
  const remove: Part[] = [];
  for (const part of there) {
    const now = (await isCovered(options, part)) ? await renewed(options, source, part) : part;
    if (now === part) continue;
    add.push(now);
    if (now.path !== part.path) remove.push(part);
  }
  if (add.length > 0)
    log = await commit(
      lake.store,
      log,
      { add, remove, isNew: true },
      { network: options.network, columns: lakeColumns(source.facts) },
    );
  await removeParts(lake, name, remove);
  log = await compact(lake, log, day);
  await removeStrays(lake, log, day, options.now);
  const before = new Set(there.map(({ path }) => path));
  for (const part of log.parts.filter((one) => one.day === day)) onPart(name, part, !before.has(part.path));
}

/** The database still has every row that the part was written from: it may have dropped old ones since. */
async function isCovered({ database }: LakeOptions, { grades, span }: Part): Promise<boolean> {
  for (const dataset of Object.keys(grades)) {
    if (grades[dataset] === 'incomplete') continue;
    if (lengthOf(await coveredBy(database, dataset, span)) < lengthOf([span])) return false;
  }
  return true;
}

/** The part itself where nothing has changed; else with other grades, or written anew. */
async function renewed(options: LakeOptions, source: ExportedTable, part: Part): Promise<Part> {
  const { span } = part;
  const { state, grades } = await atOneMoment(options.database, async (session) => ({
    state: await stateOf(session, { table: source.table, span }),
    grades: await gradesOf(session, source, span),
  }));
  const isSame = (['rows', 'keys', 'changedAt'] as const).every((fact) => state[fact] === part[fact]);
  if (!isSame) return writePart(options.lake, options.database, source, span);
  const hasSameGrades = Object.entries(grades).every(([dataset, grade]) => part.grades[dataset] === grade);
  return hasSameGrades ? part : { ...part, grades: { ...part.grades, ...grades } };
}

/** A list or look-up as it is now, if anything of it was read: the last snapshot of each day is kept. */
async function exportSnapshot(
  options: DayOptions,
  source: ExportedTable,
  [moment]: readonly Range[],
): Promise<void> {
  const { lake, database, onPart } = options;
  const { name } = source.facts;
  const state = await stateOf(database, { table: source.table, span: undefined });
  if (moment === undefined || state.rows === 0) return;
  const log = await openLog(options, name);
  const last = log.parts.at(-1);
  const day = dayOf(moment.from);
  if (last?.day === day && last.rows === state.rows && last.changedAt === state.changedAt) {
    onPart(name, last, false);
    return;
  }
  const part = await writePart(lake, database, source, moment);
  const remove = log.parts.filter((one) => one.day === day);
  await commit(
    lake.store,
    log,
    { add: [part], remove, isNew: true },
    { network: options.network, columns: lakeColumns(source.facts) },
  );
  await removeParts(lake, name, remove);
  onPart(name, part, true);
}
