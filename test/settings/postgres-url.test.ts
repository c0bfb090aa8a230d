import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { connectionOf } from '../../src/postgres/servers.ts';
import { parsePostgres, readDatabase, withLogin } from '../../src/settings/postgres-url.ts';

const SOCKET = 'postgres:///db?host=%2Frun%2Fpostgresql&user=u&password=p';
const TWO = 'postgres:///db?host=a%2Cb&port=5432%2C5433&target_session_attrs=read-write&user=u&password=p';

/** The same parameters, in whatever order. */
const same = (url: string | undefined) => Object.fromEntries(parsePostgres(url ?? ''));

describe('a connection is read in any form of libpq', () => {
  test.each([
    ['postgres://u:p@host:5433/db', 'postgres://u:p@host:5433/db'],
    ['postgresql://u:p%40ss@host/db?sslmode=require', 'postgres://u:p%40ss@host/db?sslmode=require'],
    ['postgres://u:p@[::1]:5432/db', 'postgres://u:p@[::1]:5432/db'],
    ['postgres://u:p@/db?host=/run/postgresql', SOCKET],
    ['postgres://u:p@%2Frun%2Fpostgresql/db', SOCKET],
    ['host=/run/postgresql dbname=db user=u password=p', SOCKET],
    ["dbname = db user='u' host=/run/postgresql password='p'", SOCKET],
    ['postgres://u:p@a:5432,b:5433/db?target_session_attrs=read-write', TWO],
    ['host=a,b port=5432,5433 dbname=db user=u password=p target_session_attrs=read-write', TWO],
    ['host=@abstract dbname=db user=u password=p', 'postgres:///db?host=%40abstract&user=u&password=p'],
    [
      'postgres://u:p@[fe80::1%25eth0]:5432/db',
      'postgres:///db?host=fe80::1%25eth0&port=5432&user=u&password=p',
    ],
    [
      "host='h?sslmode=disable' dbname=db user=u password=p",
      'postgres:///db?host=h%3Fsslmode=disable&user=u&password=p',
    ],
  ])('%s', (given, url) => {
    const read = readDatabase(given, {}).url;
    expect(same(read)).toEqual(same(url));
    expect(URL.canParse(read ?? '')).toBe(true);
    expect(same(withLogin(given, 'reader', 'x@y'))).toEqual({
      ...same(url.replace('read-write', 'primary')),
      user: 'reader',
      password: 'x@y',
    });
  });

  test('variables supply what the URL leaves out, or everything without a URL', () => {
    const variables = {
      PGHOST: 'h',
      PGPORT: '5433',
      PGUSER: 'me',
      PGPASSWORD: 'a b',
      PGDATABASE: 'd',
      PGSSLMODE: 'require',
    };
    expect(readDatabase(undefined, variables).url).toBe('postgresql://me:a%20b@h:5433/d?sslmode=require');
    expect(readDatabase('postgres://you@host/db', { PGPASSWORD: 'p', PGHOST: 'other' }).url).toBe(
      'postgresql://you:p@host/db',
    );
    expect(readDatabase(undefined, { PGUSER: 'me', PGPASSWORD: 'p', PGHOST: '' }).url).toBeUndefined();
  });
});

describe('an invalid connection is reported', () => {
  test.each([
    'postgres://etl:p@ss/w:or#d%1@host:5432/db',
    'postgres://etl:p/w@host/db',
    'postgres://etl:p#w@host/db',
    'postgres://etl:p?w@host/db',
    'postgres://etl:100%@host/db',
  ])('a password that is not encoded: %s', (url) => {
    expect(() => parsePostgres(url)).toThrow('percent-encode');
    expect(() => parsePostgres(url)).not.toThrow(/p@ss|p.w|100/);
  });

  test.each(['mysql://u:p@h/db', 'db', 'host', '', 'postgres://h:port/db', 'http://x'])('%j', (text) => {
    expect(() => parsePostgres(text)).toThrow(UsageError);
    expect(() => parsePostgres(text)).toThrow('is not a URL like');
  });
});

describe('each parameter is applied, refused or named', () => {
  test.each([
    'ssl_mode=verify-full',
    'sslmod=require',
    'sslMode=verify-full',
    'tls=true',
    'channel_binding=require',
    'chanel_binding=prefer',
    'gssencmode=require',
    'require_auth=scram-sha-256',
    'requirepeer=postgres',
    'sslcrldir=/x',
    'sslcertmode=require',
    'requiressl=1',
    'min_protocol_version=3.2',
    'max_protocol_version=2.0',
    'scram_client_key=x',
    'oauth_issuer=https://x',
    'passfile=/x',
    'connect_timeout=soon',
    'client_encoding=latin1',
    'load_balance_hosts=random',
    'sslrootcert=system&sslmode=require',
    'sslrootcert=system&sslmode=verify-ca',
    'sslrootcert=system&ssl=true',
    'sslnegotiation=direct',
    'sslnegotiation=direct&sslmode=prefer',
    'sslnegotiation=drect&sslmode=require',
    'target_session_attrs=read_write',
    'target_session_attrs=Primary',
    'port=0',
    'port=70000',
    'port=x',
    'hostaddr=192.0.2.1,192.0.2.2',
  ])('%s is refused', (pair) => {
    const [name = ''] = pair.split('=');
    expect(() => readDatabase(`postgres://u:SECRET@h/d?${pair}`, {})).toThrow(new RegExp(`\\b${name}\\b`));
    expect(() => readDatabase(`postgres://u:SECRET@h/d?${pair}`, {})).not.toThrow(/SECRET/);
    // A caller who gives the URL itself gets the same error.
    expect(() => connectionOf(`postgres://u:SECRET@h/d?${pair}`)).toThrow(UsageError);
  });

  test.each([
    ['schema=public', 'schema has no effect'],
    ['pgbouncer=true', 'pgbouncer has no effect'],
    ['keepalives_idle=30', 'keepalives_idle has no effect'],
    ['max_protocol_versoin=3.0', 'did you mean max_protocol_version?'],
    ['hosst=x', 'no connection parameter hosst: did you mean host?'],
    ['conect_timeout=3', 'did you mean connect_timeout?'],
    ['whatever=1', 'no connection parameter whatever'],
  ])('%s is named', (pair, sentence) => {
    const { url, warnings } = readDatabase(`host=h dbname=d user=u ${pair}`, {});
    expect(url).toBe('postgresql://u@h/d');
    expect(warnings).toEqual([expect.stringContaining(sentence)]);
  });

  test.each([
    ['PGCHANNELBINDING', 'require'],
    ['PGREQUIREAUTH', 'scram-sha-256'],
    ['PGGSSENCMODE', 'require'],
    ['PGREQUIRESSL', '1'],
    ['PGMINPROTOCOLVERSION', 'latest'],
    ['PGSSLSNI', '0'],
    ['PGLOADBALANCEHOSTS', 'random'],
    ['PGTARGETSESSIONATTRS', 'rw'],
  ])('the variable %s is no exception', (name, value) => {
    expect(() => readDatabase('postgres://h/d', { [name]: value })).toThrow(UsageError);
  });

  test.each(['sslrootcert', 'sslcert', 'sslkey', 'sslcrl'])(
    '%s is named, with what to do, if it cannot be read or used',
    async (name) => {
      const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-'));
      onTestFinished(() => rm(directory, { recursive: true }));
      const { privateKey } = generateKeyPairSync('ec', {
        namedCurve: 'P-256',
        publicKeyEncoding: { type: 'spki', format: 'pem' },
        privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' },
      });
      await writeFile(join(directory, 'text'), 'no PEM');
      await writeFile(join(directory, 'key'), privateKey);
      const errorOf = (file: string): unknown => {
        try {
          return connectionOf(`postgres://u@h/d?sslmode=require&${name}=${join(directory, file)}`);
        } catch (error) {
          return error;
        }
      };
      for (const file of ['missing', '.', ...(name === 'sslrootcert' ? [] : ['text', 'key']), 'text/x']) {
        const error = errorOf(file);
        expect(error).toBeInstanceOf(UsageError);
        expect(error).toMatchObject({
          message: expect.stringContaining(name) as string,
          hint: expect.stringContaining('PEM') as string,
        });
      }
    },
  );

  test('certificates of the system are the only ones if they are chosen', () => {
    const { servers } = connectionOf('postgres://u@h/d?sslrootcert=system');
    expect(servers.map(({ ssl }) => ssl)).toEqual([{}]);
  });

  test.each(['require', 'verify-ca'])('sslmode=%s uses a certificate in the home directory', async (mode) => {
    const home = await mkdtemp(join(tmpdir(), 'toncenter-etl-'));
    onTestFinished(() => rm(home, { recursive: true }));
    vi.stubEnv('HOME', home);
    onTestFinished(() => void vi.unstubAllEnvs());
    await mkdir(join(home, '.postgresql'));
    await writeFile(join(home, '.postgresql', 'root.crt'), 'CERTIFICATE');
    const { servers } = connectionOf(`postgres://u@h/d?sslmode=${mode}`);
    expect(servers).toMatchObject([{ ssl: { ca: 'CERTIFICATE' } }]);
    expect(servers).not.toMatchObject([{ ssl: { rejectUnauthorized: false } }]);
  });

  test.each([
    ['host=a,b,c port=1,2', '2 ports for 3 hosts'],
    ['host=a,b hostaddr=192.0.2.1', '2 hosts, but hostaddr has 1'],
    ['hostaddr=192.0.2.1 port=1,2,3', '3 ports for 1 hosts'],
  ])('lists must have as many entries as there are hosts: %s', (text, sentence) => {
    expect(() => readDatabase(text, {})).toThrow(sentence);
  });

  test('NUL would end a password early', () => {
    expect(() => readDatabase('postgres://u:SECRET%00x@h/d', {})).toThrow(/^(?!.*SECRET).*%00/);
  });

  test("an address is connected to, and its certificate must have the host's name", () => {
    const [server] = connectionOf('host=db.example hostaddr=192.0.2.1 user=u sslmode=verify-full').servers;
    expect(server).toMatchObject({ host: '192.0.2.1', port: 5432, ssl: { servername: 'db.example' } });
    expect(readDatabase(undefined, { PGHOSTADDR: '192.0.2.1' }).url).toContain('hostaddr=192.0.2.1');
    const { servers } = connectionOf('hostaddr=192.0.2.1,192.0.2.2 port=1,2 user=u sslmode=disable');
    expect(servers.map(({ host, port }) => `${host}:${port}`)).toEqual(['192.0.2.1:1', '192.0.2.2:2']);
  });

  test('a time limit, versions of TLS and forms of other drivers have their usual meaning', () => {
    const tls = 'sslmode=require&ssl_min_protocol_version=TLSv1.3&sslpassword=p&sslnegotiation=direct';
    const connection = connectionOf(`postgres://u@h/d?connect_timeout=7&${tls}`);
    expect(connection.connectTimeoutMs).toBe(7000);
    expect(connection.servers[0]).toMatchObject({
      sslnegotiation: 'direct',
      ssl: { minVersion: 'TLSv1.3', passphrase: 'p' },
    });
    expect(connectionOf('postgres://u@h/d?ssl=false').servers.map(({ ssl }) => ssl)).toEqual([false]);
    expect(connectionOf('postgres://u@h/d?ssl=true').servers).toHaveLength(1);
  });
});

describe('a service', () => {
  async function serviceFile(text: string): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const path = join(directory, 'services');
    await writeFile(path, text);
    return path;
  }

  test('names the server, and loses against the URL alone', async () => {
    const PGSERVICEFILE = await serviceFile(
      '[other]\nhost=x\n\n# c\n[ton]\nhost=db.example\nport = 5433\nuser=s\n',
    );
    expect(readDatabase(undefined, { PGSERVICE: 'ton', PGSERVICEFILE, PGUSER: 'v' }).url).toBe(
      'postgresql://s@db.example:5433/',
    );
    expect(readDatabase('service=ton user=u dbname=d', { PGSERVICEFILE }).url).toBe(
      'postgresql://u@db.example:5433/d',
    );
    expect(readDatabase('postgres:///d?service=ton', { PGSERVICEFILE }).url).toBe(
      'postgresql://s@db.example:5433/d',
    );
  });

  test.each([
    ['[other]\nhost=x\n', /names the service ton, which neither/],
    ['[ton]\nhost\n', /a line that is not parameter=value/],
    ['[ton]\nhost=h\nssl_mode=verify-full\n', /unknown connection parameter ssl_mode/],
  ])('is an error if it cannot be applied: %j', async (text, sentence) => {
    const PGSERVICEFILE = await serviceFile(text);
    expect(() => readDatabase(undefined, { PGSERVICE: 'ton', PGSERVICEFILE })).toThrow(sentence);
  });

  test('is an error if its file is missing', () => {
    expect(() => readDatabase('service=ton', { PGSERVICEFILE: '/nowhere/services' })).toThrow(
      /cannot be read/,
    );
  });
});
