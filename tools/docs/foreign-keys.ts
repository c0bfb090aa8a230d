import type { DeclaredRelation } from './declared-relations.ts';

/**
 * Joins of one column, for programs whose foreign keys have only one. If there are several to one table, the
 * first by name.
 */
export function writeForeignKeys(relations: readonly DeclaredRelation[]): string {
  const keys = relations.flatMap(({ table, fields, target, references }) => {
    const [column, other] = [fields.at(-1), references.at(-1)];
    // A time next to the hash only prunes partitions: the hash finds the row alone.
    const isSingle = fields.filter((field) => !/utime$/.test(field)).length === 1;
    return isSingle ? [{ schema: 'ton', table, column, target, references: other }] : [];
  });
  return `${JSON.stringify(keys, null, 2)}\n`;
}

const HEAD = `-- Foreign keys that Postgres 18 and newer keep without looking at the rows: the other row may not be stored. Metabase,
-- DBeaver and SQLAlchemy read them. Run it as the owner; it can be run again, and after a new version has migrated.
`;

/**
 * Joins to lists as statements, for programs that read the database's own foreign keys. Tables with
 * partitions are not joined to: even with keys that it does not enforce, Postgres drops no partition whose
 * rows are referenced.
 */
export function writeForeignKeyStatements(relations: readonly DeclaredRelation[]): string {
  const keys = relations.filter(({ toKey, references }) => toKey && !references.includes('utime'));
  const statements = keys.map(({ name, table, fields, target, references }) => {
    const constraint = `${table}_${name}`;
    return `alter table ton.${table} drop constraint if exists ${constraint},
  add constraint ${constraint} foreign key (${fields.join(', ')}) references ton.${target} (${references.join(', ')}) not enforced;`;
  });
  return [HEAD, ...statements, ''].join('\n');
}
