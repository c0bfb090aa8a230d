import { Random, salt } from '../../../src/simulator/random.ts';
import { alterationsOf, type Alteration } from './alteration.ts';
import { batchesOf } from './batches.ts';
import { cellsOf, type Cell } from './cells.ts';
import { checkBatch, FORGOTTEN, seenByVerify, type Depth, type Verdict } from './check-batch.ts';
import { RANGE } from './network.ts';
import { openProvedNetwork, type Databases, type ProvedNetwork } from './proved-network.ts';

export interface MatrixOptions extends Depth {
  readonly seed: number;
  /** Only these tables; default all. */
  readonly tables?: readonly string[] | undefined;
  /** Only these cells. */
  readonly cells?: readonly string[] | undefined;
  /** Of all cells, 0 to 1; the seed decides which ones. */
  readonly share: number;
  /** Cells that need a copy of the database for themselves are left out, and so are batches beyond so many. */
  readonly batches?: number;
  /** The index of this process, from 0, and the number of processes. */
  readonly part?: { readonly index: number; readonly of: number };
  /** Cells that plain `verify` is known to see: if it no longer does, that is a failure. */
  readonly known?: readonly string[];
  /** Called with each cell that is done. */
  readonly onVerdict?: (verdict: Verdict, done: number, all: number) => void;
}

/** If more than this of a batch fail for one reason, their own rows show which cell is the cause. */
const MOST_ASKED_ALONE = 3;

/** Further rows of a cell that plain `verify` sees, and the copies of the database in which they are altered. */
const OTHER_ROWS = 60;
const OTHER_BATCHES = 2;

/** Alters one value after the other in a proved range, and reports what sees it and what heals it. */
export async function runMatrix(databases: Databases, options: MatrixOptions): Promise<Verdict[]> {
  const network = await openProvedNetwork(options.seed, databases);
  try {
    const alterations = chooseAll(network, options);
    const verdicts: Verdict[] = [];
    const batches = batchesOf(network.truth, alterations);
    for (const batch of options.batches === undefined ? batches : largest(batches, options.batches)) {
      for (const [at, judged] of (await checkSoundly(network, batch, options)).entries()) {
        const isAsked = options.whole && judged.seen.verify;
        const weakest = isAsked ? await checkOtherRows(network, batch[at]!.cell, judged, options) : judged;
        const verdict = holdAgainst(weakest, options.known ?? []);
        verdicts.push(verdict);
        options.onVerdict?.(verdict, verdicts.length, alterations.length);
      }
    }
    return verdicts;
  } finally {
    await network.close();
  }
}

function largest(batches: readonly Alteration[][], most: number): Alteration[][] {
  return batches.toSorted((a, b) => b.length - a.length).slice(0, most);
}

function holdAgainst(verdict: Verdict, known: readonly string[]): Verdict {
  return verdict.seen.verify || !known.includes(verdict.cell)
    ? verdict
    : { ...verdict, problems: [...verdict.problems, 'verify alone sees it no longer'] };
}

function chooseAll(network: ProvedNetwork, options: MatrixOptions): Alteration[] {
  const { seed, tables, cells: only, share, part = { index: 0, of: 1 } } = options;
  return network.tables
    .filter(({ name }) => tables?.includes(name) ?? true)
    .flatMap(cellsOf)
    .filter(({ id }) => (only === undefined ? lot(seed, id) < share : only.includes(id)))
    .flatMap((cell) => rowsOf(network, cell, seed).next().value ?? [])
    .toSorted((a, b) => lot(seed + 1, a.cell.id) - lot(seed + 1, b.cell.id))
    .filter((_, at) => at % part.of === part.index);
}

/** The rows that a cell can be tried on, in an order that the seed decides. */
function rowsOf({ truth }: ProvedNetwork, cell: Cell, seed: number): Generator<Alteration, undefined> {
  return alterationsOf(cell, truth, RANGE, new Random(seed, salt(cell.id)));
}

/** A random number in [0, 1) that depends on the cell. */
function lot(seed: number, id: string): number {
  return new Random(seed, salt(`lot ${id}`)).fraction();
}

/** Cells that fail, or might be seen because of a neighbor, are checked again alone. */
async function checkSoundly(
  network: ProvedNetwork,
  batch: readonly Alteration[],
  depth: Depth,
): Promise<Verdict[]> {
  const verdicts = await checkBatch(network, batch, depth);
  if (batch.length === 1) return verdicts;
  const failing = verdicts.filter(({ problems }) => problems.length > 0).length;
  const sound: Verdict[] = [];
  for (const [at, verdict] of verdicts.entries()) {
    const alteration = batch[at]!;
    if (verdict.problems.length > 0 && failing <= MOST_ASKED_ALONE) {
      const [own = verdict] = await checkBatch(network, [alteration], depth);
      sound.push(judgeAlone(own, verdict, batch.length - 1));
    } else if (depth.whole && verdict.seen.verify)
      sound.push({
        ...verdict,
        seen: { ...verdict.seen, verify: (await seenByVerify(network, [alteration]))[0] === true },
      });
    else sound.push(verdict);
  }
  return sound;
}

/**
 * What `verify` sees in one row it may miss in another: the first row of an account has no stored predecessor to
 * be compared with. The verdict of a cell is that of the row in which it is seen last.
 */
async function checkOtherRows(
  network: ProvedNetwork,
  cell: Cell,
  verdict: Verdict,
  options: MatrixOptions,
): Promise<Verdict> {
  const others: Alteration[] = [];
  for (const alteration of rowsOf(network, cell, options.seed)) {
    others.push(alteration);
    if (others.length > OTHER_ROWS) break;
  }
  for (const batch of batchesOf(network.truth, others.slice(1)).slice(0, OTHER_BATCHES)) {
    const seen = await seenByVerify(network, batch);
    const missed = batch.find((_, at) => seen[at] === false);
    if (missed === undefined) continue;
    const [own] = await checkBatch(network, [missed], options);
    if (own !== undefined) return { ...own, problems: [...verdict.problems, ...own.problems] };
  }
  return verdict;
}

/** A cell that fails in a batch and not alone still fails, unless only a neighbor's finding left its seconds open. */
function judgeAlone(own: Verdict, beside: Verdict, others: number): Verdict {
  const isOnlyForgotten = beside.problems.every((problem) => problem === FORGOTTEN);
  const isAnothers = !own.seen.verify && (beside.seen.verify || isOnlyForgotten);
  const problems = beside.problems.map((problem) => `with ${others} others: ${problem}`);
  return own.problems.length > 0 || isAnothers ? own : { ...own, problems };
}
