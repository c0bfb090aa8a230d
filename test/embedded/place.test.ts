import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { findBinaries } from '../../src/embedded/binaries.ts';
import { runCommand, type Account } from '../../src/embedded/server-account.ts';
import { DatabaseError, WrongDatabaseError } from '../../src/errors.ts';
import { addRows, embeddedFixture, errorOf, keptRows, postmasterOf } from './fixture.ts';
import { isThorough, thorough } from '../support/thorough.ts';

const asRoot = process.getuid?.() === 0;
const NOBODY: Account = { uid: 65_534, gid: 65_534 };
const asNobody = asRoot && (await runsAsNobody());
const fixture = embeddedFixture();

/** Whether an ordinary user can run node and read this checkout at all. */
async function runsAsNobody(): Promise<boolean> {
  const file = join(import.meta.dirname, '..', '..', 'node_modules', 'pg', 'package.json');
  const { status } = await runCommand(process.execPath, ['-e', `require(${JSON.stringify(file)})`], NOBODY);
  return status === 0;
}

test('a directory with other files is refused and left unchanged', async () => {
  const foreign = fixture.directory();
  await mkdir(foreign);
  await writeFile(join(foreign, 'ibdata1'), 'another program');
  const error = await errorOf(openEmbedded({ dataDir: foreign }));
  expect(error).toBeInstanceOf(WrongDatabaseError);
  expect(error.message).toBe(`${foreign} holds files that this program did not create`);
  expect(error.hint).toContain('ETL_DATA_DIR');
  expect(existsSync(join(foreign, 'postgres'))).toBe(false);
});

thorough('a directory with another database of this program is accepted', async () => {
  const parent = fixture.directory('home');
  await mkdir(parent, { mode: 0o755 });
  await cp(await fixture.database(), join(parent, 'demo'), { recursive: true, preserveTimestamps: true });
  const server = await fixture.openHere({ dataDir: parent });
  expect(server.dataDir).toBe(parent);
});

test('a Postgres directory without our mark, or of another major version, is refused with the remedy', async () => {
  const dataDir = await fixture.database();
  await (await fixture.openHere({ dataDir })).close();
  const pgdata = join(dataDir, 'postgres');
  await writeFile(join(pgdata, 'PG_VERSION'), '17\n');
  const older = await errorOf(openEmbedded({ dataDir }));
  expect(older).toBeInstanceOf(WrongDatabaseError);
  expect(older.message).toBe(
    `the database in ${dataDir} was made by Postgres 17, the installed one is Postgres 18`,
  );
  expect(older.hint).toContain(`move ${dataDir} away`);
  await rm(join(pgdata, 'toncenter-etl.json'));
  const unmarked = await errorOf(openEmbedded({ dataDir }));
  expect(unmarked).toBeInstanceOf(WrongDatabaseError);
  expect(unmarked.message).toBe(`${pgdata} holds files that this program did not create`);
});

test('the links that the skipped install script would have made are made; what is missing is reported', async () => {
  const { native } = await findBinaries();
  const copy = join(fixture.directory('skipped'), 'native');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  await runCommand('find', [join(copy, 'lib'), '-type', 'l', '-delete']);
  const { postgres } = await findBinaries(copy);
  expect((await runCommand(postgres, ['--version'])).stdout).toContain('PostgreSQL');
  await rm(join(copy, 'share'), { recursive: true });
  const error = await errorOf(openEmbedded({ dataDir: fixture.directory(), native: copy }));
  expect(error).toBeInstanceOf(DatabaseError);
  expect(error.message).toBe(`the Postgres binaries in ${copy} are incomplete`);
  expect(error.hint).toContain('npm rebuild');
});

test.runIf(asRoot && isThorough)(
  'root in a home that is closed to other users keeps binaries and data in a directory that the server can enter',
  async () => {
    const home = fixture.directory('home');
    await mkdir(home, { mode: 0o700 });
    const { native } = await findBinaries();
    await cp(native, join(home, 'node_modules', 'native'), { recursive: true, verbatimSymlinks: true });
    const fallback = fixture.directory('fallback');
    const options = {
      dataDir: join(home, 'data'),
      native: join(home, 'node_modules', 'native'),
      fallbacks: [fallback],
    };
    const first = await fixture.openHere(options);
    expect(first.dataDir.startsWith(fallback)).toBe(true);
    await addRows(first.url);
    const program = await runCommand('readlink', [`/proc/${postmasterOf(first.dataDir)}/exe`]);
    expect(program.stdout.startsWith(join(fallback, 'binaries'))).toBe(true);
    await first.close();

    const copied = (await stat(program.stdout.trim())).ino;
    const second = await fixture.openHere(options);
    expect(second.dataDir).toBe(first.dataDir);
    expect(await keptRows(second.url)).toBe(1000);
    expect((await stat(program.stdout.trim())).ino).toBe(copied);

    const otherCheckout = await fixture.openHere({ ...options, dataDir: join(home, 'other-data') });
    expect(otherCheckout.dataDir).not.toBe(first.dataDir);
  },
);

test.runIf(asRoot)(
  'an empty directory that was made for the database is opened to the server, not skipped',
  async () => {
    const dataDir = fixture.directory('volume');
    await mkdir(dataDir, { mode: 0o700 });
    const server = await fixture.openHere({ dataDir });
    expect(server.dataDir).toBe(dataDir);
  },
);

test.runIf(asRoot)('root follows no link that another user put in place of the log', async () => {
  const dataDir = await fixture.database();
  const victim = fixture.directory('victim');
  await writeFile(victim, 'untouched');
  await rm(join(dataDir, 'postgres', 'server.log'));
  await symlink(victim, join(dataDir, 'postgres', 'server.log'));
  await errorOf(openEmbedded({ dataDir }));
  expect(await readFile(victim, 'utf8')).toBe('untouched');
  expect((await stat(victim)).uid).toBe(0);
});

test.runIf(asRoot)('root does not take over a fallback that another user could have filled', async () => {
  const home = fixture.directory('home');
  await mkdir(home, { mode: 0o700 });
  const fallback = fixture.directory('public');
  await mkdir(fallback);
  await chmod(fallback, 0o777);
  const error = await errorOf(openEmbedded({ dataDir: join(home, 'data'), fallbacks: [fallback] }));
  expect(error).toBeInstanceOf(DatabaseError);
  expect(error.message).toContain(`${fallback} belongs to another user`);
  expect(error.hint).toContain('ETL_DATA_DIR');
});

test.runIf(asNobody)(
  'an ordinary user has a server of their own, which root joins or starts as that user',
  async () => {
    const home = fixture.directory('home');
    await mkdir(home, { mode: 0o700 });
    await chown(home, NOBODY.uid, NOBODY.gid);
    const dataDir = join(home, 'data');
    const ordinary = fixture.openThere({ dataDir }, NOBODY);
    const { url } = await ordinary.opened();
    await addRows(url);
    const joined = await fixture.openHere({ dataDir });
    expect(joined.url).toBe(url);
    await joined.close();
    await ordinary.order('close');

    const server = await fixture.openHere({ dataDir });
    expect(await keptRows(server.url)).toBe(1000);
    expect((await stat(`/proc/${postmasterOf(dataDir)}`)).uid).toBe(NOBODY.uid);
  },
);

test.runIf(asNobody)(
  'an ordinary user learns who owns the directory, and what only the owner of node_modules can repair',
  async () => {
    const dataDir = await fixture.database();
    await (await fixture.openHere({ dataDir })).close();
    const { error } = await fixture.openThere({ dataDir }, NOBODY).opened();
    expect(error?.name).toBe('DatabaseError');
    expect(error?.message).toContain('belongs to another user');

    const { native } = await findBinaries();
    const unlinked = join(fixture.directory('unlinked'), 'native');
    await cp(native, unlinked, { recursive: true, verbatimSymlinks: true });
    await runCommand('find', [join(unlinked, 'lib'), '-type', 'l', '-delete']);
    const skipped = await fixture
      .openThere({ dataDir: fixture.directory(), native: unlinked }, NOBODY)
      .opened();
    expect(skipped.error?.name).toBe('DatabaseError');
    expect(skipped.error?.message).toContain('the install script of the Postgres binaries was skipped');
    expect(skipped.error?.hint).toContain('npm rebuild');
  },
);

test.skipIf(process.platform !== 'linux')(
  'a directory that the system never makes is an error, not a wait',
  async () => {
    const error = await errorOf(openEmbedded({ dataDir: '/proc/none/below' }));
    expect(error).toBeInstanceOf(DatabaseError);
    expect(error.message).toContain('/proc/none/below');
  },
);
