import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { parsePostgres, readDatabaseUrl, withLogin } from '../../src/settings/postgres-url.ts';

const SOCKET = 'postgres:///db?host=%2Frun%2Fpostgresql&user=u&password=p';
const TWO = 'postgres:///db?host=a%2Cb&port=5432%2C5433&target_session_attrs=read-write&user=u&password=p';

/** The same parameters, in whatever order. */
const same = (url: string | undefined) => Object.fromEntries(parsePostgres(url ?? ''));

describe('a connection is told in any form of libpq', () => {
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
  ])('%s', (given, url) => {
    const read = readDatabaseUrl(given, {});
    expect(same(read)).toEqual(same(url));
    expect(URL.canParse(read ?? '')).toBe(true);
    expect(same(withLogin(given, 'reader', 'x@y'))).toEqual({
      ...same(url.replace('read-write', 'primary')),
      user: 'reader',
      password: 'x@y',
    });
  });

  test('variables say what the URL leaves open, and everything where there is none', () => {
    const variables = {
      PGHOST: 'h',
      PGPORT: '5433',
      PGUSER: 'me',
      PGPASSWORD: 'a b',
      PGDATABASE: 'd',
      PGSSLMODE: 'require',
    };
    expect(readDatabaseUrl(undefined, variables)).toBe('postgres://me:a%20b@h:5433/d?sslmode=require');
    expect(readDatabaseUrl('postgres://you@host/db', { PGPASSWORD: 'p', PGHOST: 'other' })).toBe(
      'postgres://you:p@host/db',
    );
    expect(readDatabaseUrl(undefined, { PGUSER: 'me', PGPASSWORD: 'p', PGHOST: '' })).toBeUndefined();
  });
});

describe('what is no connection is said so', () => {
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
