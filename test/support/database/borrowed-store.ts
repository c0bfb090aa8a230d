import type { Store } from '../../../src/app/open-store.ts';

/** A store on a database that the caller opened, and closes. */
export function borrowedStore({ database, url }: Pick<Store, 'database' | 'url'>): Store {
  const leave = () => Promise.resolve();
  return { database, url, embedded: undefined, close: leave, abandon: leave };
}
