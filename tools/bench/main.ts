import { copyFiles } from './measures/copy-limit.ts';
import { crawlApart } from './crawl-apart.ts';
import type { CrawlOrder } from './crawl-child.ts';
import { crawlCore } from './measures/derived.ts';
import { indexCosts } from './measures/index-cost.ts';
import { measureLake } from './measures/lake.ts';
import { measureLatencies } from './measures/latency.ts';
import { busyNetworkOf, serveNetwork, SPAN } from './network.ts';
import type { Range } from '../../src/range.ts';
import { measureQuestions } from './page/page-questions.ts';
import { measureShortRange } from './measures/short-range.ts';
import { measureSizing } from './measures/sizing.ts';
import { measureStages } from './measures/stages.ts';
import { countRows, startServer, type BenchServer } from './store.ts';
import { verifyAll } from './measures/verification.ts';
import { measureYear } from './measures/year.ts';
import { writePath } from './measures/write-path.ts';
import { measureWriting } from './measures/writing.ts';

/*
 * Prints what the program costs, as JSON lines. Each is compared with the limit of the same run: on a machine
 * that others use, only ratios mean something. `--million` crawls a million transactions instead of 120,000.
 * `MEASURES` lists what else can be measured, by a word.
 */

const PAGES = 100;
/** Rounds of a measurement alone, because the machine is shared. */
const ROUNDS = 3;
const CORES = 2;
const million = process.argv.includes('--million');
const network = million ? 1_000_000 : 120_000;

function tell(measure: string, values: Readonly<Record<string, unknown>>): void {
  const rounded = (_: string, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(3)) : value;
  console.log(JSON.stringify({ measure, ...values }, rounded));
}

function spanOf({ start, duration }: ReturnType<typeof busyNetworkOf>): Range {
  return { from: start, to: start + duration };
}

/** The program's own crawler in a separate process, so that its memory and CPU are measured alone. */
async function measureCrawl(
  api: string,
  server: BenchServer,
  { limit, span, name = 'crawl' }: { readonly limit: number; readonly span: Range; readonly name?: string },
): Promise<void> {
  const store = await server.create(name, SPAN);
  const order: CrawlOrder = { database: store.url, api, range: span };
  const before = await server.cpuSeconds();
  const report = await crawlApart(order);
  const serverSeconds = (await server.cpuSeconds()) - before;
  const rows = await countRows(store);
  const perSecond = Math.round(rows / report.seconds);
  tell('crawl, end to end', {
    transactions: report.records,
    seconds: report.seconds,
    rowsPerSecond: perSecond,
    ratio: perSecond / limit,
    aim: 0.55,
    pagesPerSecond: report.pages / report.seconds,
    fullPages: report.records / (report.requests * 1000),
    microsecondsPerRow: (report.cpuSeconds / rows) * 1e6,
    microsecondsOfPostgres: (serverSeconds / rows) * 1e6,
    jsonBytesPerTransaction: Math.round(report.bytes / report.records),
  });
  // Calculated: two cores do only the work that the client and Postgres were measured to do.
  const free = (CORES * rows) / (report.cpuSeconds + serverSeconds);
  tell('crawl, end to end, of a source that costs nothing', {
    rowsPerSecond: Math.round(free),
    ratio: free / limit,
    aim: 0.75,
  });
  tell('peak memory', {
    megabytes: report.peakRss / 1e6,
    ratio: report.peakRss / 3e8,
    aim: 300,
  });
  await store.close();
}

/** Prints to stderr what has begun: some steps take minutes. */
function begin(step: string): void {
  console.error(`${Math.round(performance.now() / 1000)} s: ${step}`);
}

/**
 * Reads and proves blocks and transactions of a busy network, and compares the cost of the proof with that of
 * reading.
 */
async function measureVerification(server: BenchServer): Promise<void> {
  const options = busyNetworkOf(network);
  begin(`making a network of ${network} transactions`);
  const api = await serveNetwork(options);
  const span = spanOf(options);
  const store = await server.create('verified', span);
  const verified = await verifyAll(api.url, store, { span, server, begin });
  tell('verify', { ...verified, moreRequests: verified.requests / verified.toRead });
  await store.close();
  await api.stop();
}

/** Requests that are saved because trace pages carry whole transactions. */
async function measureDerived(server: BenchServer): Promise<void> {
  const before = await crawlCore(server, false);
  const after = await crawlCore(server, true);
  const perThousand = ({ requests, transactions }: typeof before) => (requests / transactions) * 1000;
  tell('requests a thousand transactions, core datasets', {
    transactions: after.transactions,
    before: perThousand(before),
    after: perThousand(after),
    toTransactionsBefore: before.toTransactions,
    toTransactionsAfter: after.toTransactions,
  });
}

/** What each secondary index costs during inserts, and what building all of them afterwards would. */
async function measureIndexes(api: string, server: BenchServer, pages: number): Promise<void> {
  const store = await server.create('rows', SPAN);
  const target = await server.create('indexes', SPAN);
  await writePath(api, store, { pages });
  const files = await copyFiles(store);
  for (const cost of await indexCosts(target, files))
    tell('cost of an index while rows come', { rows: files.rows, ...cost });
  await files.remove();
  await target.close();
  await store.close();
}

async function measureAll(): Promise<void> {
  const options = busyNetworkOf(network);
  const api = await serveNetwork(options);
  const server = await startServer();
  try {
    const limit = await measureWriting(tell, api.url, server);
    await measureIndexes(api.url, server, PAGES);
    await measureCrawl(api.url, server, { limit, span: spanOf(options) });
    await measureVerification(server);
    await measureDerived(server);
    begin('reading a short range');
    await measureShortRange(tell, server);
  } finally {
    await server.stop();
    await api.stop();
  }
  await measureStages(tell);
}

async function withServer(work: (server: BenchServer) => Promise<void>): Promise<void> {
  const server = await startServer();
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}

/** With a served network and a server of Postgres. */
async function withNetwork(
  work: (api: string, server: BenchServer, span: Range) => Promise<unknown>,
): Promise<void> {
  const options = busyNetworkOf(network);
  const api = await serveNetwork(options);
  try {
    await withServer(async (server) => {
      await work(api.url, server, spanOf(options));
    });
  } finally {
    await api.stop();
  }
}

interface Measure {
  readonly title: string;
  readonly run: () => Promise<unknown>;
}

const MEASURES = new Map<string, Measure>(
  Object.entries({
    all: {
      title: 'what a change may cost: commits, indexes, a crawl, a proof, a short range',
      run: measureAll,
    },
    questions: { title: 'the questions of docs/analyst/questions.md', run: measureQuestions },
    queries: { title: 'the questions of an analyst over two years', run: () => import('./queries/main.ts') },
    network: { title: 'the cost of commands in a large database', run: () => import('./at-scale/main.ts') },
    year: { title: 'how soon a year of each report by day is there', run: () => measureYear(tell) },
    indexes: {
      title: 'what other indexes would cost and bring',
      run: () => import('./indexes/main.ts'),
    },
    verify: { title: 'the cost of a proof', run: () => withServer(measureVerification) },
    lake: { title: 'the cost of export and import next to a crawl', run: () => measureLake(tell, network) },
    sizing: { title: 'the size of a month', run: () => measureSizing(tell) },
    latency: {
      title: 'how much of the allowed rate is used if the source is slow',
      run: () => measureLatencies(tell, process.argv.slice(3)),
    },
    short: {
      title: 'a short range compared with a script',
      run: () => withServer((server) => measureShortRange(tell, server)),
    },
    stages: { title: "the client's work on a page", run: () => measureStages(tell) },
    writing: {
      title: 'only the commits',
      run: () => withNetwork((api, server) => measureWriting(tell, api, server)),
    },
    crawl: { title: 'only a crawl', run: () => withNetwork(measureCrawls) },
  }),
);

async function measureCrawls(api: string, server: BenchServer, span: Range): Promise<void> {
  for (let round = 1; round <= ROUNDS; round += 1)
    await measureCrawl(api, server, { limit: 1, span, name: `crawl${round}` });
}

const [first = 'all'] = process.argv.slice(2);
const measure = MEASURES.get(first.startsWith('--') ? 'all' : first);
if (measure === undefined || process.argv.includes('--help')) {
  console.log('npm run bench -- [WORD] [OPTIONS], default: all');
  for (const [word, { title }] of MEASURES) console.log(`  ${word.padEnd(10)} ${title}`);
  process.exitCode = measure === undefined ? 2 : 0;
} else await measure.run();
