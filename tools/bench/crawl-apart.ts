import { fork } from 'node:child_process';
import type { CrawlOrder, CrawlReport } from './crawl-child.ts';
import { messageOf } from './network.ts';

/** Crawls in a separate process, so that its memory and CPU are measured alone. */
export async function crawlApart(order: CrawlOrder): Promise<CrawlReport> {
  const child = fork(new URL('./crawl-child.js', import.meta.url), [JSON.stringify(order)]);
  return (await messageOf(child)) as CrawlReport;
}
