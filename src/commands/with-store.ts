import { openStore, type Store } from '../app.ts';
import type { Invocation } from './command.ts';

/** Opens the database, lets a command work with it, and closes it however that ends. `name` is what Postgres shows of who is connected. */
export async function withStore<T>(
  { config, logger }: Pick<Invocation, 'config' | 'logger'>,
  name: string | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(config, logger, name);
  return closeAfter(store, () => work(store));
}

/** Works, and closes the database however that ends. */
export async function closeAfter<T>(store: Store, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await store.close();
  }
}
