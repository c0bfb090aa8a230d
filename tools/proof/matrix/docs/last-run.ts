import { readFile, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import type { Verdict } from '../check-batch.ts';
import type { Differing } from '../rows.ts';

/** The path of the last complete run's results, below the repository's root. */
const FILE = 'tools/proof/last-run.json';

/** What sees a cell first. */
const Seen = z.enum(['verify', 'second reading', 'deep', 'nothing']);
const Run = z.record(z.string(), z.tuple([Seen, z.boolean(), z.boolean()]));

/** For each cell: what sees it first, whether a plain repair heals it, whether a deep one does. */
export type LastRun = z.infer<typeof Run>;

/** Saves the results of these cells; other cells keep their former ones. */
export async function saveRun(verdicts: readonly Verdict[]): Promise<void> {
  const run = { ...(await readLastRun()), ...Object.fromEntries(verdicts.map(entryOf)) };
  const lines = Object.entries(run)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([cell, entry]) => `  ${JSON.stringify(cell)}: [${entry.map((one) => JSON.stringify(one)).join(', ')}]`,
    );
  await writeFile(FILE, `{\n${lines.join(',\n')}\n}\n`);
}

function entryOf({ cell, seen, healed }: Verdict): [string, LastRun[string]] {
  return [cell, [firstOf(seen), healed.repair === true, healed.deepRepair]];
}

function firstOf({ verify, again, deep }: Verdict['seen']): z.infer<typeof Seen> {
  if (verify) return 'verify';
  if (again === true) return 'second reading';
  return deep ? 'deep' : 'nothing';
}

export async function readLastRun(): Promise<LastRun> {
  return Run.parse(JSON.parse(await readFile(FILE, 'utf8')));
}

/** Cells that plain `verify` has seen in the last run of the matrix. */
export async function knownToVerify(): Promise<string[]> {
  return Object.entries(await readLastRun()).flatMap(([cell, [first]]) => (first === 'verify' ? [cell] : []));
}

/** Recognizes differences that plain `verify` is known not to see, by the last run of the matrix. */
export async function knownLimits(): Promise<(differing: Differing) => boolean> {
  const run = await readLastRun();
  const unseen = new Set(
    Object.entries(run).flatMap(([cell, [first]]) => (first === 'verify' ? [] : [cell.replace(/ \w+$/, '')])),
  );
  return ({ table, columns }) =>
    columns.length > 0 && columns.every((name) => unseen.has(`${table}.${name}`));
}
