import type { Callable, Catalog, Entity } from './catalog.ts';

/** Internal parts of the program, for which the dictionary has one line. */
const HEAD = `# Data dictionary

Every table, view, column and function, in the words that the database itself has for them (\`\\d+ transactions\` in psql shows the same). How tables are joined: [diagram.md](diagram.md). Made by \`npm run docs\`; change the comments, not this file.
`;

/** The data dictionary as Markdown. */
export function writeDictionary({ entities, functions }: Catalog): string {
  const of = (schema: Entity['schema'], kind: Entity['kind']) =>
    entities.filter((entity) => entity.schema === schema && entity.kind === kind);
  return [
    HEAD,
    contents(entities),
    '## Functions\n',
    ...functions.map(describeFunction),
    '## Views of schema ton\n',
    ...of('ton', 'view').map(describeEntity),
    '## Tables of schema ton\n',
    ...of('ton', 'table').map(describeEntity),
    '## Schema etl: how far to trust the data, and the program itself\n',
    ...of('etl', 'view').map(describeEntity),
    ...of('etl', 'table').map(describeEntity),
  ].join('\n');
}

function contents(entities: readonly Entity[]): string {
  const line = (title: string, chosen: readonly Entity[]) =>
    `- ${title}: ${chosen.map(({ name }) => `[${name}](#${name})`).join(', ')}`;
  return `${[
    '- [Functions](#functions)',
    line(
      'Views',
      entities.filter(({ schema, kind }) => schema === 'ton' && kind === 'view'),
    ),
    line(
      'Tables',
      entities.filter(({ schema, kind }) => schema === 'ton' && kind === 'table'),
    ),
    line(
      "The program's own",
      entities.filter(({ schema }) => schema === 'etl'),
    ),
  ].join('\n')}\n`;
}

function describeFunction({ signature, returns, comment }: Callable): string {
  return `\`${signature}\` → \`${returns}\`\n\n${escape(comment)}\n`;
}

function describeEntity({ name, comment, key, indexes, partitioned, columns, kind }: Entity): string {
  const facts = [
    ...(key.length > 0 ? [`Key: ${code(key.join(', '))}.`] : []),
    ...(partitioned ? ['Partitioned by `utime`.'] : []),
    ...(indexes.length > 0 ? [`Indexes: ${indexes.map(code).join(', ')}.`] : []),
  ];
  const rows = columns.map(
    (column) =>
      `| \`${column.name}\` | ${column.type}${kind === 'view' || !column.nullable ? '' : ', null'} | ${escape(column.comment)} |`,
  );
  return [
    `### ${name}\n`,
    `${escape(comment)}\n`,
    ...(facts.length > 0 ? [`${facts.join(' ')}\n`] : []),
    '| column | type | meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

const code = (text: string): string => `\`${text}\``;

/** Text that is safe in a Markdown table. */
function escape(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ').replaceAll('[]', '\\[]');
}
