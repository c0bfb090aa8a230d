import { readdir } from 'node:fs/promises';
import { createTableRelationsHelpers, is, One, Relations } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';

/** How the rows of one table find a row of another, as src/db/schema declares it. */
export interface DeclaredRelation {
  readonly name: string;
  readonly table: string;
  readonly fields: readonly string[];
  readonly target: string;
  readonly references: readonly string[];
}

const FOLDER = new URL('../../src/db/schema/', import.meta.url);

/** Every relation that a file in src/db/schema exports, by table and name. There is no list to extend. */
export async function declaredRelations(): Promise<DeclaredRelation[]> {
  const files = (await readdir(FOLDER)).filter((file) => /\.[jt]s$/.test(file)).sort();
  const modules = await Promise.all(
    files.map((file) => import(new URL(file, FOLDER).href) as Promise<object>),
  );
  const all = modules
    .flatMap((module): unknown[] => Object.values(module))
    .filter((value) => is(value, Relations));
  return all.flatMap(relationsOf).sort((a, b) => (`${a.table} ${a.name}` < `${b.table} ${b.name}` ? -1 : 1));
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
      },
    ];
  });
}

function nameOf(table: object): string {
  if (!is(table, PgTable)) throw new TypeError('a relation of something that is no Postgres table');
  return getTableConfig(table).name;
}
