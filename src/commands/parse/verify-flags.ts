import { chooseDatasets, splitKinds, type Dataset } from '../../dataset/dataset.ts';
import { loadDatasets } from '../../dataset/load-jobs.ts';
import { UsageError } from '../../errors.ts';
import type { Range } from '../../range.ts';
import type { Invocation } from '../command.ts';
import { parseEnds } from './parse-ends.ts';

export interface VerifyFlags {
  readonly from?: string;
  readonly to?: string;
  readonly only?: readonly string[];
  /** A share such as `1%`. */
  readonly deep?: string;
  readonly repair?: boolean;
  readonly json?: boolean;
  readonly record?: string;
}

/** What a verification is asked for. */
interface VerifyWanted {
  readonly range: Range;
  /** The share that is read again, from 0 to 1. */
  readonly share: number;
  /** Every stream that is known, chosen or not. */
  readonly jobs: readonly Dataset[];
  readonly datasets: readonly Dataset[];
}

/** @throws UsageError where the range or the share cannot be read */
export async function parseVerify({ config, now }: Invocation, flags: VerifyFlags): Promise<VerifyWanted> {
  const range = parseEnds(flags, now, { otherwise: 'A lake needs none: `verify --lake`.' });
  const share = flags.deep === undefined ? 0 : parseShare(flags.deep);
  const all = await loadDatasets();
  // A collection is of no time: of a range of it nothing can be proved.
  const datasets = splitKinds(chooseDatasets(flags.only ?? config.datasets, all)).streams;
  return { range, share, jobs: splitKinds(all).streams, datasets };
}

function parseShare(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim());
  const share = Number(match?.[1]) / 100;
  if (share > 0 && share <= 1) return share;
  throw new UsageError(`--deep "${text}" is not a share: write it like 1% or 0.1%`);
}
