import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { migrate } from '../../src/migrate/migrate.ts';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { compile } from '../support/program/compile.ts';
import { expectCopiesAtOnce } from '../support/database/copies-at-once.ts';
import { createDatabase, type TestDatabase } from '../support/database/postgres.ts';
import { claimTogether } from '../support/leases/claimants.ts';
import { freePort } from '../support/free-port.ts';
import { openWorkers } from '../support/scale/workers.ts';

const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0;

/** An ordinary user: PgBouncer does not run as root. */
const NOBODY = 65534;
const START = Date.UTC(2026, 2, 1) / 1000;

/** A server that only owns its database, behind PgBouncer in transaction mode with fewer connections than clients. */
describe.skipIf(!hasPgBouncer)(
  'behind PgBouncer in transaction mode, as a role that is not a superuser',
  () => {
    let origin: TestDatabase;
    let directory: string;
    let pooler: ChildProcess;
    let url: string;
    let database: Database;
    const role = `plain_${process.pid}`;

    beforeAll(async () => {
      origin = await createDatabase();
      await asSuperuser(origin.url, [
        `create role ${role} login password 'secret'`,
        `alter database ${pg.escapeIdentifier(new URL(origin.url).pathname.slice(1))} owner to ${role}`,
      ]);
      directory = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
      const port = await freePort();
      await writeFile(join(directory, 'ini'), configuration(origin.url, role, port));
      await chmod(directory, 0o755);
      const uid = process.getuid?.() === 0 ? { uid: NOBODY } : {};
      pooler = spawn('pgbouncer', ['-q', join(directory, 'ini')], { stdio: 'inherit', ...uid });
      url = `postgres://${role}@127.0.0.1:${port}${new URL(origin.url).pathname}`;
      await delay(500);
      database = await openDatabase({ url, applicationName: 'test' });
    });
    afterAll(async () => {
      await database.close();
      pooler.kill('SIGKILL');
      await once(pooler, 'exit');
      await origin.drop();
      await asSuperuser(inject('postgresUrl'), [`drop role ${role}`]);
      await rm(directory, { recursive: true, force: true });
    });

    test('processes that start at once migrate it once', async () => {
      await Promise.all(
        Array.from({ length: 4 }, async () => {
          const own = await openDatabase({ url, applicationName: 'migrate' });
          await migrate(own);
          await own.close();
        }),
      );
    });

    test('a COPY and the statements behind it are sent at once, and a failed one leaves nothing behind', async () => {
      await expectCopiesAtOnce(database);
    });

    test('no two processes get the same second', async () => {
      const compiled = await compile();
      const stream = { dataset: 'shared', scope: '', pass: 0 };
      const wanted = { from: 0, to: 1000 };
      const reports = await claimTogether(compiled, 4, { database: url, stream, wanted });
      expect(reports.map(({ error }) => error)).toEqual(reports.map(() => undefined));
      const seconds = reports.flatMap(({ covered }) => covered.map(({ from }) => from)).sort((a, b) => a - b);
      expect(seconds).toEqual(Array.from({ length: wanted.to }, (_, second) => second));
    });

    test('processes share a range and the budget', async () => {
      const [rps, span] = [25, 1800];
      const simulator = await startSimulator({
        start: START,
        duration: span + 600,
        load: 10,
        accounts: 300,
        rateLimit: { kind: 'sliding-window', rps, graceMs: 100 },
      });
      const workers = await openWorkers();
      const range = { from: START, to: START + span };
      const order = { database: url, api: simulator.url, rps, datasets: ['transactions'], range, page: 50 };
      const processes = await Promise.all(Array.from({ length: 4 }, () => workers.start(order)));
      const ends = processes.map((each) => once(each, 'exit'));
      for (const each of processes) each.send('go');
      expect((await Promise.all(ends)).map(([code]) => code as unknown)).toEqual([0, 0, 0, 0]);
      const stream = { dataset: 'transactions', scope: '', pass: 0 };
      expect(await readCoverage(database, stream)).toEqual([range]);
      const { total, byStatus } = simulator.stats;
      console.log('behind PgBouncer', { requests: total, refused: byStatus.get(429) ?? 0 });
      expect(byStatus.get(429) ?? 0).toBeLessThanOrEqual(1);
      await workers.close();
      await simulator.close();
    });
  },
);

async function asSuperuser(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

function configuration(url: string, role: string, port: number): string {
  const { hostname, port: serverPort } = new URL(url);
  return `[databases]
* = host=${hostname} port=${serverPort} user=${role} password=secret
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 12
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
`;
}
