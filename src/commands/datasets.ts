import { loadDatasets } from '../dataset/load-jobs.ts';
import { chooseDatasets, type AnyJob, type Dataset } from '../dataset/dataset.ts';
import { describeTable, type TableDescription } from '../db/read/table-description.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import type { Params } from '../dataset/paginator.ts';
import { formatDuration, type Range } from '../range.ts';
import { collectionFacts, collectionSheet, type CollectionSheet } from './output/collection-sheet.ts';
import type { Invocation } from './command.ts';
import { formatTable } from './output/table.ts';

/** What a dataset is, for people and (`--json`) for programs. */
interface DatasetSheet {
  readonly name: string;
  readonly title: string;
  readonly core: boolean;
  readonly endpoint: string;
  /** Of the request for one hour, as an example of every parameter. */
  readonly params: Params;
  readonly pageSize: number;
  /** Seconds to keep away from the head beyond ETL_WATERMARK_DELAY's; null where that decides. */
  readonly delay: number | null;
  /** Seconds after which each second is read once more; null where one reading is enough. */
  readonly readAgainAfter: number | null;
  readonly readPer: string | null;
  /** The highest grade that a range of it can have: covered, cross-checked or proved. */
  readonly grade: string;
  /** The checks that verify it, by name; none where nothing can. */
  readonly checks: readonly string[];
  readonly tables: readonly TableDescription[];
}

/** `datasets [NAME]`: what can be crawled, and what it stores; needs neither database nor API. */
export async function datasets(
  { now }: Invocation,
  name: string | undefined,
  flags: { json?: boolean },
): Promise<ExitCode> {
  const all = await loadDatasets();
  const chosen = name === undefined ? all : [findDataset(name, all)];
  const hour = { from: now - 2 * 3600, to: now - 3600 };
  const sheets = chosen.map((dataset) => anySheetOf(dataset, hour));
  const [only] = sheets;
  if (flags.json === true) {
    console.log(JSON.stringify(name === undefined ? sheets : only, null, 2));
  } else if (name !== undefined && only !== undefined) {
    console.log(formatSheet(only));
  } else {
    console.log(formatOverview(sheets));
  }
  return EXIT.done;
}

/** The words `core` and `all` name groups: a sheet is of one dataset. */
function findDataset(name: string, all: readonly Dataset<AnyJob>[]): Dataset<AnyJob> {
  const [dataset, more] = chooseDatasets([name], all);
  if (dataset !== undefined && more === undefined && dataset.name === name) return dataset;
  throw new UsageError(`"${name}" names a group of datasets`, {
    hint: `Ask for one of ${all.map((each) => each.name).join(', ')}.`,
  });
}

function anySheetOf({ name, job }: Dataset<AnyJob>, hour: Range): DatasetSheet | CollectionSheet {
  return job.kind === 'stream' ? sheetOf({ name, job }, hour) : collectionSheet({ name, job });
}

function sheetOf({ name, job }: Dataset, hour: Range): DatasetSheet {
  const { paginator } = job;
  return {
    name,
    title: job.title,
    core: job.core,
    endpoint: `GET ${job.path}`,
    params: { ...job.params, ...paginator.request(paginator.start(hour), paginator.maxSize) },
    pageSize: paginator.maxSize,
    delay: job.delaySeconds ?? null,
    readAgainAfter: job.maturitySeconds ?? null,
    readPer: job.scopes?.param ?? null,
    grade: job.grade.grade,
    checks: Object.keys(job.checks),
    tables: Object.values(job.tables).map(describeTable),
  };
}

function formatOverview(sheets: readonly (DatasetSheet | CollectionSheet)[]): string {
  const rows = sheets.map(({ name, core, tables, endpoint, title }) => [
    name,
    core ? 'yes' : '',
    tables.map((table) => table.name).join(', '),
    endpoint,
    title,
  ]);
  return `${formatTable(['dataset', 'core', 'tables', 'endpoint', 'what it is'], rows)}

More on one of them: toncenter-etl datasets ${sheets[0]?.name ?? 'NAME'}`;
}

function formatSheet(sheet: DatasetSheet | CollectionSheet): string {
  const facts = 'walks' in sheet ? collectionFacts(sheet) : streamFacts(sheet);
  return [facts.map(([title = '', text = '']) => `${title.padEnd(10)}${text}`).join('\n')]
    .concat(sheet.tables.map(formatTableSheet))
    .join('\n\n');
}

function streamFacts(sheet: DatasetSheet): string[][] {
  return [
    ['dataset', `${sheet.name}${sheet.core ? ' (core)' : ''}`],
    ['what', sheet.title],
    ['endpoint', sheet.endpoint],
    ['params', paramsText(sheet.params)],
    ['page', `at most ${sheet.pageSize} records`],
    ['order', orderOf(sheet.params)],
    ['cost', costOf(sheet)],
    ...(sheet.delay === null
      ? []
      : [['delay', `${formatDuration(sheet.delay)} behind the head, because its source lags`]]),
    ['checks', sheet.checks.length === 0 ? 'none: it is never verified' : sheet.checks.join(', ')],
    ['grade', `${sheet.grade}, where it is verified`],
    ['tables', sheet.tables.map(({ name }) => name).join(', ')],
  ];
}

/** The window's times depend on the moment; everything else is what each request says. */
function paramsText(params: Params): string {
  return Object.entries(params)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${name.endsWith('_utime') ? '…' : String(value)}`)
    .join(' ');
}

function orderOf({ sort }: Params): string {
  return sort === 'asc'
    ? 'by time, ascending'
    : 'the server’s own; windows of time are read one after the other';
}

function costOf({ pageSize, readAgainAfter, readPer }: DatasetSheet): string {
  const parts = [
    `one request for each ${pageSize} records, one for a range that has fewer`,
    ...(readPer === null ? [] : [`for each ${readPer}`]),
    ...(readAgainAfter === null
      ? []
      : [`and the same once more ${formatDuration(readAgainAfter)} later, because rows still change`]),
  ];
  return parts.join(', ');
}

function formatTableSheet({ name, comment, key, partitioned, columns }: TableDescription): string {
  const rows = columns.map((column) => [
    column.name,
    `${column.type}${column.nullable ? '' : ' not null'}`,
    column.comment,
  ]);
  const parts = partitioned ? ', partitioned by utime' : '';
  return `${name}: ${comment}\nkey: ${key.join(', ')}${parts}\n\n${formatTable(['column', 'type', 'what it is'], rows)}`;
}
