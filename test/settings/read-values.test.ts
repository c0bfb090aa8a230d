import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { isBucket, readConfig } from '../../src/settings/config.ts';
import { readValues } from '../../src/settings/read-values.ts';

async function directoryWith(content?: string | Buffer): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  if (content !== undefined) await writeFile(join(directory, '.env'), content);
  return directory;
}

it('says in a sentence that .env is a directory', async () => {
  const directory = await directoryWith();
  await mkdir(join(directory, '.env'));
  expect(() => readValues({}, directory)).toThrow(UsageError);
});

it('does not mistake a broken symbolic link for a missing file', async () => {
  const directory = await directoryWith();
  await symlink(join(directory, 'gone'), join(directory, '.env'));
  expect(() => readValues({}, directory)).toThrow(/cannot be read/);
});

const TWO = 'ETL_SINCE=first\nTONCENTER_NETWORK=demo\n';

describe('a file of any editor is read whole', () => {
  test.each([
    ['a byte order mark', `\uFEFF${TWO}`],
    ['CR LF', TWO.replaceAll('\n', '\r\n')],
    ['CR alone', TWO.replaceAll('\n', '\r')],
    ['no end of the last line', TWO.trimEnd()],
    [
      'spaces, export, quotes, comments',
      `# "\nexport ETL_SINCE = 'first' # a\n\n  TONCENTER_NETWORK=demo # b\n`,
    ],
  ])('%s', async (_, text) => {
    const { values, faults } = readValues({}, await directoryWith(text));
    expect(values).toEqual({ ETL_SINCE: 'first', TONCENTER_NETWORK: 'demo' });
    expect(faults).toEqual([]);
  });

  test.each([
    ['UTF-16 LE', Buffer.from(`\uFEFF${TWO}`, 'utf16le')],
    ['UTF-16 BE', Buffer.from(`\uFEFF${TWO}`, 'utf16le').swap16()],
    ['UTF-16 without a mark', Buffer.from(TWO, 'utf16le')],
    ['UTF-32', Buffer.from(Uint32Array.from(Buffer.from(TWO)).buffer)],
    ['Latin-1', Buffer.from('ETL_SINCE=first # für\n', 'latin1')],
  ])('%s is refused', async (_, bytes) => {
    const directory = await directoryWith(bytes);
    expect(() => readValues({}, directory)).toThrow(/are not UTF-8 text/);
  });
});

describe('a value with a probable mistake is named, and never repeated', () => {
  test.each([
    ['PGPASSWORD=p@ss/w:or#SECRET', /line 1: PGPASSWORD has a #/],
    ['TONCENTER_API_KEY=#SECRET', /line 1: TONCENTER_API_KEY has a #/],
    ['PGPASSWORD="SECRET', /line 1: the value of PGPASSWORD begins with a quote that does not end/],
    [
      "NOTE='SECRET\nTONCENTER_NETWORK=demo\nX='y'",
      /line 1: the value of NOTE contains the line TONCENTER_NETWORK=/,
    ],
    ['A=1\nNOTE="SECRET\n  export PGHOST = h\nB="c"', /line 2: the value of NOTE contains the line PGHOST=/],
    ['NOTE=`SECRET\n\nDATABASE_URL=x\nB=`', /line 1: the value of NOTE contains the line DATABASE_URL=/],
    ['NOTE=SECRET\u2028ETL_LAKE=/lake', /line 1: the value of NOTE contains the line ETL_LAKE=/],
    ['NOTE=SECRET\fTONCENTER_RPS=1', /line 1: the value of NOTE contains the line TONCENTER_RPS=/],
    ["PGPASSWORD='SECRET's'", /line 1: text follows the closing quote of PGPASSWORD/],
    ['# one\nETL_LAKE=/SECRET\nETL_LAKE=/SECRET2', /line 3: ETL_LAKE is set a second time/],
    ['$env:TONCENTER_API_KEY = "SECRET"', /line 1 is not NAME=value/],
    ['set DATABASE_URL=SECRET', /line 1 is not NAME=value/],
    ['DATABASE_URL: SECRET', /line 1 is not NAME=value/],
    ['\u00A0ETL_LAKE=SECRET', /line 1 is not NAME=value/],
    ['ETL LAKE=SECRET', /line 1 is not NAME=value/],
    ['TONCENTER API KEY = SECRET', /line 1 is not NAME=value/],
    ['\u0415TL_LAKE=SECRET', /line 1 has a name with a character that is not ASCII/],
    ['export PG\u0420ASSWORD = SECRET', /line 1 has a name with a character that is not ASCII/],
    ['T\u039FNCENTER_API_KEY=SECRET', /line 1 has a name with a character that is not ASCII/],
    ['ETL\uFF3FLAKE=SECRET', /line 1 has a name with a character that is not ASCII/],
    ['TONCENTER_API_KEY=\u201CSECRET\u201D', /the value of TONCENTER_API_KEY begins and ends with a quote/],
    ['TONCENTER_API_KEY=SECRET\u0001', /the value of TONCENTER_API_KEY has a control character/],
    ['TONCENTER_API_KEY=SECRET\u200B', /the value of TONCENTER_API_KEY has a control character.* invisible/],
    ['ETL_LAKE=/SECRET\u00AD', /invisible/],
    ['PGPASSWORD=a$SECRET', /line 1: PGPASSWORD has a \$/],
    ['DATABASE_URL="postgres://u:${SECRET}@h/d"', /line 1: DATABASE_URL has a \$/],
    ['TONCENTER_API_KEY=$(cat SECRET)', /line 1: TONCENTER_API_KEY has a \$/],
    ['ETL_LAKE=~/SECRET', /ETL_LAKE begins with something that only a shell expands/],
    ["ETL_DATA_DIR='$HOME/SECRET'", /ETL_DATA_DIR begins with something that only a shell expands/],
    ['PGSSLROOTCERT=~root/SECRET', /PGSSLROOTCERT begins with something that only a shell expands/],
  ])('%j', async (text, sentence) => {
    const { faults } = readValues({}, await directoryWith(text));
    expect(faults).toEqual([expect.stringMatching(sentence)]);
    expect(faults.join()).not.toContain('SECRET');
  });

  test.each([
    ['DATABASE_URL', '"postgres://u:SECRET@h/d"'],
    ['TONCENTER_API_KEY', "'SECRET'"],
    ['ETL_DATA_DIR', '`/SECRET`'],
    ['TONCENTER_API_KEY', 'SECRET\r'],
    ['ETL_LAKE', '~/SECRET'],
    ['ETL_DATA_DIR', '%USERPROFILE%/SECRET'],
    ['PGPASSWORD', 'SECRET\u2060'],
  ])('%s=%j of the environment', (name, value) => {
    const { faults } = readValues({ [name]: value }, '/dev/null');
    expect(faults).toHaveLength(1);
    expect(faults.join()).not.toContain('SECRET');
  });

  test('a $ in single quotes, in the environment, or without a variable is taken literally', async () => {
    const text = "PGPASSWORD='a$b'\nPGUSER=c$\nTONCENTER_API_KEY=5$ \n";
    const { faults, values } = readValues(
      { DATABASE_URL: 'postgres://u:a$b@h/d' },
      await directoryWith(text),
    );
    expect(faults).toEqual([]);
    expect(values).toMatchObject({ PGPASSWORD: 'a$b', PGUSER: 'c$', TONCENTER_API_KEY: '5$' });
  });

  test('lines and values of other programs are ignored', async () => {
    const text = 'FOO=a#b\nBAR="x\nsome text\nFOO=c\nOTHER: 1\nпривет\n# Имя X=1\n';
    expect(readValues({ BAZ: '"q"' }, await directoryWith(text)).faults).toEqual([]);
  });
});

test('every such error ends a command before it connects anywhere', async () => {
  const directory = await directoryWith('PGPASSWORD=a#b\nTONCENTER_NETWORK=http://u:SECRET@x y\n');
  const read = () => readConfig({}, directory);
  expect(read).toThrow(/PGPASSWORD has a #/);
  expect(read).toThrow(/TONCENTER_NETWORK/);
  expect(read).not.toThrow(/SECRET/);
});

test('a name in .env that is close to a setting is named, whatever it begins with', async () => {
  const directory = await directoryWith('DATABASE_ULR=postgres://h/d\nUNRELATED=1\n');
  const [warning, ...more] = readConfig({}, directory).warnings;
  expect(warning?.what).toContain('DATABASE_ULR is not a setting');
  expect(warning?.remedy).toContain('DATABASE_URL');
  expect(more).toEqual([]);
});

test.each([
  ['PGDATABSE', 'PGDATABASE'],
  ['PGHOTS', 'PGHOST'],
  ['PGSSLMOD', 'PGSSLMODE'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['POSTGRES_URL', 'DATABASE_URL'],
  ['DB_CONNECTION_STRING', 'DATABASE_URL'],
  ['pg_dsn', 'DATABASE_URL'],
  ['DATABASEURL', 'DATABASE_URL'],
])('%s of the environment is named, because it names no database: %s does', (name, meant) => {
  const [warning, ...more] = readConfig({ [name]: 'x' }, '/nowhere').warnings;
  expect(warning?.what).toContain(`${name} is not a setting`);
  expect(warning?.remedy).toContain(meant);
  expect(more).toEqual([]);
});

test.each([
  { PGDATA: '/x' },
  { PGTZ: 'UTC' },
  { PGBOUNCER_PORT: '1' },
  { DATABASE_URI: 'x', DATABASE_URL: 'postgres://h/d' },
  { DATABASE: 'x' },
])('other programs use other names: %j', (environment) => {
  expect(readConfig(environment, '/nowhere').warnings).toEqual([]);
});

test.each(['5', '500', '2.5', '10b'])('ETL_MIN_FREE=%s lacks its unit', (size) => {
  expect(() => readConfig({ ETL_MIN_FREE: size }, '/nowhere')).toThrow(/ETL_MIN_FREE.*5GB/);
});

test.each(['0', '5000000000', '5GB', '500m'])('ETL_MIN_FREE=%s is a size', (size) => {
  expect(readConfig({ ETL_MIN_FREE: size }, '/nowhere').warnings).toEqual([]);
});

test.each([
  'ETL_RETENTION=transaction:90d',
  'ETL_SCHEDULE="transaction @ 0 * * * *"',
  'ETL_DATASETS=transaction',
])('a dataset that does not exist is named in every setting: %s', async (line) => {
  const directory = await directoryWith(`${line}\n`);
  const faultOfDataset = (name: string) => (name === 'transaction' ? 'there is no such dataset' : undefined);
  expect(() => readConfig({}, directory, { faultOfDataset })).toThrow(/^ETL_\w+: there is no such dataset$/);
});

test.each([
  ['ETL_LAKE=gs://bucket/prefix', /"gs:\/\/bucket\/prefix" is not a location for a lake/],
  ['ETL_LAKE=file:///data/lake', /not a location for a lake/],
  ['ETL_LAKE=https://u:SECRET@host/lake', /not a location for a lake/],
  ['ETL_LAKE=S3://bucket', /not a location for a lake/],
  ['ETL_LAKE=s3:bucket', /not a location for a lake/],
  ['ETL_RETENTION=transactions:1d,transactions:90d', /transactions is named twice/],
  ['ETL_RETENTION=transactions:0d', /transactions would be dropped as soon as it is stored/],
])('data that would be kept elsewhere, or not at all, is named: %s', async (line, sentence) => {
  const directory = await directoryWith(`${line}\n`);
  expect(() => readConfig({}, directory)).toThrow(sentence);
  expect(() => readConfig({}, directory)).not.toThrow(/SECRET/);
});

test.each(['', ' ', '\t'])('an empty path of a lake is not the working directory: %j', (location) => {
  expect(() => isBucket(location)).toThrow(UsageError);
});
