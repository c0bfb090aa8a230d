import { readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Verdict } from './check-batch.ts';
import type { Differing } from './rows.ts';

/** Where the results of the last whole run are kept, below the repository's root. */
const FILE = 'tools/proof/last-run.json';

/** What sees a cell first. */
const Seen = z.enum(['verify', 'second reading', 'deep', 'nothing']);
const Run = z.record(z.string(), z.tuple([Seen, z.boolean(), z.boolean()]));

/** Of each cell: what sees it first, whether a plain repair heals it, whether a deep one does. */
export type LastRun = z.infer<typeof Run>;

export async function saveRun(verdicts: readonly Verdict[]): Promise<void> {
  const lines = verdicts
    .toSorted((a, b) => (a.cell < b.cell ? -1 : 1))
    .map(({ cell, seen, healed }) => {
      const first = seen.verify
        ? 'verify'
        : seen.again === true
          ? 'second reading'
          : seen.deep
            ? 'deep'
            : 'nothing';
      return `  ${JSON.stringify(cell)}: ${JSON.stringify([first, healed.repair === true, healed.deepRepair])}`;
    });
  await writeFile(FILE, `{\n${lines.join(',\n')}\n}\n`);
}

export async function readLastRun(): Promise<LastRun> {
  return Run.parse(JSON.parse(await readFile(FILE, 'utf8')));
}

/** Tells differences that plain `verify` is known not to see, by the last run of the matrix. */
export async function knownLimits(): Promise<(differing: Differing) => boolean> {
  const run = await readLastRun();
  const unseen = new Set(
    Object.entries(run).flatMap(([cell, [first]]) => (first === 'verify' ? [] : [cell.replace(/ \w+$/, '')])),
  );
  return ({ table, columns }) =>
    columns.length > 0 && columns.every((name) => unseen.has(`${table}.${name}`));
}
