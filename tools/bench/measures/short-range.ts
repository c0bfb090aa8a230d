import { existsSync } from 'node:fs';
import { HOUR } from '../../../src/range.ts';
import { quietHourOf, serveNetwork } from '../network.ts';
import { has, program, PYTHON, run, script, type Range, type Used } from '../scripts/clients.ts';
import type { BenchServer } from '../store.ts';

/** Some seven pages. */
const TRANSACTIONS = 6_700;
/** They run in turn, so that other work of the machine affects both. */
const RUNS = 7;
/** How much longer than the script the program may take, its migrations included. */
const AIM = 1.5;

const backfill = (range: Range): string[] => [
  ...program(range),
  ...['backfill', '--only', 'transactions', '--quiet'],
  ...['--from', String(range.from), '--to', String(range.to)],
];
const plain = script('plain.py');

/**
 * The cost of a short range compared with a script that does only that. Both run as a whole command, from an empty
 * database on a running server to the last row. Nearly all of it is spent before the first page and after the last.
 */
export async function measureShortRange(
  tell: (measure: string, values: Record<string, unknown>) => void,
  server: BenchServer,
): Promise<void> {
  const measure = 'a short range, whole command in an empty database';
  if (!has('psycopg, requests')) {
    tell(measure, { skipped: `${PYTHON} has no psycopg or requests; PYTHON=venv/bin/python names another` });
    return;
  }
  if (!existsSync('dist/src/cli.js')) throw new Error('dist/ is missing: run `npm run build` first');
  const options = quietHourOf(TRANSACTIONS);
  const network = await serveNetwork(options);
  const span = { from: options.start, to: options.start + HOUR };
  const [ours, theirs]: [Used[], Used[]] = [[], []];
  try {
    for (let turn = 0; turn < RUNS; turn += 1) {
      const into = async (name: string): Promise<Range> => ({
        api: network.url,
        database: await server.createEmpty(`short_${name}_${turn}`),
        ...span,
      });
      ours.push(run(backfill(await into('program'))));
      theirs.push(run(plain(await into('script'))));
    }
  } finally {
    await network.stop();
  }
  tell(measure, {
    transactions: TRANSACTIONS,
    seconds: medianOf(ours, 'seconds'),
    secondsOfScript: medianOf(theirs, 'seconds'),
    cpuSeconds: medianOf(ours, 'cpuSeconds'),
    cpuSecondsOfScript: medianOf(theirs, 'cpuSeconds'),
    ratio: medianOf(ours, 'seconds') / medianOf(theirs, 'seconds'),
    aim: AIM,
  });
}

function medianOf(runs: readonly Used[], figure: 'seconds' | 'cpuSeconds'): number {
  return runs.map((used) => used[figure]).sort((a, b) => a - b)[Math.floor(runs.length / 2)] ?? NaN;
}
