import type { Dataset } from '../dataset/dataset.ts';
import type { Range } from '../range.ts';
import { checkDeep } from './deep.ts';
import { repairRange, type RepairContext } from './repair.ts';
import { verifyRange, type Verified } from './verify.ts';

interface ProveOptions {
  readonly datasets: readonly Dataset[];
  readonly range: Range;
  /** Share of the pages that is read again and compared, from 0 to 1. */
  readonly share: number;
  /** True: what is wanting is read again. */
  readonly repair: boolean;
  readonly random: () => number;
}

/** Verifies a range, compares a share of it with the source, and repairs it, as far as each is asked for. */
export async function proveRange(
  context: RepairContext,
  options: ProveOptions,
): Promise<readonly Verified[]> {
  const { datasets, range, share, repair, random } = options;
  let reports = await verifyRange(context, datasets, range);
  if (share > 0) reports = await checkDeep(context, reports, share, random);
  if (!repair) return reports;
  return (await repairRange(context, datasets, range, reports)).reports;
}
