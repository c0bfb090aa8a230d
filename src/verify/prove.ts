import type { Dataset } from '../dataset/dataset.ts';
import { closeDays } from '../ledger/close-days.ts';
import type { Range } from '../range.ts';
import { DEEP } from '../ledger/found-row.ts';
import { checkDeep, type ComparedTable } from './deep.ts';
import { withdrawFallen } from './ground.ts';
import { repairRange, withVerified, type RepairContext } from './repair.ts';
import { verifyRange, type Verified } from './verify.ts';

interface ProveOptions {
  readonly datasets: readonly Dataset[];
  readonly range: Range;
  /** Share of the pages that is read again and compared, from 0 to 1. */
  readonly share: number;
  /** True: what is missing or wrong is read again. */
  readonly repair: boolean;
  readonly random: () => number;
}

export interface Proof {
  readonly reports: readonly Verified[];
  /** How much of each table was held against the source; empty where no deep comparison was asked for. */
  readonly compared: readonly ComparedTable[];
  /** True: fewer rows were compared than were asked for. */
  readonly isShort: boolean;
}

/**
 * Verifies a range, compares a share of it with the source, and repairs it, as far as each is asked for. Days that are
 * certain by then are summed up.
 */
export async function proveRange(context: RepairContext, options: ProveOptions): Promise<Proof> {
  const { datasets, range, share, repair, random } = options;
  const first = await verifyRange(context, datasets, range);
  let reports: readonly Verified[] = first;
  let compared: readonly ComparedTable[] = [];
  if (share > 0) {
    ({ reports, tables: compared } = await checkDeep(context, reports, { datasets, share, random }));
    // What the comparison has confirmed rests on what it may have found wrong.
    await withdrawFallen(context, [range]);
    reports = await withVerified(context, reports);
  }
  // What an earlier comparison had found may be over now: then the checks prove these seconds, and what rests on them.
  if (share > 0 && first.some(({ findings }) => findings.some(({ check }) => check === DEEP)))
    reports = withDeep(await verifyRange(context, datasets, range), reports);
  if (repair) ({ reports } = await repairRange(context, datasets, range, reports));
  await closeDays(context.database, range);
  const isShort = compared.some((table) => table.compared < Math.floor(share * table.stored));
  return { reports, compared, isShort };
}

/** Reports with what was compared before them. */
function withDeep(reports: readonly Verified[], compared: readonly Verified[]): Verified[] {
  return reports.map((report) => {
    const { dataset, scope } = report.stream;
    const before = compared.find(({ stream }) => stream.dataset === dataset && stream.scope === scope);
    const deep = before?.checks.filter(({ check }) => check === DEEP) ?? [];
    return { ...report, checks: [...report.checks, ...deep] };
  });
}
