import type { Dataset } from '../../dataset/dataset.ts';
import type { Database } from '../../postgres/database.ts';
import { readMissing } from '../../ledger/stored-coverage.ts';
import type { Range } from '../../range.ts';
import { readableNow, streamsOf } from './streams.ts';

/** A range that a run wants of every scope of a dataset, a part of which may be covered already. */
export interface Work {
  readonly dataset: string;
  readonly range: Range;
  /** The seconds that are not covered yet, by scope, including those that were refused. */
  readonly missing: ReadonlyMap<string, readonly Range[]>;
}

/** The missing seconds of a range, for each dataset with a part that can be read now. */
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

/** The missing seconds of each dataset that lacks some, over all its scopes. */
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
