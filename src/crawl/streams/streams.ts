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

/** The first readings of a dataset: one, or one for each pool that is known. */
export async function streamsOf(session: Session, dataset: Dataset): Promise<Stream[]> {
  const { scopes } = dataset.job;
  if (scopes === undefined) return [streamOf(dataset)];
  return (await readPools(session, dataset.name)).map((scope) => ({ ...streamOf(dataset), scope }));
}

/** The part of a range that a dataset can be asked for: some sources lag behind the chain's. */
function readable(dataset: Dataset, range: Range, watermark: number): Range | undefined {
  return intersect(range, { from: -Infinity, to: watermark - delayOf(dataset, 0) });
}

/** The end of a range that datasets cannot be asked for yet, because their source lags behind the chain's. */
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

/** The part of a range that is kept: what lies below a dataset's floor has expired. */
function keptOf({ name }: Dataset, range: Range | undefined, { datasets }: Floors): Range | undefined {
  const floor = datasets.get(name);
  return range === undefined || floor === undefined ? range : intersect(range, { from: floor, to: Infinity });
}

/** The part of a range that a dataset can be asked for and that is kept, of each dataset that has one. */
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

/** What is wanted of the datasets between two seconds, for the first time. */
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
 * What is to be read a second time: what was covered at least as long ago as the dataset takes to mature, both by the
 * chain's time and by the clock, and not confirmed since.
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

/** What matures all the time is read again in pieces: request by request it would cost as much as the tail. */
function isWorthReading({ job }: Dataset, due: readonly Range[], watermark: number): boolean {
  const { maturitySeconds = 0, delaySeconds = 0 } = job;
  const growing = watermark - maturitySeconds - delaySeconds - SECOND_READING_SECONDS;
  const end = due.at(-1)?.to;
  return end !== undefined && (end <= growing || lengthOf(due) >= SECOND_READING_SECONDS);
}
