import { expect, test } from 'vitest';
import { packageRoot } from '../../src/package.ts';
import { readTree } from '../../tools/structure/tree.ts';
import { measureWalks } from '../../tools/structure/walks.ts';
import { openTestStore } from '../support/database/database.ts';

/** The number of files that a walk passes. If a change makes one of these smaller, lower the number with it. */
const LIMITS = {
  'files a page passes, response to COPY': 30,
  'files that only verify --deep --repair passes': 16,
  'files from sync to its first commit': 12,
};

test('a page, a repair, and sync until its first commit pass few files', async () => {
  const store = await openTestStore();
  try {
    const walks = await measureWalks(packageRoot, readTree(packageRoot), { DATABASE_URL: store.url });
    for (const { name, value } of walks) console.log(`${name}: ${value}`);
    for (const [name, limit] of Object.entries(LIMITS))
      expect(walks.find((one) => one.name === name)?.value).toBeLessThanOrEqual(limit);
  } finally {
    await store.close();
  }
});
