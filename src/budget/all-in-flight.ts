import PQueue from 'p-queue';
import type { InFlight } from './in-flight.ts';

/**
 * Works on all items, on as many at once as requests should be in flight. Results are in the order of the items. After a
 * failure none is begun, and those under way are waited for.
 * @throws the first error of any
 */
export async function allInFlight<T, R>(
  inFlight: Pick<InFlight, 'target'>,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const queue = new PQueue({ concurrency: inFlight.target });
  let failure: { readonly error: unknown } | undefined;
  const run = async (item: T) => {
    queue.concurrency = inFlight.target;
    if (failure !== undefined) throw failure.error;
    try {
      return await work(item);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  };
  const running = items.map((item) => queue.add(() => run(item)));
  await Promise.allSettled(running);
  return Promise.all(running);
}
