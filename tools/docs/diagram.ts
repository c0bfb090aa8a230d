import type { Catalog, Entity } from './catalog.ts';
import type { DeclaredRelation } from './declared-relations.ts';

const HEAD = `# How tables are joined

Each line of the diagram is a relation: the row on its many side names the row on the other by the columns below. There are no foreign keys in the database, for the other row may not be stored (yet). Where \`utime\` is part of a join, give it: Postgres then reads only the partitions that it needs. Made by \`npm run docs\` from src/tables; columns are in [dictionary.md](dictionary.md).
`;

/** The tables of schema ton and their relations: a diagram in Mermaid, which GitHub draws, and a table of the joins. */
export function writeDiagram({ entities }: Catalog, relations: readonly DeclaredRelation[]): string {
  const tables = entities.filter(({ schema, kind }) => schema === 'ton' && kind === 'table');
  return [
    HEAD,
    '```mermaid',
    'erDiagram',
    ...tables.flatMap((table) => drawTable(table, relations)),
    ...relations.map(
      ({ table, target, name }) => `  ${table} }o--o| ${target} : "${name.replaceAll('_', ' ')}"`,
    ),
    '```\n',
    '| table | relation | join |',
    '|---|---|---|',
    ...relations.map(
      (relation) => `| ${relation.table} | ${relation.name.replaceAll('_', ' ')} | \`${joinOf(relation)}\` |`,
    ),
    '',
  ].join('\n');
}

/** Only the key and the columns of relations: the dictionary has all columns. */
function drawTable({ name, key, columns }: Entity, relations: readonly DeclaredRelation[]): string[] {
  const used = new Set([
    ...key,
    ...relations.filter(({ table }) => table === name).flatMap(({ fields }) => fields),
    ...relations.filter(({ target }) => target === name).flatMap(({ references }) => references),
  ]);
  const lines = columns
    .filter((column) => used.has(column.name))
    .map(
      (column) =>
        `    ${column.type.replaceAll(' ', '_')} ${column.name}${key.includes(column.name) ? ' PK' : ''}`,
    );
  return [`  ${name} {`, ...lines, '  }'];
}

/** The join of a relation in SQL. */
export function joinOf({ table, fields, target, references }: DeclaredRelation): string {
  const other = table === target ? 'other' : target;
  const side = (name: string, columns: readonly string[]) => {
    const list = columns.map((column) => `${name}.${column}`).join(', ');
    return columns.length === 1 ? list : `(${list})`;
  };
  const alias = table === target ? `${target} other` : target;
  return `${table} join ${alias} on ${side(table, fields)} = ${side(other, references)}`;
}
