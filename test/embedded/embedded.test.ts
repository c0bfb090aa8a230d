import { once } from 'node:events';
import { chown, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { addRows, embeddedFixture, hasServer, keptRows, postmasterOf } from './fixture.ts';
import { query } from '../support/database/query.ts';

const asRoot = process.getuid?.() === 0;
const fixture = embeddedFixture();

test('the first open makes a durable server of its own, on 127.0.0.1 only, with a password that only its owner can read', async () => {
  const server = await fixture.openHere({ dataDir: fixture.directory() });
  const [facts] = await query(
    server.url,
    `select current_database() as database, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as sync_commit, current_setting('full_page_writes') as full_pages,
       current_setting('max_connections')::int as connections, current_setting('listen_addresses') as listens,
       current_setting('unix_socket_directories') as sockets, current_setting('password_encryption') as passwords,
       current_setting('max_locks_per_transaction')::int as locks, current_setting('timezone') as timezone,
       current_setting('server_encoding') as encoding, current_setting('autovacuum') as autovacuum,
       (select datcollate from pg_database where datname = current_database()) as locale,
       (select count(*)::int from pg_hba_file_rules where auth_method <> 'scram-sha-256') as open_doors`,
  );
  expect(facts).toEqual({
    database: 'toncenter_etl',
    fsync: 'on',
    sync_commit: 'on',
    full_pages: 'on',
    connections: 100,
    listens: '127.0.0.1',
    sockets: '',
    passwords: 'scram-sha-256',
    locks: 1024,
    timezone: 'UTC',
    encoding: 'UTF8',
    autovacuum: 'on',
    locale: 'C',
    open_doors: 0,
  });
  const marker = join(server.dataDir, 'postgres', 'toncenter-etl.json');
  expect((await stat(marker)).mode & 0o777).toBe(0o600);
  const stranger = new URL(server.url);
  stranger.password = 'guess';
  await expect(query(stranger.href, 'select 1')).rejects.toThrow('password authentication failed');
});

test('close stops the server, and the next open finds the data under the same connection string', async () => {
  const dataDir = await fixture.database();
  const first = await fixture.openHere({ dataDir });
  await addRows(first.url);
  await Promise.all([first.close(), first.close()]);
  expect(hasServer(dataDir)).toBe(false);
  await expect(query(first.url, 'select 1')).rejects.toThrow('ECONNREFUSED');
  const second = await fixture.openHere({ dataDir });
  expect(second.url).toBe(first.url);
  expect(await keptRows(second.url)).toBe(2000);
});

test('a server whose process was killed with -9 is taken over with its data, and the process that took it stops it', async () => {
  const dataDir = await fixture.database();
  const killed = fixture.openThere({ dataDir });
  const { url } = await killed.opened();
  await addRows(url);
  const orphan = postmasterOf(dataDir);
  await killed.kill();
  const server = await fixture.openHere({ dataDir });
  expect(server.url).toBe(url);
  expect(postmasterOf(dataDir)).toBe(orphan);
  expect(await keptRows(server.url)).toBe(2000);
  await server.close();
  expect(hasServer(dataDir)).toBe(false);
});

test('a server that was killed with -9 under load is started again, with all acknowledged rows', async () => {
  const dataDir = await fixture.database();
  const { url } = await fixture.openHere({ dataDir });
  await query(url, 'truncate kept');
  let acknowledged = 0;
  const writer = async () => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    for (;;) {
      await client.query('insert into kept values (1)');
      acknowledged++;
    }
  };
  const writers = Promise.allSettled([writer(), writer(), writer(), writer()]);
  while (acknowledged < 100) await delay(10);
  process.kill(postmasterOf(dataDir), 'SIGKILL');
  const again = await fixture.openHere({ dataDir });
  await writers;
  const kept = Number(await keptRows(again.url));
  expect(kept).toBeGreaterThanOrEqual(acknowledged);
  // Each writer may have had one insert in flight.
  expect(kept).toBeLessThanOrEqual(acknowledged + 4);
});

test('of three processes that open a new directory at once all get the same server, and the last to close stops it', async () => {
  const dataDir = fixture.directory();
  const [one, other] = [fixture.openThere({ dataDir }), fixture.openThere({ dataDir })];
  const [here, ...there] = await Promise.all([fixture.openHere({ dataDir }), one.opened(), other.opened()]);
  expect(there.map(({ url }) => url)).toEqual([here.url, here.url]);
  await addRows(here.url);
  await one.order('close');
  await here.close();
  expect(await keptRows(here.url)).toBe(1000);
  await other.order('close');
  expect(hasServer(dataDir)).toBe(false);
});

test('handles that close at the same moment leave no server behind, and an open at that moment gets one', async () => {
  const dataDir = await fixture.database();
  const handles = await Promise.all(Array.from({ length: 4 }, () => fixture.openHere({ dataDir })));
  const [late] = await Promise.all([
    fixture.openHere({ dataDir }),
    ...handles.map((handle) => handle.close()),
  ]);
  expect(await query(late.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await late.close();
  expect(hasServer(dataDir)).toBe(false);
});

test('when the process that started the server dies, the one that joined it keeps it and stops it', async () => {
  const dataDir = await fixture.database();
  const starter = fixture.openThere({ dataDir });
  const { url } = await starter.opened();
  const server = await fixture.openHere({ dataDir });
  await starter.kill();
  expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await server.close();
  expect(hasServer(dataDir)).toBe(false);
});

test('a process that forgets to close still ends; the server waits for the next one', async () => {
  const dataDir = await fixture.database();
  const forgetful = fixture.openThere({ dataDir });
  await forgetful.opened();
  await forgetful.order('forget');
  expect(hasServer(dataDir)).toBe(true);
  await (await fixture.openHere({ dataDir })).close();
  expect(hasServer(dataDir)).toBe(false);
});

test('an open handle still counts after Postgres restarted its sessions because one of them crashed', async () => {
  const dataDir = await fixture.database();
  const server = await fixture.openHere({ dataDir });
  // Its claim is the lock, which it takes a moment after it connects.
  const keepers = `select pid from pg_stat_activity join pg_locks using (pid)
    where application_name = 'toncenter-etl keeper' and locktype = 'advisory' and granted`;
  const [before] = await query(server.url, keepers);
  process.kill(Number(before?.['pid']), 'SIGKILL');
  let after = before;
  while (after === undefined || after['pid'] === before?.['pid']) {
    await delay(20);
    [after] = await query(server.url, keepers).catch(() => []);
  }
  await (await openEmbedded({ dataDir })).close();
  expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await server.close();
  expect(hasServer(dataDir)).toBe(false);
});

test('the pid of a dead server that another program has now does not keep the server from starting', async () => {
  const dataDir = await fixture.database();
  const server = await fixture.openHere({ dataDir });
  await addRows(server.url);
  const pgdata = join(dataDir, 'postgres');
  const { uid, gid } = await stat(pgdata);
  // The program has the same user: Postgres itself ignores processes of other users.
  const bystander = fixture.run('sleep', ['60'], asRoot ? { uid, gid } : undefined);
  process.kill(postmasterOf(dataDir), 'SIGKILL');
  const lock = join(pgdata, 'postmaster.pid');
  const [, ...rest] = (await readFile(lock, 'utf8')).split('\n');
  await writeFile(lock, [bystander.pid, ...rest].join('\n'));
  const again = await fixture.openHere({ dataDir });
  expect(await keptRows(again.url)).toBe(2000);
  expect(bystander.exitCode).toBeNull();
});

test('an empty lock file of a server that died while it started is no obstacle', async () => {
  const dataDir = await fixture.database();
  await (await fixture.openHere({ dataDir })).close();
  const pgdata = join(dataDir, 'postgres');
  await writeFile(join(pgdata, 'postmaster.pid'), '', { mode: 0o600 });
  if (asRoot) await chown(join(pgdata, 'postmaster.pid'), (await stat(pgdata)).uid, (await stat(pgdata)).gid);
  const server = await fixture.openHere({ dataDir });
  expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test('if its port is taken the server moves to another one and stays there', async () => {
  const dataDir = await fixture.database();
  const first = await fixture.openHere({ dataDir });
  await first.close();
  const squatter = createServer().listen(first.port, '127.0.0.1');
  await once(squatter, 'listening');
  const moved = await fixture.openHere({ dataDir });
  expect(moved.port).not.toBe(first.port);
  await moved.close();
  squatter.close();
  await once(squatter, 'close');
  const last = await fixture.openHere({ dataDir });
  expect(last.port).toBe(moved.port);
});
