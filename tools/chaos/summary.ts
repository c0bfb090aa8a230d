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

/** Of a storm this share is not the steady state yet. */
const WARM_UP = 0.1;

/** Resident memory of the worker that lives through it all: in a leak its last half lies above its first one. */
function memoryLines(memory: readonly Memory[]): string[] {
  const steady = memory.slice(Math.floor(memory.length * WARM_UP));
  const half = Math.floor(steady.length / 2);
  if (half < 3) return [];
  const [first, last] = [median(steady.slice(0, half)), median(steady.slice(half))];
  const peak = Math.round(Math.max(...memory.map(({ megabytes }) => megabytes)));
  const more = ((100 * (last - first)) / first).toFixed(1);
  return [
    `memory    ${Math.round(first)} MB, then ${Math.round(last)} MB (${more} %; median of each half), at most ${peak} MB`,
  ];
}

function median(part: readonly Memory[]): number {
  return part.map(({ megabytes }) => megabytes).toSorted((a, b) => a - b)[Math.floor(part.length / 2)] ?? 0;
}
