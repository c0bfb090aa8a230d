import { openStore, type Store } from '../app.ts';
import type { Invocation } from './command.ts';

/** Opens the database, lets a command work with it, and closes it however that ends. `name` is what Postgres shows of who is connected. */
export async function withStore<T>(
  { config, logger }: Pick<Invocation, 'config' | 'logger'>,
  name: string | undefined,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(config, logger, name);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
