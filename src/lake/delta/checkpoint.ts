import { rm, writeFile } from 'node:fs/promises';
import { literal } from '../../db/migrate/literal.ts';
import { DAY } from '../../range.ts';
import { missing, withFiles, type Lake } from '../lake.ts';
import { PARTIAL, type Listed } from '../store/store.ts';
import type { Part } from '../part.ts';
import { addOf, metaDataOf, PROTOCOL, type DeltaTable } from './actions.ts';

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
export interface Listing {
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

export function sortOut(listed: readonly Listed[]): Listing {
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

export function nameOf(table: string, version: number, ending: 'json' | 'checkpoint.parquet'): string {
  return `${table}/_delta_log/${String(version).padStart(20, '0')}.${ending}`;
}

/** The lines that a log of one commit alone would have. */
export async function readCheckpoint(lake: Lake, table: string, version: number): Promise<string> {
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
export async function sumUp(lake: Lake, log: Summed): Promise<number> {
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
