import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { LakeBusyError, LakeError } from '../errors.ts';
import type { Part } from './part.ts';
import { type Lake, missing, withFiles, type LakeStore, PARTIAL, type Listed } from './lake.ts';
import { literal } from '../tables/describe.ts';
import { DAY } from '../range.ts';
import type { TableDescription } from '../read/table-rows.ts';
import { columnType, EXACT } from './copied-rows.ts';

/** The contents of a table's log: its manifest. */
export interface TableLog extends DeltaTable {
  readonly table: string;
  /** Number of the last commit; -1 if there is none. */
  readonly version: number;
  /** Number of the commit up to which the newest checkpoint sums up the log; -1 if there is none. */
  readonly checkpoint: number;
  /** Oldest first, including parts that another program has replaced by its own files. */
  readonly parts: readonly Part[];
  /** Changes by another program, such as `optimize` of delta-rs: the next export reverts them. */
  readonly foreign: { readonly added: readonly string[]; readonly removed: readonly string[] };
}

export interface LogChange {
  readonly add: readonly Part[];
  readonly remove: readonly Part[];
  /** False if the rows stay the same, and only their files change. */
  readonly isNew: boolean;
}

const FOLDER = '_delta_log';

/** Commits that are fetched at the same time. */
const AT_ONCE = 32;

export async function tablesIn(store: LakeStore): Promise<string[]> {
  const folders = await store.folders();
  const logs = await Promise.all(folders.map((name) => store.list(`${name}/${FOLDER}/`)));
  return folders.filter((_, at) => logs[at]?.length !== 0);
}

/** @throws LakeError if the log was not written by this program */
export async function readLog(lake: Lake, table: string): Promise<TableLog> {
  const { store } = lake;
  const { checkpoint, commits } = sortOut(await store.list(`${table}/${FOLDER}/`));
  const facts = { id: randomUUID(), network: undefined, columns: [] };
  const foreign = { added: [], removed: [] };
  let log: TableLog = { table, version: checkpoint, checkpoint, ...facts, parts: [], foreign };
  if (checkpoint >= 0) {
    const name = nameOf(table, checkpoint, 'checkpoint.parquet');
    const actions = parse(name, await readCheckpoint(lake, table, checkpoint));
    // A checkpoint does not say which parts the files of another program replace.
    if (actions.some(({ add }) => add !== undefined && add.tags === undefined)) refuseForeign(table, name);
    log = applyCommit(log, actions, checkpoint);
  }
  for (let at = 0; at < commits.length; at += AT_ONCE) {
    const some = commits.slice(at, at + AT_ONCE);
    const texts = await Promise.all(some.map((name) => store.read(name)));
    for (const [index, name] of some.entries()) {
      if (name !== nameOf(table, log.version + 1, 'json'))
        throw new LakeError(`${store.label}: a commit before ${name} is missing`);
      const text = texts[index];
      if (text === undefined) throw new LakeError(`${store.label}: the commit ${name} is gone`);
      log = applyCommit(log, parse(name, text), log.version + 1);
    }
  }
  return log;
}

type Actions = readonly z.infer<typeof Action>[];

function parse(name: string, text: string): Actions {
  try {
    return (
      text
        .split('\n')
        .filter((line) => line !== '')
        // A checkpoint has nulls for what a line of a commit leaves out.
        .map((line) => Action.parse(JSON.parse(line, (_, value: unknown) => value ?? undefined)))
    );
  } catch (cause) {
    throw new LakeError(`${name} is not a commit of a lake of this program`, { cause });
  }
}

/** @throws LakeError that says what to do */
function refuseForeign(table: string, name: string): never {
  throw new LakeError(
    `${name} was written by another program, which has changed rows of ${table} or written a checkpoint of its log`,
    {
      hint: `Nothing but this program may write to a lake. Move the folder ${table} out of the lake and export again: days that the database no longer has are in that folder alone.`,
    },
  );
}

/** Every commit of this program adds a part. A commit of another program adds none of them, or only removes. */
function isForeign(actions: Actions): boolean {
  const adds = actions.flatMap(({ add }) => add ?? []);
  return (
    adds.some(({ tags }) => tags === undefined) || (adds.length === 0 && actions.some(({ remove }) => remove))
  );
}

/** Skips commits of another program that change no row, so the parts stay the same. Other changes are refused. */
function skipForeign(log: TableLog, actions: Actions, version: number): TableLog {
  const added = new Set(log.foreign.added);
  const removed = new Set(log.foreign.removed);
  for (const { add, remove } of actions) {
    if (add?.dataChange === true || remove?.dataChange === true)
      refuseForeign(log.table, nameOf(log.table, version, 'json'));
    if (add !== undefined) added.add(add.path);
    if (remove !== undefined && !added.delete(remove.path)) removed.add(remove.path);
  }
  return { ...log, version, foreign: { added: [...added], removed: [...removed] } };
}

/**
 * Restores the parts that another program has replaced. Its files are removed later, with those that killed runs have
 * left.
 * @throws LakeError if a part no longer exists
 */
export async function restoreParts(lake: Lake, log: TableLog): Promise<TableLog> {
  const { added, removed } = log.foreign;
  if (added.length + removed.length === 0) return log;
  const lost = log.parts.filter(({ path }) => removed.includes(path));
  for (const { day, path } of lost) {
    const files = await lake.store.list(`${log.table}/day=${day}/`);
    if (!files.some(({ name }) => name === `${log.table}/${path}`)) refuseForeign(log.table, path);
  }
  return commit(lake, log, { add: lost, remove: [], isNew: false });
}

function applyCommit(log: TableLog, actions: Actions, version: number): TableLog {
  if (isForeign(actions)) return skipForeign(log, actions, version);
  const parts = new Map(log.parts.map((part) => [part.path, part]));
  let facts: DeltaTable = log;
  for (const { add, remove, metaData } of actions) {
    const part = add && partOf(add);
    if (part !== undefined) parts.set(part.path, part);
    if (remove !== undefined) parts.delete(remove.path);
    if (metaData !== undefined) facts = factsOf(metaData);
  }
  const sorted = [...parts.values()].sort((a, b) => a.span.from - b.span.from);
  const gone = new Set(actions.flatMap(({ remove }) => remove?.path ?? []));
  const added = log.foreign.added.filter((path) => !gone.has(path));
  const removed = log.foreign.removed.filter((path) => !actions.some(({ add }) => add?.path === path));
  return { ...log, ...facts, version, parts: sorted, foreign: { added, removed } };
}

/**
 * Changes a table in one step: readers of the log see all of it or nothing.
 * @throws LakeBusyError if another process committed first: nothing was changed
 */
export async function commit(
  lake: Lake,
  log: TableLog,
  { add, remove, isNew }: LogChange,
  facts: Omit<DeltaTable, 'id'> = log,
): Promise<TableLog> {
  const { store } = lake;
  const how = { now: Date.now(), isNew };
  const changed = changedFacts(log, facts);
  const lines = [
    ...(log.version < 0 ? [PROTOCOL] : []),
    ...(changed === undefined ? [] : [metaDataOf(changed, how.now)]),
    ...log.foreign.added.map((path) => removeForeign(path, how.now)),
    ...remove.map((part) => removeOf(part, how)),
    ...add.map((part) => addOf(part, how)),
  ];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const name = nameOf(log.table, log.version + 1, 'json');
  if (!(await store.create(name, text))) {
    throw new LakeBusyError(`another process has just written to ${log.table} of ${store.label}`, {
      hint: 'Run it again: it continues where this run stopped.',
    });
  }
  const after = applyCommit(log, parse(name, text), log.version + 1);
  return { ...after, checkpoint: await sumUp(lake, after) };
}

/**
 * A column that was dropped stays in the table: parts that have it keep their values. Undefined if nothing has changed.
 */
function changedFacts(log: TableLog, { columns, network }: Omit<DeltaTable, 'id'>): DeltaTable | undefined {
  const retired = log.columns.filter(({ name }) => !columns.some((one) => one.name === name));
  const facts = { id: log.id, network: network ?? log.network, columns: [...retired, ...columns] };
  const before = { id: log.id, network: log.network, columns: log.columns };
  return JSON.stringify(facts) === JSON.stringify(before) ? undefined : facts;
}

/*
 * Checkpoints of a Delta Lake log: the result of all commits up to one, in a Parquet file, so that readers need not
 * read them all.
 */

/** Commits between two checkpoints. */
const EVERY = 20;

/** How long a commit stays after a checkpoint has replaced it, for readers that began before. */
const KEPT_SECONDS = DAY;

/** Types of DuckDB for the members of a checkpoint, as the protocol defines them. */
const COLUMNS = {
  protocol: 'STRUCT("minReaderVersion" INTEGER, "minWriterVersion" INTEGER)',
  metaData: `STRUCT(id VARCHAR, name VARCHAR, description VARCHAR, format STRUCT(provider VARCHAR, options MAP(VARCHAR, VARCHAR)),
    "schemaString" VARCHAR, "partitionColumns" VARCHAR[], configuration MAP(VARCHAR, VARCHAR), "createdTime" BIGINT)`,
  add: `STRUCT(path VARCHAR, "partitionValues" MAP(VARCHAR, VARCHAR), size BIGINT, "modificationTime" BIGINT,
    "dataChange" BOOLEAN, stats VARCHAR, tags MAP(VARCHAR, VARCHAR))`,
};

/** The contents of a log's folder: the newest checkpoint, and the commits that follow it. */
interface Listing {
  /** Number of the commit up to which the checkpoint sums up the log; -1 if there is none. */
  readonly checkpoint: number;
  /** Names of the later commits, in order. */
  readonly commits: readonly string[];
  /** Names of files that a checkpoint replaced long ago, or that a killed process left. `now` is unix seconds. */
  readonly outdated: (now: number) => readonly string[];
}

const numberOf = (name: string) => Number(/(\d{20})\.(checkpoint\.parquet|json)$/.exec(name)?.[1] ?? NaN);

const isNeedless = (name: string, checkpoint: number) =>
  name.includes(`/${PARTIAL}`) || numberOf(name) < checkpoint;

function sortOut(listed: readonly Listed[]): Listing {
  const known = listed.filter(({ name }) => !Number.isNaN(numberOf(name)));
  const isCommit = (name: string) => name.endsWith('.json');
  const checkpoints = known.filter(({ name }) => !isCommit(name)).map(({ name }) => numberOf(name));
  const checkpoint = Math.max(-1, ...checkpoints);
  const names = known.map(({ name }) => name);
  return {
    checkpoint,
    commits: names.filter((name) => isCommit(name) && numberOf(name) > checkpoint),
    outdated: (now) =>
      listed
        .filter(({ name, changedAt }) => changedAt < now - KEPT_SECONDS && isNeedless(name, checkpoint))
        .map(({ name }) => name),
  };
}

function nameOf(table: string, version: number, ending: 'json' | 'checkpoint.parquet'): string {
  return `${table}/_delta_log/${String(version).padStart(20, '0')}.${ending}`;
}

async function readCheckpoint(lake: Lake, table: string, version: number): Promise<string> {
  const name = nameOf(table, version, 'checkpoint.parquet');
  const line = `to_json({protocol: protocol, "metaData": "metaData", "add": "add"})`;
  const lines = await withFiles(lake, [name], ([path]) => lake.engine.texts(path ?? missing(name), line));
  return lines.join('\n');
}

/** Writes a checkpoint if there are enough commits since the last one. Returns the commit of the newest checkpoint. */
async function sumUp(lake: Lake, log: TableLog): Promise<number> {
  const { table, version, parts } = log;
  if (version - log.checkpoint < EVERY) return log.checkpoint;
  const how = { now: Date.now(), isNew: false };
  const actions = [PROTOCOL, metaDataOf(log, how.now), ...parts.map((part) => addOf(part, how))];
  const [json, parquet] = [lake.engine.scratch('checkpoint.json'), lake.engine.scratch('checkpoint.parquet')];
  await writeFile(json, actions.map((action) => `${JSON.stringify(action)}\n`).join(''));
  const columns = Object.entries(COLUMNS).map(([name, type]) => `"${name}": ${literal(type)}`);
  await lake.engine.ask(`copy (select * from read_json(${literal(json)}, format = 'newline_delimited',
    columns = {${columns.join(', ')}})) to ${literal(parquet)} (format parquet)`);
  await lake.store.put(nameOf(table, version, 'checkpoint.parquet'), parquet);
  await writeFile(json, JSON.stringify({ version, size: actions.length }));
  await lake.store.put(`${table}/_delta_log/_last_checkpoint`, json);
  await Promise.all([json, parquet].map((path) => rm(path)));
  const { outdated } = sortOut(await lake.store.list(`${table}/_delta_log/`));
  for (const name of outdated(how.now / 1000)) await lake.store.remove(name);
  return version;
}

/*
 * Lines of a Delta Lake log, protocol 1/2 (https://github.com/delta-io/delta/blob/master/PROTOCOL.md), which Spark,
 * Trino, DuckDB, polars and others read. The tags of `add` hold what this program adds to the protocol.
 */

const Tags = z.object({
  from: z.coerce.number(),
  to: z.coerce.number(),
  rows: z.coerce.number(),
  keys: z.string().optional(),
  sha256: z.string(),
  changed_at: z.string().optional(),
  loaded: z.string().optional(),
  grades: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.record(z.string(), z.string())),
  program: z.string(),
  schema: z.string(),
});

/** A path below the table's folder: a foreign log must not make its reader open other files. */
const Path = z
  .string()
  .transform(decodeURIComponent)
  .refine((path) => !/^\/|:|(^|[/\\])\.\.([/\\]|$)/.test(path));

const Add = z.object({
  path: Path,
  partitionValues: z.object({ day: z.string() }),
  size: z.number(),
  dataChange: z.boolean(),
  /** Missing in a part that another program added. */
  tags: z.union([Tags, z.strictObject({}).transform(() => undefined)]).optional(),
});

const Schema = z.object({ fields: z.array(z.object({ name: z.string(), type: z.string() })) });

/** The `global_id` of the rows' chain. */
const NETWORK = 'toncenter-etl.network';

/** A line of the log, reduced to the members that matter here. */
const Action = z.object({
  add: Add.optional(),
  remove: z.object({ path: Path, dataChange: z.boolean() }).optional(),
  metaData: z
    .object({
      id: z.string(),
      configuration: z.object({ [NETWORK]: z.coerce.number().optional() }),
      schemaString: z
        .string()
        .transform((text): unknown => JSON.parse(text))
        .pipe(Schema),
    })
    .optional(),
});

type MetaData = NonNullable<z.infer<typeof Action>['metaData']>;

type DeltaColumn = z.infer<typeof Schema>['fields'][number];

/** Undefined for a file that another program has added. */
function partOf({ path, partitionValues, size, tags }: z.infer<typeof Add>): Part | undefined {
  if (tags === undefined) return undefined;
  const { from, to, keys, changed_at, loaded, ...rest } = tags;
  return {
    ...rest,
    path,
    day: partitionValues.day,
    span: { from, to },
    bytes: size,
    keys: keys ?? null,
    changedAt: changed_at ?? null,
    loaded: loaded ?? null,
  };
}

/** `now` is unix milliseconds. `isNew` is false if the rows were in the table before, in other parts. */
function addOf(part: Part, { now, isNew }: { now: number; isNew: boolean }): object {
  return {
    add: {
      path: part.path,
      partitionValues: { day: part.day },
      size: part.bytes,
      modificationTime: now,
      dataChange: isNew,
      // Without bounds: delta-rs treats a column without a bound as null, and then finds no row by it.
      stats: JSON.stringify({ numRecords: part.rows }),
      tags: tagsOf(part),
    },
  };
}

function tagsOf({ span, rows, keys, sha256, changedAt, loaded, grades, program, schema }: Part): object {
  const text = (value: string | number | null) => (value === null ? undefined : String(value));
  return {
    from: text(span.from),
    to: text(span.to),
    rows: text(rows),
    keys: text(keys),
    sha256,
    changed_at: text(changedAt),
    loaded: text(loaded),
    grades: JSON.stringify(grades),
    program,
    schema,
  };
}

function removeOf(part: Part, { now, isNew }: { now: number; isNew: boolean }): object {
  return {
    remove: {
      path: part.path,
      deletionTimestamp: now,
      dataChange: isNew,
      extendedFileMetadata: true,
      partitionValues: { day: part.day },
      size: part.bytes,
    },
  };
}

/** Removes a file that another program has added, without a change of the data. */
function removeForeign(path: string, now: number): object {
  return { remove: { path: encodeURI(path), deletionTimestamp: now, dataChange: false } };
}

/** The facts about a table that do not depend on its parts. */
interface DeltaTable {
  /** Stays the same when columns change. */
  readonly id: string;
  /** The `global_id` of the rows' chain; undefined if it is not known. */
  readonly network: number | undefined;
  readonly columns: readonly DeltaColumn[];
}

function factsOf({ id, configuration, schemaString }: MetaData): DeltaTable {
  return { id, network: configuration[NETWORK], columns: schemaString.fields };
}

function metaDataOf({ id, network, columns }: DeltaTable, now: number): object {
  const fields = columns.map(({ name, type }) => ({ name, type, nullable: true, metadata: {} }));
  return {
    metaData: {
      id,
      format: { provider: 'parquet', options: {} },
      schemaString: JSON.stringify({ type: 'struct', fields }),
      partitionColumns: ['day'],
      configuration: network === undefined ? {} : { [NETWORK]: String(network) },
      createdTime: now,
    },
  };
}

const PROTOCOL = { protocol: { minReaderVersion: 1, minWriterVersion: 2 } };

/** The columns of a lake's files, including `EXACT`, and the partition column, whose value is in the folder's name. */
export function lakeColumns({ columns: own }: TableDescription): DeltaColumn[] {
  const columns = own.map((column) => ({ name: column.name, type: columnType(column).delta }));
  return [...columns, { name: EXACT, type: 'string' }, { name: 'day', type: 'date' }];
}

/** A DuckDB expression for the hash of a row's key, equal to `keyHash` in `src/write/seals.ts`. */
export function keyHash({ key }: TableDescription): string {
  const rest = key.filter((name) => name !== 'utime').map((name) => `"${name}"`);
  const text = `concat_ws('|', epoch_us("utime") // 1000000, ${rest.join(', ')})`;
  return `('0x' || left(md5(${text}), 15))::bigint`;
}
