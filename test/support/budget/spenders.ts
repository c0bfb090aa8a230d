import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { nextMessage } from '../messages.ts';
import type { SpendingOrder, SpendingReport } from './spender.ts';

/** `compile` translates it for separate processes. */
const SPENDER = 'test/support/budget/spender.js';

export interface Spenders {
  /** All begin at the same instant. */
  go(): void;
  /** Stops all of them, and returns what each did. */
  stop(): Promise<SpendingReport[]>;
  readonly processes: readonly ChildProcess[];
}

/** Starts a process for each order; resolves when all are connected to the database and wait for `go`. */
export async function startSpenders(compiled: string, orders: readonly SpendingOrder[]): Promise<Spenders> {
  const processes = orders.map((order) => fork(join(compiled, SPENDER), [JSON.stringify(order)]));
  await Promise.all(processes.map((process) => nextMessage(process)));
  return {
    processes,
    go: () => {
      for (const process of processes) process.send('go');
    },
    stop: () =>
      Promise.all(
        processes.map(async (process) => {
          const report = nextMessage(process);
          process.send('stop');
          return (await report) as SpendingReport;
        }),
      ),
  };
}
