import type { Catalog, Entity } from './catalog.ts';

const HEAD = `# Sources for dbt: every table and view of schema ton, with its columns. Made by npm run docs. Copy it into models/.
version: 2
sources:
  - name: ton
    schema: ton
    loader: toncenter-etl
    tables:`;

/** Sources of a dbt project. A text in JSON's quotes is one of YAML too. */
export function writeDbtSources({ entities }: Catalog): string {
  const ton = entities.filter(({ schema }) => schema === 'ton');
  return [HEAD, ...ton.flatMap(tableLines), ''].join('\n');
}

function tableLines({ name, comment, columns, kind, key }: Entity): string[] {
  // A list of one column can be tested by dbt itself.
  const unique = key.length === 1 ? key[0] : undefined;
  return [
    `      - name: ${name}`,
    `        description: ${JSON.stringify(comment)}`,
    // What `dbt source freshness` looks at, in projects that say how old it may be.
    ...(kind === 'table' && columns.some((column) => column.name === 'loaded_at')
      ? ['        loaded_at_field: loaded_at']
      : []),
    '        columns:',
    ...columns.flatMap((column) => [
      `          - name: ${column.name}`,
      `            description: ${JSON.stringify(column.comment)}`,
      `            data_type: ${column.type}`,
      ...(kind === 'table' && !column.nullable ? [testsLine(column.name === unique)] : []),
    ]),
  ];
}

function testsLine(isUnique: boolean): string {
  return `            data_tests: [${isUnique ? 'not_null, unique' : 'not_null'}]`;
}
