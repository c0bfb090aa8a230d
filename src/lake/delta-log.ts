import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import type * as z from 'zod';
import { LakeBusyError, LakeError } from '../errors.ts';
import type { Part } from './part.ts';
import { type Lake, missing, withFiles } from './lake.ts';
import { type LakeStore, PARTIAL, type Listed } from './lake-store.ts';
import {
  Action,
  addOf,
  factsOf,
  metaDataOf,
  partOf,
  PROTOCOL,
  removeForeign,
  removeOf,
  type DeltaTable,
} from './delta-actions.ts';
import { literal } from '../tables/literal.ts';
import { DAY } from '../range.ts';

/** What a table's log says: its manifest. */
export interface TableLog extends DeltaTable {
  readonly table: string;
  /** Number of the last commit; -1 where there is none. */
  readonly version: number;
  /** Number of the commit that the newest checkpoint sums up; -1 where there is none. */
  readonly checkpoint: number;
  /** Oldest first: also those that another program has put its own files in the place of. */
  readonly parts: readonly Part[];
  /** What another program has made of the parts, such as `optimize` of delta-rs: the next export takes it back. */
  readonly foreign: { readonly added: readonly string[]; readonly removed: readonly string[] };
}

export interface Change {
  readonly add: readonly Part[];
  readonly remove: readonly Part[];
  /** False where the rows stay what they are, and only their files are others. */
  readonly isNew: boolean;
}

const FOLDER = '_delta_log';

/** Commits that are asked for at the same time. */
const AT_ONCE = 32;

/** The tables that a lake has, by name. */
export async function tablesIn(store: LakeStore): Promise<string[]> {
  const folders = await store.folders();
  const logs = await Promise.all(folders.map((name) => store.list(`${name}/${FOLDER}/`)));
  return folders.filter((_, at) => logs[at]?.length !== 0);
}

/** @throws LakeError where the log is not one of this program's */
export async function readLog(lake: Lake, table: string): Promise<TableLog> {
  const { store } = lake;
  const { checkpoint, commits } = sortOut(await store.list(`${table}/${FOLDER}/`));
  const facts = { id: randomUUID(), network: undefined, columns: [] };
  const foreign = { added: [], removed: [] };
  let log: TableLog = { table, version: checkpoint, checkpoint, ...facts, parts: [], foreign };
  if (checkpoint >= 0) {
    const name = nameOf(table, checkpoint, 'checkpoint.parquet');
    const actions = parse(name, await readCheckpoint(lake, table, checkpoint));
    // It no longer says which parts the files of another program stand for.
    if (actions.some(({ add }) => add !== undefined && add.tags === undefined)) refuseForeign(table, name);
    log = follow(log, actions, checkpoint);
  }
  for (let at = 0; at < commits.length; at += AT_ONCE) {
    const some = commits.slice(at, at + AT_ONCE);
    const texts = await Promise.all(some.map((name) => store.read(name)));
    for (const [place, name] of some.entries()) {
      if (name !== nameOf(table, log.version + 1, 'json'))
        throw new LakeError(`${store.label}: a commit before ${name} is missing`);
      const text = texts[place];
      if (text === undefined) throw new LakeError(`${store.label}: the commit ${name} is gone`);
      log = follow(log, parse(name, text), log.version + 1);
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
        // A checkpoint says null of what a line of a commit leaves out.
        .map((line) => Action.parse(JSON.parse(line, (_, value: unknown) => value ?? undefined)))
    );
  } catch (cause) {
    throw new LakeError(`${name} is not a commit of a lake of this program`, { cause });
  }
}

/** @throws LakeError that says what to do */
function refuseForeign(table: string, name: string): never {
  throw new LakeError(
    `${name} is of another program, which has changed the rows of ${table} or summed up its log`,
    {
      hint: `Nothing but this program may write to a lake. Move the folder ${table} out of the lake and export again: days that the database no longer has are in that folder alone.`,
    },
  );
}

/** Every commit of this program's has a part; one of another's has none, or only removes. */
function isForeign(actions: Actions): boolean {
  const adds = actions.flatMap(({ add }) => add ?? []);
  return (
    adds.some(({ tags }) => tags === undefined) || (adds.length === 0 && actions.some(({ remove }) => remove))
  );
}

/** What another program has done changes no row, or is refused: so the parts are what they were. */
function passOver(log: TableLog, actions: Actions, version: number): TableLog {
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
 * Puts the parts of this program back in the place of what another has made of them; its files go with what runs that were
 * killed have left.
 * @throws LakeError where a part is there no longer
 */
export async function takeBack(lake: Lake, log: TableLog): Promise<TableLog> {
  const { added, removed } = log.foreign;
  if (added.length + removed.length === 0) return log;
  const lost = log.parts.filter(({ path }) => removed.includes(path));
  for (const { day, path } of lost) {
    const files = await lake.store.list(`${log.table}/day=${day}/`);
    if (!files.some(({ name }) => name === `${log.table}/${path}`)) refuseForeign(log.table, path);
  }
  return commit(lake, log, { add: lost, remove: [], isNew: false });
}

function follow(log: TableLog, actions: Actions, version: number): TableLog {
  if (isForeign(actions)) return passOver(log, actions, version);
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
 * @throws LakeBusyError where another process was faster: nothing was changed
 */
export async function commit(
  lake: Lake,
  log: TableLog,
  { add, remove, isNew }: Change,
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
      hint: 'Run it again: it goes on where this one stopped.',
    });
  }
  const after = follow(log, parse(name, text), log.version + 1);
  return { ...after, checkpoint: await sumUp(lake, after) };
}

/** A column that there is no longer stays: parts that have it keep their values. Undefined where nothing has changed. */
function changedFacts(log: TableLog, { columns, network }: Omit<DeltaTable, 'id'>): DeltaTable | undefined {
  const retired = log.columns.filter(({ name }) => !columns.some((one) => one.name === name));
  const facts = { id: log.id, network: network ?? log.network, columns: [...retired, ...columns] };
  const before = { id: log.id, network: log.network, columns: log.columns };
  return JSON.stringify(facts) === JSON.stringify(before) ? undefined : facts;
}

/*
 * Checkpoints of a log of Delta Lake: what all commits up to one have come to, in a file of Parquet, so that nobody has
 * to read them all.
 */

/** Commits between two checkpoints. */
const EVERY = 20;

/** For so long a commit stays that a checkpoint has made needless: for readers that began before. */
const KEPT_SECONDS = DAY;

/** Types of DuckDB for the members of a checkpoint, as the protocol has them. */
const COLUMNS = {
  protocol: 'STRUCT("minReaderVersion" INTEGER, "minWriterVersion" INTEGER)',
  metaData: `STRUCT(id VARCHAR, name VARCHAR, description VARCHAR, format STRUCT(provider VARCHAR, options MAP(VARCHAR, VARCHAR)),
    "schemaString" VARCHAR, "partitionColumns" VARCHAR[], configuration MAP(VARCHAR, VARCHAR), "createdTime" BIGINT)`,
  add: `STRUCT(path VARCHAR, "partitionValues" MAP(VARCHAR, VARCHAR), size BIGINT, "modificationTime" BIGINT,
    "dataChange" BOOLEAN, stats VARCHAR, tags MAP(VARCHAR, VARCHAR))`,
};

/** What a log's folder has: the newest checkpoint, and the commits that follow it. */
interface Listing {
  /** Number of the commit that the checkpoint sums up; -1 where there is none. */
  readonly checkpoint: number;
  /** Names of the commits behind it, in their order. */
  readonly commits: readonly string[];
  /** Names of files that the checkpoint has made needless long ago, or a killed process has left. `now` is unix seconds. */
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

/** The lines that a log of one commit alone would have. */
async function readCheckpoint(lake: Lake, table: string, version: number): Promise<string> {
  const name = nameOf(table, version, 'checkpoint.parquet');
  const lines: string[] = [];
  await withFiles(lake, [name], async ([path]) => {
    const line = `to_json({protocol: protocol, "metaData": "metaData", "add": "add"})`;
    await lake.engine.texts(path ?? missing(name), line, (texts) => lines.push(...texts));
  });
  return lines.join('\n');
}

/** What a table's commits have come to. */
interface Summed extends DeltaTable {
  readonly table: string;
  readonly version: number;
  /** Number of the commit that the newest checkpoint sums up; -1 where there is none. */
  readonly checkpoint: number;
  readonly parts: readonly Part[];
}

/** Sums up a log where enough commits have come since this was done last; up to which commit it is summed up then. */
async function sumUp(lake: Lake, log: Summed): Promise<number> {
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
