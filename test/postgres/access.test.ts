import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { sql } from 'drizzle-orm';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { openDatabase } from '../../src/postgres/database.ts';
import { openEmbedded, type EmbeddedServer } from '../../src/embedded/embedded.ts';
import { DatabaseAccessError, DatabaseUnavailableError, EXIT, type EtlError } from '../../src/errors.ts';
import { formatPostgres, parsePostgres, readDatabase } from '../../src/settings/postgres-url.ts';

/** This server is separate, and has TLS once it has a certificate. */
let server: EmbeddedServer;
let directory: string;
/** The embedded server has no socket: this one leads to its port. */
const socket = createServer((local) => {
  const remote = connect(server.port, '127.0.0.1');
  pipeline(local, remote, local, () => undefined);
});
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-access-'));
  await chmod(directory, 0o777);
  server = await openEmbedded({
    dataDir: join(directory, 'data'),
    settings: { fsync: 'off' },
  });
  await new Promise<void>((resolve) => {
    socket.listen(join(directory, `.s.PGSQL.${server.port}`), resolve);
  });
  await asAdmin(`create role guest login password 'p@ss/w:or#d%1'`);
  await asAdmin(`create database standby`);
  for (const encoding of ['LATIN1', 'SQL_ASCII'])
    await asAdmin(`create database in_${encoding} encoding '${encoding}' locale 'C' template template0`);
  await asAdmin(`alter database standby set default_transaction_read_only = on`);
});
afterAll(async () => {
  socket.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

async function asAdmin(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** The server's URL with other parameters. */
function urlWith(changes: Record<string, string>): string {
  return formatPostgres(new Map([...parsePostgres(server.url), ...Object.entries(changes)]));
}

const Session = z.object({ tls: z.boolean(), role: z.string(), at: z.string() });

async function sessionAt(url: string): Promise<z.infer<typeof Session>> {
  const database = await openDatabase({ url, applicationName: 'test', maxConnections: 2 });
  try {
    const [session] = await database.rows(
      sql`select ssl as tls, current_user as role, current_database() as at
        from pg_stat_ssl where pid = pg_backend_pid()`,
      Session,
    );
    return Session.parse(session);
  } finally {
    await database.close();
  }
}

async function errorAt(url: string, statement = sql`select 1`): Promise<EtlError> {
  const attempt = openDatabase({ url, applicationName: 'test' }).then(async (database) => {
    try {
      await database.run(statement);
    } finally {
      await database.close();
    }
  });
  return attempt.then(
    () => expect.fail('the connection was accepted'),
    (error: unknown) => error as EtlError,
  );
}

test('a socket, key=value, and a password of all characters lead to the server', async () => {
  const { password = '', port } = Object.fromEntries(parsePostgres(server.url));
  const user = { dbname: 'standby', user: 'guest', password: 'p@ss/w:or#d%1' };
  const pairs = `host=${directory} port=${port} dbname=standby user=guest password='p@ss/w:or#d%1'`;
  const guest = { tls: false, role: 'guest', at: 'standby' };
  expect(await sessionAt(pairs)).toEqual(guest);
  expect(await sessionAt(readDatabase(pairs, {}).url ?? '')).toEqual(guest);
  expect(await sessionAt(urlWith(user))).toEqual(guest);
  expect(await sessionAt(`postgres://postgres:${password}@/postgres?host=${directory}&port=${port}`)).toEqual(
    {
      tls: false,
      role: 'postgres',
      at: 'postgres',
    },
  );
});

test('of several hosts the first one that answers and fits is used', async () => {
  const { port } = server;
  const away = `127.0.0.1,127.0.0.1`;
  expect(await sessionAt(urlWith({ host: away, port: `1,${port}` }))).toMatchObject({ role: 'postgres' });
  const two = { host: away, port: `${port},${port}`, dbname: 'standby' };
  const unfit = await errorAt(urlWith({ ...two, target_session_attrs: 'read-write' }));
  expect(unfit).toBeInstanceOf(DatabaseUnavailableError);
  expect(unfit.message).toContain('is not read-write');
  expect(await sessionAt(urlWith({ ...two, target_session_attrs: 'read-only' }))).toMatchObject({
    at: 'standby',
  });
});

test.each(['LATIN1', 'SQL_ASCII'])(
  'a database in %s is refused with the statement that creates one with UTF8',
  async (encoding) => {
    const error = await errorAt(urlWith({ dbname: `in_${encoding.toLowerCase()}` }));
    expect(error).toMatchObject({ code: 'wrong_database', exitCode: EXIT.usage });
    expect(error.message).toContain(`uses the encoding ${encoding}`);
    expect(error.hint).toContain(
      `create database in_${encoding.toLowerCase()} encoding 'UTF8' locale 'C' template template0`,
    );
  },
);

test('a read-only database is worth waiting for, and the error says how to find the primary', async () => {
  const error = await errorAt(urlWith({ dbname: 'standby' }), sql`create schema mine`);
  expect(error).toBeInstanceOf(DatabaseUnavailableError);
  expect(error.message).toContain('the database is read-only: cannot execute CREATE SCHEMA');
  expect(error.hint).toMatch(/target_session_attrs/);
});

test.each(['statement_timeout', 'transaction_timeout'])(
  'a timeout (%s) may be a moment of load: it is worth waiting for, and the error says what to raise',
  async (name) => {
    await asAdmin(`alter role guest set ${name} = '50ms'`);
    const error = await errorAt(
      urlWith({ user: 'guest', password: 'p@ss/w:or#d%1' }),
      sql`select pg_sleep(5)`,
    );
    await asAdmin(`alter role guest reset ${name}`);
    expect(error).toBeInstanceOf(DatabaseUnavailableError);
    expect(error.message).toContain('a timeout of the database ended the statement or session');
    expect(error.hint).toContain(`${name} = 0`);
  },
);

describe('what a person must change is reported with its remedy, exit 2', () => {
  test.each([
    [
      'a wrong password',
      { password: 'guess' },
      sql`select 1`,
      '28P01',
      /PGPASSWORD or ~\/\.pgpass.*percent-encoded/,
    ],
    ['no such database', { dbname: 'nowhere' }, sql`select 1`, '3D000', /createdb/],
    [
      'no right',
      { user: 'guest', password: 'p@ss/w:or#d%1' },
      sql`create schema mine`,
      '42501',
      /owner of the database/,
    ],
    [
      'no TLS although it is required',
      { sslmode: 'require' },
      sql`select 1`,
      'does not support SSL',
      /sslmode=prefer/,
    ],
  ])('%s', async (_, changes, statement, message, hint) => {
    const error = await errorAt(urlWith(changes), statement);
    expect(error).toBeInstanceOf(DatabaseAccessError);
    expect(error.message).toContain(message);
    expect(error.hint).toMatch(hint);
    expect(error.exitCode).toBe(EXIT.usage);
  });
});

test('sslmode has the meanings of libpq', async () => {
  for (const sslmode of ['disable', 'allow', 'prefer'])
    expect(await sessionAt(urlWith({ sslmode }))).toMatchObject({ tls: false });
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
      ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate],
    ],
    { stdio: 'ignore' },
  );
  const { uid, gid } = await stat(join(server.dataDir, 'postgres'));
  await chown(key, uid, gid);
  await chmod(key, 0o600);
  await asAdmin(`alter system set ssl_cert_file = '${certificate}'`);
  await asAdmin(`alter system set ssl_key_file = '${key}'`);
  await asAdmin(`alter system set ssl = on`);
  await asAdmin('select pg_reload_conf()');
  const tls = async (changes: Record<string, string>) => (await sessionAt(urlWith(changes))).tls;
  await expect.poll(() => tls({ sslmode: 'prefer' })).toBe(true);
  expect(await tls({})).toBe(true);
  expect(await tls({ sslmode: 'require' })).toBe(true);
  expect(await tls({ sslmode: 'disable' })).toBe(false);
  expect(await tls({ sslmode: 'allow' })).toBe(false);
  expect(await tls({ sslmode: 'verify-ca', sslrootcert: certificate })).toBe(true);
  expect(await tls({ sslmode: 'verify-full', sslrootcert: certificate, host: 'localhost' })).toBe(true);
  const stranger = await errorAt(
    urlWith({ sslmode: 'verify-full', sslrootcert: 'system', host: 'localhost' }),
  );
  expect(stranger).toBeInstanceOf(DatabaseAccessError);
  expect(stranger.hint).toContain('sslrootcert');
});
