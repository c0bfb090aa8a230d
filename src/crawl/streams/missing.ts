import type { Dataset } from '../../dataset/dataset.ts';
import { readMissing } from '../../db/coverage/coverage.ts';
import type { Range } from '../../range.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { readableNow, streamsOf } from './streams.ts';

/** Ranges of each dataset that could be read and are not covered, also those that were refused. */
export async function missingOf(
  { database }: Pick<CrawlContext, 'database'>,
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<ReadonlyMap<string, readonly Range[]>> {
  const missing = new Map<string, readonly Range[]>();
  for (const [dataset, part] of await readableNow(database, datasets, range, watermark)) {
    const ranges: Range[] = [];
    for (const stream of await streamsOf(database, dataset))
      ranges.push(...(await readMissing(database, stream, [part])));
    if (ranges.length > 0) missing.set(dataset.name, ranges);
  }
  return missing;
}
