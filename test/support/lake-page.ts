import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/package.ts';

/**
 * The statements of the page that makes an engine's views: they are separated by empty lines, and come
 * without comments and the last semicolon.
 */
export async function pageFor(engine: 'clickhouse' | 'spark' | 'trino'): Promise<string[]> {
  const page = await readFile(join(packageRoot, `docs/analyst/lake-${engine}.sql`), 'utf8');
  const withoutComments = page.split('\n\n').map((text) => text.replaceAll(/^--.*\n/gm, '').trim());
  return withoutComments.map((text) => text.replace(/;$/, ''));
}
