import { backfill } from '../../src/crawl/backfill.ts';
import { chooseDatasets } from '../../src/dataset.ts';
import { lengthOf } from '../../src/range.ts';
import { verifyRange } from '../../src/verify/verify.ts';
import { SPAN } from './network.ts';
import { openBenchCrawl } from './open-crawl.ts';
import type { BenchStore } from './store.ts';

export interface Verification {
  readonly seconds: number;
  readonly requests: number;
  /** Seconds of chain time that are proved, as part of what was asked. */
  readonly proved: number;
  readonly findings: readonly string[];
}

/** Reads the blocks of a network whose transactions are stored, and proves both. */
export async function verifyAll(api: string, { url }: BenchStore): Promise<Verification> {
  const { crawl, context, stop, close } = await openBenchCrawl(api, url);
  const datasets = chooseDatasets(['blocks', 'transactions'], context.jobs);
  await backfill({ ...crawl, datasets, reach: { range: SPAN, watermark: SPAN.to }, workers: 4, stop });
  const start = performance.now();
  const reports = await verifyRange(context, datasets, SPAN);
  const seconds = (performance.now() - start) / 1000;
  const requests = context.source.requests();
  await close();
  const transactions = reports.find(({ dataset }) => dataset.name === 'transactions');
  return {
    ...{ seconds, requests, proved: lengthOf(transactions?.verified ?? []) / lengthOf([SPAN]) },
    findings: reports.flatMap(({ findings }) => findings.map(({ kind, count }) => `${kind}: ${count}`)),
  };
}
