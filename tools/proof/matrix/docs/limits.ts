import { STEPS, type Table } from '../cells.ts';
import type { LastRun } from './last-run.ts';

/** The results of a table's cells, by column and way; whole rows are `row`. */
type ByColumn = ReadonlyMap<string, ReadonlyMap<string, LastRun[string]>>;

const SEERS = ['verify', 'second reading', 'deep', 'nothing'] as const;

const HEAD = `<!-- Written by \`npm run proof -- --matrix --save\`: do not edit. -->`;

/** The page that shows the whole matrix: for each column, what sees which alteration of it first. */
export function matrixPage(run: LastRun, tables: readonly Table[], unchecked: readonly string[]): string {
  const cells = Object.keys(run).length;
  const first = new Set(Object.values(run).map(([seer]) => seer));
  const seers = SEERS.filter((seer) => first.has(seer));
  const parts = tables.map((table) => {
    const columns = columnsOf(run, table);
    const rows = [...columns].map(
      ([column, ways]) => `| \`${column}\` | ${seers.map((seer) => waysOf(ways, seer)).join(' | ')} |`,
    );
    return `## ${table.name}\n\n| column | ${seers.join(' | ')} |\n|---|${seers.map(() => '---|').join('')}\n${rows.join('\n')}\n${unhealed(columns)}`;
  });
  return `${HEAD}

# What sees an altered value

One stored value of a simulated network was altered in a range that was proved, ${cells} times, and each command was asked what it makes of it. The table says what sees it first: \`verify\` alone, or \`verify --deep 100%\`. A value that one dataset still certifies counts as not seen by \`verify\`. What \`verify\` sees was altered in up to 48 further rows, and the row that is seen last decides.

How it was altered: *changed* to another value of its form, numbers and times to the next one, or by *less1*, *more1000* or *less1000*; given *other* another row's value, made *null*, or *filled* where it was null. A row was *deleted*, *moved* to another second (by *1* or *9* seconds, *1h*, *1d* or *40d*, onward or *back*), *doubled* under another key (named at the column that differs) or *invented*.

## What only \`--deep\` sees

Plain \`verify\` does not see each alteration of these columns, for every dataset that holds the row. A column *by little* is seen if it is changed by much. \`--deep 100%\` sees them all, and heals them with \`--repair\`.

${limitsSection(run, tables)}
## Datasets without a check

These datasets have no check and no seal. An altered row is seen by nothing; another reading may overwrite it.

${unchecked.map((name) => `\`${name}\``).join(', ')}.

${parts.join('\n')}`;
}

/** The section on what plain verification cannot see, a line a table. */
function limitsSection(run: LastRun, tables: readonly Table[]): string {
  const rows = tables.flatMap((table) => {
    const unseen = [...columnsOf(run, table)].flatMap(([column, ways]) => {
      const left = [...ways].flatMap(([way, [first]]) => (first === 'verify' ? [] : [way]));
      if (column === 'row') return left.map((way) => `a row ${way}`);
      return left.length === 0 ? [] : [`\`${column}\`${isSeenFar(ways, left) ? ' (by little)' : ''}`];
    });
    return unseen.length === 0 ? [] : [`| \`${table.name}\` | ${unseen.join(', ')} |`];
  });
  return `| table | values of these columns |\n|---|---|\n${rows.join('\n')}\n`;
}

const FAR = Object.keys(STEPS).filter((way) => way.endsWith('1000'));
const LITTLE: ReadonlySet<string> = new Set(['changed', 'less1']);

/** True for a column whose large changes are seen, and only small steps are not. */
function isSeenFar(ways: ReadonlyMap<string, LastRun[string]>, unseen: readonly string[]): boolean {
  return FAR.every((way) => ways.get(way)?.[0] === 'verify') && unseen.every((way) => LITTLE.has(way));
}

function columnsOf(run: LastRun, { name, columns }: Table): ByColumn {
  const all = ['row', ...columns.map((column) => column.name)];
  return new Map(
    all.flatMap((column) => {
      const start = column === 'row' ? `${name} row ` : `${name}.${column} `;
      const ways = Object.entries(run)
        .filter(([cell]) => cell.startsWith(start))
        .map(([cell, entry]) => [cell.slice(start.length), entry] as const);
      return ways.length === 0 ? [] : [[column, new Map(ways)] as const];
    }),
  );
}

function waysOf(ways: ReadonlyMap<string, LastRun[string]>, seer: (typeof SEERS)[number]): string {
  return [...ways].flatMap(([way, [first]]) => (first === seer ? [way] : [])).join(', ');
}

function unhealed(columns: ByColumn): string {
  const left = [...columns].flatMap(([column, ways]) =>
    [...ways].flatMap(([way, [, , healed]]) => (healed ? [] : [`\`${column}\` ${way}`])),
  );
  return left.length === 0 ? '' : `\nNot healed by \`verify --deep 100% --repair\`: ${left.join(', ')}.\n`;
}
