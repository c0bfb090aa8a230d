import type { Order } from './lane.ts';
import type { Outcome } from './run-seed.ts';
import type { Memory } from './workers.ts';

/** The command that runs this seed again. */
export function commandOf({ seed, seconds, processes }: Order): string {
  return `npm run chaos -- --seed ${seed} --seconds ${seconds} --processes ${processes}`;
}

export function tellOutcome(outcome: Outcome, command: string): void {
  const { seed, problems, rows, requests, quarantined, starts, directory } = outcome;
  if (problems.length === 0) {
    console.log(
      `seed ${seed}: as the truth: ${rows} rows compared, ${requests} requests, ${quarantined} records in quarantine, ${starts} processes`,
    );
    return;
  }
  console.log(`seed ${seed}: FAILED`);
  for (const problem of problems) console.log(`  ${problem}`);
  console.log(`  again: ${command}`);
  console.log(`  the workers' logs: ${directory}`);
}

export function printSummary(
  outcomes: readonly Outcome[],
  { postgres, tookMs }: { readonly postgres: string; readonly tookMs: number },
): void {
  const failed = outcomes.filter(({ problems }) => problems.length > 0);
  const sum = (count: (outcome: Outcome) => number) =>
    outcomes.reduce((total, outcome) => total + count(outcome), 0);
  console.log();
  console.log(
    `seeds     ${outcomes.length}, ${failed.length} failed, in ${Math.round(tookMs / 1000)} s, on Postgres ${postgres}`,
  );
  console.log(`faults    ${tally(outcomes.map(({ faults }) => faults))}`);
  console.log(`harms     ${tally(outcomes.map(({ harms }) => harms))}`);
  console.log(`processes ${sum(({ starts }) => starts)}`);
  console.log(`requests  ${sum(({ requests }) => requests)}`);
  console.log(
    `rows      ${sum(({ rows }) => rows)} compared, ${sum(({ rowsLeft }) => rowsLeft)} of them as the workers left them; ` +
      `${sum(({ quarantined }) => quarantined)} were in quarantine`,
  );
  const [first] = outcomes;
  if (outcomes.length !== 1 || first === undefined) return;
  console.log(`log       ${first.logLines} lines at level info or above`);
  for (const line of memoryLines(first.memory)) console.log(line);
}

function tally(counts: readonly Readonly<Record<string, number>>[]): string {
  const total = new Map<string, number>();
  for (const [name, times] of counts.flatMap((one) => Object.entries(one)))
    total.set(name, (total.get(name) ?? 0) + times);
  return [...total].map(([name, times]) => `${name} ${times}`).join(', ');
}

/** The summary prints the memory for each of these parts of a storm. */
const PARTS = 4;

/** Resident memory of the first worker: with a leak, each part is above the one before it. */
function memoryLines(memory: readonly Memory[]): string[] {
  const length = Math.floor(memory.length / PARTS);
  if (length < 3) return [];
  const medians = Array.from({ length: PARTS }, (_, part) =>
    median(memory.slice(part * length, (part + 1) * length)),
  );
  const [first = 0, last = 0] = [medians[0], medians.at(-1)];
  const peak = Math.round(Math.max(...memory.map(({ megabytes }) => megabytes)));
  const more = ((100 * (last - first)) / first).toFixed(1);
  const parts = medians.map((megabytes) => Math.round(megabytes)).join(', ');
  return [
    `memory    ${parts} MB (medians of each quarter; the last ${more} % above the first), at most ${peak} MB`,
  ];
}

function median(part: readonly Memory[]): number {
  return part.map(({ megabytes }) => megabytes).toSorted((a, b) => a - b)[Math.floor(part.length / 2)] ?? 0;
}
