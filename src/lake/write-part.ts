import { rm, stat } from 'node:fs/promises';
import type { Database } from '../postgres/database.ts';
import { atOneMoment, stateOf, type RowsState } from '../read/table-rows.ts';
import { writeRows } from '../export/write-rows.ts';
import { schemaVersion, version } from '../package.ts';
import { LakeError } from '../errors.ts';
import { formatRange, type Range } from '../range.ts';
import { gradesOf } from './grades.ts';
import { digestOf, type Lake } from './lake.ts';
import type { ExportedTable } from '../export/tables-of.ts';
import { dayOf, pathOf, type Part } from './part.ts';

/** The facts of a part that are known before its file is written. */
type PartFacts = Pick<Part, 'span' | 'rows' | 'keys' | 'changedAt' | 'loaded' | 'grades'>;

/** Writes the rows of some seconds of one day, or a snapshot that is taken at `span`, as of one moment. */
export async function writePart(
  lake: Lake,
  database: Database,
  source: ExportedTable,
  span: Range,
): Promise<Part> {
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
