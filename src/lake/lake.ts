import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { LakeError, UsageError } from '../errors.ts';
import type { Engine } from './engine.ts';
import type { LakeStore } from './lake-store.ts';

/** A lake that is read or written, and the engine for its files. */
export interface Lake {
  readonly store: LakeStore;
  readonly engine: Engine;
}

/** Runs `work` with local copies of a table's files, which exist until it ends; undefined for missing files. */
export async function withFiles<T>(
  { store }: Lake,
  names: readonly string[],
  work: (paths: readonly (string | undefined)[]) => Promise<T>,
): Promise<T> {
  const fetched = await Promise.all(names.map((name) => store.fetch(name)));
  try {
    return await work(fetched.map((file) => file?.path));
  } finally {
    for (const file of fetched) await file?.release();
  }
}

/** SHA-256 of a file, in hex. */
export async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  await pipeline(createReadStream(path), digest);
  return digest.digest('hex');
}

/** @throws UsageError: no table's log is at this place */
export function absent(location: string): never {
  throw new UsageError(`there is no lake at ${location}`, {
    hint: '`toncenter-etl export --out` makes one.',
  });
}

/** @throws LakeError: the log names a file that the lake lacks */
export function missing(path: string): never {
  throw new LakeError(`${path} is in the log, but its file is missing`, {
    hint: '`toncenter-etl verify --lake` lists everything that is missing.',
  });
}
