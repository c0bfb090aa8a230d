/** With this begin names of files that are not whole yet: readers of lakes skip names that begin with `_`. */
export const PARTIAL = '_partial-';

/** A file of a lake, as its store lists it. */
export interface Listed {
  /** Below the lake, with `/` between folders. */
  readonly name: string;
  /** Unix seconds. */
  readonly changedAt: number;
}

/** Where the files of a lake are: a directory, or a bucket. Names are below the lake, with `/` between folders. */
export interface LakeStore {
  /** As people write it. */
  readonly label: string;
  /** The files of a folder and of those below it, by name; none where there is no such folder. */
  list(folder: string): Promise<Listed[]>;
  /** The folders of the lake itself, by name; not those below them. */
  folders(): Promise<string[]>;
  read(name: string): Promise<string>;
  /** Makes a file, whole or not at all; false where there is one of this name, which is left as it is. */
  create(name: string, text: string): Promise<boolean>;
  /** Brings a local file, whole or not at all. */
  put(name: string, path: string): Promise<void>;
  /** The path of a local file with these contents, until `release`; undefined where the lake has no such file. */
  fetch(name: string): Promise<Fetched | undefined>;
  remove(name: string): Promise<void>;
}

export interface Fetched {
  readonly path: string;
  release(): Promise<void>;
}
