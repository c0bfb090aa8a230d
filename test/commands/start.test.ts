import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { openCli, type Cli } from '../support/program/cli.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

/*
 * What a command loads before it can begin: the most part of what its start costs, and the same on every machine. Each
 * file costs about a millisecond, whatever its size. The limits are a tenth above what is loaded today.
 */

const Coverage = z.object({ result: z.array(z.object({ url: z.string() })) });

let cli: Cli;
let store: TestStore;
let scratch: string;

beforeAll(async () => {
  cli = await openCli();
  store = await openTestStore();
  scratch = await mkdtemp(join(tmpdir(), 'toncenter-etl-start-'));
  // The first command updates the schema, and loads every table for that.
  await cli.run(['migrate'], { DATABASE_URL: store.url });
});
afterAll(async () => {
  await store.close();
  await cli.close();
  await rm(scratch, { recursive: true, force: true });
});

test.each([
  { args: ['--help'], kilobytes: 530, most: 9 },
  { args: ['sql', 'select 1'], kilobytes: 1020, most: 17 },
  { args: ['status'], kilobytes: 1220, most: 29 },
])('$args loads at most $kilobytes kB in $most files', async ({ args, kilobytes, most }) => {
  const loaded = await loadedBy(args);
  expect(loaded.files).toBeLessThanOrEqual(most);
  expect(loaded.bytes / 1000).toBeLessThanOrEqual(kilobytes);
});

test.skipIf(!('enableCompileCache' in module))('keeps what was compiled for the next start', async () => {
  const TMPDIR = await mkdtemp(join(scratch, 'tmp-'));
  expect((await cli.run(['--help'], { TMPDIR })).code).toBe(0);
  expect(await readdir(join(TMPDIR, 'node-compile-cache'))).not.toEqual([]);
});

/** Files of the program, as V8 itself lists them. */
async function loadedBy(args: readonly string[]): Promise<{ files: number; bytes: number }> {
  const NODE_V8_COVERAGE = await mkdtemp(join(scratch, 'loaded-'));
  const result = await cli.run(args, { NODE_V8_COVERAGE, DATABASE_URL: store.url });
  expect(result).toMatchObject({ code: 0 });
  const [report = ''] = await readdir(NODE_V8_COVERAGE);
  const text = await readFile(join(NODE_V8_COVERAGE, report), 'utf8');
  const urls = new Set(Coverage.parse(JSON.parse(text)).result.map(({ url }) => url));
  expect(urls.size).toBeGreaterThan(1);
  const paths = [...urls].filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url));
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return { files: paths.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}
