import { text as textOf } from 'node:stream/consumers';
import { UsageError } from '../../errors.ts';
import type { SqlFormat } from '../output/sql/format-result.ts';
import { saysSomething, splitSql } from './split-sql.ts';
import { programName } from '../../terminal/program-name.ts';

export interface SqlFlags {
  readonly url?: boolean;
  readonly write?: boolean;
  readonly csv?: boolean;
  readonly spreadsheet?: boolean;
  readonly json?: boolean;
}

/** What `sql` is asked for: where the database is, statements, or a conversation. */
type SqlWanted =
  | { readonly kind: 'url' }
  | { readonly kind: 'conversation'; readonly format: SqlFormat }
  | { readonly kind: 'statements'; readonly format: SqlFormat; readonly statements: readonly string[] };

/**
 * Takes the statements of the argument, else of stdin; at a terminal none means a conversation.
 * @throws UsageError where flags exclude each other, or there is no statement
 */
export async function parseSql(given: string | undefined, flags: SqlFlags): Promise<SqlWanted> {
  const { url = false, ...others } = flags;
  if (url) {
    if (given === undefined && !Object.values(others).includes(true)) return { kind: 'url' };
    throw new UsageError('--url stands alone: it prints where the database is, and runs nothing');
  }
  const format = formatOf(others);
  if (given === undefined && process.stdin.isTTY) return { kind: 'conversation', format };
  return { kind: 'statements', format, statements: readStatements(given ?? (await textOf(process.stdin))) };
}

function formatOf({ csv = false, json = false, spreadsheet = false }: SqlFlags): SqlFormat {
  if (spreadsheet && !csv) throw new UsageError('--spreadsheet is a kind of --csv: give both');
  if (csv && json) throw new UsageError('--csv and --json exclude each other');
  return spreadsheet ? 'spreadsheet' : csv ? 'csv' : json ? 'json' : 'table';
}

function readStatements(text: string): string[] {
  const { statements, rest } = splitSql(text);
  const all = saysSomething(rest) ? [...statements, rest] : [...statements];
  const end = all.indexOf('\\q');
  if (end !== -1) all.length = end;
  if (all.length > 0) return all;
  throw new UsageError('there is no statement', {
    hint: `Give one as argument or on stdin: ${programName} sql "select count(*) from transactions".`,
  });
}
