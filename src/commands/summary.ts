import type { ReadableResult } from '../crawl/streams/readable-part.ts';
import { streamOf, streamsOf } from '../crawl/streams/planner.ts';
import type { ChainInfo } from '../crawl/source-chain.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Database } from '../postgres/database.ts';
import { networkName } from '../ledger/stored-network.ts';
import { readCoverage, readMissing, type RefusedSpan, endpointOf } from '../ledger/stored-coverage.ts';
import type { RowCount } from '../read/row-estimates.ts';
import { formatDuration, formatRange, formatTime, lengthOf, type Range } from '../range.ts';
import type { CollectionReport } from '../status/collections.ts';
import { percentOf } from '../status/progress.ts';
import { formatTable } from './table.ts';

interface SummaryFacts {
  readonly database: Database;
  readonly globalId: number;
  readonly baseUrl: string;
  readonly datasets: readonly Dataset[];
  readonly wanted: Range;
  /** A note, if the range is not the one that was asked for. */
  readonly note?: string | undefined;
}

/** A base URL without its login and path: providers of the API put keys there. */
function withoutPath(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return pathname === '/' ? origin : `${origin}/…`;
}

/** Prints what a run will do: database, network, datasets, wanted, covered, missing. */
export async function printSummary(facts: SummaryFacts): Promise<void> {
  const { database, datasets, wanted } = facts;
  const rows = await Promise.all(datasets.map((dataset) => coverageRow(database, dataset, wanted)));
  console.log(`database  ${database.label} (Postgres ${Math.floor(database.version / 10_000)})`);
  console.log(`network   ${networkName(facts.globalId)} at ${withoutPath(facts.baseUrl)}`);
  console.log(`range     ${formatRange(wanted)}`);
  console.log(`          ${formatDuration(wanted.to - wanted.from)}; the end is exclusive`);
  if (facts.note !== undefined) console.log(`          ${facts.note}`);
  console.log(formatTable(['dataset', 'covered', 'missing', 'holes'], rows));
}

/** A note, if less of a range can be read than was asked for. */
export function noteOnCut(
  { range, heldByGap }: Pick<ReadableResult, 'range' | 'heldByGap'>,
  wanted: Range,
  chain: ChainInfo,
): string | undefined {
  const why =
    heldByGap === undefined
      ? ''
      : `: ${heldByGap}. Run the command again later; what is missing for an hour is skipped as a gap`;
  if (range === undefined) {
    if (heldByGap !== undefined) return `nothing of it can be read now${why}`;
    return `nothing of it can be read now: the source begins at ${formatTime(chain.first.utime)} and ends at ${formatTime(chain.last.utime)}`;
  }
  const parts = [];
  if (range.from > wanted.from) parts.push(`the source begins at ${formatTime(range.from)}`);
  if (range.to < wanted.to) parts.push(`newer than ${formatTime(range.to)} is not safe to read yet${why}`);
  return parts.length === 0 ? undefined : `cut: ${parts.join('; ')}`;
}

async function coverageRow(database: Database, dataset: Dataset, wanted: Range): Promise<string[]> {
  const known = await streamsOf(database, dataset);
  const missing: Range[] = [];
  let isNew = true;
  // A dataset whose pools are not known yet counts as new, like one that was never read.
  const streams = known.length === 0 ? [streamOf(dataset)] : known;
  for (const stream of streams) {
    missing.push(...(await readMissing(database, stream, [wanted])));
    isNew &&= (await readCoverage(database, stream)).length === 0;
  }
  const left = lengthOf(missing);
  const total = streams.length * lengthOf([wanted]);
  return [
    dataset.name,
    `${percentOf({ done: total - left, total })}%${isNew ? ' (new)' : ''}`,
    left === 0 ? 'nothing' : formatDuration(left),
    String(missing.length),
  ];
}

/** What a run has not read of a dataset, for its last lines. */
export function missingLine(dataset: string, ranges: readonly Range[]): string {
  const shown = ranges.slice(0, 5).map(formatRange).join(', ');
  return `missing   ${dataset}: ${shown}${ranges.length > 5 ? ` and ${ranges.length - 5} more` : ''}`;
}

/** An endpoint that the server does not have, for a run's last lines. */
export function absentLine(dataset: string, path: string): string {
  return `absent    ${dataset}: the server has no ${path}`;
}

/** Seconds whose blocks the source lacks. `now`: unix seconds. */
export function gapLine({ span, detail, retryAt }: RefusedSpan, now: number): string {
  return `gap       ${span.map(formatRange).join()}: ${detail}; no dataset is read there; ${againOf(retryAt, now)}`;
}

function againOf(retryAt: number, now: number): string {
  return `retry ${retryAt > now ? `in ${formatDuration(Math.ceil(retryAt - now))}` : 'now'}`;
}

/** What could not be read, why, and when it is retried. `now`: unix seconds. */
export function refusedLine({ dataset, span, reason, detail, retryAt }: RefusedSpan, now: number): string {
  return `refused   ${dataset}: ${span.map(formatRange).join()}: ${reason}, ${detail}; ${againOf(retryAt, now)}`;
}

/** The last errors of a dataset, if any. `now`: unix seconds. */
export function errorLines(
  { dataset, errors }: Pick<CollectionReport, 'dataset' | 'errors'>,
  now: number,
): string[] {
  return errors.map(({ scope, message, code, at }) => {
    const age = `${formatDuration(now - at)} ago`;
    const path = endpointOf({ code, message });
    if (path !== undefined) return `${absentLine(dataset, path)} (${age})`;
    const whose = scope === '' ? dataset : `${dataset} (${scope})`;
    return `error     ${whose}: ${message} (${code}, ${age})`;
  });
}

/** Rows of a dataset's own table, with `~` if they were estimated. */
export function ownRows([own]: readonly RowCount[]): string {
  return own === undefined ? '0' : `${own.exact ? '' : '~'}${own.rows}`;
}
