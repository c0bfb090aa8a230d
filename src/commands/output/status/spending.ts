import type { Spending } from '../../../db/coordination/workers.ts';
import { formatDuration, formatTime } from '../../../range.ts';
import { SILENT_SECONDS } from '../../../db/coordination/worker-name.ts';

type State = Spending['workers'][number];
type Spent = Spending['spent'];

/**
 * Whose budget it is, who spends it on what, and who waits for it: a line each, and one for all that have ended. A host
 * that nobody uses any more is left out. `now` in unix seconds.
 */
export function spendingLines({ budgets, workers, spent }: Spending, now: number): string[] {
  return budgets.flatMap(({ host, ...budget }) => {
    const here = spent.filter((row) => row.host === host);
    const states = workers.filter((worker) => worker.host === host);
    const isUsed = here.length > 0 || states.some(({ silent }) => silent < SILENT_SECONDS);
    if (!isUsed && budget.paused === 0) return [];
    const used = sum(here.map(({ lastMinute }) => lastMinute)) / 60;
    return [budgetLine(host, budget, used, now), ...workerLines(states, here)];
  });
}

function workerLines(states: readonly State[], here: Spent): string[] {
  const total = sum(here.map(({ lastHour }) => lastHour));
  const names = new Set(states.map(({ worker }) => worker));
  const ended = here.filter(({ worker }) => !names.has(worker));
  const gone = [...new Set(ended.map(({ worker }) => worker))];
  return [
    ...states.map((state) =>
      workerLine(
        state.worker,
        state,
        here.filter(({ worker }) => worker === state.worker),
        total,
      ),
    ),
    ...(gone.length === 0
      ? []
      : [workerLine(gone.length === 1 ? gone.join() : `${gone.length} others`, undefined, ended, total)]),
  ];
}

function budgetLine(
  host: string,
  { plan, rate, paused, refusals, lastRefusal }: Omit<Spending['budgets'][number], 'host'>,
  used: number,
  now: number,
): string {
  const parts = [
    `${host} allows ${plan} requests a second; at most ${rate.toFixed(1)} are sent now, ${used.toFixed(1)} were in the last minute`,
  ];
  if (paused > 0) {
    const until = formatTime(Math.ceil(now + paused));
    parts.push(`paused for ${formatDuration(Math.ceil(paused))}, until ${until}: the API asked for it`);
  }
  if (lastRefusal !== null) {
    parts.push(
      `${refusals} ${refusals === 1 ? 'refusal' : 'refusals'}, the last ${formatDuration(Math.round(lastRefusal))} ago`,
    );
  }
  return `budget    ${parts.join('; ')}`;
}

function workerLine(name: string, state: State | undefined, spent: Spent, total: number): string {
  const hour = sum(spent.map(({ lastHour }) => lastHour));
  const minute = sum(spent.map(({ lastMinute }) => lastMinute));
  const kinds = [...new Set(spent.map(({ priority }) => priority))]
    .map((kind) => {
      const some = spent.filter(({ priority }) => priority === kind);
      return `${kind} ${sum(some.map(({ lastHour }) => lastHour))}`;
    })
    .join(', ');
  const share = hour === 0 ? '' : ` (${Math.round((100 * hour) / total)} %: ${kinds})`;
  const parts = [
    signOfLife(state),
    `${minute} requests in the last minute, ${hour} in the last hour${share}`,
  ];
  const waiting = Object.entries(state?.waiting ?? {}).map(([priority, count]) => `${count} ${priority}`);
  if (waiting.length > 0) parts.push(`waiting: ${waiting.join(', ')}`);
  return `worker    ${name}: ${parts.join('; ')}`;
}

function signOfLife(state: State | undefined): string {
  if (state === undefined) return 'ended';
  if (state.silent < SILENT_SECONDS) return 'alive';
  return `no sign of life for ${formatDuration(Math.round(state.silent))}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
