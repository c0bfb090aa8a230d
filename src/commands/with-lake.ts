import { resolve } from 'node:path';
import { openEngine } from '../lake/engine.ts';
import type { Lake } from '../lake/lake.ts';
import { directoryStore } from '../lake/store/directory-store.ts';

/** Opens the lake at a place, lets a command work with it, and closes it however that ends. */
export async function withLake<T>(place: string, work: (lake: Lake) => Promise<T>): Promise<T> {
  const engine = await openEngine();
  try {
    return await work({ store: directoryStore(resolve(place)), engine });
  } finally {
    await engine.close();
  }
}
