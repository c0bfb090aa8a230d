/*
 * Builds the program unless the last build is newer than all of its sources. `npx` prepares the package once
 * more when it runs it from a checkout for the first time: the first command would wait for a build that
 * exists.
 */
import { execSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** The file that the build writes last. */
const LAST = 'dist/types/src/library/tables.d.ts';
const SOURCES = [
  'src',
  'jobs',
  'tools',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.types.json',
];

const built = changedAt(LAST);
if (built === undefined || newest(SOURCES) > built)
  execSync('npm run --silent build', { cwd: ROOT, stdio: 'inherit' });

/** Milliseconds since 1970; undefined if there is no such file. */
function changedAt(path) {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs;
}

function newest(paths) {
  const files = paths.flatMap((path) => [path, ...below(path)]);
  return Math.max(...files.map((file) => changedAt(file) ?? 0));
}

function below(path) {
  if (!statSync(join(ROOT, path)).isDirectory()) return [];
  return readdirSync(join(ROOT, path), { recursive: true }).map((name) => join(path, name));
}
