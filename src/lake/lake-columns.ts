import type { TableDescription } from '../read/table-description.ts';
import type { DeltaColumn } from './delta-actions.ts';
import { columnType, EXACT } from './copied-rows.ts';

/** The columns of a lake's files, including `EXACT`, and the partition column, whose value is in the folder's name. */
export function lakeColumns({ columns: own }: TableDescription): DeltaColumn[] {
  const columns = own.map((column) => ({ name: column.name, type: columnType(column).delta }));
  return [...columns, { name: EXACT, type: 'string' }, { name: 'day', type: 'date' }];
}

/** A DuckDB expression for the hash of a row's key, equal to `keyHash` in `src/write/seals.ts`. */
export function keyHash({ key }: TableDescription): string {
  const rest = key.filter((name) => name !== 'utime').map((name) => `"${name}"`);
  const text = `concat_ws('|', epoch_us("utime") // 1000000, ${rest.join(', ')})`;
  return `('0x' || left(md5(${text}), 15))::bigint`;
}
