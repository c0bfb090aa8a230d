import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

/** Below the compiled program. */
const FOLDER = 'bundle';
/** Packages of many small modules; the others are few files each, and CommonJS. */
const BUNDLED = ['drizzle-orm', 'zod', 'lossless-json', 'p-queue'];

/** The path of the workers' program. */
export function entryOf(program: string): string {
  return join(program, FOLDER, 'src/cli.js');
}

/**
 * Joins the 500 modules of a compiled program into few: otherwise a worker that lives for seconds would spend
 * most of them on loading. Chunks are in `src/postgres/`, from where the program finds its folders of
 * datasets and tables.
 */
export async function bundle(program: string): Promise<void> {
  const outdir = join(program, FOLDER);
  await rm(outdir, { recursive: true, force: true });
  const files = async (folder: string) =>
    (await readdir(join(program, folder), { recursive: true }))
      .filter((file) => file.endsWith('.js'))
      .map((file) => join(program, folder, file));
  await build({
    entryPoints: [join(program, 'src/cli.js'), ...(await files('jobs')), ...(await files('src/tables'))],
    outdir,
    outbase: program,
    chunkNames: 'src/postgres/[name]-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    plugins: [
      {
        name: 'packages stay outside',
        setup: (builder) => {
          builder.onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === 'entry-point' || BUNDLED.some((name) => path === name || path.startsWith(`${name}/`))
              ? undefined
              : { path, external: true },
          );
        },
      },
    ],
  });
}
