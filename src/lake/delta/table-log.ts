import { randomUUID } from 'node:crypto';
import type * as z from 'zod';
import { LakeBusyError, LakeError } from '../../errors.ts';
import type { Part } from '../part.ts';
import type { Lake } from '../lake.ts';
import type { LakeStore } from '../store/store.ts';
import {
  Action,
  addOf,
  factsOf,
  metaDataOf,
  partOf,
  PROTOCOL,
  removeOf,
  type DeltaTable,
} from './actions.ts';
import { nameOf, readCheckpoint, sortOut, sumUp } from './checkpoint.ts';

/** What a table's log says: its manifest. */
export interface TableLog extends DeltaTable {
  readonly table: string;
  /** Number of the last commit; -1 where there is none. */
  readonly version: number;
  /** Number of the commit that the newest checkpoint sums up; -1 where there is none. */
  readonly checkpoint: number;
  /** Oldest first. */
  readonly parts: readonly Part[];
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
  let log: TableLog = { table, version: checkpoint, checkpoint, ...facts, parts: [] };
  if (checkpoint >= 0) {
    const lines = await readCheckpoint(lake, table, checkpoint);
    log = follow(log, parse(nameOf(table, checkpoint, 'checkpoint.parquet'), lines), checkpoint);
  }
  for (let at = 0; at < commits.length; at += AT_ONCE) {
    const some = commits.slice(at, at + AT_ONCE);
    const texts = await Promise.all(some.map((name) => store.read(name)));
    for (const [place, name] of some.entries()) {
      if (name !== nameOf(table, log.version + 1, 'json'))
        throw new LakeError(`${store.label}: a commit before ${name} is missing`);
      log = follow(log, parse(name, texts[place] ?? ''), log.version + 1);
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

function follow(log: TableLog, actions: Actions, version: number): TableLog {
  const parts = new Map(log.parts.map((part) => [part.path, part]));
  let facts: DeltaTable = log;
  for (const { add, remove, metaData } of actions) {
    if (add !== undefined) parts.set(add.path, partOf(add));
    if (remove !== undefined) parts.delete(remove.path);
    if (metaData !== undefined) facts = factsOf(metaData);
  }
  const sorted = [...parts.values()].sort((a, b) => a.span.from - b.span.from);
  return { ...log, ...facts, version, parts: sorted };
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
