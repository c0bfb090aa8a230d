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
 * What the program costs, as JSON lines, each held against the limit of the same run: on a machine that others use,
 * only ratios mean something. `--million` crawls a million transactions instead of 120 000;
 * `questions` measures the questions of docs/analyst/questions.md instead, as page/page-questions.ts says, `queries` those of an
 * analyst over two years, as queries/main.ts says, `network` what commands cost in a large
 * database, as at-scale/main.ts says, `year` how soon a year of each report by day is there, `indexes` what other indexes
 * would cost and bring, as indexes/main.ts says, `verify` what a proof does, `lake` what export and import cost beside a
 * crawl, `sizing` what a month takes, `latency` how much of the allowed rate is used where the source is slow, `short` a short range beside a script,
 * `stages` the client's work on a page, `writing` the commits alone, `crawl` a crawl alone.
 */

const PAGES = 100;
/** Of a measure that is made alone: others use the machine, too. */
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

/** The program's own crawler, in a process of its own, whose memory and CPU are then its own too. */
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
  // Calculated: two cores have nothing else to do than what the client and Postgres were seen to do.
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

/** Says on the side what has begun: some steps take minutes. */
function begin(step: string): void {
  console.error(`${Math.round(performance.now() / 1000)} s: ${step}`);
}

/** Blocks and transactions of a busy network are read, and proved; what that costs beside the reading. */
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

/** Requests that need not be made because trace pages carry whole transactions. */
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

/** What each secondary index costs while rows come in, and what building them afterwards would. */
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

if (process.argv[2] === 'queries') await import('./queries/main.ts');
else if (process.argv[2] === 'questions') await measureQuestions();
else if (process.argv[2] === 'network') await import('./at-scale/main.ts');
else if (process.argv[2] === 'indexes') await import('./indexes/main.ts');
else if (process.argv[2] === 'latency') await measureLatencies(tell, process.argv.slice(3));
else if (process.argv[2] === 'lake') await measureLake(tell, network);
else if (process.argv[2] === 'year') await measureYear(tell);
else if (process.argv[2] === 'sizing') await measureSizing(tell);
else if (process.argv[2] === 'stages') await measureStages(tell);
else if (process.argv[2] === 'verify') await withServer(measureVerification);
else if (process.argv[2] === 'writing') await withNetwork((api, server) => measureWriting(tell, api, server));
else if (process.argv[2] === 'crawl')
  await withNetwork(async (api, server, span) => {
    for (let round = 1; round <= ROUNDS; round += 1)
      await measureCrawl(api, server, { limit: 1, span, name: `crawl${round}` });
  });
else if (process.argv[2] === 'short') await withServer((server) => measureShortRange(tell, server));
else await measureAll();
