import type { TableDescription } from '../db/read/table-description.ts';
import type { TextRow } from '../db/read/table-parts.ts';

/** A file that takes rows: begun where it is opened, whole when it is ended. */
export interface RowFile {
  write(rows: readonly TextRow[]): Promise<void>;
  end(): Promise<void>;
}

/** How rows become a file. */
export interface FileFormat {
  /** Ends the name of every file. */
  readonly name: 'parquet' | 'csv';
  open(path: string, table: TableDescription): Promise<RowFile>;
}
