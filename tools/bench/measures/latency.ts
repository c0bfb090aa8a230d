import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { formatTable } from '../../../src/commands/table.ts';
import { crawlApart } from '../crawl-apart.ts';
import { busyNetworkOf, serveNetwork, type ServedNetwork } from '../network.ts';
import { startServer, type BenchServer } from '../store.ts';

const RATES = ['10', '25'];
const LATENCIES_MS = ['50', '300', '1000', '3000'];
/** Rows of a page, and seconds of each crawl. Small pages cost hardly any CPU, so they show only the time of waits. */
const PAGES = { whole: { rows: 1000, seconds: 40 }, small: { rows: 40, seconds: 20 } };
/** As many responses, one after the other, are added to these seconds: for the first requests and the last ones. */
const MORE_ANSWERS = 10;
/** With fewer cores, rates above 10 whole pages a second are left out: two cannot read, store and serve them. */
const CORES_FOR_MORE = 4;

const HEADER = [
  'allowed',
  'answers take',
  'pages a second',
  'of the allowed',
  'in flight',
  'refused',
  'peak MB',
  'full pages',
  'CPU ms a page: client',
  'Postgres',
  'source',
  'longest block ms',
];

/**
 * How much of the allowed rate a dense backfill uses if responses take long: requests a second while the
 * middle half of the pages came. `--small`: of small pages; `--rate` and `--latency`: of some rows of the
 * table alone. The source serves JSON that was made in advance; its CPU and that of Postgres are printed,
 * too.
 */
export async function measureLatencies(
  tell: (measure: string, values: Record<string, unknown>) => void,
  args: readonly string[],
): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      small: { type: 'boolean', default: false },
      rate: { type: 'string', multiple: true },
      latency: { type: 'string', multiple: true, default: LATENCIES_MS },
    },
  });
  const page = values.small ? PAGES.small : PAGES.whole;
  const most = values.small || availableParallelism() >= CORES_FOR_MORE ? RATES : RATES.slice(0, 1);
  const latencies = values.latency.map(Number);
  const server = await startServer();
  const table: string[][] = [];
  try {
    for (const rps of (values.rate ?? most).map(Number)) {
      const secondsOf = (ms: number) => page.seconds + (MORE_ANSWERS * ms) / 1000;
      const network = busyNetworkOf(rps * page.rows * Math.max(...latencies.map(secondsOf)));
      const rateLimit = { kind: 'sliding-window', rps, graceMs: 100 } as const;
      const api = await serveNetwork({ ...network, rateLimit });
      for (const ms of latencies) {
        const { duration } = busyNetworkOf(rps * page.rows * secondsOf(ms));
        const range = { from: network.start, to: network.start + Math.floor(duration) };
        const row = await measureRow({ server, api, rps, ms, range, page: page.rows });
        tell('share of the allowed rate', row);
        table.push(Object.values(row).map(textOf));
      }
      await api.stop();
    }
  } finally {
    await server.stop();
  }
  console.log(formatTable(HEADER, table));
}

interface Row {
  readonly server: BenchServer;
  readonly api: ServedNetwork;
  readonly rps: number;
  readonly ms: number;
  readonly range: { readonly from: number; readonly to: number };
  readonly page: number;
}

/** In the order of the table. */
async function measureRow({ server, api, rps, ms, range, page }: Row): Promise<Record<string, number>> {
  api.setLatency(ms);
  const store = await server.create(`latency_${rps}_${ms}`, range);
  const before = { source: await api.cpuSeconds(), postgres: await server.cpuSeconds() };
  const report = await crawlApart({ database: store.url, api: api.url, range, rps, page });
  const spent = {
    source: (await api.cpuSeconds()) - before.source,
    postgres: (await server.cpuSeconds()) - before.postgres,
  };
  await store.close();
  const aPage = (seconds: number) => (1000 * seconds) / report.pages;
  return {
    allowed: rps,
    latencyMs: ms,
    pagesPerSecond: report.steadyRate,
    shareOfAllowed: report.steadyRate / rps,
    mostInFlight: report.mostInFlight,
    refused: report.refused / report.requests,
    peakMegabytes: report.peakRss / 1e6,
    fullPages: report.records / (report.requests * page),
    clientCpuMs: aPage(report.cpuSeconds),
    postgresCpuMs: aPage(spent.postgres),
    sourceCpuMs: aPage(spent.source),
    longestBlockMs: report.longestBlockMs,
  };
}

function textOf(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
}
