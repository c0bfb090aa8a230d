import { openDatabase, type Database } from '../../../src/postgres/database.ts';
import { migrate } from '../../../src/migrate/migrate.ts';
import { createDatabase, templateDatabase } from './postgres.ts';

export interface TestStore {
  readonly url: string;
  readonly database: Database;
  close(): Promise<void>;
}

/** A separate, migrated database that is dropped when closed. */
export async function openTestStore(): Promise<TestStore> {
  const template = await templateDatabase('migrated', async (url) => {
    const database = await openDatabase({ url, applicationName: 'template' });
    await migrate(database);
    await database.close();
  });
  const { url, drop } = await createDatabase({ template });
  const database = await openDatabase({ url, applicationName: 'test' });
  return {
    url,
    database,
    async close() {
      await database.close();
      await drop();
    },
  };
}
