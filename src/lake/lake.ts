import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { LakeError, UsageError } from '../errors.ts';
import type { Engine } from './engine.ts';
import type { LakeStore } from './lake-store.ts';

/** A lake that is read or written, and what reads and writes its files. */
export interface Lake {
  readonly store: LakeStore;
  readonly engine: Engine;
}

/** Works with files of a table, which are here for as long as that takes; undefined for one that the lake lacks. */
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

/** @throws UsageError of a place where no table's log is */
export function absent(place: string): never {
  throw new UsageError(`there is no lake at ${place}`, { hint: '`toncenter-etl export --out` makes one.' });
}

/** @throws LakeError of a file that the log names and the lake lacks */
export function missing(path: string): never {
  throw new LakeError(`${path} is in the log, and its file is missing`, {
    hint: '`toncenter-etl verify --lake` says what else is.',
  });
}
