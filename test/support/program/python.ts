import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../src/package.ts';

export interface Packages {
  readonly name: string;
  /** Packages for pip, in exact versions. */
  readonly install: readonly string[];
  /** Modules that must be importable. */
  readonly modules: string;
}

/**
 * A Python that has the packages: the one that PYTHON names, else one of a virtual environment that the first
 * run makes. If there is none, it returns undefined and reports why.
 */
export function pythonWith({ name, install, modules }: Packages): string | undefined {
  const given = process.env['PYTHON'];
  if (given !== undefined && can(given, modules)) return given;
  const folder = join(packageRoot, 'node_modules', '.cache', 'toncenter-etl', `python-${name}`);
  const own = join(folder, 'bin', 'python');
  if (can(own, modules)) return own;
  if (!existsSync(own)) spawnSync('python3', ['-m', 'venv', folder]);
  const { stderr, error } = spawnSync(own, ['-m', 'pip', 'install', '--quiet', ...install], {
    encoding: 'utf8',
  });
  if (can(own, modules)) return own;
  console.warn(
    `skipped: no Python that can import ${modules}\n${error === undefined ? stderr : error.message}`,
  );
  return undefined;
}

function can(python: string, modules: string): boolean {
  return spawnSync(python, ['-c', `import ${modules}`]).status === 0;
}
