import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { inject } from 'vitest';
import { packageRoot } from '../../../src/package.ts';

/** What the program looks for beside itself. */
const BESIDE = ['node_modules', 'package.json', 'migrations', 'web'];

/**
 * The directory with `src/`, `jobs/` and `extra` (paths below the checkout, such as `test/db/child.ts`) as JavaScript
 * that processes of their own can run, and every user can read; types are not checked. All tests of a run share it: the
 * first makes it, the run's end takes it away.
 */
export async function compile(extra: readonly string[] = []): Promise<string> {
  const directory = inject('compiledProgram');
  if (!existsSync(directory)) await compileProgram(directory);
  await Promise.all(extra.map((path) => translate(path, directory)));
  return directory;
}

/** Where two do it at the same time, one of them is late, and has done nothing that the other has not. */
async function compileProgram(directory: string): Promise<void> {
  const unfinished = `${directory}-${randomBytes(6).toString('hex')}`;
  const sources = await Promise.all(['src', 'jobs'].map(sourcesIn));
  await Promise.all(sources.flat().map((path) => translate(path, unfinished)));
  await Promise.all(BESIDE.map((name) => symlink(join(packageRoot, name), join(unfinished, name))));
  await rename(unfinished, directory).catch(async (error: unknown) => {
    if (!existsSync(directory)) throw error;
    await rm(unfinished, { recursive: true });
  });
}

async function sourcesIn(folder: string): Promise<string[]> {
  const names = await readdir(join(packageRoot, folder), { recursive: true });
  return names.filter((name) => /(?<!\.d)\.ts$/.test(name)).map((name) => join(folder, name));
}

async function translate(path: string, directory: string): Promise<void> {
  const { outputText } = ts.transpileModule(await readFile(join(packageRoot, path), 'utf8'), {
    fileName: path,
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      rewriteRelativeImportExtensions: true,
      verbatimModuleSyntax: true,
    },
  });
  const target = join(directory, path.replace(/\.ts$/, '.js'));
  await mkdir(dirname(target), { recursive: true, mode: 0o755 });
  await writeFile(target, outputText, { mode: 0o644 });
}
