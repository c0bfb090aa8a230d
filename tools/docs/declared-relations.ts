import { type Column, type Relations, createTableRelationsHelpers, is, One } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import * as declared from './relations.ts';

/** How the rows of one table find a row of another, as `relations.ts` declares it. */
export interface DeclaredRelation {
  readonly name: string;
  readonly table: string;
  readonly fields: readonly string[];
  readonly target: string;
  readonly references: readonly string[];
  /** True if these are the primary key of the other table. */
  readonly toKey: boolean;
}

/** Every relation that `relations.ts` exports, by table and name. */
export function declaredRelations(): DeclaredRelation[] {
  const all = Object.values(declared).flatMap(relationsOf);
  return all.sort((a, b) => (`${a.table} ${a.name}` < `${b.table} ${b.name}` ? -1 : 1));
}

function relationsOf({ table, config }: Relations): DeclaredRelation[] {
  return Object.entries(config(createTableRelationsHelpers(table))).flatMap(([name, relation]) => {
    if (!is(relation, One) || relation.config === undefined) return [];
    return [
      {
        name,
        table: nameOf(table),
        fields: relation.config.fields.map((column) => column.name),
        target: nameOf(relation.referencedTable),
        references: relation.config.references.map((column) => column.name),
        toKey: isKey(relation.referencedTable, relation.config.references),
      },
    ];
  });
}

function isKey(table: object, columns: readonly Column[]): boolean {
  if (!is(table, PgTable)) return false;
  const { primaryKeys, columns: all } = getTableConfig(table);
  const key = primaryKeys[0]?.columns ?? all.filter(({ primary }) => primary);
  return key.length === columns.length && key.every(({ name }) => columns.some((each) => each.name === name));
}

function nameOf(table: object): string {
  if (!is(table, PgTable)) throw new TypeError('a relation of something that is no Postgres table');
  return getTableConfig(table).name;
}
