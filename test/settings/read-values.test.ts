import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { readValues } from '../../src/settings/read-values.ts';

it('says in a sentence that .env is a directory', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, '.env'));
  expect(() => readValues({}, directory)).toThrow(UsageError);
});
