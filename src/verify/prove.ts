import type { Dataset } from '../dataset/dataset.ts';
import { closeDays } from '../ledger/close-days.ts';
import type { Range } from '../range.ts';
import { DEEP } from '../ledger/held-by-traces.ts';
import { checkDeep, type ComparedTable } from './deep.ts';
import { withdrawDependents } from './dependencies.ts';
import { repairRange, withVerified, type RepairContext } from './repair.ts';
import { verifyRange, type Verified } from './verify.ts';

interface ProveOptions {
  readonly datasets: readonly Dataset[];
  readonly range: Range;
  /** Share of the stored rows that is read again and compared, from 0 to 1. */
  readonly share: number;
  readonly repair: boolean;
  readonly random: () => number;
}

export interface Proof {
  readonly reports: readonly Verified[];
  /** How much of each table was compared with the source; empty without a deep comparison. */
  readonly compared: readonly ComparedTable[];
  /** True if fewer rows were compared than requested. */
  readonly isShort: boolean;
}

/** Verifies a range, compares a share of it and repairs it, as requested. Then it closes days that are complete. */
export async function proveRange(context: RepairContext, options: ProveOptions): Promise<Proof> {
  const { datasets, range, share, repair, random } = options;
  const first = await verifyRange(context, datasets, range);
  let reports: readonly Verified[] = first;
  let compared: readonly ComparedTable[] = [];
  if (share > 0) {
    ({ reports, tables: compared } = await checkDeep(context, reports, { datasets, share, random }));
    // What the comparison has confirmed depends on what it may have found wrong.
    await withdrawDependents(context, [range]);
    reports = await withVerified(context, reports);
  }
  // A finding of an earlier comparison may be resolved now: then the checks prove these seconds, and those that depend
  // on them.
  if (share > 0 && first.some(({ findings }) => findings.some(({ check }) => check === DEEP)))
    reports = withDeep(await verifyRange(context, datasets, range), reports);
  if (repair) ({ reports } = await repairRange(context, datasets, range, reports));
  await closeDays(context.database, range);
  const isShort = compared.some((table) => table.compared < Math.floor(share * table.stored));
  return { reports, compared, isShort };
}

/** Reports with the results of an earlier comparison added. */
function withDeep(reports: readonly Verified[], compared: readonly Verified[]): Verified[] {
  return reports.map((report) => {
    const { dataset, scope } = report.stream;
    const before = compared.find(({ stream }) => stream.dataset === dataset && stream.scope === scope);
    const deep = before?.checks.filter(({ check }) => check === DEEP) ?? [];
    return { ...report, checks: [...report.checks, ...deep] };
  });
}
