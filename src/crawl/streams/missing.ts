import type { Dataset } from '../../dataset/dataset.ts';
import type { Database } from '../../postgres/database.ts';
import { readMissing } from '../../ledger/stored-coverage.ts';
import type { Range } from '../../range.ts';
import { readableNow, streamsOf } from './streams.ts';

/** What a run wants of a dataset: a range of every scope, of which a part is covered already. */
export interface Work {
  readonly dataset: string;
  readonly range: Range;
  /** What is not covered yet, by scope; also what was refused. */
  readonly missing: ReadonlyMap<string, readonly Range[]>;
}

/** Reads how much work a range is for each dataset that has a part in it which can be read now. */
export async function readWork(
  database: Database,
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<Work[]> {
  const works: Work[] = [];
  for (const [dataset, part] of await readableNow(database, datasets, range, watermark)) {
    const missing = new Map<string, readonly Range[]>();
    for (const stream of await streamsOf(database, dataset))
      missing.set(stream.scope, await readMissing(database, stream, [part]));
    works.push({ dataset: dataset.name, range: part, missing });
  }
  return works;
}

/** What is missing of each dataset that lacks something, of all its scopes. */
export async function missingOf(
  { database }: { readonly database: Database },
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<ReadonlyMap<string, readonly Range[]>> {
  const works = await readWork(database, datasets, range, watermark);
  const missing = works.map(
    ({ dataset, missing: byScope }) => [dataset, [...byScope.values()].flat()] as const,
  );
  return new Map(missing.filter(([, ranges]) => ranges.length > 0));
}
