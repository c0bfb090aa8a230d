import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { LakeError, UsageError } from '../errors.ts';
import type { Engine } from './engine.ts';

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

/** @throws UsageError: no table's log is at this location */
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

/** Prefix of incomplete files: readers of lakes skip names that begin with `_`. */
export const PARTIAL = '_partial-';

export interface Listed {
  /** Below the lake, with `/` between folders. */
  readonly name: string;
  /** Unix seconds. */
  readonly changedAt: number;
}

/** The storage of a lake: a directory or a bucket. Names are below the lake, with `/` between folders. */
export interface LakeStore {
  readonly label: string;
  /** The files of a folder and of its subfolders, by name; none if the folder does not exist. */
  list(folder: string): Promise<Listed[]>;
  /** The top-level folders of the lake, by name. */
  folders(): Promise<string[]>;
  read(name: string): Promise<string>;
  /** Creates a file, completely or not at all. False if it exists already; then it is not changed. */
  create(name: string, text: string): Promise<boolean>;
  /** Stores a local file, completely or not at all. */
  put(name: string, path: string): Promise<void>;
  /** The path of a local file with these contents, until `release`; undefined if the lake has no such file. */
  fetch(name: string): Promise<Fetched | undefined>;
  remove(name: string): Promise<void>;
}

interface Fetched {
  readonly path: string;
  release(): Promise<void>;
}
