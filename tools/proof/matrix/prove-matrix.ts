import { formatTable } from '../../../src/commands/table.ts';
import { inParts } from '../in-parts.ts';
import type { Verdict } from './check-batch.ts';
import type { MatrixOptions } from './run-matrix.ts';
import { knownToVerify, saveRun } from './docs/last-run.ts';
import { saveDocs } from './docs/save-docs.ts';

interface MatrixOrder extends Omit<MatrixOptions, 'part' | 'onVerdict'> {
  /** Processes, each with its own database server. */
  readonly atOnce: number;
  /** If true, results are written to the repository, and the docs with them. */
  readonly save: boolean;
}

/** Runs the matrix in several processes and prints the results; true if no promise is broken. */
export async function proveMatrix({ atOnce, save, ...options }: MatrixOrder): Promise<boolean> {
  const began = performance.now();
  const verdicts: Verdict[] = [];
  const known = save ? [] : await knownToVerify();
  const orders = Array.from({ length: atOnce }, (_, index) => ({
    ...options,
    known,
    part: { index, of: atOnce },
  }));
  await inParts(new URL('./part.js', import.meta.url), orders, (result) => {
    const verdict = result as Verdict;
    verdicts.push(verdict);
    if (verdict.problems.length > 0) console.log(tellFailure(verdict, options.seed));
    if (verdicts.length % 50 === 0) console.error(`${verdicts.length} cells`);
  });
  const failed = verdicts.filter(({ problems }) => problems.length > 0);
  console.log(summary(verdicts));
  if (save) {
    await saveRun(verdicts);
    await saveDocs();
  }
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`${verdicts.length} cells, ${failed.length} failing, ${seconds} s`);
  return verdicts.length > 0 && failed.length === 0;
}

function tellFailure({ cell, problems }: Verdict, seed: number): string {
  return [
    `FAILED    ${cell}`,
    ...problems.map((problem) => `          ${problem}`),
    `          again: npm run proof -- --matrix --quick --seed ${seed} --cell "${cell}"`,
  ].join('\n');
}

/** A line a table: how many of its cells are seen by what. */
function summary(verdicts: readonly Verdict[]): string {
  const tables = [...new Set(verdicts.map(({ cell }) => /^\w+/.exec(cell)?.[0] ?? ''))].toSorted();
  const rows = tables.map((table) => {
    const own = verdicts.filter(({ cell }) => /^\w+/.exec(cell)?.[0] === table);
    const count = (chosen: (verdict: Verdict) => boolean) => String(own.filter(chosen).length);
    return [
      table,
      String(own.length),
      count(({ seen }) => seen.verify),
      count(({ seen }) => !seen.verify && seen.again === true),
      count(({ seen }) => !seen.verify && seen.again !== true && seen.deep),
      count(({ seen }) => !seen.verify && seen.again !== true && !seen.deep),
      count(({ healed }) => healed.repair === true),
      count(({ healed }) => healed.deepRepair),
      count(({ problems }) => problems.length > 0),
    ];
  });
  const header = [
    'table',
    'cells',
    'verify',
    'second reading',
    'deep alone',
    'nothing',
    'healed: repair',
    'deep repair',
    'failing',
  ];
  return formatTable(header, rows);
}
