import { fork } from 'node:child_process';
import { once } from 'node:events';
import { startStores, type Stores } from './stores.ts';

/** Runs a module once for each order, each time in a separate process with its own database server. */
export async function inParts(
  module: URL,
  orders: readonly object[],
  onResult: (result: unknown) => void,
): Promise<void> {
  await Promise.all(
    orders.map(async (order) => {
      const child = fork(module);
      child.on('message', onResult);
      child.send(order);
      const [code] = (await once(child, 'exit')) as [number | null];
      if (code !== 0) throw new Error(`${module.pathname} ended with ${String(code)}`);
    }),
  );
}

/** The body of such a process: it gets its work in one message, and sends a message for each result. */
export function bePart(
  work: (stores: Stores, order: unknown, send: (result: object) => void) => Promise<unknown>,
): void {
  const run = async (order: unknown) => {
    const stores = await startStores();
    try {
      await work(stores, order, (result) => void process.send?.(result));
    } finally {
      await stores.stop();
    }
  };
  process.once('message', (order: unknown) => {
    run(order).then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}
