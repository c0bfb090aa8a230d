import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../src/postgres/database.ts';
import { lakeSqlOfTables } from '../../src/lake/open-lake.ts';
import { packageRoot } from '../../src/package.ts';
import { readCatalog } from './catalog.ts';
import { declaredRelations } from './declared-relations.ts';
import { writeDbtSources } from './dbt-sources.ts';
import { writeSupersetDatasets } from './superset-datasets.ts';
import { writeDiagram } from './diagram.ts';
import { writeDictionary } from './dictionary.ts';
import { sparkSql } from './spark-sql.ts';
import { clickHouseSql } from './clickhouse-sql.ts';
import { trinoSql } from './trino-sql.ts';
import { writeForeignKeys, writeForeignKeyStatements } from './foreign-keys.ts';
import { SAVED, Times } from '../bench/page/saved.ts';
import { readFeeds, writeNeeds } from './needs.ts';

/** The folder of generated pages, and of one handwritten page with some generated lines. */
const FOLDER = join('docs', 'analyst');

/** Files that are generated from a migrated database and the declared relations, by their path in the repository. */
export async function writeDocs(database: Database): Promise<Readonly<Record<string, string>>> {
  const catalog = await readCatalog(database);
  const relations = declaredRelations();
  const feeds = await readFeeds(database);
  const questions = await readFile(join(packageRoot, FOLDER, 'questions.md'), 'utf8');
  const timed = Times.parse(JSON.parse(await readFile(join(packageRoot, SAVED), 'utf8')));
  const pages = {
    'dictionary.md': writeDictionary(catalog),
    'diagram.md': writeDiagram(catalog, relations),
    'foreign-keys.json': writeForeignKeys(relations),
    'foreign-keys.sql': writeForeignKeyStatements(relations),
    'lake.sql': await lakeSqlOfTables(),
    'lake-spark.sql': await sparkSql(),
    'lake-clickhouse.sql': await clickHouseSql(),
    'lake-trino.sql': await trinoSql(),
    'questions.md': writeNeeds(questions, feeds, timed),
  };
  return {
    ...inFolder(FOLDER, pages),
    ...inFolder(join('deploy', 'superset', 'datasets', 'TON'), writeSupersetDatasets(catalog)),
    ...inFolder(join('deploy', 'dbt', 'models'), { 'sources.yml': writeDbtSources(catalog, feeds) }),
  };
}

function inFolder(folder: string, files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [join(folder, name), text]));
}
