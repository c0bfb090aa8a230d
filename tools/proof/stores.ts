import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDatabase } from '../../src/postgres/database.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { migrate } from '../../src/migrate/migrate.ts';
import type { TestStore } from '../../test/support/database/database.ts';
import type { Databases } from './matrix/proved-network.ts';

/** Makes migrated databases, one after the other. */
export interface Stores extends Databases {
  create(): Promise<TestStore>;
  stop(): Promise<void>;
}

/** A separate embedded server, without fsync, in a directory that is removed at the end. */
export async function startStores(): Promise<Stores> {
  const dataDir = await mkdtemp(join(tmpdir(), 'toncenter-etl-proof-'));
  const server = await openEmbedded({
    dataDir,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  });
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query('create database template_of_all');
  await migrateTemplate(urlOf(server.url, 'template_of_all'));
  let made = 0;
  return {
    async template(name, prepare) {
      await admin.query(`create database ${name}`);
      await prepare(urlOf(server.url, name));
      return name;
    },
    async clone(source) {
      const name = `proof_${(made += 1)}`;
      await admin.query(`create database ${name} template ${source}`);
      const drop = async () => {
        await admin.query(`drop database ${name} with (force)`);
      };
      return { url: urlOf(server.url, name), drop };
    },
    async create() {
      const name = `proof_${(made += 1)}`;
      await admin.query(`create database ${name} template template_of_all`);
      const url = urlOf(server.url, name);
      const database = await openDatabase({ url, applicationName: 'proof' });
      return {
        url,
        database,
        async close() {
          await database.close();
          await admin.query(`drop database ${name} with (force)`);
        },
      };
    },
    async stop() {
      await admin.end();
      await server.close();
      await rm(server.dataDir, { recursive: true, force: true });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function migrateTemplate(url: string): Promise<void> {
  const template = await openDatabase({ url, applicationName: 'proof' });
  await migrate(template);
  await template.close();
}

function urlOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
