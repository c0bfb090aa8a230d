import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { nextMessage } from '../messages.ts';
import type { ClaimingOrder, ClaimingReport } from './claimant.ts';

/** `compile` translates it for processes of their own. */
const CLAIMANT = 'test/support/leases/claimant.js';

/** A process that waits for the word to begin. */
export async function startClaimant(compiled: string, order: ClaimingOrder): Promise<ChildProcess> {
  const process = fork(join(compiled, CLAIMANT), [JSON.stringify(order)]);
  await nextMessage(process);
  return process;
}

/** Lets it begin; what it says next. */
export function go(process: ChildProcess): Promise<unknown> {
  const message = nextMessage(process);
  process.send('go');
  return message;
}

/** Lets a frozen process go on; what it says next. It says that it is frozen just before it is, so it is told until it answers. */
export async function thaw(process: ChildProcess): Promise<unknown> {
  const message = nextMessage(process);
  const again = setInterval(() => process.kill('SIGCONT'), 50);
  try {
    return await message;
  } finally {
    clearInterval(again);
  }
}

/** Lets so many processes claim and commit at once until nothing is left; what each of them did. */
export async function claimTogether(
  compiled: string,
  count: number,
  order: Omit<ClaimingOrder, 'kind'>,
): Promise<ClaimingReport[]> {
  const orders = Array.from({ length: count }, () => ({ ...order, kind: 'work' as const }));
  const processes = await Promise.all(orders.map((each) => startClaimant(compiled, each)));
  return (await Promise.all(processes.map(go))) as ClaimingReport[];
}
