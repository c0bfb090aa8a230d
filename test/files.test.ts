import { mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LakeError, UsageError } from '../src/errors.ts';
import { directoryStore } from '../src/lake/open-lake.ts';
import { exists, ifThere, makeFolder, namesIn, readIfThere } from '../src/files.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-folder-'));
  await writeFile(join(directory, 'file'), '');
  await symlink('loop', join(directory, 'loop'));
});
afterAll(() => rm(directory, { recursive: true }));

test('makes a directory and its parents, even if many processes do so at once', async () => {
  const path = join(directory, 'a/b/c');
  await Promise.all([1, 2, 3, 4].map(() => makeFolder(path)));
  await makeFolder(path);
  expect((await stat(path)).isDirectory()).toBe(true);
});

test.each(['file', 'file/below', 'loop/below', '../../../../../../proc/none/below'])(
  '%s cannot be made one',
  async (name) => {
    const failure = await makeFolder(join(directory, name)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect(String(failure)).toMatch(/cannot be created: E/);
  },
);

test('a lake in a file is refused in a sentence', async () => {
  const failure = await directoryStore(join(directory, 'file'))
    .folders()
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(UsageError);
  expect(String(failure)).toMatch(/a lake is a directory/);
});

/** Neither can be asked whether it is there: a link to itself, and a name that no file system takes. */
const UNREADABLE = ['loop', 'loop/below', 'n'.repeat(300)];

test.each(['none', 'none/below', 'file/below'])('%s is not there', async (name) => {
  const path = join(directory, name);
  expect(await ifThere(stat(path))).toBeUndefined();
  expect(await ifThere(realpath(path))).toBeUndefined();
  expect(await readIfThere(path)).toBeUndefined();
  expect(await namesIn(path)).toEqual([]);
  expect(await exists(path)).toBe(false);
});

test.each(UNREADABLE)('%s is not taken for absent', async (name) => {
  const path = join(directory, name);
  const reads = [() => ifThere(stat(path)), () => readIfThere(path), () => namesIn(path), () => exists(path)];
  for (const read of reads) await expect(read()).rejects.toThrow(/^E(LOOP|NAMETOOLONG)/);
});

test.each(UNREADABLE)('a lake, a table or a part at %s is not taken for absent', async (name) => {
  const store = directoryStore(directory);
  const reads = [
    () => store.fetch(name),
    () => store.list(name),
    () => directoryStore(join(directory, name)).folders(),
  ];
  for (const read of reads) {
    const failure = await read().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LakeError);
    expect(String(failure)).toMatch(/the lake cannot be read: E(LOOP|NAMETOOLONG)/);
  }
});
