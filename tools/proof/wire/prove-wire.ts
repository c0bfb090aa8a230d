import { inParts } from '../in-parts.ts';
import type { SeedOutcome, WireOptions } from './run-wires.ts';

interface WireOrder extends Pick<WireOptions, 'first' | 'seeds' | 'kind'> {
  /** Processes, each with its own database server. */
  readonly atOnce: number;
}

/** Runs seeds over the wire in several processes and prints the results; true if no promise is broken. */
export async function proveWire({ first, seeds, kind, atOnce }: WireOrder): Promise<boolean> {
  const began = performance.now();
  const outcomes: SeedOutcome[] = [];
  const orders = Array.from({ length: atOnce }, (_, index) => ({
    first: first + index,
    seeds: kind === undefined ? Math.ceil(Math.max(0, seeds - index) / atOnce) : index === 0 ? seeds : 0,
    step: atOnce,
    kind,
  }));
  await inParts(new URL('./part.js', import.meta.url), orders, (result) => {
    const outcome = result as SeedOutcome;
    outcomes.push(outcome);
    if (outcome.problems.length > 0) console.log(tellFailure(outcome));
  });
  const failed = outcomes.filter(({ problems }) => problems.length > 0);
  const asked = new Set(outcomes.flatMap(({ kinds }) => kinds));
  const done = new Set(outcomes.flatMap((outcome) => outcome.done.map(([name]) => name)));
  const rows = outcomes.reduce((sum, { harmed }) => sum + harmed, 0);
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    `${outcomes.length} seeds, ${asked.size} kinds of which ${done.size} were applied, ${rows} rows were wrong,` +
      `${failed.length} seeds failing, ${seconds} s`,
  );
  return outcomes.length > 0 && failed.length === 0;
}

function tellFailure({ seed, kinds, done, problems }: SeedOutcome): string {
  return [
    `FAILED    seed ${seed}`,
    ...problems.map((problem) => `          ${problem}`),
    ...done.map(([name, where]) => `          ${name} (${where})`),
    `          again: npm run proof -- --wire --from ${seed} --seeds 1${kinds.length === 1 ? ` --kind "${kinds[0] ?? ''}"` : ''}`,
  ].join('\n');
}
