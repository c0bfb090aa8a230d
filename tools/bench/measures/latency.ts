import { crawlApart } from '../crawl-apart.ts';
import { busyNetworkOf, serveNetwork } from '../network.ts';
import { startServer } from '../store.ts';

const RATES = [10, 25];
const LATENCIES_MS = [50, 300, 1000, 3000];
/** Seconds of each crawl, if it uses all that is allowed. */
const SECONDS = 40;
/** Rows of a page. Small ones cost hardly any CPU: on a machine that others use too, only they show what waits. */
const PAGE = { whole: 1000, small: 40 };

/**
 * How much of the allowed rate a dense backfill uses where answers take long, and what it takes for that: requests a
 * second while the middle half of the pages came. `isSmall`: of small pages, and fewer.
 */
export async function measureLatencies(
  tell: (measure: string, values: Record<string, unknown>) => void,
  isSmall: boolean,
): Promise<void> {
  const server = await startServer();
  const page = isSmall ? PAGE.small : PAGE.whole;
  try {
    for (const rps of RATES) {
      const network = busyNetworkOf(rps * page * (isSmall ? SECONDS / 2 : SECONDS));
      const rateLimit = { kind: 'sliding-window', rps, graceMs: 100 } as const;
      const api = await serveNetwork({ ...network, rateLimit });
      const range = { from: network.start, to: network.start + network.duration };
      for (const ms of LATENCIES_MS) {
        api.setLatency(ms);
        const store = await server.create(`latency_${rps}_${ms}`, range);
        const report = await crawlApart({ database: store.url, api: api.url, range, rps, page });
        const row = {
          allowed: rps,
          latencyMs: ms,
          pagesPerSecond: report.pages / report.seconds,
          shareOfAllowed: report.steadyRate / rps,
          mostInFlight: report.mostInFlight,
          refused: report.refused / report.requests,
          requests: report.requests,
          fullPages: report.records / (report.requests * page),
          peakMegabytes: report.peakRss / 1e6,
          clientCores: report.cpuSeconds / report.seconds,
        };
        tell('share of the allowed rate', row);
        await store.close();
      }
      await api.stop();
    }
  } finally {
    await server.stop();
  }
}
