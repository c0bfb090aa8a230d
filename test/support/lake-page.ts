import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/package.ts';
import { questions } from './questions.ts';

export type LakeEngine = 'clickhouse' | 'spark' | 'trino';

export interface LakePage {
  /** Without comments and the last semicolon. */
  readonly statements: readonly string[];
  /** Relations and functions that the statements make, with their schema. */
  readonly made: ReadonlySet<string>;
  /** Functions that the engine lacks, and whose calls are replaced in questions. */
  readonly replaced: readonly string[];
  /** What left-out statements need, and neither the lake nor the page has. */
  readonly lacking: ReadonlySet<string>;
}

/** Names the tables of a lake, in the words of each engine. */
const TABLE = /(?:lake['"`}]?\/|delta\.lake\.|table_name => ')(\w+)/g;
/** Names our relations and functions. */
const OURS = /(?<![\w.])(?:delta\.)?((?:ton|etl)\.\w+)/g;
/** Makes something. */
const MADE = /^create or replace (?:view|function) (?:delta\.)?(?:(ton|etl)\.)?(\w+)/;

/**
 * The page that makes an engine's views, over a lake of certain tables: empty lines separate its statements. A
 * statement is left out if it needs what neither the lake has nor an earlier statement makes.
 */
export async function pageFor(engine: LakeEngine, tables: ReadonlySet<string>): Promise<LakePage> {
  const page = await readFile(join(packageRoot, `docs/analyst/lake-${engine}.sql`), 'utf8');
  const statements: string[] = [];
  const [made, lacking] = [new Set<string>(), new Set<string>()];
  for (const part of page.split('\n\n')) {
    const text = part
      .replaceAll(/^--.*\n/gm, '')
      .trim()
      .replace(/;$/, '');
    const [, schema = 'ton', name] = MADE.exec(text) ?? [];
    const own = name === undefined ? '' : `${schema}.${name}`;
    const needed = [
      ...[...text.matchAll(TABLE)].flatMap(([, table = '']) => (tables.has(table) ? [] : table)),
      ...[...text.matchAll(OURS)].flatMap(([, ours = '']) => (ours === own || made.has(ours) ? [] : ours)),
    ];
    for (const one of needed) lacking.add(one);
    if (needed.length > 0) continue;
    statements.push(text);
    if (own !== '') made.add(own);
  }
  return { statements, made, lacking, replaced: engine === 'trino' ? ['nano_to_ton', 'ton_address'] : [] };
}

/** The questions that an engine answers after a page. */
export function questionsFor({ made, replaced }: LakePage) {
  return questions.filter(({ statement }) => {
    const own = new Set([...statement.matchAll(/(\w+) as (?:materialized )?\(/g)].map(([, name]) => name));
    const relations = [...statement.matchAll(/\b(?:from|join) (\w+)/g)].map(([, name = '']) => name);
    const functions = [...statement.matchAll(/\b((?:ton_address|nano_to_ton|jetton_units|hash_hex)\w*)\(/g)];
    return [...relations, ...functions.map(([, name = '']) => name)].every(
      (name) => own.has(name) || replaced.includes(name) || made.has(`ton.${name}`),
    );
  });
}
