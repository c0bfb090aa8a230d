import type { DeclaredRelation } from './declared-relations.ts';

/** Joins of one column, for programs that know foreign keys of no more. Of several to one table the first by name. */
export function writeForeignKeys(relations: readonly DeclaredRelation[]): string {
  const keys = relations.flatMap(({ table, fields, target, references }) => {
    const [column, other] = [fields.at(-1), references.at(-1)];
    // A time beside the hash only spares partitions: the hash finds the row alone.
    const isSingle = fields.filter((field) => !/utime$/.test(field)).length === 1;
    return isSingle ? [{ schema: 'ton', table, column, target, references: other }] : [];
  });
  return `${JSON.stringify(keys, null, 2)}\n`;
}
