import { access } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { EXIT, type ExitCode, UsageError } from '../errors.ts';
import { openEngine, type Engine } from '../lake/engine.ts';
import { storeLabels, type Label } from '../ledger/subjects.ts';
import { parseAddress } from '../ton/address.ts';
import { examples } from './option-words.ts';
import { type Invocation, runCommand, withStore } from './run-command.ts';

export function defineLabels(command: Command): void {
  command.addHelpText(
    'after',
    examples(
      'toncenter-etl labels import exchanges.csv',
      'toncenter-etl sql "select category, count(*) from labels group by 1"',
    ),
  );
  command
    .command('import')
    .description('load names from a CSV file')
    .argument('<file>', 'with a header: address, label, and optionally category and organization')
    .action((file: string) => runCommand((invocation) => importLabels(invocation, file)));
}

/** `labels import FILE`: its rows replace those of an earlier import of a file of this name. */
async function importLabels(invocation: Invocation, path: string): Promise<ExitCode> {
  await access(path).catch((cause: unknown) => {
    throw new UsageError(`cannot read ${path}`, { cause, hint: 'Give the path of a CSV file.' });
  });
  const engine = await openEngine();
  try {
    return await withStore(invocation, 'toncenter-etl labels', async ({ database }) => {
      const refused: Refused = { rows: 0 };
      const { stored, replaced } = await storeLabels(
        database,
        basename(path),
        readLabels(engine, path, refused),
      );
      console.log(`labelled  ${stored} accounts by ${basename(path)}`);
      const [first] = replaced;
      if (first !== undefined)
        console.log(
          `replaced  ${replaced.length} labels of other files, the first: ${first.address} is "${first.label}", and was "${first.was}" by ${first.file}`,
        );
      if (refused.first === undefined) return EXIT.done;
      console.log(`refused   ${refused.rows} rows, the first: ${refused.first}`);
      return EXIT.incomplete;
    });
  } finally {
    await engine.close();
  }
}

interface Refused {
  rows: number;
  first?: string;
}

/** The names that files may use for each column. */
const NAMES: Readonly<Record<keyof Label, readonly string[]>> = {
  address: ['address', 'account'],
  label: ['label', 'name'],
  category: ['category'],
  organization: ['organization'],
};

const ROWS = 50_000;

/** Reads a CSV file in batches. Rows without an account or a label are counted as refused. */
async function* readLabels(engine: Engine, path: string, refused: Refused): AsyncGenerator<Label[]> {
  const csv = `read_csv('${path.replaceAll("'", "''")}', header = true, all_varchar = true)`;
  await engine.ask(`create temp table given as select * from ${csv}`).catch((cause: unknown) => {
    throw new UsageError(`${path} is not CSV with a header`, { cause });
  });
  const { rows: found } = await engine.ask(
    `select lower(column_name), column_name from (describe select * from given)`,
  );
  const known = new Map(found.map(([name, own]) => [name, own]));
  const columns = Object.entries(NAMES).map(([name, words]) => {
    const own = words.map((word) => known.get(word)).find((column) => column != null);
    if (own != null) return `trim("${own.replaceAll('"', '""')}")`;
    if (name === 'category' || name === 'organization') return 'null';
    throw new UsageError(`${path} has no column ${words.join(' or ')}`, {
      hint: `Its header has ${[...known.keys()].join(', ')}.`,
    });
  });
  for (let from = 0; ; from += ROWS) {
    const { rows } = await engine.ask(
      `select ${columns.join(', ')} from given where rowid >= ${from} and rowid < ${from + ROWS} order by rowid`,
    );
    if (rows.length === 0) return;
    yield rows.flatMap((row, index) => labelOf(row, from + index + 1, refused));
  }
}

function labelOf(row: readonly (string | null)[], number: number, refused: Refused): Label[] {
  const [address, label, category, organization] = row.map((cell) => (cell === '' ? null : cell));
  try {
    if (label == null) throw new UsageError('it has no label');
    if (row.some((cell) => cell?.includes('\0')))
      throw new UsageError('it has a character NUL, which Postgres cannot store');
    return [
      {
        address: parseAddress(address ?? ''),
        label,
        category: category ?? null,
        organization: organization ?? null,
      },
    ];
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    refused.rows += 1;
    refused.first ??= `row ${number}: ${error.message}`;
    return [];
  }
}
