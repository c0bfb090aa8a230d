import type { Dataset } from '../../dataset/dataset.ts';
import { delayOf, SECOND_READING_SECONDS } from '../../dataset/tail-pace.ts';
import { readDue, type Stream } from '../../ledger/stored-coverage.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { readPools } from '../../ledger/pools.ts';
import { readFloors, type Floors } from '../../ledger/floors.ts';
import type { Priority } from '../../budget/priority.ts';
import { intersect, lengthOf, type Range } from '../../range.ts';
import { zonesOf, type Want } from './planner.ts';

/** The first reading of a dataset that is read as a whole. */
export function streamOf(dataset: Dataset): Stream {
  return { dataset: dataset.name, scope: '', pass: 0 };
}

/** The first readings of a dataset: one, or one for each known pool. */
export async function streamsOf(session: Session, dataset: Dataset): Promise<Stream[]> {
  const { scopes } = dataset.job;
  if (scopes === undefined) return [streamOf(dataset)];
  return (await readPools(session, dataset.name)).map((scope) => ({ ...streamOf(dataset), scope }));
}

/** The part of a range that a dataset can be asked for: some endpoints lag behind the chain. */
function readable(dataset: Dataset, range: Range, watermark: number): Range | undefined {
  return intersect(range, { from: -Infinity, to: watermark - delayOf(dataset, 0) });
}

/** The end of a range that datasets cannot be asked for yet, because their endpoint lags behind the chain. */
export function delayedOf(
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): ReadonlyMap<string, Range> {
  const delayed = datasets.flatMap((dataset): [string, Range][] => {
    const from = Math.max(range.from, readable(dataset, range, watermark)?.to ?? range.from);
    return from < range.to ? [[dataset.name, { from, to: range.to }]] : [];
  });
  return new Map(delayed);
}

/** The part of a range above a dataset's floor; everything below it has expired. */
function keptOf({ name }: Dataset, range: Range | undefined, { datasets }: Floors): Range | undefined {
  const floor = datasets.get(name);
  return range === undefined || floor === undefined ? range : intersect(range, { from: floor, to: Infinity });
}

/** For each dataset, the part of a range that can be read and is kept. Datasets without one are omitted. */
export async function readableNow(
  session: Session,
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<[Dataset, Range][]> {
  const floors = await readFloors(session);
  return datasets.flatMap((dataset): [Dataset, Range][] => {
    const part = keptOf(dataset, readable(dataset, range, watermark), floors);
    return part === undefined ? [] : [[dataset, part]];
  });
}

/** Wanted first readings of the datasets in a range. */
export async function firstReadings(
  database: Database,
  datasets: readonly Dataset[],
  {
    range,
    watermark,
    priority,
  }: { readonly range: Range; readonly watermark: number; readonly priority: Priority },
): Promise<Want[]> {
  const wants: Want[] = [];
  for (const [dataset, part] of await readableNow(database, datasets, range, watermark)) {
    const zones = zonesOf(part, watermark).map((zone) => [zone]);
    for (const stream of await streamsOf(database, dataset)) wants.push({ dataset, stream, zones, priority });
  }
  return wants;
}

/**
 * Wanted second readings: seconds that were covered at least `maturitySeconds` ago, both by chain time and by
 * the clock, and not confirmed since.
 */
export async function secondReadings(
  database: Database,
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<Want[]> {
  const wants: Want[] = [];
  for (const [dataset, part] of await readableNow(database, datasets, range, watermark)) {
    const { maturitySeconds } = dataset.job;
    if (maturitySeconds === undefined) continue;
    const mature = { from: part.from, to: Math.min(range.to, watermark - maturitySeconds) };
    if (mature.from >= mature.to) continue;
    const firsts = await streamsOf(database, dataset);
    for (const [first, due] of await readDue(database, firsts, mature, maturitySeconds)) {
      if (isWorthReading(dataset, due, watermark))
        wants.push({ dataset, stream: { ...first, pass: 1 }, zones: [due], priority: 'refresh' });
    }
  }
  return wants;
}

/**
 * Continuously maturing seconds are read again in larger pieces. Request by request, they would cost as much
 * as the tail.
 */
function isWorthReading({ job }: Dataset, due: readonly Range[], watermark: number): boolean {
  const { maturitySeconds = 0, delaySeconds = 0 } = job;
  const growing = watermark - maturitySeconds - delaySeconds - SECOND_READING_SECONDS;
  const end = due.at(-1)?.to;
  return end !== undefined && (end <= growing || lengthOf(due) >= SECOND_READING_SECONDS);
}
