import type { Spending } from '../../../db/coordination/workers.ts';
import { formatDuration } from '../../../range.ts';
import { SILENT_SECONDS } from '../../../status/lag.ts';

/** Whose budget it is, who spends it on what, and who waits for it: a line each. */
export function spendingLines({ budgets, workers, spent }: Spending): string[] {
  return budgets.flatMap(({ host, ...budget }) => {
    const here = spent.filter((row) => row.host === host);
    const total = sum(here.map(({ lastHour }) => lastHour));
    const names = new Set([
      ...workers.filter((worker) => worker.host === host).map(({ worker }) => worker),
      ...here.map(({ worker }) => worker),
    ]);
    return [
      budgetLine(host, budget, sum(here.map(({ lastMinute }) => lastMinute)) / 60),
      ...[...names].map((name) => {
        const state = workers.find(({ worker }) => worker === name);
        return workerLine(
          name,
          state,
          here.filter(({ worker }) => worker === name),
          total,
        );
      }),
    ];
  });
}

function budgetLine(
  host: string,
  { plan, rate, paused, refusals, lastRefusal }: Omit<Spending['budgets'][number], 'host'>,
  used: number,
): string {
  const parts = [
    `${host} allows ${plan} requests a second; at most ${rate.toFixed(1)} are sent now, ${used.toFixed(1)} were in the last minute`,
  ];
  if (paused > 0) parts.push(`paused for ${formatDuration(Math.ceil(paused))}`);
  if (lastRefusal !== null) {
    parts.push(
      `${refusals} ${refusals === 1 ? 'refusal' : 'refusals'}, the last ${formatDuration(Math.round(lastRefusal))} ago`,
    );
  }
  return `budget    ${parts.join('; ')}`;
}

function workerLine(
  name: string,
  state: Spending['workers'][number] | undefined,
  spent: Spending['spent'],
  total: number,
): string {
  const hour = sum(spent.map(({ lastHour }) => lastHour));
  const minute = sum(spent.map(({ lastMinute }) => lastMinute));
  const kinds = spent.map(({ priority, lastHour }) => `${priority} ${lastHour}`).join(', ');
  const share = hour === 0 ? '' : ` (${Math.round((100 * hour) / total)} %: ${kinds})`;
  const parts = [
    signOfLife(state),
    `${minute} requests in the last minute, ${hour} in the last hour${share}`,
  ];
  const waiting = Object.entries(state?.waiting ?? {}).map(([priority, count]) => `${count} ${priority}`);
  if (waiting.length > 0) parts.push(`waiting: ${waiting.join(', ')}`);
  return `worker    ${name}: ${parts.join('; ')}`;
}

function signOfLife(state: Spending['workers'][number] | undefined): string {
  if (state === undefined) return 'ended';
  if (state.silent < SILENT_SECONDS) return 'alive';
  return `no sign of life for ${formatDuration(Math.round(state.silent))}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
