import {
  chooseDatasets,
  needsRange,
  piggybackedCollections,
  splitKinds,
  type Collection,
  type Dataset,
} from '../../dataset/dataset.ts';
import { loadDatasets } from '../../dataset/load-jobs.ts';
import { parseDuration, type Range } from '../../range.ts';
import type { Invocation } from '../command.ts';
import { parseEnds } from './parse-ends.ts';

export interface BackfillFlags {
  readonly from?: string;
  readonly to?: string;
  readonly only?: readonly string[];
  readonly maxRequests?: number;
  readonly deadline?: string;
  readonly again?: boolean;
  readonly dryRun?: boolean;
  readonly record?: string;
  readonly quiet?: boolean;
  readonly threads?: number;
}

/** What a backfill is asked for. */
export interface BackfillWanted {
  /** Every stream that is known, chosen or not. */
  readonly jobs: readonly Dataset[];
  readonly datasets: readonly Dataset[];
  readonly collections: readonly Collection[];
  /** Collections whose records come with the responses of others. */
  readonly piggybacked: readonly Collection[];
  /** Names of datasets that were asked for one by one, not as part of a group. */
  readonly named: ReadonlySet<string>;
  /** Undefined where only collections are read that are of no time. */
  readonly wanted: Range | undefined;
  readonly deadlineMs: number | undefined;
}

/** @throws UsageError where a range is needed and none, or half of one, was given */
export async function parseBackfill(
  { config, now }: Invocation,
  flags: BackfillFlags,
): Promise<BackfillWanted> {
  const deadlineMs = flags.deadline === undefined ? undefined : parseDuration(flags.deadline) * 1000;
  const all = await loadDatasets();
  const known = splitKinds(all);
  const words = flags.only ?? config.datasets;
  const { streams, collections } = splitKinds(chooseDatasets(words, all));
  return {
    jobs: known.streams,
    datasets: streams,
    collections,
    named: new Set(words),
    piggybacked: piggybackedCollections(known.collections),
    wanted: rangeOf(flags, [...streams, ...collections.filter(needsRange)], now),
    deadlineMs,
  };
}

function rangeOf(
  flags: BackfillFlags,
  needing: readonly { readonly name: string }[],
  now: number,
): Range | undefined {
  if (flags.from === undefined && flags.to === undefined && needing.length === 0) return undefined;
  const names = needing.map(({ name }) => name).join(', ');
  return parseEnds(flags, now, { names, otherwise: 'Lists and look-ups alone need none.' });
}
