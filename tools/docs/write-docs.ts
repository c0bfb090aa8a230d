import type { Database } from '../../src/db/connection/database.ts';
import { readCatalog } from './catalog.ts';
import { declaredRelations } from './declared-relations.ts';
import { writeDiagram } from './diagram.ts';
import { writeDictionary } from './dictionary.ts';

/** The generated pages of docs/analyst, by file name, as a migrated database and the declared relations make them. */
export async function writeDocs(database: Database): Promise<Readonly<Record<string, string>>> {
  const catalog = await readCatalog(database);
  return {
    'dictionary.md': writeDictionary(catalog),
    'diagram.md': writeDiagram(catalog, await declaredRelations()),
  };
}
