import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { nextMessage } from '../messages.ts';
import type { ClaimingOrder, ClaimingReport } from './claimant.ts';

/** `compile` translates it for separate processes. */
const CLAIMANT = 'test/support/leases/claimant.js';

/** A process that waits for `go`. */
export async function startClaimant(compiled: string, order: ClaimingOrder): Promise<ChildProcess> {
  const process = fork(join(compiled, CLAIMANT), [JSON.stringify(order)]);
  await nextMessage(process);
  return process;
}

/** Lets it begin, and returns its next message. */
export function go(process: ChildProcess): Promise<unknown> {
  const message = nextMessage(process);
  process.send('go');
  return message;
}

/**
 * Lets a frozen process continue, and returns its next message. It reports that it is frozen just before it
 * is, so this repeats until it responds.
 */
export async function thaw(process: ChildProcess): Promise<unknown> {
  const message = nextMessage(process);
  const again = setInterval(() => process.kill('SIGCONT'), 50);
  try {
    return await message;
  } finally {
    clearInterval(again);
  }
}

/** Lets so many processes claim and commit at once until nothing is left, and returns what each of them did. */
export async function claimTogether(
  compiled: string,
  count: number,
  order: Omit<ClaimingOrder, 'kind'>,
): Promise<ClaimingReport[]> {
  const orders = Array.from({ length: count }, () => ({ ...order, kind: 'work' as const }));
  const processes = await Promise.all(orders.map((each) => startClaimant(compiled, each)));
  return (await Promise.all(processes.map(go))) as ClaimingReport[];
}
