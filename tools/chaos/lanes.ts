import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Order, Reply } from './lane.ts';
import { LOG } from './run.ts';

/** A process that runs orders, one after the other, on its own database server. */
interface Lane {
  /** The reply to an order; without one the lane's greeting. @throws Error if the lane ends instead */
  ask(order?: Order): Promise<Reply>;
  close(): Promise<void>;
}

/**
 * Runs orders on several lanes at once, and reports each as it is done. Harness and program share one
 * directory: a bug in a copy of the program affects everything that runs there.
 */
export async function runOrders(
  program: string,
  orders: Iterable<Order>,
  atOnce: number,
  onReply: (order: Order, reply: Reply) => void,
): Promise<void> {
  const queue = orders[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      const first = queue.next();
      if (first.done === true) return;
      const lane = await openLane(program);
      try {
        for (let next: IteratorResult<Order> = first; next.done !== true; next = queue.next())
          onReply(next.value, await lane.ask(next.value));
      } finally {
        await lane.close();
      }
    }),
  );
}

async function openLane(program: string): Promise<Lane> {
  const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-chaos-'));
  const log = join(directory, LOG);
  const output = openSync(log, 'a');
  const child = fork(join(program, 'tools/chaos/lane.js'), [directory], {
    stdio: ['ignore', output, output, 'ipc'],
    // Whole responses are allocated and dropped, several at a time.
    execArgv: [...process.execArgv, '--max-semi-space-size=64'],
  });
  closeSync(output);
  const ended = once(child, 'exit');
  const waiting: { reply?: (reply: Reply) => void; failure?: (error: Error) => void } = {};
  child.on('message', (reply: Reply) => waiting.reply?.(reply));
  void ended.then(() => waiting.failure?.(endOf(child, log)));
  const lane: Lane = {
    ask: (order) =>
      new Promise((reply, failure) => {
        Object.assign(waiting, { reply, failure });
        if (!child.connected) failure(endOf(child, log));
        else if (order !== undefined) child.send(order);
      }),
    async close() {
      if (child.connected) child.disconnect();
      await ended;
      const left = await readdir(directory);
      // The files of a failed seed are kept, for a person who wants to read the workers' logs.
      if (left.every((name) => name === LOG)) await rm(directory, { recursive: true });
    },
  };
  await lane.ask();
  return lane;
}

function endOf({ exitCode, signalCode }: ChildProcess, log: string): Error {
  return new Error(`a lane of the harness ended with ${String(exitCode ?? signalCode)}: see ${log}`);
}
