import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Order, Reply } from './lane.ts';

/** Runs orders on several lanes at once, each a process with a database server of its own; tells of each as it is done. */
export async function runOrders(
  orders: Iterable<Order>,
  atOnce: number,
  onReply: (order: Order, reply: Reply) => void,
): Promise<void> {
  const queue = orders[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      const first = queue.next();
      if (first.done === true) return;
      const lane = await openLane();
      try {
        for (let next: IteratorResult<Order> = first; next.done !== true; next = queue.next())
          onReply(next.value, await ask(lane, next.value));
      } finally {
        await closeLane(lane);
      }
    }),
  );
}

async function openLane(): Promise<ChildProcess> {
  const lane = fork(join(import.meta.dirname, 'lane.js'), { stdio: 'inherit' });
  await Promise.race([once(lane, 'message'), ended(lane)]);
  return lane;
}

async function ask(lane: ChildProcess, order: Order): Promise<Reply> {
  lane.send(order);
  const [reply] = (await Promise.race([once(lane, 'message'), ended(lane)])) as [Reply];
  return reply;
}

async function ended(lane: ChildProcess): Promise<never> {
  const [code] = (await once(lane, 'exit')) as [number | null];
  throw new Error(`a lane of the harness ended with ${String(code)}`);
}

async function closeLane(lane: ChildProcess): Promise<void> {
  if (lane.exitCode !== null) return;
  const gone = once(lane, 'exit');
  lane.disconnect();
  await gone;
}
