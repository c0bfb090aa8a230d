import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '../src/errors.ts';
import { directoryStore } from '../src/lake/open-lake.ts';
import { makeFolder } from '../src/files.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-folder-'));
  await writeFile(join(directory, 'file'), '');
});
afterAll(() => rm(directory, { recursive: true }));

test('makes a directory with those above it, also where many do so at once', async () => {
  const path = join(directory, 'a/b/c');
  await Promise.all([1, 2, 3, 4].map(() => makeFolder(path)));
  await makeFolder(path);
  expect((await stat(path)).isDirectory()).toBe(true);
});

test.each(['file', 'file/below', '../../../../../../proc/none/below'])(
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
