import { splitAtArchive, type Want } from '../crawl/streams/planner.ts';
import { firstReadings, secondReadings } from '../crawl/streams/streams.ts';
import type { DaemonContext, ChainPosition } from './daemon-context.ts';
import type { Watermark } from '../crawl/watermark/watermark.ts';
import type { Dataset } from '../dataset/dataset.ts';

/** How far a dataset may be read: what every replica shows, or what its own delay leaves of the watermark. */
export function readableTo({ job: { delaySeconds } }: Dataset, { utime, everywhere }: Watermark): number {
  return delaySeconds === undefined ? everywhere : utime - delaySeconds;
}

/** The tail is what the servers answer from live data, history what they answer from their archive. */
export async function wantsOf(
  options: DaemonContext,
  position: ChainPosition,
  priority: 'tail' | 'backfill',
): Promise<Want[]> {
  const { context, datasets } = options;
  const { utime } = position.watermark;
  const wants: Want[] = [];
  for (const dataset of datasets) {
    const to = readableTo(dataset, position.watermark);
    const range = { from: position.since.get(dataset.name) ?? to, to };
    if (range.from >= range.to || context.api.lacks(dataset.job.path)) continue;
    const [live, archived] = splitAtArchive(range, utime);
    const zone = priority === 'tail' ? live : archived;
    if (zone !== undefined)
      wants.push(
        ...(await firstReadings(context.database, [dataset], { range: zone, watermark: utime, priority })),
      );
    if (priority === 'backfill')
      wants.push(...(await secondReadings(context.database, [dataset], range, utime)));
  }
  return wants;
}
