import { Column } from './column.ts';

/** Rows of the transactions of one family. */
export class EventTable {
  /** In the order (lt, account). */
  readonly byLt = Column.uint32();
  /** In the order (utime, lt, account). */
  readonly byTime = Column.uint32();

  /** Appends the rows of one round, ascending by (lt, account). */
  append(rows: readonly number[], utime: (row: number) => number): void {
    for (const row of rows) this.byLt.push(row);
    for (const row of rows.toSorted((a, b) => utime(a) - utime(b) || a - b)) this.byTime.push(row);
  }
}
