import type { Dataset } from '../dataset/dataset.ts';

/** What a verified range of a dataset is known to be. Lower grades are implied. */
export type Grade = 'covered' | 'cross-checked' | 'proved';

export interface GradeFacts {
  readonly grade: Grade;
  readonly proves: string;
  /** What only reading again (`verify --deep`) can see. */
  readonly blindTo: string;
}

/** Members that no checksum speaks of, of the datasets that have one. */
const PROVED: ReadonlyMap<string, Omit<GradeFacts, 'grade'>> = new Map([
  [
    'blocks',
    {
      proves:
        'every block between the shard tops after the range and the blocks before it is stored, with its links',
      blindTo: 'changed values of a block other than its name, its parents and its number of transactions',
    },
  ],
  [
    'transactions',
    {
      proves:
        'each block has as many transactions as it says, each with all its messages; accounts’ chains of states are unbroken; balances agree with values and fees',
      blindTo:
        'changed values that no balance depends on: message bodies, opcodes, gas, phases of the description, trace_id',
    },
  ],
  [
    'traces',
    {
      proves:
        'each complete trace has as many transactions as it says, all stored; no finished trace of stored transactions is missing',
      blindTo: 'changed values of a trace other than its number of transactions',
    },
  ],
]);

/**
 * The highest grade that a dataset can have, in one place. A dataset is read twice exactly where the source gives no
 * checksum for it or its rows may change, so one that is read once can be proved.
 */
export function gradeOf({ name, job }: Dataset): GradeFacts {
  if (job.maturitySeconds === undefined) {
    const facts = PROVED.get(name);
    if (facts !== undefined) return { grade: 'proved', ...facts };
  }
  return {
    grade: 'cross-checked',
    proves: 'two readings apart in time agree, and rows lie in stored transactions where those are proved',
    blindTo: 'rows that the source left out both times, and values that it changed both times',
  };
}
