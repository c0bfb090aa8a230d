import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../src/postgres/database.ts';
import { lakeSqlOfTables } from '../../src/lake/open-lake-reader.ts';
import { packageRoot } from '../../src/package.ts';
import { readCatalog } from './catalog.ts';
import { declaredRelations } from './declared-relations.ts';
import { writeDbtSources } from './dbt-sources.ts';
import { writeDiagram } from './diagram.ts';
import { writeDictionary } from './dictionary.ts';
import { sparkSql } from './spark-sql.ts';
import { clickHouseSql } from './clickhouse-sql.ts';
import { trinoSql } from './trino-sql.ts';
import { writeForeignKeys, writeForeignKeyStatements } from './foreign-keys.ts';
import { SAVED, Times } from '../bench/page/saved.ts';
import { readFeeds, writeNeeds } from './needs.ts';

/** Generated pages live here, and the one that is written by hand but for some lines. */
const FOLDER = join(packageRoot, 'docs', 'analyst');

/** The generated pages of docs/analyst, by file name, as a migrated database and the declared relations make them. */
export async function writeDocs(database: Database): Promise<Readonly<Record<string, string>>> {
  const catalog = await readCatalog(database);
  const relations = declaredRelations();
  const questions = await readFile(join(FOLDER, 'questions.md'), 'utf8');
  const timed = Times.parse(JSON.parse(await readFile(join(packageRoot, SAVED), 'utf8')));
  return {
    'dictionary.md': writeDictionary(catalog),
    'diagram.md': writeDiagram(catalog, relations),
    'foreign-keys.json': writeForeignKeys(relations),
    'foreign-keys.sql': writeForeignKeyStatements(relations),
    'dbt-sources.yml': writeDbtSources(catalog),
    'lake.sql': await lakeSqlOfTables(),
    'lake-spark.sql': await sparkSql(),
    'lake-clickhouse.sql': await clickHouseSql(),
    'lake-trino.sql': await trinoSql(),
    'questions.md': writeNeeds(questions, await readFeeds(database), timed),
  };
}
