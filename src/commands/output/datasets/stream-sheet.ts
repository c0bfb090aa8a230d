import type { Dataset } from '../../../dataset/dataset.ts';
import { restingRequests } from '../../../dataset/pace.ts';
import type { ServerIndex } from '../../../dataset/job.ts';
import type { Params } from '../../../dataset/paginator.ts';
import { describeTable, type TableDescription } from '../../../db/read/table-description.ts';
import { formatDuration, type Range } from '../../../range.ts';

/** What a stream of time is, for people and (`--json`) for programs. */
export interface StreamSheet {
  readonly name: string;
  readonly title: string;
  readonly core: boolean;
  readonly endpoint: string;
  /** Of the request for one hour, as an example of every parameter. */
  readonly params: Params;
  /** The server's index that its requests ride. */
  readonly index: ServerIndex;
  readonly pageSize: number;
  /** Seconds to keep away from the head beyond ETL_WATERMARK_DELAY's; null where that decides. */
  readonly delay: number | null;
  /** Seconds after which each second is read once more; null where one reading is enough. */
  readonly readAgainAfter: number | null;
  readonly readPer: string | null;
  /** Requests a minute that keep it up to date while nothing happens; for each of what it is read for, if there is. */
  readonly requestsAtRest: number;
  /** The highest grade that a range of it can have: covered, cross-checked or proved. */
  readonly grade: string;
  /** The checks that verify it, by name; none where nothing can. */
  readonly checks: readonly string[];
  readonly tables: readonly TableDescription[];
}

/** `hour` is the range of the request that is shown. */
export function streamSheet({ name, job }: Dataset, hour: Range, freshness: number): StreamSheet {
  const { paginator } = job;
  return {
    name,
    title: job.title,
    core: job.core,
    endpoint: `GET ${job.path}`,
    params: { ...job.params, ...paginator.request(paginator.start(hour), paginator.maxSize) },
    index: job.index,
    pageSize: paginator.maxSize,
    delay: job.delaySeconds ?? null,
    readAgainAfter: job.maturitySeconds ?? null,
    readPer: job.scopes?.param ?? null,
    requestsAtRest: restingRequests(job, freshness),
    grade: job.grade.grade,
    checks: Object.keys(job.checks),
    tables: Object.values(job.tables).map(describeTable),
  };
}

/** The facts of a sheet, title and text. */
export function streamFacts(sheet: StreamSheet): string[][] {
  return [
    ['dataset', `${sheet.name}${sheet.core ? ' (core)' : ''}`],
    ['what', sheet.title],
    ['endpoint', sheet.endpoint],
    ['params', paramsText(sheet.params)],
    ['page', `at most ${sheet.pageSize} records`],
    ['order', orderOf(sheet.params)],
    ['index', indexOf(sheet.index)],
    ['cost', costOf(sheet)],
    ['at rest', restText(sheet)],
    ...(sheet.delay === null
      ? []
      : [['delay', `${formatDuration(sheet.delay)} behind the head, because its source lags`]]),
    ['checks', sheet.checks.length === 0 ? 'none: it is never verified' : sheet.checks.join(', ')],
    ['grade', sheet.checks.length === 0 ? sheet.grade : `${sheet.grade}, where it is verified`],
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

function indexOf({ columns, of }: ServerIndex): string {
  return of === 'lt' ? `${columns}: the logical times of the seconds are sent beside them` : columns;
}

function orderOf({ sort }: Params): string {
  return sort === 'asc'
    ? 'by time, ascending'
    : 'the server’s own; windows of time are read one after the other';
}

/** In one decimal; of a dataset that is read for one thing at a time, for each of them. */
export function atRest({ requestsAtRest, readPer }: Pick<StreamSheet, 'requestsAtRest' | 'readPer'>): string {
  return `${requestsAtRest.toFixed(1)}${readPer === null ? '' : ` a ${readPer}`}`;
}

function restText({ requestsAtRest, readPer }: StreamSheet): string {
  return `${requestsAtRest.toFixed(1)} requests a minute${readPer === null ? '' : ` for each ${readPer}`}`;
}

function costOf({ pageSize, readAgainAfter, readPer }: StreamSheet): string {
  const parts = [
    `one request for each ${pageSize} records, one for a range that has fewer`,
    ...(readPer === null ? [] : [`for each ${readPer}`]),
    ...(readAgainAfter === null
      ? []
      : [`and the same once more ${formatDuration(readAgainAfter)} later, because rows still change`]),
  ];
  return parts.join(', ');
}
