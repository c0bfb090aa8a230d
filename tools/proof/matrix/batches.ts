import { MINUTE } from '../../../src/range.ts';
import { secondsOf, type Alteration } from './alteration.ts';
import type { Cell } from './cells.ts';
import { occurrencesOf } from './occurrences.ts';
import type { Rows } from './rows.ts';

/** Cells that are altered in one copy of the database at once. */
const MOST = 24;
/** Seconds around an altered value in which its neighbors may be doubted with it. */
const AROUND = 3;
/** All other datasets depend on these. */
const GROUND = ['blocks', 'transactions', 'traces'];
/** Their scopes are so many that verifying them takes longer than all others. */
const SLOW = ['nominator_pool_events', 'nominator_events'];

/** Seconds of a dataset that an alteration makes doubtful. */
interface Doubt {
  readonly dataset: string;
  readonly from: number;
  readonly to: number;
}

interface Batch {
  readonly slow: boolean;
  readonly members: Alteration[];
  readonly doubts: Doubt[];
}

/** Groups cells that can be distinguished: none is seen, or missed, because of another one. */
export function batchesOf(truth: Rows, alterations: readonly Alteration[]): Alteration[][] {
  const batches: Batch[] = [];
  const alone: Alteration[][] = [];
  for (const alteration of alterations) {
    if (reachesFar(alteration.cell)) {
      alone.push([alteration]);
      continue;
    }
    const doubts = doubtsOf(alteration, truth);
    const slow = alteration.cell.table.datasets.some((name) => SLOW.includes(name));
    const batch = batches.find(
      (one) =>
        one.slow === slow &&
        one.members.length < MOST &&
        !one.doubts.some((doubt) => doubts.some((own) => touch(doubt, own))),
    );
    if (batch === undefined) batches.push({ slow, members: [alteration], doubts });
    else {
      batch.members.push(alteration);
      batch.doubts.push(...doubts);
    }
  }
  return [...batches.map(({ members }) => members), ...alone];
}

/**
 * If the chain of blocks is broken, nothing is known of what is below: no other cell could be distinguished
 * from it.
 */
function reachesFar({ table, column, way }: Cell): boolean {
  if (table.name === 'block_parents') return true;
  // A merge has two parents.
  const isLinked = column?.name === 'after_merge';
  return table.name === 'blocks' && (column === undefined || column.isKey || isLinked || way === 'doubled');
}

/** If rows are too few or too many, all of the minute may be doubted. */
function doubtsOf(alteration: Alteration, truth: Rows): Doubt[] {
  const { column } = alteration.cell;
  const isRow = column === undefined || column.isKey;
  const own = secondsOf(alteration).map((second) => ({
    from: isRow ? second - (second % MINUTE) : second - AROUND,
    to: isRow ? second - (second % MINUTE) + MINUTE : second + AROUND,
  }));
  return occurrencesOf(alteration, truth).flatMap(({ dataset, seconds }) => [
    ...own.map((span) => ({ dataset, ...span })),
    ...seconds.map((second) => ({ dataset, from: second - AROUND, to: second + AROUND })),
  ]);
}

function touch(a: Doubt, b: Doubt): boolean {
  const related = a.dataset === b.dataset || GROUND.includes(a.dataset) || GROUND.includes(b.dataset);
  return related && a.from < b.to && b.from < a.to;
}
