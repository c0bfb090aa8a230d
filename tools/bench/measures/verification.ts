import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../../src/crawl/streams/readable-part.ts';
import { chooseDatasets } from '../../../src/dataset/dataset.ts';
import { lengthOf, type Range } from '../../../src/range.ts';
import { type Verified, verifyRange } from '../../../src/verify/verify.ts';
import { openBenchCrawl } from '../open-crawl.ts';
import type { BenchServer, BenchStore } from '../store.ts';

export interface Verification {
  readonly transactions: number;
  /** Blocks that the transactions are compared with. */
  readonly blocks: number;
  readonly seconds: number;
  /** CPU seconds of Postgres, which are comparable even on a shared machine. */
  readonly cpuSeconds: number;
  /** Requests of the proof. */
  readonly requests: number;
  /** Requests for reading the same rows. */
  readonly toRead: number;
  /** Seconds of chain time that are proved, as a share of the range. */
  readonly proved: number;
  readonly findings: readonly string[];
  /** Milliseconds of each check. */
  readonly checks: Readonly<Record<string, number>>;
}

interface VerifyOrder {
  readonly span: Range;
  readonly server: BenchServer;
  /** Called when a step begins. */
  readonly begin: (step: string) => void;
}

/** Reads blocks and transactions of a network, and proves both. */
export async function verifyAll(
  api: string,
  { url, client }: BenchStore,
  { span, server, begin }: VerifyOrder,
): Promise<Verification> {
  const { crawl, context, stop, close } = await openBenchCrawl(api, url);
  const datasets = chooseDatasets(['blocks', 'transactions'], context.jobs);
  // The newest blocks are not linked yet.
  const readable = await findReadablePart({ ...crawl, wanted: span, delaySeconds: 0, signal: stop.leaving });
  const range = readable.range ?? span;
  begin('reading it');
  await fillRange({ ...crawl, datasets, readable, stop });
  const toRead = crawl.context.api.stats.requests;
  begin('verifying it');
  const before = await server.cpuSeconds();
  const start = performance.now();
  const reports = await verifyRange(context, datasets, range);
  const seconds = (performance.now() - start) / 1000;
  const cpuSeconds = (await server.cpuSeconds()) - before;
  const requests = context.source.requests();
  await close();
  const { rows } = await client.query<{ transactions: number; blocks: number }>(
    'select (select count(*)::int from ton.transactions) as transactions, (select count(*)::int from ton.blocks) as blocks',
  );
  const [counted = { transactions: 0, blocks: 0 }] = rows;
  const transactions = reports.find(({ dataset }) => dataset.name === 'transactions');
  return {
    ...counted,
    seconds,
    cpuSeconds,
    requests,
    toRead,
    proved: lengthOf(transactions?.verified ?? []) / lengthOf([range]),
    findings: reports.flatMap(({ findings }) => findings.map(({ kind, count }) => `${kind}: ${count}`)),
    checks: timeOfChecks(reports),
  };
}

function timeOfChecks(reports: readonly Verified[]): Record<string, number> {
  const times: Record<string, number> = {};
  for (const { dataset, checks } of reports)
    for (const { check, ms } of checks) {
      const name = `${dataset.name}: ${check}`;
      times[name] = Math.round((times[name] ?? 0) + ms);
    }
  return times;
}
