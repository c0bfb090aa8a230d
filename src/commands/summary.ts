import type { ReadableResult } from '../crawl/streams/readable-part.ts';
import { streamOf, streamsOf, type Work } from '../crawl/streams/planner.ts';
import type { ChainInfo } from '../crawl/source-chain.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Database } from '../postgres/database.ts';
import { networkName } from '../ledger/stored-settings.ts';
import { readCoverage, readMissing, type RefusedSpan, endpointOf } from '../ledger/stored-coverage.ts';
import type { RowCount } from '../read/row-estimates.ts';
import { formatDuration, formatRange, formatTime, lengthOf, type Range, without } from '../range.ts';
import type { CollectionReport } from '../status/collections.ts';
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

/** How much of the wanted range is done, in seconds of chain time over all scopes. `done` is never above `total`. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Percent in tenths; 100 only if all is done. */
export function percentOf({ done, total }: Progress): number {
  return done >= total ? 100 : Math.min(99.9, Math.floor((1000 * done) / total) / 10);
}

export function countProgress(works: readonly Work[]) {
  const states = new Map(
    works.map(({ dataset, range, missing }) => [dataset, { range, left: new Map(missing) }]),
  );
  const of = (dataset: string): Progress => {
    const state = states.get(dataset);
    const total = state === undefined ? 0 : state.left.size * lengthOf([state.range]);
    return { done: total - lengthOf([...(state?.left.values() ?? [])].flat()), total };
  };
  return {
    /** Notes a part of a scope that was read; undefined if the page completed nothing. A new scope adds work. */
    complete: (dataset: string, scope: string, range: Range | undefined) => {
      const state = states.get(dataset);
      if (state === undefined) return;
      const before = state.left.get(scope) ?? [state.range];
      state.left.set(scope, range === undefined ? before : without(before, [range]));
    },
    /** Sets what is left of a dataset with one scope, if something else than pages has covered a part of it. */
    replaceLeft: (dataset: string, missing: readonly Range[]) => {
      states.get(dataset)?.left.set('', missing);
    },
    of,
    /** The sum over all datasets that are counted. */
    all: (isCounted: (dataset: string) => boolean = () => true): Progress => {
      const each = [...states.keys()].filter(isCounted).map(of);
      const sum = (member: keyof Progress) => each.reduce((total, progress) => total + progress[member], 0);
      return { done: sum('done'), total: sum('total') };
    },
  };
}
