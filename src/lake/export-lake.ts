import { rm, stat } from 'node:fs/promises';
import type { Database } from '../postgres/database.ts';
import { networkName, readNetwork } from '../ledger/stored-settings.ts';
import { coveredBy, isRead } from '../read/grade-of.ts';
import { atOneMoment, isSameState, stateOf, type RowsState } from '../read/table-rows.ts';
import { concernsRun, EtlError, LakeAwayError, LakeError, WrongDatabaseError } from '../errors.ts';
import { spanOfSecond, without, type Range, HOUR, formatRange, lengthOf } from '../range.ts';
import type { Stop } from '../stop.ts';
import { commit, readLog, restoreParts, type LogChange, type TableLog, lakeColumns } from './delta-log.ts';
import { type Lake, digestOf, missing, withFiles } from './lake.ts';
import { type ExportedTable, writeRows } from '../export/write-rows.ts';
import {
  daysOf,
  dayOf,
  type Part,
  pathOf,
  doubtedGrades,
  gradesOf,
  isCovered,
  LOWEST,
  lowerOf,
} from './part.ts';
import { schemaVersion, version } from '../package.ts';
import { periodOf } from '../write/target.ts';

interface LakeOptions {
  readonly lake: Lake;
  readonly database: Database;
  readonly tables: readonly ExportedTable[];
  readonly range: Range;
  readonly stop: Stop;
  /** Unix seconds. */
  readonly now: number;
  /** If true, it exports only seconds that the lake lacks, and does not search for changed rows. */
  readonly isQuick?: boolean;
  /** If false, lists that have a snapshot are not exported again. */
  readonly withLists?: boolean;
  /** Called for each part of the range, new or unchanged. */
  readonly onPart: (table: string, part: Part, isWritten: boolean) => void;
  /** Called for a table that could not be exported, or only in part. Other tables are exported. */
  readonly onFault: (error: LakeError) => void;
}

interface SourceOptions extends LakeOptions {
  readonly network: number | undefined;
  readonly source: ExportedTable;
}

/**
 * Exports the covered seconds of a range to a lake, day by day. A part is removed only if its rows have changed and
 * another part has the rows of its seconds. Returns false if it was stopped early.
 */
export async function exportLake(given: LakeOptions): Promise<boolean> {
  const network = await readNetwork(given.database);
  for (const source of given.tables) {
    const options = { ...given, network, source };
    if (given.stop.finishing.aborted) return false;
    try {
      if (!source.facts.partitioned) await exportSnapshot(options);
      else if (!(await exportDays(options))) return false;
    } catch (error) {
      if (!(error instanceof EtlError) || concernsRun(error) || error instanceof LakeAwayError) throw error;
      given.onFault(LakeError.of(source.facts.name, error));
    }
  }
  return true;
}

/** False if it was stopped before the last day. */
async function exportDays(options: SourceOptions): Promise<boolean> {
  const { database, source, range, stop } = options;
  const days = daysOf(await coveredBy(database, source.dataset, range));
  if (days.length === 0) return true;
  let log = await openLog(options, source.facts.name);
  for (const covered of days) {
    if (stop.finishing.aborted) return false;
    log = await exportDay(options, log, covered);
  }
  return true;
}

/** @throws WrongDatabaseError if the lake holds another network */
async function openLog({ lake, network }: SourceOptions, table: string): Promise<TableLog> {
  const { store } = lake;
  const log = await restoreParts(lake, await readLog(lake, table));
  if (log.network === undefined || network === undefined || log.network === network) return log;
  throw new WrongDatabaseError(
    `${store.label} holds ${networkName(log.network)}, the database ${networkName(network)}: one lake holds one network`,
    { hint: 'Choose another lake with --out.' },
  );
}

/** Exports the seconds of a day that the lake lacks as new parts, and rewrites parts whose rows have changed. */
async function exportDay(
  options: SourceOptions,
  before: TableLog,
  covered: readonly Range[],
): Promise<TableLog> {
  const { lake, source, onPart } = options;
  const { name } = source.facts;
  const day = dayOf(covered[0]?.from ?? 0);
  const there = before.parts.filter((part) => part.day === day);
  const spans = there.map((part) => part.span);
  const lacking = without(covered, spans);
  if (options.isQuick === true && lacking.length === 0) return before;
  const add: Part[] = [];
  for (const span of lacking) add.push(await writePart(lake, options.database, source, span));
  const renewals = options.isQuick === true ? [] : await renewalsOf(options, there);
  add.push(...renewals.map(({ now }) => now));
  const remove = renewals.flatMap(({ now, was }) => (now.path === was.path ? [] : [was]));
  let log = before;
  if (add.length > 0) log = await replaceParts(options, log, { add, remove });
  log = await compact(lake, log, day, options.isQuick !== true && day < dayOf(options.now));
  await removeStrays(lake, log, day, options.now);
  const known = new Set(there.map(({ path }) => path));
  for (const part of log.parts.filter((one) => one.day === day)) onPart(name, part, !known.has(part.path));
  return log;
}

async function renewalsOf(
  options: SourceOptions,
  parts: readonly Part[],
): Promise<{ readonly was: Part; readonly now: Part }[]> {
  const renewals: { was: Part; now: Part }[] = [];
  for (const was of parts) {
    const now = (await isCovered(options.database, was))
      ? await renewed(options, was)
      : withGrades(was, await doubtedGrades(options.database, options.source, was));
    if (now !== was) renewals.push({ was, now });
  }
  return renewals;
}

/** Commits new parts of a table in place of old ones, and removes the old files. */
async function replaceParts(
  { lake, source, network }: SourceOptions,
  log: TableLog,
  { add, remove }: Pick<LogChange, 'add' | 'remove'>,
): Promise<TableLog> {
  const facts = { network, columns: lakeColumns(source.facts) };
  const changed = await commit(lake, log, { add, remove, isNew: true }, facts);
  await removeParts(lake, log.table, remove);
  return changed;
}

/** The part itself if nothing has changed; otherwise with other grades, or rewritten. */
async function renewed({ lake, database, source }: SourceOptions, part: Part): Promise<Part> {
  const { span } = part;
  const { state, grades } = await atOneMoment(database, async (session) => ({
    state: await stateOf(session, { table: source.table, span }),
    grades: await gradesOf(session, source, span),
  }));
  if (!isSameState(state, part)) return writePart(lake, database, source, span);
  return withGrades(part, grades);
}

/** The part itself if it has these grades. */
function withGrades(part: Part, grades: Part['grades']): Part {
  const isSame = Object.entries(grades).every(([dataset, grade]) => part.grades[dataset] === grade);
  return isSame ? part : { ...part, grades: { ...part.grades, ...grades } };
}

/**
 * Exports the current state of a list or lookup that was read at least in part. The last snapshot of each day is kept.
 */
async function exportSnapshot(options: SourceOptions): Promise<void> {
  const { lake, database, source, now, onPart } = options;
  const { name } = source.facts;
  if (!(await isRead(database, name))) return;
  const log = await openLog(options, name);
  const last = log.parts.at(-1);
  if (options.withLists === false && last !== undefined) return;
  const state = await stateOf(database, { table: source.table, span: undefined });
  const day = dayOf(now);
  if (last?.day === day && isSameState(last, state)) {
    onPart(name, last, false);
    return;
  }
  const part = await writePart(lake, database, source, spanOfSecond(now));
  await replaceParts(options, log, { add: [part], remove: log.parts.filter((one) => one.day === day) });
  onPart(name, part, true);
}

/** Longer than any run takes from writing a file to the commit that names it. */
const STRAY_SECONDS = HOUR;

/** Removes files of a day that no commit names: killed runs left them. `now` is unix seconds. */
async function removeStrays({ store }: Lake, log: TableLog, day: string, now: number): Promise<void> {
  const known = new Set(log.parts.map(({ path }) => `${log.table}/${path}`));
  for (const { name, changedAt } of await store.list(`${log.table}/day=${day}/`))
    if (!known.has(name) && changedAt < now - STRAY_SECONDS) await store.remove(name);
}

/** The facts of a part that are known before its file is written. */
type PartFacts = Pick<Part, 'span' | 'rows' | 'keys' | 'changedAt' | 'loaded' | 'grades'>;

/** Writes the rows of some seconds of one day, or a snapshot that is taken at `span`, as of one moment. */
async function writePart(lake: Lake, database: Database, source: ExportedTable, span: Range): Promise<Part> {
  const copied = lake.engine.scratch('rows');
  const rows = { table: source.table, span: source.facts.partitioned ? span : undefined };
  const facts = await atOneMoment(database, async (session): Promise<RowsState & Pick<Part, 'grades'>> => {
    const state = await stateOf(session, rows);
    await writeRows(session, rows, { path: copied, format: 'text' });
    return { ...state, grades: await gradesOf(session, source, span) };
  });
  const parquet = lake.engine.scratch('rows.parquet');
  await lake.engine.toParquet(copied, source.facts.columns, parquet).catch((error: unknown) => {
    throw error instanceof LakeError ? LakeError.of(formatRange(span), error) : error;
  });
  await rm(copied);
  return putPart(lake, source.facts.name, parquet, { ...facts, span });
}

/** Moves a file into the lake. Readers do not see it before a commit names it. */
export async function putPart(lake: Lake, table: string, parquet: string, facts: PartFacts): Promise<Part> {
  const sha256 = await digestOf(parquet);
  const { size } = await stat(parquet);
  const path = pathOf(facts.span, sha256);
  await lake.store.put(`${table}/${path}`, parquet);
  await rm(parquet);
  const { span, rows, keys, changedAt, loaded, grades } = facts;
  const made = { program: version, schema: await schemaVersion() };
  const counted = { rows, keys, changedAt, loaded };
  return { path, day: dayOf(span.from), span, ...counted, bytes: size, sha256, grades, ...made };
}

/**
 * If a stretch of seconds has more parts than this, the younger ones are merged. A daemon adds one every two minutes.
 */
const MOST_PARTS = 6;

/**
 * Merges adjacent parts of a day. If the lake has the whole day, or if `isOver` says that no more parts are expected,
 * it merges all of them. Otherwise it merges those that are small compared with the later ones. So each row is written
 * a few times, and a day has about a dozen parts. Each merge is one commit, after which the old files are removed.
 */
async function compact(lake: Lake, log: TableLog, day: string, isOver: boolean): Promise<TableLog> {
  let compacted = log;
  for (const stretch of stretchesOf(log.parts.filter((part) => part.day === day))) {
    const parts = isOver || isWhole(stretch) ? stretch : smallOnes(stretch);
    const [first, last] = [parts[0], parts.at(-1)];
    if (first === undefined || last === undefined || parts.length < 2) continue;
    compacted = await merge(lake, compacted, parts, { from: first.span.from, to: last.span.to });
  }
  return compacted;
}

/** Parts without a hole between them. Incomplete ones stay separate: a merged part gets the lowest grade. */
function stretchesOf(parts: readonly Part[]): Part[][] {
  const stretches: Part[][] = [];
  for (const part of parts) {
    const stretch = stretches.at(-1);
    const before = stretch?.at(-1);
    if (before?.span.to === part.span.from && isIncomplete(before) === isIncomplete(part))
      stretch?.push(part);
    else stretches.push([part]);
  }
  return stretches;
}

const isIncomplete = ({ grades }: Part) => Object.values(grades).includes('incomplete');

const secondsOf = (parts: readonly Part[]) => lengthOf(parts.map(({ span }) => span));

function isWhole(parts: readonly Part[]): boolean {
  const [first] = parts;
  return first !== undefined && secondsOf(parts) === lengthOf([periodOf(first.span.from, 'day')]);
}

/** The last parts, starting with the first one that is no longer than all later ones together. */
function smallOnes(parts: readonly Part[]): readonly Part[] {
  if (parts.length <= MOST_PARTS) return [];
  const from = parts.findIndex((part, at) => secondsOf([part]) <= secondsOf(parts.slice(at + 1)));
  return from < 0 ? [] : parts.slice(from);
}

async function merge(lake: Lake, log: TableLog, parts: readonly Part[], span: Range): Promise<TableLog> {
  const file = lake.engine.scratch('merged.parquet');
  await withFiles(
    lake,
    parts.map(({ path }) => `${log.table}/${path}`),
    (paths) =>
      lake.engine.merge(
        paths.map((path, at) => path ?? missing(parts[at]?.path ?? '')),
        file,
      ),
  );
  const merged = await putPart(lake, log.table, file, together(parts, span));
  const compacted = await commit(lake, log, { add: [merged], remove: parts, isNew: false });
  await removeParts(lake, log.table, parts);
  return compacted;
}

/** Removes files that no commit names any more. */
async function removeParts(lake: Lake, table: string, parts: readonly Part[]): Promise<void> {
  for (const { path } of parts) await lake.store.remove(`${table}/${path}`);
}

function together(parts: readonly Part[], span: Part['span']): Parameters<typeof putPart>[3] {
  const changes = parts.flatMap(({ changedAt }) => changedAt ?? []);
  const datasets = new Set(parts.flatMap(({ grades }) => Object.keys(grades)));
  const lowest = (dataset: string) => parts.map(({ grades }) => grades[dataset] ?? LOWEST).reduce(lowerOf);
  return {
    span,
    rows: parts.reduce((sum, { rows }) => sum + rows, 0),
    keys: sumOf(parts.map(({ keys }) => keys)),
    changedAt: changes.toSorted().at(-1) ?? null,
    loaded: parts.some(({ loaded }) => loaded === null) ? null : sumOf(parts.map(({ loaded }) => loaded)),
    grades: Object.fromEntries([...datasets].map((dataset) => [dataset, lowest(dataset)])),
  };
}

function sumOf(numbers: readonly (string | null)[]): string {
  return String(numbers.reduce((sum, number) => sum + BigInt(number ?? 0), 0n));
}
