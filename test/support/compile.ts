import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '..', '..');
/** What the program looks for beside itself. */
const BESIDE = ['node_modules', 'package.json', 'migrations', 'web'];

/**
 * Translates `src/` and `extra` (paths below the checkout, such as `test/db/child.ts`) to JavaScript that processes of
 * their own can run, in a new directory that every user can enter; types are not checked. Resolves to that directory:
 * the caller removes it.
 */
export async function compile(extra: readonly string[] = []): Promise<string> {
  const directory = join(tmpdir(), `toncenter-etl-compiled-${randomBytes(6).toString('hex')}`);
  const sources = (await readdir(join(ROOT, 'src'), { recursive: true }))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join('src', name));
  await Promise.all([...sources, ...extra].map((path) => translate(path, directory)));
  await Promise.all(BESIDE.map((name) => symlink(join(ROOT, name), join(directory, name))));
  return directory;
}

async function translate(path: string, directory: string): Promise<void> {
  const { outputText } = ts.transpileModule(await readFile(join(ROOT, path), 'utf8'), {
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
