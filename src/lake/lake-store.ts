/** Prefix of incomplete files: readers of lakes skip names that begin with `_`. */
export const PARTIAL = '_partial-';

/** A file of a lake, as its store lists it. */
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

export interface Fetched {
  readonly path: string;
  release(): Promise<void>;
}
