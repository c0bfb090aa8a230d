import type { Command } from 'commander';
import { type AnyJob, chooseDatasets, type Collection, type Dataset } from '../dataset/dataset.ts';
import { watermarkRequests, restingRequests } from '../crawl/tail-pace.ts';
import type { ServerIndex } from '../dataset/job.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import { newestFirst } from '../dataset/paginators/backward.ts';
import { offset } from '../dataset/paginators/offset.ts';
import type { LookupWalk, Walk } from '../dataset/collection.ts';
import { describeTable, type TableDescription } from '../read/table-rows.ts';
import { EtlError, EXIT, type ExitCode, UsageError } from '../errors.ts';
import { runSql } from '../read/free-sql.ts';
import { formatDuration, HOUR, type Range } from '../range.ts';
import { commandLine } from '../terminal/program-name.ts';
import { examples } from './option-words.ts';
import { type Invocation, runCommand, withStoreOnce } from './run-command.ts';
import { fitTable } from './table.ts';

export function defineDatasets(command: Command): void {
  command
    .argument('[name]', 'a dataset; of a table or a view, the datasets that feed it')
    .option('--json', 'for programs')
    .addHelpText('after', examples('toncenter-etl datasets', 'toncenter-etl datasets transactions'))
    .action((name: string | undefined, flags: { json?: boolean }) =>
      runCommand((invocation) => datasets(invocation, name, flags)),
    );
}

/** `datasets [NAME]`: what can be crawled, and what it stores. Asks the database only about names of views. */
async function datasets(
  invocation: Invocation,
  name: string | undefined,
  flags: { json?: boolean },
): Promise<ExitCode> {
  const { config, now } = invocation;
  const all = await loadDatasets();
  const chosen = name === undefined ? all : [await findDataset(invocation, name, all)];
  const hour = { from: now - 2 * HOUR, to: now - HOUR };
  const descriptions = chosen.map((dataset) => describeDataset(dataset, hour, config.freshnessSeconds));
  const [only] = descriptions;
  if (flags.json === true) {
    console.log(JSON.stringify(name === undefined ? descriptions : only, null, 2));
  } else if (name !== undefined && only !== undefined) {
    console.log(formatDescription(only));
  } else {
    console.log(formatOverview(descriptions, config.freshnessSeconds));
  }
  return EXIT.done;
}

/** `core` and `all` are groups, but the description is of one dataset. */
async function findDataset(
  invocation: Invocation,
  name: string,
  all: readonly Dataset<AnyJob>[],
): Promise<Dataset<AnyJob>> {
  const [dataset, more] = await chosenOrView(invocation, name, all);
  if (dataset !== undefined && more === undefined && dataset.name === name) return dataset;
  throw new UsageError(`"${name}" names a group of datasets`, {
    hint: `Ask for one of ${all.map((each) => each.name).join(', ')}.`,
  });
}

/** @throws UsageError if the name is of no dataset, with the datasets that feed the table, view or function of this name. */
async function chosenOrView(
  invocation: Invocation,
  name: string,
  all: readonly Dataset<AnyJob>[],
): Promise<Dataset<AnyJob>[]> {
  try {
    return chooseDatasets([name], all);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const own = all.filter(({ job }) => Object.hasOwn(job.tables, name)).map((dataset) => dataset.name);
    const feeding = own.length > 0 ? own : await feedersOfView(invocation, name);
    const [first] = feeding;
    if (first === undefined) throw error;
    throw new UsageError(`"${name}" is no dataset: it is fed by ${feeding.join(', ')}`, {
      hint: `Run: ${commandLine(`datasets ${first}`)}`,
      cause: error,
    });
  }
}

/** The datasets that feed a view or a function. Only the database knows them: none if it cannot be opened. */
async function feedersOfView(invocation: Invocation, name: string): Promise<string[]> {
  if (!/^\w+$/.test(name)) return [];
  const statement = `select dataset from etl.feeds where relation = '${name}' order by dataset`;
  const needs = { ...invocation, config: { ...invocation.config, attempts: 1 } };
  try {
    const { rows } = await withStoreOnce(needs, 'toncenter-etl datasets', ({ database }) =>
      runSql(database, statement, { write: false }),
    );
    return rows.flatMap(([dataset]) => dataset ?? []);
  } catch (error) {
    if (error instanceof EtlError) return [];
    throw error;
  }
}

type DatasetDescription = StreamDescription | CollectionDescription;

/** `hour` is the range of the example request. `freshnessSeconds` decides how often the tail sends requests. */
function describeDataset({ name, job }: Dataset<AnyJob>, hour: Range, freshnessSeconds: number) {
  return job.kind === 'stream'
    ? describeStream({ name, job }, hour, freshnessSeconds)
    : describeCollection({ name, job }, freshnessSeconds);
}

function formatOverview(descriptions: readonly DatasetDescription[], freshnessSeconds: number): string {
  const rows = descriptions.map((described) => [
    described.name,
    described.core ? 'yes' : '',
    atRest('walks' in described ? { ...described, readPer: null } : described),
    described.tables.map((table) => table.name).join(', '),
    described.endpoint,
    described.title,
  ]);
  return `${fitTable(['dataset', 'core', 'at rest', 'tables', 'endpoint', 'what it is'], rows, ['tables', 'endpoint'])}

At rest: requests a minute that keep it up to date while nothing happens.
The watermark costs ${watermarkRequests(freshnessSeconds).toFixed(1)} more, for all together.
Details of one dataset: ${commandLine(`datasets ${descriptions[0]?.name ?? 'NAME'}`)}`;
}

function formatDescription(described: DatasetDescription): string {
  const facts = 'walks' in described ? collectionFacts(described) : streamFacts(described);
  return [facts.map(([title = '', text = '']) => `${title.padEnd(10)}${text}`).join('\n')]
    .concat(described.tables.map(formatTableDescription))
    .join('\n\n');
}

function formatTableDescription({ name, comment, key, partitioned, columns }: TableDescription): string {
  const rows = columns.map((column) => [
    column.name,
    `${column.type}${column.nullable ? '' : ' not null'}`,
    column.comment,
  ]);
  const parts = partitioned ? ', partitioned by utime' : '';
  return `${name}: ${comment}\nkey: ${key.join(', ')}${parts}\n\n${fitTable(['column', 'type', 'what it is'], rows)}`;
}

type StreamDescription = ReturnType<typeof describeStream>;

/** The description of a stream, for people and (`--json`) for programs. `hour` is the range of the example request. */
export function describeStream({ name, job }: Dataset, hour: Range, freshnessSeconds: number) {
  const { paginator } = job;
  return {
    name,
    title: job.title,
    core: job.core,
    endpoint: `GET ${job.path}`,
    params: { ...job.params, ...paginator.request(paginator.start(hour), paginator.maxSize) },
    /** The server's index that its requests use. */
    index: job.index,
    pageSize: paginator.maxSize,
    /** Seconds that it stays behind the head; null if ETL_WATERMARK_DELAY decides. */
    delay: job.delaySeconds ?? null,
    /** Seconds after which each second is read a second time; null if it is read once. */
    readAgainAfter: job.maturitySeconds ?? null,
    readPer: job.scopes?.param ?? null,
    /** Requests a minute that keep it up to date while nothing happens; if `readPer` is set, for each of these. */
    requestsAtRest: restingRequests(job, freshnessSeconds),
    /** The highest grade that a range can get: covered, cross-checked or proved. */
    grade: job.grade.grade,
    /** The names of the checks that verify it; empty if there are none. */
    checks: Object.keys(job.checks),
    tables: Object.values(job.tables).map(describeTable),
  };
}

export function streamFacts(described: StreamDescription): string[][] {
  return [
    ['dataset', `${described.name}${described.core ? ' (core)' : ''}`],
    ['what', described.title],
    ['endpoint', described.endpoint],
    ['params', paramsText(described.params)],
    ['page', `at most ${described.pageSize} records`],
    ['order', orderOf(described.params)],
    ['index', indexOf(described.index)],
    ['cost', streamCost(described)],
    ['at rest', restText(described)],
    ...(described.delay === null
      ? []
      : [['delay', `${formatDuration(described.delay)} behind the head, because its source lags`]]),
    ['checks', described.checks.length === 0 ? 'none: it is never verified' : described.checks.join(', ')],
    ['grade', described.checks.length === 0 ? described.grade : `${described.grade}, if it is verified`],
    ['tables', described.tables.map(({ name }) => name).join(', ')],
  ];
}

/** The times of the window depend on the moment. All other parameters are the same in each request. */
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
    : 'the server’s own; windows of time are read one after another';
}

/** With one decimal; if `readPer` is set, for each of these. */
function atRest({ requestsAtRest, readPer }: Pick<StreamDescription, 'requestsAtRest' | 'readPer'>): string {
  return `${requestsAtRest.toFixed(1)}${readPer === null ? '' : ` a ${readPer}`}`;
}

function restText({ requestsAtRest, readPer }: StreamDescription): string {
  return `${requestsAtRest.toFixed(1)} requests a minute${readPer === null ? '' : ` for each ${readPer}`}`;
}

function streamCost({ pageSize, readAgainAfter, readPer }: StreamDescription): string {
  const parts = [
    `one request for each ${pageSize} records, one for a range that has fewer`,
    ...(readPer === null ? [] : [`for each ${readPer}`]),
    ...(readAgainAfter === null
      ? []
      : [`and the same once more ${formatDuration(readAgainAfter)} later, because rows still change`]),
  ];
  return parts.join(', ');
}

type CollectionDescription = ReturnType<typeof describeCollection>;

/** The description of a collection, for people and (`--json`) for programs. */
function describeCollection({ name, job }: Collection, freshnessSeconds: number) {
  return {
    name,
    title: job.title,
    core: job.core,
    endpoint: [...new Set(job.walks.map(endpointOf))].join(', '),
    walks: job.walks.map((walk) => ({
      how: walk.kind,
      from: endpointOf(walk),
      /** The server's index that its requests use. A node's endpoints have none. */
      index: 'path' in walk.endpoint ? walk.endpoint.index : undefined,
      cost: walkCost(walk),
    })),
    /** Requests a minute that keep it up to date while nothing happens. Look-ups and histories need none then. */
    requestsAtRest: restingRequests(job, freshnessSeconds),
    cannotKnow: job.limitations,
    onRequest: job.onRequest === true,
    tables: Object.values(job.tables).map(describeTable),
  };
}

function collectionFacts(described: CollectionDescription): string[][] {
  return [
    ['dataset', `${described.name}${described.onRequest ? ' (read only if it is named)' : ''}`],
    ['what', described.title],
    ...described.walks.flatMap(({ how, from, index, cost }) => [
      ['how', `${WORDS[how] ?? how}: ${from}`],
      ...(index === undefined ? [] : [['index', index]]),
      ['cost', cost],
    ]),
    ['at rest', `${described.requestsAtRest.toFixed(1)} requests a minute`],
    ['limits', `it cannot know ${described.cannotKnow}`],
    ['tables', described.tables.map(({ name }) => name).join(', ')],
  ];
}

const WORDS: Readonly<Record<string, string>> = {
  list: 'a list, by offset',
  lookup: 'a look-up by name',
  backward: 'the history of each watched account, from its newest transaction backwards',
  per_block: 'a response for each masterchain block',
  sample: 'what the source says at a moment',
};

function endpointOf({ endpoint }: Walk): string {
  return 'path' in endpoint ? `GET ${endpoint.path}` : `GET /api/v2/${endpoint.method}`;
}

function walkCost(walk: Walk): string {
  switch (walk.kind) {
    case 'list':
      return `one request for each ${offset.maxSize} records, one every ${formatDuration(offset.everySeconds)} to see whether any were appended; whole again every ${formatDuration(offset.rescanSeconds)}`;
    case 'lookup':
      return lookupCost(walk);
    case 'backward':
      return `one request for each ${newestFirst.maxSize - 1} transactions of a watched account that has moved, one for 500 accounts to see which have`;
    case 'per_block':
      return 'one request for each masterchain block of the range';
    case 'sample':
      return `one request, not more often than every ${formatDuration(walk.everySeconds)}`;
  }
}

function lookupCost({ paginator, subjects, refreshSeconds, unknownForSeconds }: LookupWalk): string {
  const names = subjects.seenIn.map(({ relation, key }) => `${relation}.${key}`);
  const sources = [...(subjects.watched ? ['the watch list'] : []), ...names].join(', ');
  const only = subjects.onlyIfSeen === true ? ' (all but the watch list only with ETL_ACCOUNTS=seen)' : '';
  const each = paginator.most === 1 ? 'one request each' : `one request for up to ${paginator.most}`;
  const again = refreshSeconds === undefined ? '' : `, all again after ${formatDuration(refreshSeconds)}`;
  return `${each} of those that are new or have moved in ${sources}${only}${again}; unknown ones again after ${formatDuration(unknownForSeconds)}`;
}
