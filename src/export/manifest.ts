import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../errors.ts';

const Entry = z.object({
  /** Path below the directory of the manifest. */
  file: z.string(),
  /** Table of schema ton that the rows are from. */
  table: z.string(),
  /** Dataset whose coverage says how far to trust the rows. */
  dataset: z.string(),
  /** First second of block time, UTC, and the end, exclusive; null for a table that is no stream. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  rows: z.number(),
  bytes: z.number(),
  /** When the rows of a list or look-up were what they are, UTC; null for a stream. */
  taken_at: z.string().nullable().default(null),
  /** proved, cross-checked, covered or incomplete; `as read` for a table that is no stream. */
  grade: z.string(),
  /** The newest loaded_at among the rows, UTC; null where there are none. */
  changed_at: z.string().nullable(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
});

const Manifest = z.object({
  version: z.literal(1),
  format: z.enum(['parquet', 'csv']),
  files: z.array(Entry),
});

export type ManifestEntry = z.infer<typeof Entry>;
export type Manifest = z.infer<typeof Manifest>;

const NAME = 'manifest.json';

/**
 * What an earlier run left in a directory; an empty manifest where there is none.
 * @throws UsageError where the file is not this program's, or is of another format
 */
export async function readManifest(directory: string, format: Manifest['format']): Promise<Manifest> {
  const path = join(directory, NAME);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return { version: 1, format, files: [] };
  const parsed = Manifest.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new UsageError(`${path} is no manifest of an export`, { hint: 'Give another directory: --out.' });
  }
  if (parsed.data.format !== format) {
    throw new UsageError(`${directory} holds ${parsed.data.format} files`, {
      hint: 'Give another directory (--out), or the same --format.',
    });
  }
  return parsed.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Replaces the manifest as a whole: a run that is killed leaves the old one or the new one. */
export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  const files = [...manifest.files].sort((a, b) => (a.file < b.file ? -1 : 1));
  const path = join(directory, NAME);
  await writeFile(`${path}.partial`, `${JSON.stringify({ ...manifest, files }, null, 2)}\n`);
  await rename(`${path}.partial`, path);
}
