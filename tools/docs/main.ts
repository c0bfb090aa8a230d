import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/postgres/database.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { migrate } from '../../src/migrate/migrate.ts';
import { packageRoot } from '../../src/package.ts';
import { writeDocs } from './write-docs.ts';

/* `npm run docs`: writes the generated files of docs/ and deploy/ from a temporary database. */

const dataDir = await mkdtemp(join(tmpdir(), 'toncenter-etl-docs-'));
const server = await openEmbedded({ dataDir });
try {
  const database = await openDatabase({ url: server.url, applicationName: 'docs' });
  await migrate(database);
  for (const [path, text] of Object.entries(await writeDocs(database)))
    await writeFile(join(packageRoot, path), text);
  await database.close();
} finally {
  await server.close();
  await rm(server.dataDir, { recursive: true, force: true });
  await rm(dataDir, { recursive: true, force: true });
}
