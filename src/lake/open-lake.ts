import { resolve } from 'node:path';
import { openEngine } from './engine.ts';
import type { Lake } from './lake.ts';
import { directoryStore } from './store/directory-store.ts';

/** Opens the lake at a place, lets somebody work with it, and closes it however that ends. */
export async function withLake<T>(place: string, work: (lake: Lake) => Promise<T>): Promise<T> {
  const engine = await openEngine();
  try {
    return await work({ store: directoryStore(resolve(place)), engine });
  } finally {
    await engine.close();
  }
}
