import { expect } from 'vitest';
import { createDatabase } from '../support/database/postgres.ts';
import { query } from '../support/database/query.ts';
import { hostileCalls, plantHostile } from '../support/database/hostile.ts';
import { openCli } from '../support/program/cli.ts';
import { runEveryCommand } from '../support/program/every-command.ts';
import { thorough } from '../support/thorough.ts';

/*
 * Without this, a role that may create objects in a schema of the default search_path could run code as the
 * program's user, with all of its rights (CVE-2018-1058).
 */
thorough('no command calls functions that other roles created in a schema before pg_catalog', async () => {
  const cli = await openCli();
  const databases = await Promise.all([createDatabase(), createDatabase()]);
  const [url = '', target = ''] = databases.map((database) => database.url);
  try {
    for (const each of [url, target]) {
      const name = new URL(each).pathname.slice(1);
      await plantHostile(each);
      await query(each, `alter database ${name} set search_path = public, pg_catalog`);
    }
    await runEveryCommand(cli, url, 'blocks,transactions,traces,actions,account_states', target);
    for (const each of [url, target]) {
      expect(await hostileCalls(each)).toBe(0);
      // The trap works.
      await expect(query(each, `select hashtextextended('a', 0)`)).rejects.toThrow('hostile');
    }
  } finally {
    for (const { drop } of databases) await drop();
    await cli.close();
  }
});
