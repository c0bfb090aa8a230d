import { resolve } from 'node:path';
import { isBucket } from '../settings/config.ts';
import { openEngine } from './engine.ts';
import { tablesIn } from './delta-log.ts';
import { absent, type Lake } from './lake.ts';
import { directoryStore } from './directory-store.ts';
import { s3Store } from './s3-store.ts';

/** Opens the lake at a place, a directory or `s3://bucket/prefix`, runs `work` with it, and closes it. */
export async function withLake<T>(location: string, work: (lake: Lake) => Promise<T>): Promise<T> {
  const isRemote = isBucket(location);
  const engine = await openEngine();
  try {
    const store = isRemote
      ? await s3Store(location, (name) => engine.scratch(name))
      : directoryStore(resolve(location));
    return await work({ store, engine });
  } finally {
    await engine.close();
  }
}

/**
 * Like `withLake`, for work that only reads: the lake must exist.
 * @throws UsageError if it does not, for example because its name is misspelt
 */
export function withExistingLake<T>(location: string, work: (lake: Lake) => Promise<T>): Promise<T> {
  return withLake(location, async (lake) => {
    if ((await tablesIn(lake.store)).length === 0) absent(lake.store.label);
    return work(lake);
  });
}
