import type { AnyJob, Dataset } from '../../../dataset/dataset.ts';
import { watermarkRequests } from '../../../dataset/head-pace.ts';
import type { TableDescription } from '../../../db/read/table-description.ts';
import type { Range } from '../../../range.ts';
import { fitTable } from '../table.ts';
import { collectionFacts, collectionSheet, type CollectionSheet } from './collection-sheet.ts';
import { atRest, streamFacts, streamSheet, type StreamSheet } from './stream-sheet.ts';
import { programName } from '../../../terminal/program-name.ts';

export type DatasetSheet = StreamSheet | CollectionSheet;

/** `hour` is the range of the request that is shown; `freshness` in seconds decides how often the tail asks. */
export function sheetOf({ name, job }: Dataset<AnyJob>, hour: Range, freshness: number): DatasetSheet {
  return job.kind === 'stream'
    ? streamSheet({ name, job }, hour, freshness)
    : collectionSheet({ name, job }, freshness);
}

/** All of them, a line each. */
export function formatOverview(sheets: readonly DatasetSheet[], freshness: number): string {
  const rows = sheets.map((sheet) => [
    sheet.name,
    sheet.core ? 'yes' : '',
    atRest('walks' in sheet ? { ...sheet, readPer: null } : sheet),
    sheet.tables.map((table) => table.name).join(', '),
    sheet.endpoint,
    sheet.title,
  ]);
  return `${fitTable(['dataset', 'core', 'at rest', 'tables', 'endpoint', 'what it is'], rows, ['tables', 'endpoint'])}

At rest: requests a minute that keep it up to date while nothing happens.
How far it is safe to read costs ${watermarkRequests(freshness).toFixed(1)} more, for all together.
More on one of them: ${programName} datasets ${sheets[0]?.name ?? 'NAME'}`;
}

/** One of them, column by column. */
export function formatSheet(sheet: DatasetSheet): string {
  const facts = 'walks' in sheet ? collectionFacts(sheet) : streamFacts(sheet);
  return [facts.map(([title = '', text = '']) => `${title.padEnd(10)}${text}`).join('\n')]
    .concat(sheet.tables.map(formatTableSheet))
    .join('\n\n');
}

function formatTableSheet({ name, comment, key, partitioned, columns }: TableDescription): string {
  const rows = columns.map((column) => [
    column.name,
    `${column.type}${column.nullable ? '' : ' not null'}`,
    column.comment,
  ]);
  const parts = partitioned ? ', partitioned by utime' : '';
  return `${name}: ${comment}\nkey: ${key.join(', ')}${parts}\n\n${fitTable(['column', 'type', 'what it is'], rows)}`;
}
