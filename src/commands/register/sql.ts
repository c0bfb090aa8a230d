import type { Command } from 'commander';
import type { sql } from '../sql.ts';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerSql(program: Command): void {
  program
    .command('sql')
    .description('run SQL: one statement, several from a pipe, or a prompt; read-only unless --write')
    .argument('[statement]', 'else stdin is read, or on a terminal a prompt shown')
    .option('--write', 'allow statements that change rows')
    .option(
      '--url',
      'print the connection string, with its password, for psql and other programs; runs nothing',
    )
    .option('--csv', 'comma-separated values with a header')
    .option('--spreadsheet', 'with --csv: as Excel and LibreOffice read it, without formulas and lost digits')
    .option('--json', 'an array of objects, values as strings')
    .option('--lake <place>', 'ask the lake that `export` wrote instead, in the SQL of DuckDB')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl sql "select * from transactions order by utime desc limit 5"',
        'toncenter-etl sql --csv < report.sql > report.csv',
        'toncenter-etl sql --json "select * from dex_volume where day = \'2026-01-01\'"',
        'toncenter-etl sql --lake ./lake "select * from daily_activity"',
        'toncenter-etl sql    # a prompt; \\? tells more',
        'psql "$(toncenter-etl sql --url)"    # while sync runs',
      ),
    )
    .action(
      (
        statement: string | undefined,
        { lake, ...flags }: Parameters<typeof sql>[2] & { readonly lake?: string },
      ) =>
        runCommand(async (invocation) =>
          lake === undefined
            ? (await import('../sql.ts')).sql(invocation, statement, flags)
            : (await import('../sql-of-lake.ts')).sqlOfLake(lake, statement, flags),
        ),
    );
}
